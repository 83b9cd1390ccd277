"""An event that lasts to the end of the log: what the detectors that look at the whole log report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triage.model import Confidence, Event, Evidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rise:
    """How a tail rose; positions of finite points.

    Attributes:
        onset: first point above the level that held.
        sure: point from which on the rise was certain.
        peak: largest point.
        level: raw level that held before.
        excess: rise of the peak over it, nats.
        z: the rise in standard errors; 0 where the rule knows no noise.
        confidence: of the interval.
    """

    onset: int
    sure: int
    peak: int
    level: float
    excess: float
    z: float
    confidence: Confidence


def tail_event(
    name: str, detector: str, rows: NDArray[np.intp], values: NDArray[np.float64], rise: Rise, evidence: Evidence
) -> Event:
    """The open event from the onset to the last point.

    Args:
        name: the judged signal.
        detector: id of the detector; also the tier.
        rows: rows of the signal table, one per finite point.
        values: raw values of those points.
        rise: what was found.
        evidence: the number behind it.
    """
    last = len(rows) - 1
    return Event(
        signal=name,
        detector=detector,
        tier=detector,
        onset=int(rows[rise.onset]),
        trigger=int(rows[min(last, rise.sure)]),
        peak=int(rows[rise.peak]),
        end=int(rows[last]) + 1,
        recovered=None,
        healthy=int(rows[rise.onset - 1]) if rise.onset else None,
        width=last + 1 - rise.onset,
        censored=False,
        is_open=True,
        n_nonfinite=0,
        peak_value=float(values[rise.peak]),
        level=rise.level,
        excess=rise.excess,
        z=rise.z,
        confidence=rise.confidence,
        evidence=(evidence,),
    )
