"""The forward baseline: from accepted rows only, trend-aware, robust; one row ahead, never looking forward.

For the accepted numbers a[0..j) of one signal, the prediction of a[j] is

    centre(j)  = median of the last W
    slope(j)   = (median of the newer half - median of the older half) / half a window
    predict(j) = centre + slope x (distance from the window's middle to j)
    scale(j)   = 1.4826 x median of the last W absolute one-step-ahead residuals

so that both are moving medians (linear cost, exact under outliers up to half a window) and the scale measures what is
needed: how far a healthy row lies from its own prediction. `W` is 32 up to 300 accepted rows, 128 later
(science 3.1, 3.4: a short window follows the bend of early training).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

EARLY_WINDOW: Final = 32
LATE_WINDOW: Final = 128
EARLY_ROWS: Final = 300
"""Accepted rows after which the late window holds (science 3.1)."""

MIN_ROWS: Final = 20
"""Accepted rows below which there is no z at all, only the hard rules (definitions 3)."""

GATE_ROWS: Final = 8
"""The rise gate: excess also over the median of the last 8 accepted rows (science 10)."""

HIGHEST_ROWS: Final = 16
"""Rows whose largest value a towering row is compared with [choice: the longest level tier]."""

RECORD_ROWS: Final = 100
"""The record rule compares with the largest residual of the last 100 accepted rows (science 10)."""

CALIBRATION_ROWS: Final = 1000
CALIBRATION_MIN: Final = 100
CALIBRATION_FACTOR: Final = 1.3
"""z_open is at least 1.3 x the largest downward z of the last 1,000 accepted rows, from 100 on (science 3.1)."""

Z_OPEN: Final = 6.0
"""Least z that opens an event (cluster of sources, science 1)."""

SMALL_SAMPLE: Final = 16.0
"""Thresholds on z are widened by sqrt(1 + 16/n), n accepted rows (science 10)."""

MAD_TO_SD: Final = 1.4826
"""Standard deviation of Gaussian noise over its median absolute deviation, 1 / 0.6745 [theory]."""


@dataclass(slots=True)
class Accepted:
    """The accepted rows of one signal and what was said about each when it came: the forward state.

    Arrays of equal length, oldest first: judged number, signed residual, gated upward excess, downward z.
    """

    x: Array
    residual: Array
    excess: Array
    down: Array
    keep: int
    """Rows that are remembered: the calibration, and a window to walk back over."""
    count: int = 0
    """Accepted rows since the last restart, forgotten ones included."""

    @staticmethod
    def empty(window: int | None) -> Accepted:
        """No rows yet."""
        import numpy as np

        none = np.empty(0)
        return Accepted(none, none, none, none, keep=CALIBRATION_ROWS + 2 * max(LATE_WINDOW, window or 0))

    def append(self, x: Array, residual: Array, excess: Array, down: Array) -> None:
        """Take rows in and forget the oldest."""
        import numpy as np

        keep = self.keep
        self.x = np.concatenate([self.x, x])[-keep:]
        self.residual = np.concatenate([self.residual, residual])[-keep:]
        self.excess = np.concatenate([self.excess, excess])[-keep:]
        self.down = np.concatenate([self.down, down])[-keep:]
        self.count += len(x)

    def drop_last(self, rows: int) -> None:
        """Take back the newest rows: they turned out to belong to an event."""
        if rows <= 0:
            return
        keep = max(0, len(self.x) - rows)
        self.x, self.residual = self.x[:keep], self.residual[:keep]
        self.excess, self.down = self.excess[:keep], self.down[:keep]
        self.count = max(keep, self.count - rows)

    def seed(self) -> None:
        """Give the first rows, which came without a prediction, their residuals from one line through all of them."""
        import numpy as np

        if not len(self.x):
            return
        t = np.arange(len(self.x), dtype=float)
        half = len(t) // 2
        slope = (np.median(self.x[half:]) - np.median(self.x[:half])) / max(1.0, (len(t)) / 2) if half else 0.0
        line = np.median(self.x - slope * t) + slope * t
        self.residual = self.x - line
        self.excess = np.full(len(t), np.nan)  # nothing was expected of these rows
        self.down = np.full(len(t), np.nan)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What was expected of each row of a stretch, before it was seen. All arrays have one entry per row.

    Attributes:
        predict: trend prediction.
        base: the level that excess is counted from: the larger of prediction and the median of the last 8.
        scale: robust noise, floored.
        z_open: the run's own opening threshold, already widened for small samples.
        widen: sqrt(1 + 16/n).
        record: largest gated excess among the last 100 accepted rows.
        unit: effect size that counts as 1 (1 in log space).
        count: accepted rows before each.
        highest: largest of the last 16 accepted rows.
    """

    predict: Array
    base: Array
    scale: Array
    z_open: Array
    widen: Array
    record: Array
    unit: Array
    count: Array
    highest: Array


def window_length(count: int, window: int | None) -> int:
    """Baseline length in rows after `count` accepted rows; a window set by the user always holds."""
    if window is not None:
        return window
    return EARLY_WINDOW if count < EARLY_ROWS else LATE_WINDOW


def forecast(
    state: Accepted, x: Array, window: int | None, *, is_log: bool, rounding: float, factor: float
) -> Forecast:
    """Expectations for the rows `x` (m,), as if each of them were accepted; rows up to the first surprise are exact.

    Args:
        state: at least MIN_ROWS accepted rows.
        x: judged numbers, finite.
        window: baseline length set by the user, or None.
        is_log: log space (unit 1) or raw (unit 5 x the noise of first differences).
        rounding: least scale that rounding alone explains, in judged units.
        factor: sensitivity, multiplies the thresholds on z.
    """
    import bottleneck as bn
    import numpy as np

    from triage.signals.space import LOG_FLOOR, RAW_FLOOR, RAW_UNIT

    width = window_length(state.count, window)
    back = len(state.x)
    series = np.concatenate([state.x, x])
    size = len(series)
    at = np.arange(back, size)  # position of each forecast row; its past is series[:at]

    def before(values: Array, length: int, kind: str) -> Array:
        """Moving statistic over the `length` values before each forecast row."""
        start = max(0, back - length)
        moved: Array = getattr(bn, f"move_{kind}")(values[start:], min(length, size - start), min_count=1)
        return moved[back - start - 1 : size - start - 1]

    gate = before(series, GATE_ROWS, "median")
    centre = before(series, width, "median")
    if state.count < EARLY_ROWS:
        predict, scale = _exact(series, at, width)
    else:
        half = width // 2
        newer = before(series, half, "median")
        older = before(np.concatenate([np.full(half, np.nan), series[:-half]]), half, "median")
        slope = np.nan_to_num(newer - older) / half
        predict = centre + slope * (width + 1) / 2
        residual = np.concatenate([state.residual, x - predict])
        scale = MAD_TO_SD * before(np.abs(residual), width, "median")
    base = np.maximum(predict, gate)
    if is_log:
        floor = np.full(len(x), max(LOG_FLOOR, rounding))
        unit = np.ones(len(x))
    else:
        floor = np.maximum(np.maximum(RAW_FLOOR * np.abs(centre), rounding), 1e-12)
        steps = np.abs(np.diff(series, prepend=series[:1]))
        unit = np.maximum(RAW_UNIT * MAD_TO_SD * before(steps, width, "median"), RAW_UNIT * floor)
    scale = np.maximum(scale, floor)

    highest = before(series, HIGHEST_ROWS, "max")
    count = state.count + np.arange(len(x))
    widen = np.sqrt(1.0 + SMALL_SAMPLE / np.maximum(count, 1)) * factor
    excess = np.concatenate([state.excess, x - base])
    record = np.maximum(np.nan_to_num(before(excess, RECORD_ROWS, "max")), 0.0)
    low = np.minimum(predict, gate)
    down = np.concatenate([state.down, np.maximum(low - x, 0.0) / scale])
    deepest = np.where(count >= CALIBRATION_MIN, np.nan_to_num(before(down, CALIBRATION_ROWS, "max")), 0.0)
    z_open = np.maximum(Z_OPEN, CALIBRATION_FACTOR * deepest) * widen
    return Forecast(predict, base, scale, z_open, widen, record, unit, count.astype(float), highest)


def _exact(series: Array, at: NDArray[np.intp], width: int) -> tuple[Array, Array]:
    """Prediction and scale from each row's own window, the scale from the residuals of that window's line.

    For the first few hundred rows, where the window is short and every row of it counts. Cost: rows x window.
    """
    import numpy as np

    padded = np.concatenate([np.full(width, np.nan), series])
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)[at]  # the `width` values before each row
    half = width // 2
    t = np.arange(-width, 0, dtype=float)
    seen = np.isfinite(windows)
    n_older = seen[:, : width - half].sum(axis=1)
    newer = np.nanmedian(windows[:, width - half :], axis=1)
    older = np.where(n_older > half // 4, _nanmedian(windows[:, : width - half], n_older), np.nan)
    slope = np.nan_to_num((newer - older) / (0.5 * (half + n_older)))
    levelled = windows - slope[:, None] * t
    centre = np.nanmedian(levelled, axis=1)
    scale = MAD_TO_SD * np.nanmedian(np.abs(levelled - centre[:, None]), axis=1)
    return centre, scale


def _nanmedian(windows: Array, count: NDArray[np.intp]) -> Array:
    """Median of each row's finite values, NaN where there are none (without numpy's warning)."""
    import numpy as np

    some = np.where(count[:, None] > 0, windows, 0.0)
    out: Array = np.nanmedian(some, axis=1)
    return np.where(count > 0, out, np.nan)


def autocorrelation(residual: Array) -> float:
    """Lag-1 autocorrelation of residuals, clipped to [0, 0.9]; 0 below 8 values."""
    import numpy as np

    residual = residual[np.isfinite(residual)]
    if len(residual) < 8:
        return 0.0
    spread = MAD_TO_SD * float(np.median(np.abs(residual - np.median(residual))))
    if not spread > 0:
        return 0.0
    centred = np.clip(residual - np.median(residual), -4 * spread, 4 * spread) / spread  # one outlier must not decide
    power = float((centred * centred).sum())
    return min(0.9, max(0.0, float((centred[1:] * centred[:-1]).sum()) / power)) if power > 0 else 0.0


def effective(scale: float, residual: Array) -> float:
    """Noise of a level: scale x sqrt((1 + rho) / (1 - rho)), rho from the residuals (science 3.5)."""
    rho = autocorrelation(residual)
    return scale * math.sqrt((1 + rho) / (1 - rho))
