"""History records → one frame in their order: most by the scanner, the rest by protobuf, with the same cells.

Separate from both ways of finding values because what a value becomes is decided once, here.

    the text of the value        becomes
    a number, NaN, Infinity      a number (whole numbers stay whole)
    null                         null
    true, false                  1, 0
    "text"                       text, or the number that it spells
    {…}, […]                     columns named by path; a group with `_type` is media and left out
    anything else                null, counted (unread-values)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.options import Limits
from triage.readers._flatten import Cuts, clean_name
from triage.readers._json_text import parse
from triage.readers._records import BLANKS, EXACT_INTEGER, Columns, Part, column_of, columns_of, stack
from triage.readers._wandb_scan import CONTINUES, Items, Keys, items_of

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

STEP: Final = "_step"
"""The item that holds the step; the record's own step field is 0 in files of old clients."""

MEDIA: Final = b"_type"
"""Last component of the key that makes its group a picture, table or histogram."""

_CONTAINERS: Final = b"{["
_NULL: Final = "null"


@dataclass(slots=True)
class Assembly:
    """What the rows of one file have in common; grows while it is read.

    Attributes:
        columns: which names are read.
        limits: for nested values.
        cuts: what was left out since the last block.
        keys: keys met by the scanner.
        names: for each of them, the place of its column name among `titles`.
        titles: column names.
    """

    columns: Columns
    limits: Limits
    cuts: Cuts = field(default_factory=Cuts)
    keys: Keys = field(default_factory=Keys)
    names: list[int] = field(default_factory=list)
    titles: dict[str, int] = field(default_factory=dict)


def scanned(buffer: Array, start: Array, end: Array, places: Array, assembly: Assembly) -> tuple[Part, Array]:
    """Read history bodies by the scanner.

    Args:
        buffer: bytes of a batch, padded.
        start: (records,) where the history bodies begin in it.
        end: (records,) where they end.
        places: (records,) where the records stand in the batch.
        assembly: grows.

    Returns:
        The rows that could be read; and which of the records could not (positions), to be read by `decoded`.
    """
    import numpy as np

    items = items_of(buffer, start, end, assembly.keys)
    _name_keys(assembly)
    name = np.array(assembly.names, dtype=np.int64)[items.key]
    is_plain = items.is_read.copy()
    is_media = np.array([path[-1] == MEDIA for path in assembly.keys.paths], dtype=bool)
    first = buffer[items.start]
    odd = is_media[items.key] if len(is_media) else np.zeros(0, dtype=bool)
    for byte in _CONTAINERS:
        odd = odd | (first == byte)
    cell = name * len(start) + items.record
    order = np.argsort(cell)
    ordered = cell[order]
    # A key that stands twice in a record: protobuf's path counts it.
    twice = order[1:][ordered[1:] == ordered[:-1]]
    is_plain[items.record[odd]] = False
    is_plain[items.record[twice]] = False
    order = order[is_plain[items.record[order]]]

    row_of = np.cumsum(is_plain) - 1
    height = int(is_plain.sum())
    series = _series(buffer, items, name[order], order, row_of, height, assembly)
    _fill_step(series, items.step[is_plain], height, assembly)
    return (places[is_plain].tolist(), series), np.flatnonzero(~is_plain)


def decoded(histories: Sequence[Any], places: Sequence[int], assembly: Assembly) -> Part:
    """Read history messages that protobuf has decoded: (places, columns), a row each."""
    records = [_record_of(history, assembly.cuts) for history in histories]
    series = columns_of(records, assembly.columns, assembly.limits.depth, assembly.cuts)
    return list(places), series


def frame_of_parts(parts: Sequence[Part], assembly: Assembly) -> pl.DataFrame:
    """Put scanned and decoded rows into the order of the file."""
    return stack([part for part in parts if len(part[0])], assembly.cuts)


def _name_keys(assembly: Assembly) -> None:
    """Give new keys their column names; two spellings of one name share a column."""
    for path in assembly.keys.paths[len(assembly.names) :]:
        title = "/".join(_text(part) for part in path)
        assembly.names.append(assembly.titles.setdefault(title, len(assembly.titles)))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _series(
    buffer: Array, items: Items, name: Array, order: Array, row_of: Array, height: int, assembly: Assembly
) -> dict[str, Any]:
    """Turn the items in `order` (by column, then by row; `name` is their column) into columns of `height` rows."""
    import numpy as np

    bounds = np.flatnonzero(np.diff(name, prepend=-1, append=-1))
    titles = list(assembly.titles)
    stretches: list[tuple[str, int, int]] = []
    for begin, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        title = titles[int(name[begin])]
        if assembly.columns.takes(title, stop - begin):
            stretches.append((title, begin, stop))
    texts = _texts(buffer, items.start[order], items.end[order])
    found: dict[str, Any] = {}
    for title, begin, stop in stretches:
        mine = order[begin:stop]
        column: Any = _numbers(texts[begin:stop].alias(title))
        if column is None:
            column = [_value(cell, assembly.cuts) for cell in _cut(buffer, items.start[mine], items.end[mine])]
        rows = None if stop - begin == height else row_of[items.record[mine]]
        found[title] = _spread(title, column, rows, height, assembly.cuts)
    return found


def _texts(buffer: Array, start: Array, end: Array) -> pl.Series:
    """Cut texts out of the buffer, one for each stretch."""
    import numpy as np
    import polars as pl

    # All in one text, a line each, taken apart by polars: half the time of cutting them one by one.
    size = (end - start + 1).astype(np.int32)
    stop = np.cumsum(size, dtype=np.int32)
    place = np.repeat((start - (stop - size)).astype(np.int32), size)
    place += np.arange(len(place), dtype=np.int32)
    lines = buffer.take(place)
    lines[stop - 1] = ord("\n")
    if len(start) and lines.max() < CONTINUES and int((lines == ord("\n")).sum()) == len(start):
        return pl.Series("text", [lines[:-1].tobytes().decode("ascii")], dtype=pl.String).str.split("\n").explode()
    cells = [cell.decode("utf-8", "replace") for cell in _cut(buffer, start, end)]
    return pl.Series("text", cells, dtype=pl.String)


def _cut(buffer: Array, start: Array, end: Array) -> Iterator[bytes]:
    payload = buffer.tobytes()
    for first, last in zip(start.tolist(), end.tolist(), strict=True):
        yield payload[first:last]


def _numbers(written: pl.Series) -> pl.Series | None:
    """Read texts as one column of numbers; None where one is neither a number nor null, or would lose digits."""
    import numpy as np
    import polars as pl

    is_null = written == _NULL
    absent = int(is_null.sum())
    if absent:
        written = written.set(is_null, None)
    values = written.cast(pl.Int64 if absent < len(written) else pl.Float64, strict=False)
    if values.null_count() == absent:
        return values
    values = written.cast(pl.Float64, strict=False)
    if values.null_count() != absent:
        return None
    size = np.abs(values.to_numpy())  # by numpy, as an expression of polars costs more than all else on a short column
    return None if ((size >= EXACT_INTEGER) & (size != np.inf)).any() else values


def _spread(name: str, cells: Any, rows: Array | None, height: int, cuts: Cuts) -> Any:
    """A column of `height` rows, as `stack` takes it, from cells and their rows (None = a cell for every row)."""
    import polars as pl

    if isinstance(cells, pl.Series):
        if rows is None:
            return cells
        return pl.repeat(None, height, dtype=cells.dtype, eager=True).alias(name).scatter(rows, cells)
    if rows is None:
        return column_of(name, cells, cuts)
    spread: list[Any] = [None] * height
    for row, cell in zip(rows.tolist(), cells, strict=True):
        spread[row] = cell
    return column_of(name, spread, cuts)


def _value(written: bytes, cuts: Cuts) -> Any:
    try:
        return parse(written)
    except ValueError:
        cuts["unread-values"] += 1
        return None


def _fill_step(series: dict[str, Any], step: Array, height: int, assembly: Assembly) -> None:
    """Take the record's own step where the item is missing."""
    import polars as pl

    own = series.get(STEP)
    if isinstance(own, pl.Series) and not own.null_count():
        return
    own = [None] * height if own is None else list(own)
    numbers = [number if number >= 0 else None for number in step.tolist()]
    cells = [number if cell is None else cell for cell, number in zip(own, numbers, strict=True)]
    if any(cell is not None for cell in cells) and assembly.columns.takes(STEP, height):
        series[STEP] = column_of(STEP, cells, assembly.cuts)


def _record_of(history: Any, cuts: Cuts) -> dict[str, Any]:
    """One history message as a nested object; leaves are put together again, so that media is seen whole."""
    record: dict[str, Any] = {}
    for item in history.item:
        path = [_text(part) for part in item.nested_key] or [_text(item.key)]
        _put(record, path, _value_of(item, cuts), cuts)
    own = record.get(STEP)
    is_absent = own is None or (isinstance(own, str) and not own.strip(BLANKS))
    if is_absent and history.HasField("step") and history.step.num >= 0:
        record[STEP] = history.step.num
    return record


def _put(record: dict[str, Any], path: Sequence[str], value: Any, cuts: Cuts) -> None:
    group: dict[str, Any] = record
    for place, part in enumerate(path[:-1]):
        inner = group.setdefault(clean_name(part), {})
        if not isinstance(inner, dict):
            # A value stands where a group should be: the rest of the path becomes one name beside it.
            group["/".join(path[place:])] = value
            return
        group = inner
    name = clean_name(path[-1])
    if name in group:
        cuts["duplicate-keys"] += 1
    group[name] = value


def _value_of(item: Any, cuts: Cuts) -> Any:
    """The value of an item: its JSON text, or the typed form where there is no text."""
    if item.value_json:
        return _value(item.value_json, cuts)
    for typed in ("number", "integer", "boolean"):
        if item.HasField(typed):
            return getattr(item, typed)
    if item.HasField("text"):
        return _text(item.text)
    if item.json:
        return _value(item.json, cuts)
    if not item.HasField("none"):
        cuts["unread-values"] += 1
    return None
