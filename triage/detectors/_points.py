"""From the rows of a signal table to the points of one signal, with what the forward pass needs to know of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triage.detectors._forward import Track
from triage.signals import SignalTable
from triage.signals.companions import DEPART_Z
from triage.signals.space import Space, choose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SECOND_BEFORE, SECOND_AFTER = 8, 2
"""A second signal counts from 8 points before to 2 after (StableAdamW's 1 to 8 steps; science 3.3)."""

GAP_FACTOR: Final = 3.0
GAP_ROWS: Final = 8
"""A lasting change of the median step gap by 3 x restarts the window (definitions 3); the median is of 8 gaps."""

SENSITIVITY: Final = {"low": 1.5, "normal": 1.0, "high": 0.75}
"""Factors on the thresholds of z [choice: 1.5 x silences all but gross events, 0.75 brings z_open to 4.5]."""


@dataclass(frozen=True, slots=True)
class Points:
    """The logged points of one judged signal: rows in the signal table, raw values, and the track."""

    rows: NDArray[np.intp]
    values: NDArray[np.float64]
    space: Space
    track: Track


def points_of(signals: SignalTable, name: str, direction: str) -> Points:
    """Collect the logged points of a signal; linear."""
    import numpy as np

    rows, values = signals.points(name)
    space = choose(values, direction)
    segment = signals.segment[rows]
    starts = (0, *(int(i) + 1 for i in np.flatnonzero(np.diff(segment))))
    return Points(
        rows=rows,
        values=values,
        space=space,
        track=Track(
            x=space.to_x(values),
            space=space,
            second=_second(signals, rows),
            starts=starts if len(rows) else (0,),
            restarts=_gap_changes(signals.step[rows], starts),
            repeats=_repeats(signals.step[rows], starts),
            has_levels=not signals.is_adversarial,
            step=signals.step[rows] if len(starts) > 1 else None,
        ),
    )


def _second(signals: SignalTable, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Did another signal leave its band within 8 points before and 2 after each point?"""
    import numpy as np

    n = len(rows)
    near = np.zeros(n, dtype=bool)
    for z in signals.companions.values():
        departed = np.flatnonzero(z >= DEPART_Z)
        at = np.searchsorted(rows, departed)  # the point at, or after, the row in which it departed
        for shift in range(-SECOND_AFTER, SECOND_BEFORE + 1):
            hit = at + shift
            near[hit[(hit >= 0) & (hit < n)]] = True
    return near


def _repeats(step: NDArray[np.int64], starts: tuple[int, ...]) -> tuple[int, ...]:
    """For every segment, the first point whose step no earlier segment had reached."""
    import numpy as np

    bounds = [*starts[1:], len(step)]
    out = []
    for start, stop in zip(starts, bounds, strict=True):
        seen = int(step[:start].max()) if start else -1
        new = np.flatnonzero(step[start:stop] > seen)
        out.append(start + int(new[0]) if len(new) else stop)
    return tuple(out)


def _gap_changes(step: NDArray[np.int64], starts: tuple[int, ...]) -> frozenset[int]:
    """Points from which the logging interval is lastingly another one."""
    import numpy as np

    gaps = np.diff(step).astype(float)
    if len(gaps) < 2 * GAP_ROWS:
        return frozenset()
    gaps[[s - 1 for s in starts[1:]]] = np.nan  # the jump between segments is no interval
    changes: list[int] = []
    ratio = np.abs(np.diff(np.log(np.where(gaps > 0, gaps, np.nan))))
    for i in np.flatnonzero(ratio >= np.log(GAP_FACTOR)):
        before, after = gaps[max(0, i + 1 - GAP_ROWS) : i + 1], gaps[i + 1 : i + 1 + GAP_ROWS]
        before, after = before[np.isfinite(before)], after[np.isfinite(after)]
        if len(before) < GAP_ROWS // 2 or len(after) < GAP_ROWS // 2:
            continue
        factor = float(np.median(after) / np.median(before))
        if max(factor, 1 / factor) >= GAP_FACTOR and (not changes or i + 1 - changes[-1] > GAP_ROWS):
            changes.append(int(i) + 1)
    return frozenset(changes)
