"""Where a resumed attempt takes up again: the baseline as it stood at that step.

Separate because a counter that goes back says that what came after that step is a dead branch: the level at which it
ended is no baseline for steps that are trained anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triage.signals.baseline import GATE_ROWS, Accepted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

LEVEL_POINTS: Final = GATE_ROWS
"""Points whose median is the level at a resume: as many as the rise gate looks at."""


@dataclass(slots=True)
class Path:
    """The accepted points of the canonical path so far, in order; its steps strictly increase.

    Attributes:
        at: (n,) positions, the first `count` of them valid.
        step: (n,) their steps.
        era: (n,) number of the baseline that each point of the log was taken into: a baseline that starts over
            (after an excursion that stayed, or with another logging interval) begins a new one.
        count: points on the path.
        since: position from which on `current` holds.
        current: the era that holds now.
        newest: the last era that was begun.
    """

    at: NDArray[np.int64]
    step: NDArray[np.int64]
    era: NDArray[np.int64]
    count: int = 0
    since: int = 0
    current: int = 0
    newest: int = 0

    @staticmethod
    def empty(n: int) -> Path:
        """No points yet, room for `n`."""
        import numpy as np

        at, step, era = np.zeros((3, n), dtype=np.int64)
        return Path(at, step, era)

    def begin_era(self, position: int) -> None:
        """The baseline starts over at `position`."""
        self.era[self.since : position] = self.current
        self.since = position
        self.newest += 1
        self.current = self.newest

    def extend(self, start: int, stop: int, accepted: Mask, step: NDArray[np.int64]) -> None:
        """Take the accepted points of a finished segment."""
        import numpy as np

        self.era[self.since : stop] = self.current
        self.since = stop
        new = start + np.flatnonzero(accepted[start:stop])
        end = self.count + len(new)
        self.at[self.count : end] = new
        self.step[self.count : end] = step[new]
        self.count = end

    def cut(self, step: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Drop what lies at `step` or later; returns what is left of the era that held there, and what was dropped."""
        import numpy as np

        kept = int(np.searchsorted(self.step[: self.count], step))
        dropped = self.at[kept : self.count].copy()
        self.count = kept
        left = self.at[:kept]
        if kept:
            other = np.flatnonzero(self.era[left] != self.era[left[-1]])
            left = left[int(other[-1]) + 1 if len(other) else 0 :]
        return left, dropped


def takes_up(x: Array, dropped: NDArray[np.int64], ahead: Array, ended: float) -> bool:
    """Does the new attempt take up where the earlier one was at that step, rather than where it ended?

    A counter that is set back while the weights stay goes on at the level of the end; then that level stays the
    baseline. The nearer of the two levels decides.

    Args:
        x: judged numbers of the log.
        dropped: accepted points of the earlier attempts at the repeated steps.
        ahead: judged numbers of the new attempt.
        ended: level at which the last attempt ended; NaN where it has none.
    """
    import numpy as np

    now = ahead[np.isfinite(ahead)][:LEVEL_POINTS]
    if not len(dropped) or not len(now) or math.isnan(ended):
        return True
    level = float(np.median(now))
    return abs(level - float(np.median(x[dropped[:LEVEL_POINTS]]))) <= abs(level - ended)


def rebuilt(x: Array, said: tuple[Array, Array, Array], at: NDArray[np.int64], window: int | None) -> Accepted:
    """The baseline as it stood after the points `at`.

    Args:
        x: judged numbers of the log.
        said: prediction, base and scale of every point, NaN where there was none.
        at: positions of the accepted points, in order.
        window: baseline length set by the user, or None.
    """
    import numpy as np

    state = Accepted.empty(window)
    near = at[-state.keep :]
    values = x[near]
    predict, base, scale = (numbers[near] for numbers in said)
    down = np.maximum(np.minimum(predict, base) - values, 0.0) / scale
    state.append(values, values - predict, values - base, down)
    state.count = len(at)
    return state
