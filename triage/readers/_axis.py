"""Which column says where a row stands: the step, its unit, and the time.

Separate from the name table because here the values decide: a name only makes a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UsageError
from triage.options import Options
from triage.readers._columns import Naming

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

FALLBACKS: Final = (("samples", "sample"), ("tokens", "token"), ("epoch", "epoch"))
"""Columns that serve as the step where none is logged, and the unit that they count."""

UNITS: Final[Mapping[str, str]] = {"step": "optimizer step", **dict(FALLBACKS)}

SAMPLE_AXIS: Final = re.compile(r".* vs samples|(.*/)?samples/.*", re.IGNORECASE)
"""Names of losses whose step counts samples (Megatron-LM's second copy, DeepSpeed's monitors)."""

COVERAGE: Final = 0.5
"""Share of the rows with a loss that must carry a step for a column to be the step."""

DISTINCT_SHARE: Final = 0.9
"""Share of the rows with a loss that must differ in a fallback column: an epoch that holds many rows is no step."""

RISING_SHARE: Final = 0.99
"""Share of neighbouring rows in which a clock must not go back; the rest are restarts of a relative one."""

TIME_SCALES: Final = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""Values above the first are in units of which the second make a second: nanoseconds, microseconds, milliseconds of a
clock that counts from 1970."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The step of the rows as the source tells it.

    Attributes:
        source: the column it comes from; None = there is none and rows are counted.
        unit: optimizer step | sample | token | epoch | row.
        step: (rows,) Int64; anything where `known` is false.
        known: (rows,) the row carries a step.
    """

    source: str | None
    unit: str
    step: Array
    known: Array


def choose_axis(frame: pl.DataFrame, naming: Naming, declared: str | None, options: Options, has_loss: Array) -> Axis:
    """Choose the column that gives the step.

    Order: the one mapped by hand, the one that the writer declares, the names in order of preference, then samples,
    tokens and epochs, then the number of the row. A column that does not move, is not whole, or is missing from most
    rows with a loss is passed over; so is one that goes back where another that agrees with it does not.

    Args:
        frame: source names.
        naming: candidates by name.
        declared: step column that the writer declares.
        options: `mapping` may name the step.
        has_loss: (rows,) the row carries the loss (or, without one, any metric).

    Raises:
        UsageError: the column mapped by hand holds no whole numbers.
    """
    import numpy as np

    mapped = options.mapping.get("step")
    if mapped is not None:
        axis = _axis(frame, mapped, "step")
        if axis is None:
            raise UsageError(f"--map step={mapped}: the column holds no whole numbers", hint="map another column")
        return axis
    names = [declared] if declared in frame.columns else []
    names += [name for name in naming.candidates.get("step", ()) if name != declared]
    usable = [axis for name in names if name and (axis := _axis(frame, name, "step")) and _serves(axis, has_loss)]
    if usable:
        return _steadiest(usable)
    for canonical, _unit in FALLBACKS:
        for name in naming.candidates.get(canonical, ()):
            axis = _axis(frame, name, canonical)
            if axis and _serves(axis, has_loss) and _is_count(axis, has_loss):
                return axis
    height = frame.height
    return Axis(None, "row", np.arange(height, dtype=np.int64), np.ones(height, dtype=bool))


def choose_time(frame: pl.DataFrame, naming: Naming, options: Options) -> str | None:
    """Choose the column that is a clock: one that does not go back (`time` may also be the seconds of one step)."""
    import numpy as np

    if "time" in options.mapping:
        return options.mapping["time"]
    for name in naming.candidates.get("time", ()):
        column = frame[name]
        values = column.filter(column.is_finite()).to_numpy()
        if not len(values):
            continue
        moves = np.diff(values)
        if not len(moves) or (float(np.mean(moves >= 0)) >= RISING_SHARE and values[-1] > values[0]):
            return name
    return None


def in_seconds(column: pl.Series) -> pl.Series:
    """Bring a clock to Float64 seconds, whatever unit it counts in."""
    import polars as pl

    column = column.cast(pl.Float64)
    typical = column.drop_nulls().drop_nans().abs().median()
    scale = next((s for limit, s in TIME_SCALES if isinstance(typical, float) and typical > limit), 1.0)
    return column / scale if scale != 1.0 else column


def _axis(frame: pl.DataFrame, name: str, canonical: str) -> Axis | None:
    """The column as whole numbers; None where it is not."""
    import polars as pl

    column = frame[name]
    if column.dtype != pl.Int64:
        floats = column.fill_nan(None)
        whole = floats.cast(pl.Int64, strict=False)
        if not (whole.cast(pl.Float64) == floats).all():
            return None
        column = whole
    known = column.is_not_null().to_numpy()
    if not known.any():
        return None
    return Axis(name, UNITS[canonical], column.fill_null(0).to_numpy(), known)


def _serves(axis: Axis, has_loss: Array) -> bool:
    """Say whether the axis is there for most rows with a loss, and moves."""
    rows = has_loss & axis.known
    if not rows.any() or rows.sum() < COVERAGE * has_loss.sum():
        return False
    steps = axis.step[rows]
    return len(steps) <= 2 or bool(steps.min() != steps.max())


def _is_count(axis: Axis, has_loss: Array) -> bool:
    """Say whether a fallback column counts: it differs from row to row and rises."""
    import numpy as np

    steps = axis.step[has_loss & axis.known]
    if len(np.unique(steps)) < DISTINCT_SHARE * len(steps):
        return False
    return len(steps) < 2 or float(np.mean(np.diff(steps) > 0)) >= DISTINCT_SHARE


def _steadiest(usable: list[Axis]) -> Axis:
    """The first axis, unless it goes back and a later one that agrees with it wherever both are logged does not.

    Some writers put the epoch into the step of their evaluation rows and log a second, steady counter beside it.
    """
    first = usable[0]
    if not _goes_back(first):
        return first
    for other in usable[1:]:
        both = first.known & other.known
        if both.any() and (first.step[both] == other.step[both]).all() and not _goes_back(other):
            return other
    return first


def _goes_back(axis: Axis) -> bool:
    steps = axis.step[axis.known]
    return bool((steps[1:] < steps[:-1]).any())
