"""The opening rules: when a row, or a stretch of rows, leaves its band. One visible table (science 3.3 and 10).

Effects (`effect`) are in nats in log space and in units of 5 x the noise of first differences in raw space; `z` is the
excess over the baseline in units of the run's own noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triage.signals.baseline import RECORD_ROWS, Accepted, Forecast, effective

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

DOUBLED: Final = math.log(2)
"""Twice the level: LLM Foundry's outlier (science 1)."""
STRONG_Z: Final = 8.0
"""Threshold of a public watcher calibrated on six healthy runs (science 1)."""
STRONG_EFFECT: Final = 0.10
"""10 %: visible by eye [choice]."""
JOINT_EFFECT: Final = 0.02
"""Lets a 3 % spike of a very quiet run in, where a second signal speaks (science 2, 3.3)."""
RECORD_FACTOR: Final = 1.5
"""A point must beat the largest residual of the last 100 accepted rows by this factor (science 10)."""
RECORD_Z: Final = 4.0
RECORD_EFFECT: Final = 0.25
RECORD_TWICE: Final = 2.0
"""A point that doubles the record and stands out by 25 % needs only z >= 4 (science 10)."""
LEVEL_ROWS: Final = (4, 8, 16)
LEVEL_EFFECT: Final = 0.10
LEVEL_SE: Final = 7.0
"""A level shift: the median of the last 4, 8 or 16 rows lies 10 %, one noise and 7 standard errors up (science 10)."""
MEDIAN_SE: Final = 1.2533
"""Standard error of a median over that of a mean, sqrt(pi / 2) [theory]."""
WITNESS_Z: Final = 3.0
WITNESS_EFFECT: Final = DOUBLED
"""A point out of band that doubles the level, beats the record and has a second witness: two signals at 3 and 6 noises
are as rare as one at 7 (science 3.2: 5/5 in two signals gives 0.6 per 10,000)."""
LEVEL_RECORD: Final = 2.0
"""... and must beat the record, by more the fewer rows carry it: 1 x for 4 rows, 0.5 x for 16 (record x 2 / sqrt k)."""
LEVEL_SE_WITNESS: Final = 5.0
"""Standard errors of a level shift that a second signal accompanies, by the same reasoning."""
TOWER_EFFECT: Final = 2 * DOUBLED
"""Below 100 accepted rows, four times the largest of the last 16 needs no noise estimate: on a steep decay with few
points the noise of the trend measures nothing (lognormal noise of sd 0.7 does so once in some 10,000 rows)."""
BAND_Z: Final = 3.0
"""A row with z >= 3 is out of band (definitions 3)."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows that are being judged, with what was expected of them; all arrays (m,).

    Attributes:
        x: judged numbers.
        expected: forecast of each row.
        z: excess over `expected.base` in noises.
        effect: the same in units of effect.
        second: another signal (gradient, update) left its band within 8 rows before and 2 after.
        is_log: log space.
    """

    x: Array
    expected: Forecast
    z: Array
    effect: Array
    second: Mask
    is_log: bool


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
    import numpy as np

    if not s.is_log:  # a loss around zero has no multiples
        return np.zeros(len(s.x), dtype=bool)
    return (s.effect >= DOUBLED) & (s.z >= s.expected.z_open) & _clear(s)


def _strong(s: Stretch) -> Mask:
    import numpy as np

    return (s.z >= np.maximum(STRONG_Z * s.expected.widen, s.expected.z_open)) & (s.effect >= STRONG_EFFECT) & _clear(s)


def _joint(s: Stretch) -> Mask:
    return (s.z >= s.expected.z_open) & (s.effect >= JOINT_EFFECT) & s.second & _clear(s)


def _record(s: Stretch) -> Mask:
    beats = s.x - s.expected.base >= RECORD_TWICE * s.expected.record
    known = (s.expected.count >= RECORD_ROWS) & s.is_log  # a record of fewer rows is soon beaten
    return (s.z >= RECORD_Z * s.expected.widen) & (s.effect >= RECORD_EFFECT) & beats & known


def _witness(s: Stretch) -> Mask:
    return (s.z >= WITNESS_Z * s.expected.widen) & (s.effect >= WITNESS_EFFECT) & s.second & _clear(s)


def _tower(s: Stretch) -> Mask:
    import numpy as np

    if not s.is_log:
        return np.zeros(len(s.x), dtype=bool)
    few = s.expected.count < RECORD_ROWS
    return (s.x - s.expected.highest >= TOWER_EFFECT) & few & (s.z >= BAND_Z)


POINT_TIERS: Final[tuple[Tier, ...]] = (
    Tier("hard", _hard, "twice the level, and beyond the run's own noise"),
    Tier("strong", _strong, "z of 8 or more, and 10 % or more"),
    Tier("joint", _joint, "z of 6 or more, 2 % or more, and a second signal left its band"),
    Tier("record", _record, "25 % or more, and twice anything seen in the last 100 rows"),
    Tier("tower", _tower, "below 100 rows: four times the largest of the last 16"),
    Tier("witness", _witness, "twice the level, out of band, and a second signal left its band"),
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
    at = np.arange(len(stretch.x))
    found: list[tuple[int, int]] = []
    for k in LEVEL_ROWS:
        if len(x) < k:
            continue
        shift = bn.move_median(x, k, min_count=k)
        shift[k - 1 :] -= base[: len(base) - k + 1]
        shift = shift[back:]
        limit = np.maximum(LEVEL_EFFECT * stretch.expected.unit, stretch.expected.scale)
        errors = np.where(stretch.second, LEVEL_SE_WITNESS, LEVEL_SE)
        limit = np.maximum(limit, errors * MEDIAN_SE / math.sqrt(k) * stretch.expected.scale * stretch.expected.widen)
        record = np.concatenate([np.full(back, np.nan), stretch.expected.record])[np.maximum(back + at - k + 1, 0)]
        limit = np.fmax(limit, LEVEL_RECORD / math.sqrt(k) * record)  # the record as it stood before those rows
        found += [(int(i), k) for i in np.flatnonzero(shift >= limit)]
    return sorted(found)


def level_holds(past: Accepted, stretch: Stretch, row: int, k: int) -> bool:
    """Does the shift at `row` also stand when the noise is corrected for autocorrelation (science 3.5)?"""
    import numpy as np

    x = np.concatenate([past.x[-k:], stretch.x[: row + 1]])[-k:]
    excess = np.concatenate([past.excess[-k:], stretch.x[: row + 1] - stretch.expected.base[: row + 1]])[-k:]
    base = x[0] - excess[0]
    noise = effective(float(stretch.expected.scale[row]), past.residual[-128:])
    shift = float(np.median(x)) - base
    errors = LEVEL_SE_WITNESS if stretch.second[row] else LEVEL_SE
    needed = max(noise, errors * MEDIAN_SE / math.sqrt(k) * noise * float(stretch.expected.widen[row]))
    return bool(shift >= needed)
