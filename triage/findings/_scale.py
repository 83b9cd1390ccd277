"""The loss scale of a run: where the search for it ends, where it fell, and if the gradient was logged times it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from triage.signals import SignalTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.intp]
    Array = NDArray[np.float64]

SEARCH_STEPS: Final = 50
"""The scale search at the start is no collapse (science 7.3: not in the first 50 steps)."""
SEARCH_STILL: Final = 20
"""Logged points at one scale that end the search [choice: a search halves at nearly every step]."""
AROUND: Final = 16
AROUND_LEAST: Final = 4
"""Logged points before and after a change of the scale whose medians are compared, and the fewest that can be."""
AGREES: Final = 0.25
"""Doublings by which the gradient may miss the change of the scale and still follow it (science 7.1)."""
CHANGES: Final = 2
MOST: Final = 0.5
"""Of two changes both must agree, of more than two most [choice: some fall into a real jump of the gradient]."""


def doublings(signals: SignalTable) -> tuple[Rows, Array]:
    """Rows in which a usable loss scale was logged, and its logarithm to base 2 there."""
    import numpy as np

    rows, scale = signals.points("loss_scale")
    good = np.isfinite(scale) & (scale > 0)
    return rows[good], np.log2(scale[good])


def falls(signals: SignalTable) -> tuple[Rows, Rows]:
    """Points of the scale at which it fell by half or more: those of the search, and the later ones."""
    import numpy as np

    rows, scale = doublings(signals)
    step = signals.step[rows]
    at = np.flatnonzero(np.diff(scale) <= -0.99) + 1
    if not len(at) or step[0] >= SEARCH_STEPS:  # an excerpt from later in a run holds no search
        return at[:0], at
    late = (step[at] >= step[0] + SEARCH_STEPS) & (at > search_end(scale))
    return at[~late], at[late]


def search_end(scale: Array) -> int:
    """Last point of the monotone fall with which a run finds its first working scale."""
    import numpy as np

    flat = 0
    for i, change in enumerate(np.diff(scale)):
        flat = 0 if change < 0 else flat + 1
        if change > 0 or flat >= SEARCH_STILL:
            return max(0, i - flat)
    return 0


def is_grad_scaled(signals: SignalTable) -> bool:
    """Does the gradient norm move with the loss scale, so that it was logged before unscaling (science 7.1)?"""
    import numpy as np

    if not {"loss_scale", "grad_norm"} <= signals.columns.keys():
        return False
    scale, norm = signals.columns["loss_scale"], signals.columns["grad_norm"]
    good = np.isfinite(scale) & np.isfinite(norm) & (scale > 0) & (norm > 0)
    scale, norm = np.log2(scale[good]), np.log2(norm[good])
    changes = np.flatnonzero(np.abs(np.diff(scale)) > 0.5) + 1
    changes = changes[(changes >= AROUND_LEAST) & (changes <= len(norm) - AROUND_LEAST)]
    moved = [float(np.median(norm[i : i + AROUND]) - np.median(norm[max(0, i - AROUND) : i])) for i in changes]
    agree = np.abs(np.array(moved) - (scale[changes] - scale[changes - 1])) <= AGREES
    if len(agree) > CHANGES:
        return float(agree.mean()) > MOST
    return len(agree) == CHANGES and bool(agree.all())
