"""How the log itself colours the numbers: window means, smoothing, clipped norms, settings that were not followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from triage.findings._levels import CLIP_KEYS, setting
from triage.model import Notice
from triage.signals import SignalTable
from triage.signals.baseline import autocorrelation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_POINTS: Final = 50
CONSTANT_SHARE: Final = 0.3
"""A gradient norm of which 30 % are one and the same value was logged after clipping (science 8)."""
SMOOTH: Final = 0.9
"""Residuals with a lag-1 autocorrelation of 0.9 come from a smoothed series (science 8)."""
TREND_POINTS: Final = 16
"""Points of the trailing median that stands for the trend when smoothing is looked for [choice]."""
ABOVE_CLIP: Final = 1.05
ABOVE_SHARE: Final = 0.05
"""More than one norm in twenty lies 5 % above the configured limit, and nothing was clipped."""
LR_FACTOR: Final = 2.0
"""The largest learning rate of the log and the configured one differ by more than a factor of two."""
LR_KEYS: Final = ("learning_rate", "lr", "max_lr", "peak_lr", "base_lr")
WINDOWS: Final = {"transformers": None, "mmengine": 10.0, "detectron2": 20.0}
"""Writers whose loss is a mean (or, for detectron2, a median) over a window; None = over the logging interval."""


def colours(signals: SignalTable) -> Iterator[Notice]:
    """Every way in which this log shows something else than single steps as they were."""
    yield from _window(signals)
    yield from _smoothed(signals)
    yield from _clipped(signals)
    yield from _contradicted(signals)


def _window(signals: SignalTable) -> Iterator[Notice]:
    import numpy as np

    writer = (signals.table.source.writer or "").lower()
    name = next((known for known in WINDOWS if known in writer), None)
    if name is None or "loss" not in signals.columns:
        return
    gaps = np.diff(signals.step[signals.points("loss")[0]])
    gaps = gaps[gaps > 0]
    steps = WINDOWS[name] or (float(np.median(gaps)) if len(gaps) else 1.0)
    if steps > 1:
        yield Notice("loss-is-window-mean", 1, None, {"steps": int(steps)})


def _smoothed(signals: SignalTable) -> Iterator[Notice]:
    import bottleneck as bn
    import numpy as np

    for judged in signals.judged:
        _, values = signals.points(judged.name)
        finite = values[np.isfinite(values)]
        if len(finite) < LEAST_POINTS:
            continue
        residual = finite - bn.move_median(finite, TREND_POINTS, min_count=1)
        steps = np.diff(finite)
        turns = float((np.sign(steps[1:]) != np.sign(steps[:-1])).mean())
        if autocorrelation(residual[TREND_POINTS:]) >= SMOOTH and turns < 0.5:
            yield Notice("series-smoothed", 1, None, {"column": judged.name})


def _clipped(signals: SignalTable) -> Iterator[Notice]:
    import numpy as np

    if "grad_norm" not in signals.columns:
        return
    values = _finite(signals, "grad_norm")
    if len(values) < LEAST_POINTS:
        return
    distinct, counts = np.unique(values, return_counts=True)
    top = int(np.argmax(counts))
    if counts[top] >= CONSTANT_SHARE * len(values) and distinct[top] >= np.quantile(values, 0.95) and distinct[top] > 0:
        yield Notice("grad-norm-clipped", int(counts[top]), None, {"value": float(distinct[top])})


def _contradicted(signals: SignalTable) -> Iterator[Notice]:
    """Settings that the measured run does not follow: measured values are trusted over the config (science 8)."""
    limit = setting(signals, CLIP_KEYS)
    if limit and {"clip_coef", "grad_norm"} <= signals.columns.keys():
        norm, factor = _finite(signals, "grad_norm"), _finite(signals, "clip_coef")
        above = float((norm > ABOVE_CLIP * limit).mean()) if len(norm) else 0.0
        if above > ABOVE_SHARE and len(factor) and factor.min() >= 1.0:
            yield Notice("config-contradicted", 1, None, {"setting": "clip", "said": limit, "seen": float(norm.max())})
    said = setting(signals, LR_KEYS)
    if said and "lr" in signals.columns:
        lr = _finite(signals, "lr")
        peak = float(lr.max()) if len(lr) else 0.0
        rising = len(lr) > 1 and lr[-1] == peak and lr[0] < peak  # still in warm-up: the peak is yet to come
        if peak > 0 and not (rising and peak < said) and not 1 / LR_FACTOR <= peak / said <= LR_FACTOR:
            yield Notice("config-contradicted", 1, None, {"setting": "learning rate", "said": said, "seen": peak})


def _finite(signals: SignalTable, name: str) -> NDArray[np.float64]:
    import numpy as np

    _, values = signals.points(name)
    out: NDArray[np.float64] = values[np.isfinite(values)]
    return out
