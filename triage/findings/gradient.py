"""Findings of the gradient: an explosion that stays, and clipping at every step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from triage.findings._contract import Context, FindingRule, Found
from triage.findings._levels import CLIP_KEYS, setting
from triage.findings._scale import is_grad_scaled
from triage.model import Evidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXPLODED: Final = 10.0
"""Ten times the median before (science 4.3, cause 4; runmedic's and trainproof's factor)."""
EXPLODED_POINTS: Final = 32
"""... for the last 32 logged points, reached within as many: a norm that grows tenfold over a run is no explosion."""
CLIPPED_SHARE: Final = 0.9
"""Clipping at nearly every step after warm-up; more than half is extreme (science 5), but small models with
a default clip of 1.0 live there in health, so the finding waits for 90 % [choice]."""
WARMUP_SHARE: Final = 0.2
"""The first fifth is left out: nearly every step is clipped there in health (science 5)."""
LEAST_POINTS: Final = 100
"""Fewer points than this give no share [choice: the first fifth is left out as warm-up]."""


def explosion(context: Context) -> Iterable[Found]:
    """The gradient norm jumped tenfold and is still there at the end."""
    import numpy as np

    signals = context.signals
    rows, values = signals.points("grad_norm")
    keep = np.isfinite(values) & (values > 0)
    rows, values = rows[keep], values[keep]
    if len(values) < 3 * EXPLODED_POINTS or is_grad_scaled(signals):
        return
    tail = float(np.median(values[-EXPLODED_POINTS:]))
    high = values >= EXPLODED * float(np.median(values[:-EXPLODED_POINTS]))
    if not high[-EXPLODED_POINTS:].mean() > 0.9:
        return
    low = np.flatnonzero(~high[:-EXPLODED_POINTS])
    onset = int(low[-1]) + 1 if len(low) else 0
    before = values[max(0, onset - EXPLODED_POINTS) : onset]
    if len(before) < EXPLODED_POINTS // 2 or tail < EXPLODED * float(np.median(before)):
        return
    step = int(signals.step[rows[onset]])
    yield Found(step, (Evidence("norm-stays-high", "grad_norm", tail, float(np.median(before)), EXPLODED, step),))


def always_clipped(context: Context) -> Iterable[Found]:
    """After the first fifth, nine steps in ten were clipped."""
    signals = context.signals
    clipped: NDArray[np.bool_]
    if "clip_coef" in signals.columns and signals.logged["clip_coef"].any():
        rows, values = signals.points("clip_coef")
        clipped, name, limit = values < 1.0, "clip_coef", 1.0
    else:
        found = setting(signals, CLIP_KEYS)
        if found is None or found <= 0 or "grad_norm" not in signals.columns:
            return
        rows, values = signals.points("grad_norm")
        clipped, name, limit = values > found, "grad_norm", found
    start = int(WARMUP_SHARE * len(rows))
    if len(rows) < LEAST_POINTS:
        return
    share = float(clipped[start:].mean())
    if share >= CLIPPED_SHARE:
        step = int(signals.step[rows[start]])
        yield Found(step, (Evidence("clip-share", name, share, limit, CLIPPED_SHARE, step),))


RULES = (
    FindingRule("grad-norm-explosion", "error", ("grad_norm",), explosion),
    FindingRule("always-clipped", "warning", (), always_clipped),
)
