"""Rows as dictionaries → one columnar frame, and frames of several key sets → one frame in row order.

Separate because every reader of JSON-like rows ends here: what a column of mixed cells becomes is decided once.

    cells of the column                    becomes
    nothing but null                       Float64, all null
    integers, booleans (as 0 and 1)        Int64; Float64 where one does not fit (counted)
    numbers                                Float64; an integer that Float64 cannot hold is counted
    text                                   String; blank text counts as null
    numbers and text that reads as number  numbers
    numbers and other text                 String, numbers written as text
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from triage.model import Notice
from triage.readers._cells import number
from triage.readers._flatten import Cuts, clean_name, flatten
from triage.schema import builtin_aliases

if TYPE_CHECKING:
    import polars as pl

EXACT_INTEGER: Final = 2**53
"""Float64 holds every integer up to here."""

BLANKS: Final = " \t\n\r\f\v"
"""A text of nothing but these is blank. Spelled out, as each library has its own list of blanks."""

DENSE_CELLS: Final = 64 << 20
"""Most cells (rows × columns, empty ones included) of one block: half a GiB, against keys that hold a step number."""

_INT64_MAX: Final = 2**63 - 1
_INT64_MIN: Final = -(2**63)


@cache
def _admitted_past_limit() -> frozenset[str]:
    """Names without which nothing can be judged: the spelled-out ones of the alias table, some hundred."""
    return frozenset(name for alias in builtin_aliases() for name in (alias.canonical, *alias.exact))


@dataclass(slots=True)
class Columns:
    """Which names become columns of this source, and how many cells the limit cost; grows while it is read.

    Attributes:
        wanted: the column selection of the caller.
        limit: most columns; past it only names without which nothing can be judged get in.
        names: columns so far.
        dropped: cells of names past the limit.
        first_dropped: the first such name.
    """

    wanted: Callable[[str], bool]
    limit: int
    names: set[str] = field(default_factory=set)
    dropped: int = 0
    first_dropped: str | None = None

    def takes(self, name: str, cells: int, *, is_full: bool = False) -> bool:
        """Is this column read? Counts its cells where a limit (or a block that `is_full`) refuses it."""
        if name in self.names and not is_full:
            return True
        if name not in self.names and not self.wanted(name):
            return False
        if (is_full or len(self.names) >= self.limit) and name.lower() not in _admitted_past_limit():
            self.dropped += cells
            self.first_dropped = self.first_dropped or name
            return False
        self.names.add(name)
        return True

    def notices(self) -> tuple[Notice, ...]:
        """What the limit cost since the last call."""
        if not self.dropped:
            return ()
        notice = Notice("column-limit", self.dropped, self.first_dropped, {"limit": self.limit})
        self.dropped, self.first_dropped = 0, None
        return (notice,)


_Piece = tuple[Sequence[int], Sequence[Any]]

Column: TypeAlias = "pl.Series | list[Any]"
"""Cells of one kind as a series; mixed ones as the Python values that they are."""

Part = tuple[Sequence[int], Mapping[str, Any]]
"""Rows (their places in the block, repeated where one line holds several) and their columns, one cell per row."""


def frame_of(records: Sequence[Mapping[str, Any]], columns: Columns, depth: int, cuts: Cuts) -> pl.DataFrame:
    """One row per record, nested values flattened, in order."""
    return stack([(range(len(records)), columns_of(records, columns, depth, cuts))], cuts)


def columns_of(records: Sequence[Mapping[str, Any]], columns: Columns, depth: int, cuts: Cuts) -> dict[str, Column]:
    """The columns of a list of records, for `stack`; a record without a key has null there.

    Records of one key set are turned over together, which is what makes this linear with a small factor.
    """
    pieces_of: dict[str, list[_Piece]] = {}
    nested: dict[int, Mapping[str, Any]] = {}

    def takes(name: str, cells: int) -> bool:
        is_full = name not in pieces_of and len(pieces_of) * len(records) >= DENSE_CELLS
        return columns.takes(name, cells, is_full=is_full)

    for names, rows in _by_keys(enumerate(records)).items():
        turned = _turned(records, rows)
        if any(_is_nested(values) for values in turned) or tuple(map(clean_name, names)) != names:
            nested.update((row, flatten(records[row], depth, cuts)) for row in rows)
            continue
        _collect(pieces_of, names, rows, turned, takes)
    for names, rows in _by_keys(nested.items()).items():
        _collect(pieces_of, names, rows, _turned(nested, rows), takes)
    return {name: _whole_column(name, pieces, len(records), cuts) for name, pieces in pieces_of.items()}


def _by_keys(records: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[tuple[str, ...], list[int]]:
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, record in records:
        groups.setdefault(tuple(record), []).append(row)
    return groups


def _turned(records: Any, rows: Sequence[int]) -> list[tuple[Any, ...]]:
    return list(zip(*(records[row].values() for row in rows), strict=True))


def _is_nested(values: Iterable[Any]) -> bool:
    kinds = set(map(type, values))
    return dict in kinds or list in kinds


def _collect(
    pieces_of: dict[str, list[_Piece]],
    names: Sequence[str],
    rows: Sequence[int],
    turned: Iterable[Sequence[Any]],
    takes: Callable[[str, int], bool],
) -> None:
    for name, values in zip(names, turned, strict=True):
        if takes(name, len(rows)):
            pieces_of.setdefault(name, []).append((rows, values))


def _whole_column(name: str, pieces: Sequence[_Piece], height: int, cuts: Cuts) -> Column:
    """The column with a cell for every record; cells of rows without the key are null."""
    import polars as pl

    if len(pieces) == 1 and len(pieces[0][0]) == height:
        return column_of(name, pieces[0][1], cuts)
    rows = [row for rows, _ in pieces for row in rows]
    values = [value for _, values in pieces for value in values]
    column = column_of(name, values, cuts)
    if isinstance(column, pl.Series):
        return pl.Series(name, [None], dtype=column.dtype).new_from_index(0, height).scatter(rows, column)
    cells: list[Any] = [None] * height
    for row, value in zip(rows, column, strict=True):
        cells[row] = value
    return cells


def column_of(name: str, values: Sequence[Any], cuts: Cuts) -> Column:
    """A column from Python cells by the table of this module, as far as these cells alone decide it.

    Cells: None, bool, int, float (NaN, ±inf) or str. A mixture of numbers and text stays a list: what becomes of it
    depends on all cells of the column.
    """
    import polars as pl

    kinds = _kinds(values)
    if str in kinds:
        values = [_clean_text(value) if type(value) is str else value for value in values]
        kinds = _kinds(values)
    if str in kinds:
        return pl.Series(name, values, dtype=pl.String) if kinds == {str} else list(values)
    if bool in kinds:
        values = [int(value) if type(value) is bool else value for value in values]
    if kinds and _are_whole(values):
        return pl.Series(name, values, dtype=pl.Int64)
    if int in kinds or bool in kinds:
        values = [None if value is None else _float_of(value, cuts) for value in values]
    return pl.Series(name, values, dtype=pl.Float64)


def _series_of(name: str, column: Column, cuts: Cuts) -> pl.Series:
    """The column for good: mixed cells become numbers if all of their texts read as numbers, and text otherwise."""
    import polars as pl

    if isinstance(column, pl.Series):
        return column
    settled = column_of(name, column, cuts)
    if isinstance(settled, pl.Series):
        return settled
    try:
        numbers = [number(cell) if type(cell) is str else cell for cell in settled]
    except ValueError:
        return pl.Series(name, _texts_of(settled, cuts), dtype=pl.String)
    return _series_of(name, numbers, cuts)


def _are_whole(values: Iterable[Any]) -> bool:
    return all(
        value is None or (not isinstance(value, float) and _INT64_MIN <= value <= _INT64_MAX) for value in values
    )


def _kinds(values: Iterable[Any]) -> set[type]:
    return set(map(type, values)) - {type(None)}


def _float_of(value: float, cuts: Cuts) -> float:
    try:
        number = float(value)
    except OverflowError:
        cuts["integers-rounded"] += 1
        return float("inf") if value > 0 else float("-inf")
    if isinstance(value, int) and abs(value) > EXACT_INTEGER and int(number) != value:
        cuts["integers-rounded"] += 1
    return number


def _clean_text(value: str) -> str | None:
    if not value.strip(BLANKS):
        return None
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _texts_of(values: Sequence[Any], cuts: Cuts) -> list[str | None]:
    as_float = not _are_whole(value for value in values if not isinstance(value, str))

    def text_of(value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return value
        number = _float_of(value, cuts) if as_float else int(value)
        is_short = math.isfinite(number) and number == int(number) and abs(number) <= EXACT_INTEGER
        return str(int(number) if is_short else number)

    return list(map(text_of, values))


def stack(parts: Sequence[Part], cuts: Cuts) -> pl.DataFrame:
    """Put parts with different columns under one another, in the order of their rows; linear but for one sort."""
    import numpy as np
    import polars as pl

    parts = [part for part in parts if len(part[0])]
    if not parts:
        return pl.DataFrame()
    if len(parts) == 1:
        return pl.DataFrame({name: _series_of(name, column, cuts) for name, column in parts[0][1].items()})
    places = np.concatenate([np.asarray(rows, dtype=np.int64) for rows, _ in parts])
    order = pl.Series(np.argsort(places, kind="stable"))
    names = dict.fromkeys(name for _, columns in parts for name in columns)
    return pl.DataFrame({name: _stacked(name, parts, cuts).gather(order) for name in names})


def _stacked(name: str, parts: Sequence[Part], cuts: Cuts) -> pl.Series:
    import polars as pl

    pieces: list[tuple[int, Any]] = [(len(rows), columns.get(name)) for rows, columns in parts]
    series = [piece for _, piece in pieces if isinstance(piece, pl.Series) and piece.null_count() < len(piece)]
    kinds = {piece.dtype for piece in series}
    if (len(kinds) > 1 and pl.String in kinds) or any(isinstance(piece, list) for _, piece in pieces):
        return _series_of(name, list(_cells(pieces)), cuts)
    if len(kinds) > 1:
        cuts["integers-rounded"] += sum(_rounded(piece) for piece in series if piece.dtype == pl.Int64)
    dtype = kinds.pop() if len(kinds) == 1 else pl.Float64
    return pl.concat(
        [pl.repeat(None, n, dtype=dtype, eager=True).alias(name) if p is None else p.cast(dtype) for n, p in pieces]
    )


def _cells(pieces: Iterable[tuple[int, Any]]) -> Iterable[Any]:
    for count, piece in pieces:
        if piece is None:
            yield from repeat(None, count)
        else:
            yield from piece if isinstance(piece, list) else piece.to_list()


def _rounded(integers: pl.Series) -> int:
    """How many of these Int64 values Float64 cannot hold exactly."""
    large = integers.filter((integers > EXACT_INTEGER) | (integers < -EXACT_INTEGER))
    return sum(int(float(value)) != value for value in large)
