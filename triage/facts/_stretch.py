"""The stretch of a run around one onset: positions, columns, and the level that held before. Shared by the statistics.

Positions are positions in the run's frame. Everything that describes "before" uses rows before the onset only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triage.schema import BY_NAME

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from triage.model import RunTable

    Floats = NDArray[np.float64]
    Positions = NDArray[np.intp]
    Mask = NDArray[np.bool_]

GAP: Final = 8
"""Logged points before the onset in which precursors are looked for; the level is taken from before them. Loss spikes
follow the optimizer's departure by 1 to 8 steps (StableAdamW)."""

LEVEL_POINTS: Final = 100
"""Most points that a level is made of; windows in trainers cluster at 100 to 128."""

LEVEL_LEAST: Final = 4
"""Fewer points than this give no level: a slope and a spread need two halves of two."""

NOISE_FLOOR: Final = 0.002
"""Least relative noise: below 0.2 % a robust scale measures rounding."""

MAD_TO_SIGMA: Final = 1.4826
"""Median absolute deviation → standard deviation for a normal distribution."""

OUT_OF_BAND: Final = 6.0
"""Robust z that counts as a departure; the threshold of every trainer that acts on z."""

SMALL_SAMPLE: Final = 16.0
"""z is compared with OUT_OF_BAND × sqrt(1 + 16/n): a spread from n points is itself that uncertain."""

NEAR_ROWS: Final = 20_000
"""Rows before and after an incident that are looked at: farther ones say nothing about it, and logs have millions."""

_NOT_METRICS: Final = frozenset({"step", "time", "epoch", "rank", "samples"})
_CUMULATIVE: Final = "tokens"


@dataclass(frozen=True, slots=True)
class Column:
    """One column over all rows.

    Attributes:
        name: canonical name, or `u_over_lr`.
        values: (rows,) float; NaN also where nothing is logged.
        is_logged: (rows,) bool; false = null.
    """

    name: str
    values: Floats
    is_logged: Mask

    def finite(self, positions: Positions) -> Positions:
        """Those of the positions that hold a finite value."""
        import numpy as np

        return positions[self.is_logged[positions] & np.isfinite(self.values[positions])]

    def logged(self, positions: Positions) -> Positions:
        """Those of the positions that hold a value, finite or not."""
        return positions[self.is_logged[positions]]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run cut at one onset.

    Attributes:
        step, segment: (rows,) integers.
        columns: metric columns with at least one value, `u_over_lr` and per-batch tokens included.
        onset: position of the first row out of band.
        last: position of the last row out of band; for a finding the last row of its segment.
        before: positions before the onset on the path that led to it (dead attempts left out), ascending.
        recent: the last NEAR_ROWS of them.
        during: positions from the onset to `last`.
        after: the first NEAR_ROWS positions after `last` in the same segment.
        rest: positions from the onset to the end of its segment.
    """

    step: NDArray[np.int64]
    segment: NDArray[np.int64]
    columns: Mapping[str, Column]
    onset: int
    last: int
    before: Positions
    recent: Positions
    during: Positions
    after: Positions
    rest: Positions


@dataclass(frozen=True, slots=True)
class Level:
    """What held before the onset: the value expected there, and the noise around it (in log space where `is_log`)."""

    value: float
    noise: float
    is_log: bool
    n: int

    def departs(self, values: Floats, worse: str) -> Mask:
        """Which of the values are out of band: non-finite, or off the level on the bad side by the threshold."""
        import numpy as np

        finite = np.isfinite(values)
        if self.is_log:
            x = np.log(np.where(finite & (values > 0), values, self.value)) - np.log(self.value)
        else:
            x = np.where(finite, values, self.value) - self.value
        z = x / self.noise
        sided = {"up": z, "down": -z}.get(worse, np.abs(z))
        out: Mask = ~finite | (sided >= OUT_OF_BAND * (1 + SMALL_SAMPLE / self.n) ** 0.5)
        return out


def level_before(column: Column, before: Positions) -> Level | None:
    """The level of a column before the onset, trend-aware; None with fewer than LEVEL_LEAST finite points.

    Slope = difference of the halves' medians, centre = median of what is left, spread = MAD. The prediction is held
    inside the range of the points, so that a steep early fall is not extended below what was ever seen.
    """
    import numpy as np

    points = column.finite(before)
    kept = points[:-GAP] if len(points) >= GAP + LEVEL_LEAST else points
    values = column.values[kept[-LEVEL_POINTS:]]
    n = len(values)
    if n < LEVEL_LEAST:
        return None
    is_log = bool((values > 0).all())
    x = np.log(values) if is_log else values
    rows = np.arange(n)
    half = n // 2
    slope = (np.median(x[-half:]) - np.median(x[:half])) / (n - half)
    centre = np.median(x - slope * rows)
    ahead = n - 1 + (len(points) - len(kept)) + 1
    expected = float(np.clip(centre + slope * ahead, x.min(), x.max()))
    residual = x - centre - slope * rows
    spread = MAD_TO_SIGMA * float(np.median(np.abs(residual - np.median(residual))))
    floor = NOISE_FLOOR if is_log else max(NOISE_FLOOR * abs(expected), 1e-12)
    return Level(float(np.exp(expected)) if is_log else expected, max(spread, floor), is_log, n)


def cut(table: RunTable, columns: Mapping[str, Column], onset: int, last: int) -> Stretch:
    """Cut a run at the onset; linear in rows. `columns` as `columns_of` gives them, once for all cuts."""
    import numpy as np

    step = table.frame["step"].to_numpy()
    segment = table.frame["segment"].to_numpy()
    earlier = np.arange(onset)
    # a row is on the path to the onset if no later attempt trained its step again
    path = np.minimum.accumulate(step[onset::-1])[::-1]
    before = earlier[step[:onset] < path[1:]]
    end = int(np.searchsorted(segment, segment[onset], side="right"))  # segments never decrease
    return Stretch(
        step=step,
        segment=segment,
        columns=columns,
        onset=onset,
        last=last,
        before=before,
        recent=before[-NEAR_ROWS:],
        during=np.arange(onset, last + 1),
        after=np.arange(last + 1, min(end, last + 1 + NEAR_ROWS)),
        rest=np.arange(onset, end),
    )


def columns_of(table: RunTable) -> dict[str, Column]:
    """The metric columns of a run with `u_over_lr` and per-batch tokens; linear in rows × columns."""
    import numpy as np

    segment = table.frame["segment"].to_numpy().astype(np.int64)
    out = {}
    for name in table.frame.columns:
        column = _metric(table, name)
        if column is not None:
            out[name] = _per_batch(column, segment) if name == _CUMULATIVE else column
    if "update_ratio" not in out and {"update_norm", "param_norm"} <= set(out):
        out["update_ratio"] = _quotient("update_ratio", out["update_norm"], out["param_norm"])
    if {"update_ratio", "lr"} <= set(out):
        out["u_over_lr"] = _quotient("u_over_lr", out["update_ratio"], out["lr"])
    return out


def _metric(table: RunTable, name: str) -> Column | None:
    """A canonical metric column with at least one value, or None."""
    import numpy as np

    series = table.frame[name]
    if name not in BY_NAME or name in _NOT_METRICS or not series.dtype.is_numeric():
        return None
    is_logged = series.is_not_null().to_numpy()
    values = np.where(is_logged, series.fill_null(0).to_numpy().astype(np.float64), np.nan)
    return Column(name, values, is_logged) if is_logged.any() else None


def _quotient(name: str, above: Column, below: Column) -> Column:
    import numpy as np

    is_logged = above.is_logged & below.is_logged & (below.values > 0)
    return Column(name, np.where(is_logged, above.values / np.where(is_logged, below.values, 1.0), np.nan), is_logged)


def _per_batch(column: Column, segment: NDArray[np.int64]) -> Column:
    """Tokens of each batch: a count that only ever grows within its segments is taken apart into differences."""
    import numpy as np

    at = np.flatnonzero(column.is_logged & np.isfinite(column.values))
    steps = np.diff(column.values[at])
    same = segment[at][1:] == segment[at][:-1]
    if not same.any() or (steps[same] <= 0).any():
        return column
    values, is_logged = np.full(len(column.values), np.nan), np.zeros(len(column.values), dtype=bool)
    values[at[1:][same]], is_logged[at[1:][same]] = steps[same], True
    return Column(column.name, values, is_logged)
