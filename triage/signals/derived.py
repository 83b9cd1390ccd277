"""Derived columns, and losses that hide a non-finite value."""

from __future__ import annotations

from collections.abc import MutableMapping
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

TOO_SMALL: Final = 1.5
"""The row in which the filter begins holds a mean of fewer steps, never much more than the level before: a row above
1.5 x of it is a finite blow-up that came first."""

ZERO_RUN: Final = 3
"""Losses of exactly 0.0 to the end of a log without gradients that hide a NaN: at least so many (science 9.1: every row
after the NaN is 0.0; a memorised loss reaches 0 gradually)."""

ZERO_DROP: Final = 0.01
"""... and the last positive loss before them is at least this: a loss that fell to nothing is not hidden."""


def hidden_losses(columns: MutableMapping[str, Array], logged: MutableMapping[str, Mask]) -> NDArray[np.intp]:
    """Rows in which a finite loss stands for a non-finite one (Hugging Face's filter; science 9.1).

    Exactly 0.0 beside a non-finite gradient norm; the too-small row in which it begins (its gradient is already
    non-finite, the row after it is hidden); and an unbroken run of exact zeros to the end in which no gradient norm is
    logged, be it that none ever is or that the encoder dropped it as NaN.
    """
    import numpy as np

    loss, has_loss = columns["loss"], logged["loss"]
    zero = has_loss & (loss == 0.0)
    if not zero.any():
        return np.empty(0, dtype=np.intp)
    hidden = np.zeros(len(loss), dtype=bool)
    has_gradient = logged["grad_norm"] if "grad_norm" in columns else hidden
    points = np.flatnonzero(has_loss)
    if has_gradient.any():
        bad = has_gradient & ~np.isfinite(columns["grad_norm"])
        hidden = zero & bad
        healthy = loss[has_loss & ~bad & np.isfinite(loss)]
        ceiling = TOO_SMALL * float(np.median(healthy[-8:])) if len(healthy) else np.inf
        for here, after in pairwise(points):
            if hidden[after] and bad[here] and np.isfinite(loss[here]) and loss[here] <= ceiling:
                hidden[here] = True
    values = loss[points]
    run = len(values) - int(np.argmax(values[::-1] != 0.0)) if (values != 0.0).any() else 0
    tail = points[run:]
    before = values[:run]
    if len(tail) >= ZERO_RUN and not has_gradient[tail].any() and (not len(before) or before[-1] >= ZERO_DROP):
        hidden[tail] = True
    return np.flatnonzero(hidden)


def derive(columns: MutableMapping[str, Array], logged: MutableMapping[str, Mask]) -> None:
    """Add `update_ratio` (where its parts are logged) and `u_over_lr`; rows without both parts stay not logged."""
    import numpy as np

    if "update_ratio" not in columns and {"update_norm", "param_norm"} <= columns.keys():
        both = logged["update_norm"] & logged["param_norm"] & (columns["param_norm"] > 0)
        columns["update_ratio"] = np.where(
            both, columns["update_norm"] / np.where(both, columns["param_norm"], 1), np.nan
        )
        logged["update_ratio"] = both
    if {"update_ratio", "lr"} <= columns.keys():
        both = logged["update_ratio"] & logged["lr"] & (columns["lr"] > 0)
        columns["u_over_lr"] = np.where(both, columns["update_ratio"] / np.where(both, columns["lr"], 1), np.nan)
        logged["u_over_lr"] = both
