"""Following an open event to its recovery or its deadline (definitions: definitions 4; reasons: science 6, 10)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triage.detectors._tiers import BAND_Z, MEDIAN_SE, STRONG_EFFECT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

RISE_ROWS: Final = 16
"""A rising trend is extended by at most 16 rows; a falling one never (science 10: the largest single effect)."""
BAND_NOISE: Final = 1.0
BAND_LEAST: Final = 0.003
"""Back in band: the median lies at most 1.0 noise, or 0.3 %, above the level (science 6)."""
NARROW: Final = 0.1
"""A band of less than a tenth of the peak is narrow beside it [choice]."""
CONFIRM_LEAST: Final = 5
CONFIRM_MOST: Final = 64
CONFIRM_PER_WIDTH: Final = 3
"""Rows that must stay in band: three times the width of the event, 5 to 64 (definitions 4.3)."""
CONFIRM_CUT: Final = 3
"""At the end of the log, 3 rows in band are enough for a recovery with low confidence (definitions 4.3)."""
DEADLINE_LEAST, DEADLINE_SHARE, DEADLINE_MOST = 200, 0.25, 500
"""Rows from the peak by which an event must have recovered (definitions 4.4)."""


def deadline(points: int) -> int:
    """Logged points from the peak that an event may take, for a log of so many points."""
    return int(min(DEADLINE_MOST, max(DEADLINE_LEAST, DEADLINE_SHARE * points)))


@dataclass(frozen=True, slots=True)
class Frozen:
    """The baseline as it stood at the onset; it does not move while the event is open.

    Attributes:
        level: judged number; NaN where nothing finite came before.
        slope: per row, never negative.
        scale: robust noise of single rows.
        noise: the same, corrected for autocorrelation: the noise of a level.
        unit: size of one unit of effect.
        z_open: threshold that held.
        record: largest residual of the last 100 accepted rows.
        rows: accepted rows it rests on.
    """

    level: float
    slope: float
    scale: float
    noise: float
    unit: float
    z_open: float
    record: float
    rows: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an event went on. Positions of logged points.

    Attributes:
        peak: largest excess; the first non-finite value where there is one.
        z: z of the peak against the frozen baseline; inf where non-finite.
        excess: excess of the peak; inf where non-finite.
        width: points out of band, the tail included.
        end: point after the last one out of band.
        recovered: first point of the stretch that confirmed the recovery; None = open.
        is_cut: the log (or the segment) ended before recovery or deadline, or before the confirmation was whole.
        needed: how many more points would have decided; 0 where decided.
        groups: separate excursions within the event, bridging 2 points in band.
        nonfinite: non-finite points.
        resume: point at which the calm walk goes on.
    """

    peak: int
    z: float
    excess: float
    width: int
    end: int
    recovered: int | None
    is_cut: bool
    needed: int
    groups: int
    nonfinite: int
    resume: int


def follow(x: Array, onset: int, trigger: int, frozen: Frozen, limit: int) -> Outcome:
    """Walk from the onset until the event has recovered, its deadline passed, or the points end.

    Args:
        x: judged numbers of the segment's points up to its end, NaN where not finite.
        onset: first point of the event.
        trigger: point on which it opened; not before the onset.
        frozen: the baseline.
        limit: deadline in points from the peak.

    Linear in the length of the event times the confirmation length (at most 64).
    """
    n = len(x)
    peak, width, r = onset, 0, onset
    z = _z_of(x[onset : trigger + 64], frozen)
    while True:
        if r >= n:
            return _close(x, z, onset, peak, None, n, frozen, is_cut=True, needed=max(1, peak + limit - n))
        if r - onset >= len(z):  # the event is long: take twice as many rows
            z = _z_of(x[onset : onset + 2 * len(z)], frozen)
        if r > trigger and z[r - onset] < BAND_Z:
            confirm = min(CONFIRM_MOST, max(CONFIRM_LEAST, CONFIRM_PER_WIDTH * width))
            whole = r + confirm <= n
            enough = whole or n - r >= CONFIRM_CUT
            top = math.inf if whole else float(z[peak - onset]) * frozen.scale
            if enough and _in_band(x[r : r + confirm], r - onset, frozen, top):
                return _close(x, z, onset, peak, r, r, frozen, is_cut=not whole, needed=0 if whole else r + confirm - n)
        if z[r - onset] >= BAND_Z:
            width += 1
        if z[r - onset] > z[peak - onset]:
            peak = r
        r += 1
        if r - peak > limit and (r >= n or math.isfinite(float(x[r]))):
            return _close(x, z, onset, peak, None, r, frozen, is_cut=False, needed=0)


def _z_of(x: Array, frozen: Frozen) -> Array:
    """Z of each row against the frozen line; non-finite rows are inf."""
    import numpy as np

    if math.isnan(frozen.level):
        return np.where(np.isfinite(x), -np.inf, np.inf)
    line = frozen.level + frozen.slope * np.minimum(np.arange(len(x)), RISE_ROWS)
    return np.where(np.isfinite(x), (x - line) / frozen.scale, np.inf)


def _in_band(x: Array, ahead: int, frozen: Frozen, top: float) -> bool:
    """Are these rows, `ahead` rows after the onset, back at the level, without a new excursion among them?

    Args:
        x: judged numbers.
        ahead: rows between the onset and the first of them.
        frozen: the baseline.
        top: excess of the peak where the log ends before the confirmation is whole, infinite otherwise. A few rows
            inside the band are soon found among the last ones of a plateau just above it, so they must lie in it by
            the standard error of their median; not so after a peak beside which the band is narrow.
    """
    import numpy as np

    if not np.isfinite(x).all():
        return False
    if math.isnan(frozen.level):
        return True
    line = frozen.level + frozen.slope * min(ahead, RISE_ROWS)
    above = x - line
    band = max(BAND_NOISE * frozen.noise, BAND_LEAST * frozen.unit, 0.0)
    unsure = MEDIAN_SE * frozen.noise / math.sqrt(len(x)) if band > NARROW * top else 0.0
    if float(np.median(above)) + unsure > band:
        return False
    reopens = (above >= frozen.z_open * frozen.scale) & (above >= STRONG_EFFECT * frozen.unit)
    return not bool(reopens.any())


def _close(
    x: Array,
    z: Array,
    onset: int,
    peak: int,
    recovered: int | None,
    stop: int,
    frozen: Frozen,
    *,
    is_cut: bool,
    needed: int,
) -> Outcome:
    """Sum up an event that ended at `stop`."""
    import numpy as np

    inside = z[: stop - onset]
    out = np.flatnonzero(inside >= BAND_Z)
    groups = 1 + int((np.diff(out) > 3).sum()) if len(out) else 1
    bad = ~np.isfinite(x[onset:stop])
    line = frozen.level + frozen.slope * min(peak - onset, RISE_ROWS)
    top = float(x[peak])
    finite = math.isfinite(top) and math.isfinite(line)
    return Outcome(
        peak=peak,
        z=float(z[peak - onset]),
        excess=top - line if finite else math.inf,
        width=max(1, len(out)),
        end=onset + int(out[-1]) + 1 if len(out) else stop,
        recovered=recovered,
        is_cut=is_cut,
        needed=needed,
        groups=groups,
        nonfinite=int(bad.sum()),
        resume=max(stop, onset + 1),
    )
