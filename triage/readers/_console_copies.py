"""Rows that are printed twice: two loggers of one job print the same step, once in long and once in short.

Separate because this is where a value is taken out: what counts as a copy is one rule, in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from triage.readers._console_lines import Batch, Numbers
from triage.readers._console_names import is_gradient, is_loss
from triage.readers._console_readings import Key
from triage.readers._console_steps import UNKNOWN

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SAME_ABSOLUTE: Final = 6e-4
SAME_RELATIVE: Final = 1e-3
"""Two loggers' prints of one number differ by rounding: to three decimals, or to three or four digits."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a block.

    Attributes:
        columns: name → numbers and where they are there, (rows,) each.
        step: (rows,) UNKNOWN without one.
        total: (rows,) the last step that the line declares, UNKNOWN without one.
        rank: (rows,) the worker, UNKNOWN without one.
        time: (rows,) time stamps as written, None without one.
        events: (place, kind, step) of every message; the step is UNKNOWN where it is not known.
    """

    columns: Numbers
    step: Array
    total: Array
    rank: Array
    time: list[str | None]
    events: list[tuple[int, str, int]]


def without_copies(rows: Rows, batch: Batch, group: Array) -> tuple[Rows, int]:
    """Take out what a second logger printed of the same step, and rows that hold nothing.

    In a stretch of rows of one step a number is a copy where the one before it in its column is the same: to the digit
    where both rows are of one kind, up to rounding where they are not. A row of which nothing is left goes.

    Args:
        rows: one entry a record.
        batch: the lines.
        group: (lines,) the record of each.

    Returns:
        The rows, and how many were copies.
    """
    import numpy as np

    height = len(rows.step)
    if not height:
        return rows, 0
    kept = np.flatnonzero(_filled(rows.columns, height) & _is_training(rows.columns, batch, group, height))
    step, rank = rows.step[kept], rows.rank[kept]
    same = (step[1:] == step[:-1]) & (step[1:] != UNKNOWN) & (rank[1:] == rank[:-1])
    if not same.any():
        return _taken(rows, kept), 0
    begin = np.maximum.accumulate(np.where(np.concatenate(([True], ~same)), np.arange(len(kept)), 0))
    _clear_copies(rows.columns, kept, begin, _kind_of_rows(batch, group)[kept])
    still = kept[_filled(rows.columns, height)[kept]]
    return _taken(rows, still), len(kept) - len(still)


def _filled(columns: Numbers, height: int) -> Array:
    """Rows that hold a number besides the epoch."""
    import numpy as np

    filled = np.zeros(height, dtype=bool)
    for name, (_, there) in columns.items():
        if name != "epoch":
            filled |= there
    return filled


def _is_training(columns: Numbers, batch: Batch, group: Array, height: int) -> Array:
    """Rows that are not put together from a box without a loss or a gradient, which is some other table."""
    import numpy as np

    boxed = np.zeros(height, dtype=bool)
    boxed[group[batch.where(lambda f: f.reading.kind == "item")]] = True
    if not boxed.any():
        return ~boxed
    tells = np.zeros(height, dtype=bool)
    for name, (_, there) in columns.items():
        if is_loss(name) or is_gradient(name):
            tells |= there
    return ~boxed | tells


def _kind_of_rows(batch: Batch, group: Array) -> Array:
    """The kind of line that each row begins with."""
    import numpy as np

    kind = np.zeros(len(batch.places), dtype=np.int64)
    numbers: dict[Key, int] = {}
    for found, span in zip(batch.found, batch.spans, strict=True):
        kind[span] = numbers.setdefault(found.reading.key(), len(numbers))
    first: Array = kind[np.flatnonzero(np.diff(group, prepend=-1))]
    return first


def _clear_copies(columns: Numbers, kept: Array, begin: Array, kind: Array) -> None:
    """Take out numbers that stand above them in the same stretch.

    Args:
        columns: changed in place.
        kept: rows that count.
        begin: (kept,) where the stretch of each begins.
        kind: (kept,) kind of line of each.
    """
    import numpy as np

    at = np.arange(len(kept))
    for values, there in columns.values():
        filled = there[kept]
        above = np.concatenate(([-1], np.maximum.accumulate(np.where(filled, at, -1))[:-1]))
        later = np.flatnonzero(filled & (above >= begin))
        if not len(later):
            continue
        earlier = above[later]
        old, new = values[kept[earlier]], values[kept[later]]
        slack = np.where(kind[earlier] == kind[later], 0.0, SAME_ABSOLUTE + SAME_RELATIVE * np.abs(old))
        with np.errstate(invalid="ignore"):
            near = np.isfinite(old) & np.isfinite(new) & (np.abs(new - old) <= slack)
        there[kept[later[near | (new == old) | (np.isnan(new) & np.isnan(old))]]] = False


def _taken(rows: Rows, kept: Array) -> Rows:
    columns = {name: (values[kept], there[kept]) for name, (values, there) in rows.columns.items() if there[kept].any()}
    time = [rows.time[row] for row in kept.tolist()]
    return Rows(columns, rows.step[kept], rows.total[kept], rows.rank[kept], time, rows.events)
