"""Statistics across a resume, and of other attempts at the same steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from triage.facts._marks import resume_position
from triage.facts._stretch import Column, Stretch, level_before

if TYPE_CHECKING:
    from triage.facts._stretch import Positions

NEAR_STEPS: Final = 20
"""A resume explains what begins within 20 steps after it (science 7.3)."""

SIDES: Final[Mapping[str, tuple[int, int]]] = {
    # signal: finite values before and after the mark whose medians are compared
    "lr": (1, 1),  # exact: one value each
    "loss_scale": (1, 1),
    "batch_size": (1, 1),
    "u_over_lr": (16, 3),  # an emptied Adam state is 4.4, 3.1, 2.5 … times its level and gone in 10 to 20 steps
    "grad_norm": (16, 5),
    "loss": (16, 16),
}

SAME_PLACE: Final = 10
"""Logged points around the onset step in which another attempt must fail to fail "at the same place"."""

SAME_LR: Final = 0.02
"""Learning rates within 2 % are the same but for rounding (findings, resume-discontinuity); with another one, an
attempt that passed is no repeat."""

ATTEMPT_LEAST: Final = 8
"""Finite points before that place which another attempt needs to be judged at all."""


def continuity(stretch: Stretch) -> dict[tuple[str, str], float]:
    """The statistics of the last resume and of other attempts."""
    import numpy as np

    out: dict[tuple[str, str], float] = {}
    mark = resume_position(stretch)
    since = np.inf if mark is None else stretch.step[stretch.onset] - stretch.step[mark]
    out["run", "resume_within_20"] = float(since <= NEAR_STEPS)
    if mark is not None:
        for name, sides in SIDES.items():
            column = stretch.columns.get(name)
            ratio = None if column is None else _across(stretch, column, mark, sides)
            if ratio is not None:
                out[name, "resume_ratio"] = ratio
    repeats, ratio = _repeats(stretch), _later_lr(stretch)
    if repeats is False and ratio is not None and abs(ratio - 1) > SAME_LR:
        out["lr", "passing_attempt_ratio"] = ratio
    elif repeats is not None:
        out["run", "repeats_in_other_segment"] = float(repeats)
    return out


def _later_lr(stretch: Stretch) -> float | None:
    """Rate of the last attempt that trained the onset step again, over that of the incident; None = unknown."""
    import numpy as np

    lr = stretch.columns.get("lr")
    if lr is None:
        return None
    own = lr.finite(np.flatnonzero(stretch.segment[: stretch.onset + 1] == stretch.segment[stretch.onset]))
    onset = int(stretch.step[stretch.onset])
    other = lr.finite(np.flatnonzero((stretch.segment > stretch.segment[stretch.onset]) & (stretch.step >= onset)))
    last = other[stretch.segment[other] == stretch.segment[other[-1]]] if len(other) else other
    if not len(own) or not len(last) or not lr.values[own[-1]] > 0:
        return None
    return float(lr.values[last[0]] / lr.values[own[-1]])


def _across(stretch: Stretch, column: Column, mark: int, sides: tuple[int, int]) -> float | None:
    """Median after the mark over median before it; an earlier attempt at the step of the mark counts as before."""
    import numpy as np

    rows = np.arange(len(stretch.step))
    earlier = (rows < mark) & (stretch.step <= stretch.step[mark])
    later = (rows >= mark) & (stretch.segment == stretch.segment[mark])
    before = column.finite(rows[earlier])
    before = before[np.argsort(stretch.step[before], kind="stable")][-sides[0] :]
    after = column.finite(rows[later])[: sides[1]]
    if not len(before) or not len(after):
        return None
    base = float(np.median(column.values[before]))
    return float(np.median(column.values[after])) / base if base > 0 else None


def _repeats(stretch: Stretch) -> bool | None:
    """Did another segment that trained the onset step fail there too? None = no other segment tells."""
    import numpy as np

    loss = stretch.columns.get("loss")
    if loss is None or stretch.segment[0] == stretch.segment[-1]:
        return None
    onset = int(stretch.step[stretch.onset])
    seen = None
    edges = np.flatnonzero(np.diff(stretch.segment)) + 1
    starts, stops = np.append(0, edges), np.append(edges, len(stretch.step))
    holds = (stretch.step[starts] < onset) & (onset <= stretch.step[stops - 1])
    holds &= stretch.segment[starts] != stretch.segment[stretch.onset]
    for segment in np.flatnonzero(holds):
        rows = np.arange(starts[segment], stops[segment])
        failed = _fails_at(stretch, loss, rows, onset)
        seen = seen or failed if failed is not None else seen
    return seen


def _fails_at(stretch: Stretch, loss: Column, rows: Positions, onset: int) -> bool | None:
    import numpy as np

    points = loss.logged(rows)
    at = int(np.searchsorted(stretch.step[points], onset))
    near = points[max(0, at - SAME_PLACE) : at + SAME_PLACE + 1]
    earlier = points[: max(0, at - SAME_PLACE)]
    level = level_before(loss, earlier) if len(earlier) >= ATTEMPT_LEAST else None
    return None if level is None else bool(level.departs(loss.values[near], "up").any())
