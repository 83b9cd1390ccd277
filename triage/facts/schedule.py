"""Statistics of the learning-rate schedule: jumps, warm-up, peak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from triage.facts._marks import PEAK_SHARE, warmup_end
from triage.facts._stretch import GAP, Stretch

if TYPE_CHECKING:
    from triage.facts._stretch import Floats, Positions

WARMUP_LENGTHS: Final = 3.0
"""Instability from lr shows up to three warm-up lengths into a run (published 104B notes)."""

SMOOTH_STEPS: Final = 20
SMOOTH_LEAST: Final = 3
SMOOTH_FACTOR: Final = 5.0
"""A change of lr is a jump if it is over five times the median of the 20 (at least 3) changes before: warm-up from a
tiny lr doubles it from row to row, and that is smooth [choice]."""


def schedule(stretch: Stretch, warmup_steps: int | None) -> dict[tuple[str, str], float]:
    """The statistics of lr.

    Args:
        stretch: the run cut at the onset.
        warmup_steps: from the config; None = take it from the values of lr.
    """
    import numpy as np

    lr = stretch.columns.get("lr")
    if lr is None:
        return {}
    path = lr.finite(np.concatenate([stretch.before, stretch.rest]))
    if not len(path):
        return {}
    values, steps = lr.values[path], stretch.step[path]
    until = path[path <= stretch.onset]
    now = float(lr.values[until[-1]] if len(until) else values[0])
    peak = float(values.max())
    out = {"peak_value": peak, "at_peak": float(now >= PEAK_SHARE * peak)}
    end = warmup_end(values, steps) if warmup_steps is None else warmup_steps
    onset = float(stretch.step[stretch.onset])
    if end is not None:
        out["in_warmup"] = float(onset < end)
        if end > 0:
            out["over_warmup"] = onset / end
    else:
        out["in_warmup"] = 0.0
    near = out.get("over_warmup", np.inf) <= WARMUP_LENGTHS
    out["at_peak_or_warmup"] = float(bool(out["in_warmup"] or out["at_peak"] or near))
    jump = _jump(lr.values, until)
    if jump is not None:
        where, ratio = jump
        out["jump_ratio"] = ratio
        if where is not None:
            out["lead_steps"] = onset - float(stretch.step[where])
    return {("lr", name): value for name, value in out.items()}


def _jump(values: Floats, until: Positions) -> tuple[int | None, float] | None:
    """The largest jump of lr in the last points up to the onset, up or down as a ratio above or below 1, and where.

    (None, 1.0) = smooth; None = too few points to tell.
    """
    import numpy as np

    if len(until) < SMOOTH_LEAST + 2:
        return None
    points = values[until]
    change = np.abs(np.diff(points))
    best: tuple[int | None, float] = (None, 1.0)
    for i in range(max(SMOOTH_LEAST, len(change) - GAP), len(change)):
        usual = float(np.median(change[max(0, i - SMOOTH_STEPS) : i]))
        if points[i] <= 0 or points[i + 1] <= 0 or change[i] <= SMOOTH_FACTOR * usual:
            continue
        ratio = float(points[i + 1] / points[i])
        if abs(np.log(ratio)) > abs(np.log(best[1])):
            best = (int(until[i + 1]), ratio)
    return best
