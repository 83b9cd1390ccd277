"""The space in which a signal is judged: log where every finite value is positive, raw otherwise.

Separate because everything later (noise, effect size, recovery) is in units of this space. In log space one unit of
effect is one nat, so a doubling reads the same at 6.0 and at 2.0 (science 3.1). In raw space a unit is five times
the noise of first differences, taken from the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RAW_UNIT: Final = 5.0
"""Noise of first differences per unit of effect in raw space (definitions 3)."""

LOG_FLOOR: Final = 0.002
"""Least noise in log space: 0.2 %, below it a robust scale measures rounding (science 3.1)."""

RAW_FLOOR: Final = 0.002
"""Least noise in raw space, as a share of the window's median magnitude: the same 0.2 %."""

GAP_SLACK: Final = 1.001
"""The smallest multiple of a step is the step, within float error."""

FLICKER: Final = 3
"""Changes between two values from which on they are neighbours on a grid: a jump changes once, a spike twice."""


@dataclass(frozen=True, slots=True)
class Space:
    """How values of one signal are turned into the numbers that are judged.

    Attributes:
        is_log: natural logarithm of the value; else the value itself.
        sign: +1 where up is bad, -1 where down is bad.
        quantum: smallest step between distinct logged values, raw units; 0 = not rounded.
    """

    is_log: bool
    sign: float
    quantum: float

    def to_x(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Judged numbers of raw values, same shape; non-finite values become NaN."""
        import numpy as np

        finite = np.isfinite(values)
        if self.is_log:
            finite &= values > 0
            return np.where(finite, self.sign * np.log(np.where(finite, values, 1.0)), np.nan)
        return np.where(finite, self.sign * values, np.nan)

    def to_raw(self, x: float) -> float:
        """Raw value of one judged number."""
        import math

        value = self.sign * x
        return math.exp(min(value, 700.0)) if self.is_log else value

    def rounding(self, x: float) -> float:
        """Half a quantum around the judged number `x`, in units of this space."""
        return 0.5 * self.quantum / max(abs(self.to_raw(x)), 1e-300) if self.is_log else 0.5 * self.quantum


def choose(values: NDArray[np.float64], direction: str) -> Space:
    """The space for the logged values of one signal, (n,) without nulls; may hold NaN and inf."""
    import numpy as np

    finite = values[np.isfinite(values)]
    is_log = bool(finite.size) and bool((finite > 0).all())
    return Space(is_log, 1.0 if direction == "up" else -1.0, quantum_of(finite))


def quantum_of(finite: NDArray[np.float64]) -> float:
    """Smallest positive gap between distinct values, 0 where values hardly ever repeat (not rounded).

    Looks at the last 4,096 values at most. Rounded logs repeat values; float noise does not. All values of a rounded
    log are multiples of the step, and one that shows two values only goes to and fro between them: a constant loss
    that jumps is not rounded to the size of the jump.
    """
    import numpy as np

    tail = finite[-4096:]
    distinct = np.unique(tail)
    if distinct.size < 2:
        return 0.0
    gap = float(np.diff(distinct).min())
    is_repeated = distinct.size <= 0.9 * tail.size  # a tenth repeat at least
    has_room = gap <= GAP_SLACK * float(np.abs(distinct[distinct != 0]).min())
    flickers = distinct.size > 2 or int((np.diff(tail) != 0).sum()) >= FLICKER
    return gap if is_repeated and has_room and flickers else _decimals(tail)


def _decimals(values: NDArray[np.float64]) -> float:
    """Quantum of values written with at most four decimals (Hugging Face rounds so), else 0."""
    import numpy as np

    if not values.size or np.abs(values).max() > 1e9:  # nothing of that size is written with decimals
        return 0.0
    for places in (2, 3, 4):
        if values.size >= 10 and bool((np.abs(values - np.round(values, places)) < 1e-9).all()):
            return 10.0**-places
    return 0.0
