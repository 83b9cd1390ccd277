"""When the other signals left their own band: a robust z per row for the gradient norm, the update and u/lr.

Used as the second witness of a small loss excursion, and to find the first precursor. Simpler than the walk over the
loss: a row beyond the threshold is left out of the baseline, and the baseline stands still while such rows follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from triage.signals.baseline import EARLY_ROWS, MIN_ROWS, Accepted, forecast
from triage.signals.space import choose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

COMPANIONS: Final = ("grad_norm", "update_norm", "update_ratio", "u_over_lr", "max_attn_logit")
"""Signals whose rise can announce or accompany a loss excursion (science 3.3, 4)."""

DEPART_Z: Final = 6.0
"""A companion has departed at z >= 6 (science 3.3, joint tier)."""

LONGEST: Final = 200
"""Rows after which a departed companion is taken as its new normal: the look-back for precursors (definitions 4.5)."""

CHUNK: Final = 2048
"""Most rows that are forecast at once [choice: past it the fixed cost of a call no longer shows]."""


def departures(columns: Mapping[str, Array], logged: Mapping[str, Mask]) -> dict[str, Array]:
    """Robust z of every companion column at every row; inf where non-finite, NaN where not logged or no baseline."""
    out: dict[str, Array] = {}
    for name in COMPANIONS:
        if name not in columns or logged[name].sum() < 2:
            continue
        out[name] = departure_of(columns[name], logged[name])
    return out


def departure_of(values: Array, logged: Mask) -> Array:
    """Robust z of one column at every row, as in `departures`; (n,) values and mask to (n,)."""
    import numpy as np

    rows = np.flatnonzero(logged)
    z = np.full(len(values), np.nan)
    z[rows] = _walk(values[rows])
    return z


def _walk(values: Array) -> Array:
    """Z of each logged value against its own past; (n,) to (n,)."""
    import numpy as np

    space = choose(values, "up")
    x = space.to_x(values)
    n = len(x)
    z = np.where(np.isfinite(x), np.nan, np.inf)
    state = Accepted.empty(None)
    position, chunk = 0, 256
    while position < n:
        if not np.isfinite(x[position]):
            position += 1
            continue
        if state.count < MIN_ROWS:
            state.append(x[position : position + 1], *(np.zeros(1),) * 3)
            position += 1
            if state.count == MIN_ROWS:
                state.seed()
            continue
        early = EARLY_ROWS - state.count  # rows that the early window is for
        stop = min(n, position + (min(chunk, early) if early > 0 else chunk))
        finite = np.isfinite(x[position:stop])
        if not finite.all():
            stop = position + int(np.argmin(finite))
        part = x[position:stop]
        rounding = space.rounding(float(np.median(state.x[-8:])))
        f = forecast(state, part, None, is_log=space.is_log, rounding=rounding, factor=1.0)
        score = (part - f.base) / f.scale / f.widen
        hits = np.flatnonzero(score >= DEPART_Z)
        taken = int(hits[0]) if len(hits) else len(part)
        z[position : position + taken] = score[:taken]
        kept = part[:taken]
        low = np.maximum(np.minimum(f.predict, f.base)[:taken] - kept, 0.0) / f.scale[:taken]
        state.append(kept, kept - f.predict[:taken], kept - f.base[:taken], low)
        position += taken
        chunk = min(2 * chunk, CHUNK) if not len(hits) else 256
        if len(hits):
            ahead = x[position : position + LONGEST]
            stood = np.where(np.isfinite(ahead), (ahead - f.base[taken]) / f.scale[taken] / f.widen[taken], np.inf)
            back = np.flatnonzero(stood < DEPART_Z)
            length = int(back[0]) if len(back) else len(stood)
            z[position : position + length] = stood[:length]
            position += length
            if not len(back):
                state = Accepted.empty(None)
    return z
