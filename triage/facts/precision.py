"""Statistics of mixed precision, skipped steps and clipping, and the settings of the optimizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from triage.facts._config import number, precision
from triage.facts._stretch import Column, Stretch

if TYPE_CHECKING:
    from triage.facts._stretch import Positions

HALVING: Final = 0.75
"""A fall below three quarters is a halving: scales move by powers of two, exports may round."""

SEARCH_STEPS: Final = 50
"""The first steps of a run are the scaler's search for a scale, not a collapse (science 7.3)."""

COLLAPSE_STEPS: Final = 100
SINK_STEPS: Final = 2_000
"""Spans in which halvings and lost doublings are counted: 100 steps (collapse), one growth interval (slow sinking)."""

FLOOR: Final = 1.0
"""Scale at which DeepSpeed, Megatron and others stop; below it nothing is scaled any more."""

SHARE_LEAST: Final = 8
"""Rows that can show a share; fewer are a handful of cases."""

CLIP_POINTS: Final = 100
"""Rows before the onset over which the share of clipped and of skipped steps is taken."""

UNCLIPPED: Final = 1.0 - 1e-6
"""A clip coefficient from here on is 1: the call adds 1e-6 to the norm."""


def precision_and_clipping(stretch: Stretch, config: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """The statistics of loss scale, precision, skipped steps, clipping and of the optimizer's settings."""
    out = _scale(stretch) | _skipped(stretch) | _clipping(stretch, number(config, "clip"))
    kind = "fp16" if out.keys() & {("loss_scale", "at_floor")} else precision(config)
    if kind is not None:
        out["run", "is_fp16"] = float(kind == "fp16")
        out["run", "is_low_precision"] = float(kind != "full")
    for name in ("adam_eps", "adam_beta1", "adam_beta2", "weight_decay"):
        value = number(config, name)
        if value is not None:
            out[name, "setting"] = value
    return out


def _scale(stretch: Stretch) -> dict[tuple[str, str], float]:
    """Statistics of a dynamic loss scale; none where the scale is 1 throughout (BF16 logs it so)."""
    import numpy as np

    scale = stretch.columns.get("loss_scale")
    if scale is None or not (scale.values[scale.is_logged] > FLOOR).any():
        return {}
    path = scale.finite(np.concatenate([stretch.recent, stretch.during]))
    path = path[scale.values[path] > 0]
    until = path[(path <= stretch.onset) & (stretch.step[path] >= stretch.step[0] + SEARCH_STEPS)]
    now = stretch.step[stretch.onset]
    out = {"at_floor": float((scale.values[path[path >= stretch.onset]] <= FLOOR).any())}
    out["halvings_100"] = _halvings(stretch, scale, until, now - COLLAPSE_STEPS)
    out["worst_halvings_100"] = _worst_halvings(stretch, scale, path)
    recent = scale.values[until[stretch.step[until] > now - SINK_STEPS]]
    if len(recent):
        out["lost_doublings"] = float(np.log2(recent.max() / recent[-1]))
    return {("loss_scale", name): value for name, value in out.items()}


def _halvings(stretch: Stretch, scale: Column, until: Any, since: int) -> float:
    """Halvings after the step `since`; a fall by 8 between two rows counts three."""
    import numpy as np

    ratio = scale.values[until[1:]] / scale.values[until[:-1]]
    falls = (stretch.step[until[1:]] > since) & (ratio < HALVING)
    return float(np.round(-np.log2(ratio[falls])).sum())


def _worst_halvings(stretch: Stretch, scale: Column, path: Positions) -> float:
    """The most halvings within 100 steps, from the end of the search at the start to the end of the incident."""
    import numpy as np

    after = path[stretch.step[path] >= stretch.step[0] + SEARCH_STEPS]
    ratio = scale.values[after[1:]] / scale.values[after[:-1]]
    size = np.where(ratio < HALVING, np.round(-np.log2(ratio)), 0.0)
    steps, total = stretch.step[after[1:]], np.concatenate([[0.0], np.cumsum(size)])
    since = np.searchsorted(steps, steps - COLLAPSE_STEPS, side="right")
    return float((total[1:] - total[since]).max()) if len(steps) else 0.0


def _skipped(stretch: Stretch) -> dict[tuple[str, str], float]:
    import numpy as np

    skipped = stretch.columns.get("is_skipped")
    if skipped is None:
        return {}
    out = {}
    around = skipped.finite(np.concatenate([stretch.recent[-CLIP_POINTS:], stretch.during]))
    since = skipped.finite(stretch.during)
    if len(around):
        out["skipped_share"] = float((skipped.values[around] > 0).mean())
    if len(since) >= SHARE_LEAST:
        out["skipped_since"] = float((skipped.values[since] > 0).mean())
    return {("is_skipped", name): value for name, value in out.items()}


def _clipping(stretch: Stretch, max_norm: float | None) -> dict[tuple[str, str], float]:
    """Whether clipping is on and how often it bites: from the coefficient, else from the norm and the config."""
    out = {}
    coefficient, norm = stretch.columns.get("clip_coef"), stretch.columns.get("grad_norm")
    if coefficient is not None:
        is_clipped = coefficient.values < UNCLIPPED
        if is_clipped[coefficient.is_logged].any():
            out["is_configured"] = 1.0
        column = coefficient
    elif norm is not None and max_norm:
        is_clipped = norm.values > max_norm
        column = norm
    else:
        column, is_clipped = None, None
    rows = stretch.recent[:0] if column is None else column.finite(stretch.recent)[-CLIP_POINTS:]
    around = rows if column is None or len(rows) >= SHARE_LEAST else column.finite(stretch.during)[:CLIP_POINTS]
    if max_norm is not None:
        out["is_configured"] = float(max_norm > 0)
    if is_clipped is not None and len(rows):
        out["clip_share"] = float(is_clipped[rows].mean())
    if is_clipped is not None and len(around) >= SHARE_LEAST:
        out["clipped_around"] = float(is_clipped[around].mean())
    return {("clip_coef", name): value for name, value in out.items()}
