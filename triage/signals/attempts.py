"""Attempts: which rows the last attempt for each step left standing (the canonical path).

Separate because detectors and findings that look at the whole course of a run must not take a dead branch, and the
return to where it began, for a part of that course.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def canonical(step: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Points that no later attempt trained again; (n,) in the order of the log. Linear."""
    import numpy as np

    if not len(step):
        return np.zeros(0, dtype=bool)
    later = np.minimum.accumulate(step[::-1])[::-1]
    return np.append(step[:-1] < later[1:], True)
