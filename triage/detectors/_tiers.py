"""The opening rules: when a row, or a stretch of rows, leaves its band. One visible table (SPIKE_SCIENCE 3.3 and 11).

Effects (`effect`) are in nats in log space and in units of 5 x the noise of first differences in raw space; `z` is the
excess over the baseline in units of the run's own noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triage.signals.baseline import Accepted, Forecast, effective

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

DOUBLED: Final = math.log(2)
"""Twice the level: LLM Foundry's outlier."""
STRONG_Z: Final = 8.0
"""Threshold of a public watcher calibrated on six healthy runs."""
STRONG_EFFECT: Final = 0.10
"""10 %: visible by eye."""
JOINT_EFFECT: Final = 0.02
"""Lets a 3 % spike of a very quiet run in, where a second signal speaks."""
RECORD_FACTOR: Final = 1.5
"""A point must beat the largest residual of the last 100 accepted rows by this factor."""
RECORD_Z: Final = 4.0
RECORD_EFFECT: Final = 0.25
RECORD_TWICE: Final = 2.0
"""A point that doubles the record and stands out by 25 % needs only z >= 4."""
LEVEL_ROWS: Final = (4, 8, 16)
LEVEL_EFFECT: Final = 0.10
LEVEL_SE: Final = 7.0
"""A level shift: the median of the last 4, 8 or 16 rows lies 10 %, one noise and 7 standard errors above the band."""
MEDIAN_SE: Final = 1.2533
"""Standard error of a median over that of a mean, sqrt(pi / 2)."""
BAND_Z: Final = 3.0
"""A row with z >= 3 is out of band (DESIGN 4)."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows that are being judged, with what was expected of them; all arrays (m,).

    Attributes:
        x: judged numbers.
        expected: forecast of each row.
        z: excess over `expected.base` in noises.
        effect: the same in units of effect.
        second: another signal (gradient, update) left its band within 8 rows before and 2 after.
    """

    x: Array
    expected: Forecast
    z: Array
    effect: Array
    second: Mask


@dataclass(frozen=True, slots=True)
class Tier:
    """One opening rule that looks at a single row."""

    id: str
    opens: Callable[[Stretch], Mask]
    reason: str


def _clear(s: Stretch) -> Mask:
    """Does the row beat the record?"""
    out: Mask = s.x - s.expected.base >= RECORD_FACTOR * s.expected.record
    return out


def _hard(s: Stretch) -> Mask:
    return (s.effect >= DOUBLED) & (s.z >= s.expected.z_open) & _clear(s)


def _strong(s: Stretch) -> Mask:
    import numpy as np

    return (s.z >= np.maximum(STRONG_Z * s.expected.widen, s.expected.z_open)) & (s.effect >= STRONG_EFFECT) & _clear(s)


def _joint(s: Stretch) -> Mask:
    return (s.z >= s.expected.z_open) & (s.effect >= JOINT_EFFECT) & s.second & _clear(s)


def _record(s: Stretch) -> Mask:
    beats = s.x - s.expected.base >= RECORD_TWICE * s.expected.record
    return (s.z >= RECORD_Z * s.expected.widen) & (s.effect >= RECORD_EFFECT) & beats


POINT_TIERS: Final[tuple[Tier, ...]] = (
    Tier("hard", _hard, "twice the level, and beyond the run's own noise"),
    Tier("strong", _strong, "z of 8 or more, and 10 % or more"),
    Tier("joint", _joint, "z of 6 or more, 2 % or more, and a second signal left its band"),
    Tier("record", _record, "25 % or more, and twice anything seen in the last 100 rows"),
)
"""Rules on single rows, strongest first; a row opens an event by the first that holds."""


def level_candidates(past: Accepted, stretch: Stretch) -> list[tuple[int, int]]:
    """Rows at which the median of the last k rows may have shifted: (row in the stretch, k), before the noise check."""
    import bottleneck as bn
    import numpy as np

    longest = max(LEVEL_ROWS)
    x = np.concatenate([past.x[-longest:], stretch.x])
    base = np.concatenate([(past.x - past.excess)[-longest:], stretch.expected.base])
    back = len(x) - len(stretch.x)
    found: list[tuple[int, int]] = []
    for k in LEVEL_ROWS:
        if len(x) < k:
            continue
        shift = bn.move_median(x, k, min_count=k)
        shift[k - 1 :] -= base[: len(base) - k + 1]
        shift = shift[back:]
        limit = np.maximum(LEVEL_EFFECT * stretch.expected.unit, stretch.expected.scale)
        limit = np.maximum(limit, LEVEL_SE * MEDIAN_SE / math.sqrt(k) * stretch.expected.scale * stretch.expected.widen)
        found += [(int(i), k) for i in np.flatnonzero(shift >= limit)]
    return sorted(found)


def level_holds(past: Accepted, stretch: Stretch, row: int, k: int) -> bool:
    """Does the shift at `row` also stand when the noise is corrected for autocorrelation? (SPIKE_SCIENCE 11)"""
    import numpy as np

    x = np.concatenate([past.x[-k:], stretch.x[: row + 1]])[-k:]
    excess = np.concatenate([past.excess[-k:], stretch.x[: row + 1] - stretch.expected.base[: row + 1]])[-k:]
    base = x[0] - excess[0]
    noise = effective(float(stretch.expected.scale[row]), past.residual[-128:])
    shift = float(np.median(x)) - base
    needed = max(noise, LEVEL_SE * MEDIAN_SE / math.sqrt(k) * noise * float(stretch.expected.widen[row]))
    return shift >= needed
