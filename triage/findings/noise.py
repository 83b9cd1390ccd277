"""Context that is no fault: heavy-tailed noise, spikes locked to a period. And a slow rise that turned by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from triage.findings._contract import BLOCKS, Context, FindingRule, Found
from triage.findings._levels import blocks
from triage.model import Evidence
from triage.signals import SignalTable
from triage.signals.attempts import canonical

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TURNED: Final = 0.10
"""A rise of 10 % between block medians is a rise that a person sees (the strong tier's effect)."""
TURNED_BLOCKS: Final = 4
"""... that lasted for an eighth of the log [choice]."""
TURNED_WANDER: Final = 6.0
"""... and is six times what the level wanders from block to block (as in the drift detector)."""


def heavy_tailed(context: Context) -> Iterable[Found]:
    """Lone points that are matched by outliers downward: the noise of this run, counted."""
    lone = [e for e in context.events if e.tier == "heavy-tail"]
    if lone:
        step = int(context.signals.step[lone[0].onset])
        worst = max(lone, key=lambda e: e.z)
        yield Found(step, (Evidence("lone-outliers", worst.signal, float(len(lone)), None, worst.z, step),))


def periodic(context: Context) -> Iterable[Found]:
    """An incident whose excursions come at even distances."""
    for diagnosis in context.diagnoses:
        proof = tuple(e for e in diagnosis.evidence if e.id == "periodic")
        if proof:
            yield Found(diagnosis.onset_step, proof)


def turned(context: Context) -> Iterable[Found]:
    """The level of the loss rose over several blocks, and came down again, without an incident there."""
    import numpy as np

    signals = context.signals
    rows, values = signals.points("loss")
    path = canonical(signals.step[rows])
    rows, values = rows[path], values[path]
    finite = np.isfinite(values)
    if finite.sum() < 8 * BLOCKS or not (values[finite] > 0).all():
        return
    level = np.log(blocks(values, BLOCKS))
    steps = np.diff(level)
    wander = 1.4826 * float(np.median(np.abs(steps - np.median(steps))))
    best = np.minimum.accumulate(level)
    above = level - best >= max(TURNED, TURNED_WANDER * wander)
    runs = np.flatnonzero(np.diff(np.concatenate([[0], above.astype(int), [0]])))
    size = int(finite.sum()) // BLOCKS
    for start, stop in zip(runs[::2], runs[1::2], strict=True):
        step = int(signals.step[rows[finite][start * size]])
        last = int(signals.step[rows[finite][min(len(rows[finite]) - 1, stop * size)]])
        covered = any(d.onset_step <= last and d.end_step >= step for d in context.diagnoses)
        if stop - start >= TURNED_BLOCKS and stop < len(level) and not covered:
            peak = float(np.exp(level[start:stop].max()))
            if peak <= (1 + TURNED / 2) * _before_resume(signals, rows[finite], values[finite], start * size):
                continue  # back from data that was learned before, not a rise
            yield Found(step, (Evidence("slow-rise", "loss", peak, float(np.exp(best[start])), TURNED, step),))
            return


def _before_resume(signals: SignalTable, rows: NDArray[np.intp], values: NDArray[np.float64], at: int) -> float:
    """The level at which the attempt before the one of point `at` was when it had come as far; 0 without one."""
    import numpy as np

    segment = signals.segment[rows]
    mark = int(np.searchsorted(segment, segment[min(at, len(rows) - 1)]))
    before = values[:mark][signals.step[rows[:mark]] <= signals.step[rows[mark]]][-BLOCKS:]
    return float(np.median(before)) if len(before) else 0.0


RULES = (
    FindingRule("heavy-tailed-noise", "info", (), heavy_tailed),
    FindingRule("periodic-spikes", "info", (), periodic),
    FindingRule("slow-drift", "warning", ("loss",), turned),
)
