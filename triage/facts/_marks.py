"""Marks in a run that several of the statistics refer to: the last resume, the end of the warm-up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from triage.facts._stretch import Floats, Stretch

PEAK_SHARE: Final = 0.99
"""From 99 % of its largest value on lr is at its peak; a cosine stays there for some 6 % of its length."""

WARMUP_BELOW: Final = 0.9
"""A run that starts below 90 % of its peak lr has a warm-up."""

WARMUP_ROWS: Final = 8
"""A rise over more rows than this must be gradual to be a warm-up: no single row may carry half of it [choice]."""


def resume_position(stretch: Stretch) -> int | None:
    """Position of the first row after the last resume mark up to the onset; None without one."""
    import numpy as np

    marks = np.flatnonzero(np.diff(stretch.segment[: stretch.onset + 1])) + 1
    return int(marks[-1]) if len(marks) else None


def warmup_end(values: Floats, steps: NDArray[np.int64]) -> int | None:
    """The step at which lr first reaches its peak; None without a warm-up. A lr that still rises has not reached it."""
    import numpy as np

    peak = values.max()
    if values[0] >= WARMUP_BELOW * peak:
        return None
    reached = int(np.argmax(values >= PEAK_SHARE * peak))
    rise = np.diff(values[: reached + 1])
    if reached > WARMUP_ROWS and rise.max() > 0.5 * (values[reached] - values[0]):
        return None  # flat, then a jump: a boundary of the schedule
    is_rising = reached >= len(values) - 2 and values[-1] == peak
    return int(steps[-1]) + 1 if is_rising else int(steps[reached])
