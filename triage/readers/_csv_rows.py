"""Stretches of a table to frames: at full speed where they are clean, cell by cell where they are not.

Both paths must give the same cells; the fast one proves for each stretch that it may be used.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from triage.readers._bytes import count_byte
from triage.readers._cells import numbers
from triage.readers._columns import is_counter
from triage.readers._csv_dialect import Dialect, is_header_again, split_lines, unique

if TYPE_CHECKING:
    import polars as pl

TYPE_SAMPLE = 1_000
"""Rows of the first stretch by which the types of the columns are guessed; a wrong guess costs time, not cells."""


@dataclass(slots=True)
class Layout:
    """The columns in force, which a header in the middle of the file changes.

    Attributes:
        dialect: separator and decimal mark.
        columns: names in order.
        keep: the names that are read.
        types: guessed types of those, once a stretch has been seen.
        counts: rows that did not fit, by kind.
        where: line of the first of each kind.
    """

    dialect: Dialect
    columns: tuple[str, ...]
    keep: frozenset[str]
    choose: Callable[[Sequence[str]], frozenset[str]]
    types: dict[str, Any] | None = None
    counts: Counter[str] = field(default_factory=Counter)
    where: dict[str, int] = field(default_factory=dict)


def read_stretch(text: bytes, first: int, layout: Layout, *, is_open: bool) -> list[pl.DataFrame]:
    """Read whole lines into frames, one for each header that was met.

    Args:
        text: UTF-8 lines.
        first: number of the first line.
        layout: columns in force; changed by a header on the way.
        is_open: the last line has no line end, so that its last cell may be cut.
    """
    text = text.lstrip(b"\n")
    if text.endswith(b"\n\n"):  # one line end may stay: to cut it off would copy the whole stretch
        text = text.rstrip(b"\n")
    if not text:
        return []
    if not layout.dialect.decimal_comma and _is_even(text, layout) and not is_open:
        frame = _fast(text, layout)
        if frame is not None:
            return [frame]
    return _tolerant(text.decode("utf-8", errors="replace").rstrip("\n"), first, layout, is_open=is_open)


def _is_even(text: bytes, layout: Layout) -> bool:
    """Prove that every line has as many cells as there are columns: separators are as many as they should be.

    A line that has too many would be refused by the parser, so none can make up for one that has too few.
    """
    separators = count_byte(text, layout.dialect.separator)
    if separators != _n_lines(text) * (len(layout.columns) - 1):
        return False
    return len(layout.columns) > 1 or b"\n\n" not in text  # a blank line has too few, unless none are due


def _fast(text: bytes, layout: Layout) -> pl.DataFrame | None:
    """Read with the guessed types; None where a cell does not have its type and must be looked at."""
    import polars as pl

    if layout.types is None:
        head = b"\n".join(text.split(b"\n", TYPE_SAMPLE)[:TYPE_SAMPLE])
        sample = _parse(head, layout, dict.fromkeys(layout.keep, pl.String))
        if sample is None:
            return None
        layout.types = {column.name: _type_of(column) for column in sample.iter_columns()}
    return _parse(text, layout, layout.types)


def _parse(text: bytes, layout: Layout, types: dict[str, Any]) -> pl.DataFrame | None:
    import polars as pl

    schema = {name: types.get(name, pl.String) for name in layout.columns}
    places = [place for place, name in enumerate(layout.columns) if name in layout.keep]
    try:
        frame = pl.read_csv(
            io.BytesIO(text),
            has_header=False,
            schema=schema,
            columns=None if len(places) == len(schema) else places,
            separator=layout.dialect.separator,
        )
    except pl.exceptions.PolarsError:
        return None
    return frame if frame.height == _n_lines(text) else None


def _n_lines(text: bytes) -> int:
    """How many lines there are, the last one with or without its line end."""
    return count_byte(text, "\n") + (not text.endswith(b"\n"))


def _type_of(column: pl.Series) -> Any:
    import polars as pl

    read = numbers(column)
    if read.unread:
        return pl.String
    return pl.Int64 if read.values.dtype == pl.Int64 and is_counter(column.name) else pl.Float64


def _tolerant(text: str, first: int, layout: Layout, *, is_open: bool) -> list[pl.DataFrame]:
    """Read row by row: pads and cuts rows of another width, takes headers on the way, counts both."""
    frames: list[pl.DataFrame] = []
    rows: list[list[str | None]] = []
    lines = text.split("\n")
    # A cell may hold line ends; then the row starts before the line that is named, which is near enough for a message.
    for number, row in enumerate(split_lines(lines, layout.dialect.separator), first):
        if is_header_again(row, layout.columns):
            frames += _frame(rows, layout)
            rows = []
            layout.columns = unique([cell.strip() for cell in row])
            layout.keep = layout.choose(layout.columns)
            layout.types = None
            _count(layout, "header-repeated", number)
            continue
        cells: list[str | None] = list(row)
        width = len(layout.columns)
        if len(cells) < width:
            if is_open and number == first + len(lines) - 1:
                # Nobody knows how much of the last cell is missing.
                _count(layout, "torn-tail", number, len(row[-1].encode()) or 1)
                cells = cells[:-1]
            elif any(cell and cell.strip() for cell in cells):
                _count(layout, "ragged-rows", number)
            if not any(cell and cell.strip() for cell in cells):
                continue
            cells += [None] * (width - len(cells))
        elif len(cells) > width:
            if any(cell and cell.strip() for cell in cells[width:]):
                _count(layout, "ragged-rows", number)
            cells = cells[:width]
        rows.append(cells)
    return frames + _frame(rows, layout)


def _frame(rows: list[list[str | None]], layout: Layout) -> list[pl.DataFrame]:
    import polars as pl

    if not rows:
        return []
    columns = []
    for name, cells in zip(layout.columns, zip(*rows, strict=True), strict=True):
        if name in layout.keep:
            column = pl.Series(name, cells, dtype=pl.String)
            read = numbers(column, decimal_comma=layout.dialect.decimal_comma)
            columns.append(_blank_as_null(column) if read.unread else read.values)
    return [pl.DataFrame(columns)] if columns else []


def _blank_as_null(column: pl.Series) -> pl.Series:
    return column.set(column.str.strip_chars() == "", None)


def _count(layout: Layout, kind: str, line: int, count: int = 1) -> None:
    layout.counts[kind] += count
    layout.where.setdefault(kind, line)
