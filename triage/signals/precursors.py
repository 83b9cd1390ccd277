"""Looking back from an onset: since when was another signal out of its band, and which step was still healthy?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from triage.signals.companions import DEPART_Z
from triage.signals.table import SignalTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOOK_BACK_STEPS: Final = 200
"""A precursor reaches at most 200 steps back from the onset (definitions 4.5)."""
BRIDGE: Final = 2
"""Rows in band that do not break the stretch of a precursor: the same bridging as for the onset (definitions 4.5)."""


def last_healthy(signals: SignalTable, name: str, healthy: int | None, onset: int) -> int | None:
    """Last in-band row of `name` before the onset and before the first precursor in any other signal.

    Args:
        signals: the run.
        name: the judged signal.
        healthy: its last in-band row before the onset; None = there was none.
        onset: first row of the incident.
    """
    if healthy is None:
        return None
    rows, _ = signals.points(name)
    edge = min([onset, *(stretch_start(signals, z, onset) for z in signals.companions.values())])
    before = rows[(rows < edge) & (rows <= healthy)]
    return int(before[-1]) if len(before) else None


def stretch_start(signals: SignalTable, z: NDArray[np.float64], onset: int) -> int:
    """First row of the unbroken stretch of departed rows that leads up to the onset; the onset itself if none does."""
    start, gap, row = onset, 0, onset - 1
    earliest = signals.step[onset] - LOOK_BACK_STEPS
    while row >= 0 and gap <= BRIDGE:
        if signals.segment[row] != signals.segment[onset] or signals.step[row] < earliest:
            break
        if math.isnan(z[row]):
            row -= 1
            continue
        if z[row] >= DEPART_Z:
            start, gap = row, 0
        else:
            gap += 1
        row -= 1
    return start
