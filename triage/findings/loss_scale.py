"""Findings of mixed precision: a loss scale that collapses or sits at its floor, and steps that are all skipped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from triage.findings._contract import Context, FindingRule, Found
from triage.findings._scale import doublings, falls
from triage.model import Evidence, Severity
from triage.signals import SignalTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HALVINGS: Final = 4
HALVINGS_STEPS: Final = 100
"""Four halvings within 100 steps (science 4.3, cause 11); healthy runs have one or two per 1,000 to 2,000."""
SINKING: Final = 6
"""... or six halvings lost against the best scale, none of them regained, however slowly (2^16 to 2^10: below the 2^11
to 2^19 of healthy logs, science 5)."""
WORKING: Final = 11.0
"""Healthy runs work at a scale of 2^11 to 2^19 (science 5)."""
FLOOR: Final = 1.0
"""A scale of 1 or less multiplies nothing any more: DeepSpeed's and Megatron's minimum (science 1)."""
FLOOR_POINTS: Final = 5
SKIPPED_POINTS: Final = 8
"""Logged points in a row, up to the end, that were all skipped; a scale search skips about as many in a row only from
2^32, and then from the first step on (science 8)."""


def collapse(context: Context) -> Iterable[Found]:
    """The loss scale fell by four halvings within 100 steps after the search, or sank by six and stayed."""
    import numpy as np

    signals = context.signals
    rows, scale = doublings(signals)
    if len(rows) < 3:
        return
    step = signals.step[rows]
    _, halvings = falls(signals)
    drops = np.round(-np.diff(scale, prepend=scale[0]))[halvings]
    for i, at in enumerate(halvings):
        near = halvings[: i + 1][step[halvings[: i + 1]] > step[at] - HALVINGS_STEPS]
        lost = float(drops[: i + 1][-len(near) :].sum())
        if lost >= HALVINGS:
            start = int(near[0])
            yield _found(
                signals, rows, scale, start, Evidence("halvings", "loss_scale", lost, None, HALVINGS, int(step[at]))
            )
            return
    best = np.maximum.accumulate(scale)
    if len(halvings) and best[-1] - scale[-1] >= SINKING and scale[-1] <= scale[halvings[-1]]:
        lost = float(best[-1] - scale[-1])
        start = int(halvings[0])
        yield _found(
            signals, rows, scale, start, Evidence("scale-sank", "loss_scale", lost, None, SINKING, int(step[-1]))
        )


def _found(
    signals: SignalTable, rows: NDArray[np.intp], scale: NDArray[np.float64], start: int, proof: Evidence
) -> Found:
    """A collapse, an error only while the loss does not fall and the scale has not settled at a working level."""
    step = int(signals.step[rows[start]])
    level = Evidence(
        "scale-level", "loss_scale", float(2 ** scale[-1]), float(2 ** scale[max(0, start - 1)]), None, step
    )
    harmless = loss_falls(signals, int(rows[start])) or _settled(signals.step[rows], scale)
    severity: Severity = "warning" if harmless else "error"
    return Found(step, (proof, level), severity)


def _settled(step: NDArray[np.int64], scale: NDArray[np.float64]) -> bool:
    """Has the scale stood still to the end for longer than a collapse takes, at a level that healthy runs work at?

    Then the halvings were the scaler's answer to a few bad steps. The argument: docs/decisions/0009.
    """
    import numpy as np

    moves = np.flatnonzero(np.diff(scale))
    since = int(step[moves[-1] + 1]) if len(moves) else int(step[0])
    return bool(scale[-1] >= WORKING and int(step[-1]) - since > HALVINGS_STEPS)


def loss_falls(signals: SignalTable, row: int) -> bool:
    """Is the loss at the end lower than it was before `row`, by more than its noise? Unknown counts as not."""
    import numpy as np

    if "loss" not in signals.columns:
        return False
    rows, values = signals.points("loss")
    before = values[(rows < row) & np.isfinite(values)][-32:]
    tail = values[rows >= row]
    if not len(before) or len(tail) < 3 or not np.isfinite(tail[-16:]).all():
        return False
    noise = 1.4826 * float(np.median(np.abs(before - np.median(before)))) / np.sqrt(len(before))
    return bool(np.median(tail[-16:]) < np.median(before) - 2 * noise)


def floor(context: Context) -> Iterable[Found]:
    """The scale ends at 1 or below; an error while steps are skipped."""
    import numpy as np

    signals = context.signals
    rows, scale = signals.points("loss_scale")
    low = np.isfinite(scale) & (scale <= FLOOR)
    tail = len(scale) - (int(np.flatnonzero(~low)[-1]) + 1 if (~low).any() else 0)
    if tail < FLOOR_POINTS or not (scale > FLOOR).any():
        return  # a constant 1 is training without scaling
    start = len(scale) - tail
    skipping = bool(_skipped(signals, rows[start:]).any())
    step = int(signals.step[rows[start]])
    proof = Evidence("scale-floor", "loss_scale", float(scale[-1]), None, FLOOR, step)
    yield Found(step, (proof,), "error" if skipping else "warning")


def _skipped(signals: SignalTable, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of these rows were skipped: said so, or with a non-finite gradient."""
    import numpy as np

    out = np.zeros(len(rows), dtype=bool)
    if "is_skipped" in signals.columns:
        out |= np.nan_to_num(signals.columns["is_skipped"][rows]) > 0
    if "grad_norm" in signals.columns:
        out |= signals.logged["grad_norm"][rows] & ~np.isfinite(signals.columns["grad_norm"][rows])
    return out


def every_step(context: Context) -> Iterable[Found]:
    """Every step up to the end was skipped: the model does not change any more."""
    import numpy as np

    signals = context.signals
    rows, skipped = signals.points("is_skipped")
    whole = skipped > 0
    step = signals.step[rows]
    if len(rows) > 2 and float(np.nanmax(skipped)) > 1:  # a count per logging interval
        gap = np.diff(step, prepend=step[0] - int(np.median(np.diff(step))))
        whole = skipped >= np.maximum(gap, 1)
    tail = len(whole) - (int(np.flatnonzero(~whole)[-1]) + 1 if (~whole).any() else 0)
    if tail < min(SKIPPED_POINTS, max(3, len(whole))):
        return
    start = len(whole) - tail
    yield Found(
        int(step[start]),
        (Evidence("skipped-in-a-row", "is_skipped", float(tail), None, SKIPPED_POINTS, int(step[start])),),
    )


RULES = (
    FindingRule("loss-scale-collapse", "error", ("loss_scale",), collapse),
    FindingRule("loss-scale-floor", "error", ("loss_scale",), floor),
    FindingRule("every-step-skipped", "error", ("is_skipped",), every_step),
)
