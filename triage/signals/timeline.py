"""Who moved first: when each signal left its band around an incident, and by how many steps before the judged one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from triage.model import Diagnosis, FirstMover, TimelinePoint
from triage.signals.companions import DEPART_Z
from triage.signals.precursors import stretch_start
from triage.signals.table import SignalTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVEL_ROWS: Final = 32
"""Logged points before the departure whose median is the level a ratio is taken to [choice: the early window]."""
AHEAD: Final = 8
"""Points after the onset in which a signal that follows is still looked for [choice: as many as before it]."""
LR_JUMP: Final = 1.5
LR_BACK: Final = 8
"""A step of the learning rate of 1.5 x within 8 points up to the onset (science 7.3)."""
HALVINGS: Final = 2
HALVINGS_STEPS: Final = 100
"""Two halvings of the loss scale within 100 steps up to the onset break its trend [half of a collapse]."""


def timeline(signals: SignalTable, d: Diagnosis) -> tuple[TimelinePoint, ...]:
    """Every signal that left its band near the incident, the judged one included, in order of its step."""
    points = [_own(signals, d)]
    for name, z in signals.companions.items():
        if name != d.signal:
            point = _companion(signals, d, name, z)
            if point is not None:
                points.append(point)
    points += [p for p in (_lr(signals, d), _loss_scale(signals, d), *_parts(signals, d)) if p is not None]
    order = {p.signal: i for i, p in enumerate(points)}
    return tuple(sorted(points, key=lambda p: (p.step, order[p.signal])))


def first_mover(signals: SignalTable, d: Diagnosis, points: tuple[TimelinePoint, ...]) -> FirstMover | None:
    """The signal that departed first; no lead where the logging interval forbids an order (science 7.1)."""
    import numpy as np

    if not points:
        return None
    rows, _ = signals.points(d.signal)
    gaps = np.diff(signals.step[rows])
    gaps = gaps[gaps > 0]
    interval = int(np.median(gaps)) if len(gaps) else 1
    first = points[0]
    lead = d.onset_step - first.step
    if interval > 1 and lead <= interval:
        return FirstMover(d.signal if lead <= 0 else first.signal, None)
    return FirstMover(first.signal, lead)


def _own(signals: SignalTable, d: Diagnosis) -> TimelinePoint:
    """The judged signal at its own onset."""
    value = float(signals.columns[d.signal][d.row_onset]) if d.signal in signals.columns else math.nan
    ratio = value / d.baseline if d.baseline and math.isfinite(value) else None
    z = next((e.observed for e in d.evidence if e.id == "robust-z"), None)
    return TimelinePoint(d.signal, d.onset_step, z if z is not None else math.inf if d.first_nonfinite else None, ratio)


def _companion(signals: SignalTable, d: Diagnosis, name: str, z: NDArray[np.float64]) -> TimelinePoint | None:
    """Where a companion's unbroken departure up to the onset begins, else its first departure just after."""
    import numpy as np

    start = stretch_start(signals, z, d.row_onset)
    if start == d.row_onset and not z[start] >= DEPART_Z:
        ahead = np.flatnonzero(z[d.row_onset : d.row_onset + AHEAD] >= DEPART_Z)
        if not len(ahead):
            return None
        start = d.row_onset + int(ahead[0])
    return _point(signals, name, start, float(z[start]))


def _point(signals: SignalTable, name: str, row: int, z: float | None) -> TimelinePoint:
    import numpy as np

    rows, values = signals.points(name)
    before = values[(rows < row) & np.isfinite(values)][-LEVEL_ROWS:]
    value = float(signals.columns[name][row])
    level = float(np.median(before)) if len(before) else math.nan
    ratio = value / level if level and math.isfinite(level) and math.isfinite(value) else None
    return TimelinePoint(name, int(signals.step[row]), z, ratio)


def _lr(signals: SignalTable, d: Diagnosis) -> TimelinePoint | None:
    """The largest jump of the learning rate in the last points up to the onset, outside of a gradual warm-up."""
    import numpy as np

    if "lr" not in signals.columns:
        return None
    rows, values = signals.points("lr")
    until = np.flatnonzero(rows <= d.row_onset)[-(LR_BACK + 1) :]
    rows, values = rows[until], values[until]
    if len(values) < LR_BACK or not (values > 0).all():
        return None
    ratio = values[1:] / values[:-1]
    at = int(np.argmax(ratio))
    others = np.delete(ratio, at)
    if ratio[at] < LR_JUMP or (len(others) and others.max() > math.sqrt(LR_JUMP)):
        return None
    return TimelinePoint("lr", int(signals.step[rows[at + 1]]), None, float(ratio[at]))


def _loss_scale(signals: SignalTable, d: Diagnosis) -> TimelinePoint | None:
    """The first of two or more halvings of the loss scale in the 100 steps up to the onset."""
    import numpy as np

    if "loss_scale" not in signals.columns:
        return None
    rows, values = signals.points("loss_scale")
    keep = (values > 0) & (rows <= d.row_onset + 1) & (signals.step[rows] > d.onset_step - HALVINGS_STEPS)
    rows, values = rows[keep], np.log2(values[keep])
    falls = np.flatnonzero(np.diff(values) <= -0.99) + 1
    if len(falls) < HALVINGS:
        return None
    return TimelinePoint("loss_scale", int(signals.step[rows[falls[0]]]), None, float(2.0 ** (values[-1] - values[0])))


def _parts(signals: SignalTable, d: Diagnosis) -> list[TimelinePoint]:
    """Sub-losses and norms of layers that turned non-finite before the judged signal did."""
    import numpy as np

    if d.first_nonfinite is None:
        return []
    found = []
    for name, values in signals.columns.items():
        if name in signals.companions or name == d.signal or name in ("lr", "loss_scale"):
            continue
        bad = signals.logged[name] & ~np.isfinite(values) & (signals.segment == d.segment)
        rows = np.flatnonzero(bad)
        if len(rows) and rows[0] <= d.row_onset and signals.step[rows[0]] > d.onset_step - HALVINGS_STEPS:
            found.append(TimelinePoint(name, int(signals.step[rows[0]]), math.inf, None))
    return found
