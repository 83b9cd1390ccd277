"""Statistics that every metric column has: its value, level, departure and drift around the onset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from triage.facts._stretch import GAP, LEVEL_POINTS, NEAR_ROWS, Column, Level, Stretch, level_before
from triage.schema import BY_NAME

if TYPE_CHECKING:
    from triage.facts._stretch import Floats, Positions

ONSET_ROWS: Final = 3
"""A sparse column's value at the onset may stand on one of the two rows after it (other values of the same step)."""

LOOK_BACK_STEPS: Final = 200
"""A precursor is one unbroken stretch of at most 200 steps up to the onset (definitions 4.5)."""

QUIET_LEAST: Final = 3
"""Fewer points than this just before the onset cannot show that a signal was quiet."""

DRIFT_FROM, DRIFT_LEAST = 50, 10
"""Drift compares the last 8 points with those 50 to 100 points back, of which there must be ten [choice]."""

AFTER_POINTS, AFTER_LEAST = 32, 3
"""Points after the incident that tell where a signal has settled [choice: short of the 64 of a confirmed recovery]."""

SETTLED_LEAST: Final = 8
"""Points on either side that can show where a signal has settled: fewer have a median that is noise."""

CONSTANT_LEAST: Final = 20
"""Fewer points than this may share a value by chance."""

WORSE_UP: Final = frozenset({"u_over_lr"})
"""Signals without a column of their own in which up is bad."""

NO_BAND: Final = frozenset({"lr", "loss_scale"})
"""Signals that move by plan or in steps: a band around them means nothing; they have statistics of their own."""


def around_onset(stretch: Stretch, judged: str) -> dict[tuple[str, str], float]:
    """The statistics of every metric column.

    Args:
        stretch: the run cut at the onset.
        judged: the signal that was judged; it has no lead over itself.
    """
    out: dict[tuple[str, str], float] = {}
    for name, column in stretch.columns.items():
        level = level_before(column, stretch.recent)
        numbers = _values(stretch, column) | _against_level(stretch, column, level)
        if level is not None and name not in NO_BAND:
            numbers |= _departure(stretch, column, level, is_judged=name == judged)
        out |= {(name, statistic): value for statistic, value in numbers.items()}
    return out | _over_gradient(out)


def _over_gradient(found: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """How far the update per lr outran the gradient at the onset; a gradient that fell explains no small update."""
    update, gradient = found.get(("u_over_lr", "ratio_at_onset")), found.get(("grad_norm", "ratio_at_onset"))
    if update is None or gradient is None or math.isinf(update) or math.isinf(gradient):
        return {}
    return {("u_over_lr", "over_gradient"): update / max(1.0, gradient)}


def _values(stretch: Stretch, column: Column) -> dict[str, float]:
    """What needs no level: the value at the onset, whether it is finite, drift, and values that never change."""
    import numpy as np

    out = {}
    at = column.logged(stretch.rest[:ONSET_ROWS])
    if len(at):
        value = float(column.values[at[0]])
        out["is_nonfinite_at_onset"] = float(not np.isfinite(value))
        if not np.isnan(value):
            out["value_at_onset"] = value
    settled = _settled(stretch, column)
    if settled is not None:
        out["settled_ratio"] = settled
    points = column.values[column.finite(stretch.recent)]
    old = points[-LEVEL_POINTS:-DRIFT_FROM]
    if len(old) >= DRIFT_LEAST and np.median(old) > 0:
        out["drift_ratio"] = float(np.median(points[-GAP:]) / np.median(old))
    if len(points) >= CONSTANT_LEAST:
        _, counts = np.unique(points, return_counts=True)
        out["constant_share"] = float(counts.max() / len(points))
    return out


def _settled(stretch: Stretch, column: Column) -> float | None:
    """Where the signal has settled after the incident against as many points before it, medians without any trend.

    Not against the level: that follows a trend ahead, and a trend followed too far is no place to come back to.
    """
    import numpy as np

    before = column.values[column.finite(stretch.recent)][-AFTER_POINTS:]
    after = column.values[column.finite(stretch.after)][:AFTER_POINTS]
    if min(len(before), len(after)) < SETTLED_LEAST or np.median(before) <= 0:
        return None
    return float(np.median(after) / np.median(before))


def _against_level(stretch: Stretch, column: Column, level: Level | None) -> dict[str, float]:
    """Ratios to the level; left out where the level is not positive, since a ratio to it means nothing."""
    if level is None:
        return {}
    out = {"level_before": level.value}
    if level.value <= 0:
        return out
    settled = column.finite(stretch.after)[:AFTER_POINTS]
    if len(settled) < AFTER_LEAST:
        settled = column.finite(stretch.during)[-AFTER_POINTS:]
    ratios = {
        "ratio_at_onset": _largest(column.values[column.logged(stretch.rest[:ONSET_ROWS])[:1]], level),
        "during_ratio": _median(column, column.finite(stretch.during), level),
        "after_ratio": _median(column, settled, level),
    }
    return out | {name: ratio for name, ratio in ratios.items() if ratio is not None}


def _largest(values: Floats, level: Level) -> float | None:
    """The largest value against the level; a non-finite one counts as infinite."""
    import numpy as np

    if not len(values):
        return None
    return float(np.where(np.isfinite(values), values / level.value, np.inf).max())


def _median(column: Column, positions: Positions, level: Level) -> float | None:
    import numpy as np

    return float(np.median(column.values[positions]) / level.value) if len(positions) else None


def _departure(stretch: Stretch, column: Column, level: Level, *, is_judged: bool) -> dict[str, float]:
    """Whether a signal was quiet before the onset, and by how many steps it left its band before the loss."""
    worse = "up" if column.name in WORSE_UP else BY_NAME[column.name].worse
    earlier = column.logged(stretch.recent)
    out = {}
    last = column.values[earlier[-GAP:]]
    is_out = level.departs(last, worse)
    if len(last) >= QUIET_LEAST:
        out["quiet_before"] = float(not is_out.any())
        if level.value > 0:
            out["peak_before_ratio"] = _largest(last[is_out], level) or 1.0
    if not is_judged:
        departed = _departed(stretch, column, level, worse)
        if departed is not None:
            out["lead_steps"] = float(stretch.step[stretch.onset] - stretch.step[departed])
    return out


def _departed(stretch: Stretch, column: Column, level: Level, worse: str) -> int | None:
    """Where the signal left its band: the start of the unbroken stretch up to the onset, else the next departure."""
    import numpy as np

    start = stretch.step[stretch.onset] - LOOK_BACK_STEPS
    back = column.logged(stretch.recent[stretch.step[stretch.recent] >= start])
    ahead = column.logged(stretch.rest[:NEAR_ROWS])[: GAP + 1]
    is_out = level.departs(column.values[back], worse)
    here = level.departs(column.values[ahead], worse)
    inside = np.flatnonzero(~is_out)
    run = back[inside[-1] + 1 :] if len(inside) else back
    if len(run):
        return int(run[0])
    later = ahead[here]
    return int(later[0]) if len(later) else None
