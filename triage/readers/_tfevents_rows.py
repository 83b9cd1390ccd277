"""Scalars one below the other → rows with a column for every tag.

Separate because it knows nothing about files: values of one step that were logged one after the other share a row, and
a tag that comes again opens the next row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from triage.readers._tfevents_axis import Placed
from triage.readers._tfevents_proto import Scalars

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

STEP: Final = "step"
EPOCH: Final = "epoch"
TIME: Final = "wall_time"
"""Names of the columns that place a row; a tag of that name gets OWN in front."""

OWN: Final = "tag/"

MOST_CELLS: Final = 4 << 20
"""Most cells (rows × columns) of one frame, 32 MiB: past it a stretch is cut, against tags that never share a step."""


def column_name(tag: bytes) -> str:
    """The column of a tag; bytes that are no UTF-8 are spelled out, so that two tags stay two columns."""
    name = tag.decode("utf-8", "backslashreplace") or "(no tag)"
    return f"{OWN}{name}" if name in (STEP, TIME) else name


def frames(placed: Placed, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a stretch, in order.

    Args:
        placed: scalars in order; `series` index `names`.
        names: of all columns.

    Yields:
        Frames with `step` Int64 (`epoch` where that is what the steps count; neither where nobody gave one),
        `wall_time` Float64 of the row's first value, and the tags of the stretch as Float64: null = not logged, NaN and
        ±inf as written.
    """
    scalars = placed.scalars
    if not len(scalars.step):
        return
    yield from _cut(scalars, _rows(placed), _axis_name(placed), names)


def _axis_name(placed: Placed) -> str | None:
    if not placed.has_step:
        return None
    return EPOCH if placed.is_epoch else STEP


def _rows(placed: Placed) -> Array:
    """(values,) number of the row that a value belongs to."""
    import numpy as np

    scalars = placed.scalars
    opens = np.zeros(len(scalars.step), dtype=bool)
    opens[1:] = placed.segment[1:] != placed.segment[:-1]
    if placed.has_step:
        opens[1:] |= scalars.step[1:] != scalars.step[:-1]
    rows = np.cumsum(opens)
    before = _same_cell(rows, scalars.series)
    again = np.flatnonzero(before >= 0)
    if not len(again):
        return rows
    # A tag that comes again opens a row, from which on others may come again too.
    begin = -1
    starts = []
    for at, earlier in zip(again.tolist(), before[again].tolist(), strict=True):
        if earlier >= begin:
            begin = at
            starts.append(at)
    opens[starts] = True
    found: Array = np.cumsum(opens)
    return found


def _same_cell(rows: Array, series: Array) -> Array:
    """(values,) position of the value before it in the same row and column; -1 = none."""
    import numpy as np

    before = np.full(len(rows), -1, dtype=np.int64)
    width = int(series.max()) + 1
    cell = rows * width + series
    if (int(rows[-1]) + 1) * width <= 4 * len(rows) and np.bincount(cell).max() <= 1:
        return before  # the usual log: every tag once a step
    order = np.argsort(cell, kind="stable")
    same = np.flatnonzero(cell[order][1:] == cell[order][:-1])
    before[order[same + 1]] = order[same]
    return before


def _cut(scalars: Scalars, rows: Array, axis: str | None, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Make one frame, or one of each half where it would be large and mostly empty."""
    import numpy as np

    n_rows = int(rows[-1] - rows[0]) + 1
    present = np.bincount(scalars.series, minlength=len(names)) > 0
    if n_rows > 1 and n_rows * int(present.sum()) > MOST_CELLS:
        half = int(np.searchsorted(rows, rows[0] + n_rows // 2))
        for part in (slice(0, half), slice(half, None)):
            piece = Scalars(scalars.wall[part], scalars.step[part], scalars.series[part], scalars.value[part])
            yield from _cut(piece, rows[part], axis, names)
        return
    yield _frame(scalars, rows - rows[0], np.flatnonzero(present), axis, names)


def _frame(scalars: Scalars, rows: Array, numbers: Array, axis: str | None, names: Sequence[str]) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    height = int(rows[-1]) + 1
    first = np.searchsorted(rows, np.arange(height))
    columns = [pl.Series(TIME, scalars.wall[first])]
    if axis is not None:
        columns.insert(0, pl.Series(axis, scalars.step[first]))
    place = np.zeros(len(names), dtype=np.int64)
    place[numbers] = np.arange(len(numbers))
    cell = place[scalars.series] * height + rows
    values = np.zeros(len(numbers) * height)
    values[cell] = scalars.value
    empty = np.ones(len(numbers) * height, dtype=bool)
    empty[cell] = False
    for index, number in enumerate(numbers.tolist()):
        part = slice(index * height, (index + 1) * height)
        column = pl.Series(names[number], values[part])
        columns.append(column.set(pl.Series(empty[part]), None) if empty[part].any() else column)
    return pl.DataFrame(columns)
