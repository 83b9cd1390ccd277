"""Parquet and Arrow files: typed columns, in which null and NaN are two things."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UnreadableError
from triage.model import Block, Notice
from triage.options import Limits, Options
from triage.readers._columns import best_first
from triage.readers._contract import Reader, Source, Wanted
from triage.readers._wandb_export import sampled_history

if TYPE_CHECKING:
    import polars as pl

PARQUET: Final = b"PAR1"
ARROW_FILE: Final = b"ARROW1\0\0"
ARROW_STREAM: Final = b"\xff\xff\xff\xff"
ARROW_NAMES: Final = (".arrow", ".arrows", ".ipc", ".feather")
"""The stream form begins with four bytes that other files may begin with too: the name is the second witness."""

BLOCK_CELLS: Final = 16 << 20
"""Cells of one block: 128 MiB of numbers."""

INDEX: Final = "__index_level_0__"
"""Column in which pandas keeps an index without a name."""


def sniff(source: Source) -> bool:
    """Does it begin as a Parquet or Arrow file?"""
    if source.head.startswith(ARROW_STREAM):
        return source.name.lower().endswith(ARROW_NAMES)
    return source.head.startswith((PARQUET, ARROW_FILE))


def read(source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    """Yield a block for every 16 Mi cells; only the wanted columns are taken off the disk."""
    import polars as pl

    is_parquet = source.head.startswith(PARQUET)
    meta: dict[str, Any] = {"format": "parquet" if is_parquet else "arrow", "bytes": source.size}
    try:
        table = _scan(source, is_parquet=is_parquet)
        schema = table.collect_schema()
        height = int(table.select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError) as fault:
        hint = "the end of the file is missing if the writer was killed: its index is written last"
        raise UnreadableError(
            f"is damaged or not complete: {_first_line(fault)}", path=source.path, hint=hint
        ) from fault
    # A struct is taken whole; which of its fields are wanted is seen once it is unfolded.
    names = [name for name, kind in schema.items() if kind.is_nested() or wanted(name)]
    notices: list[Notice] = []
    if len(names) > limits.columns:
        detail = {"limit": limits.columns}
        notices.append(Notice("columns-over-limit", len(names) - limits.columns, None, detail))
        names = best_first(names, Options())[: limits.columns]
    if INDEX in names:
        meta["step_column"] = INDEX
    rows = max(1, BLOCK_CELLS // max(1, len(names)))
    for begin in range(0, max(height, 1), rows):
        try:
            frame = table.select(names).slice(begin, rows).collect()
        except (pl.exceptions.PolarsError, OSError) as fault:
            if not begin:
                message = f"is damaged: {_first_line(fault)}"
                raise UnreadableError(message, path=source.path, hint="write it again") from fault
            lost = Notice("skipped-rows", height - begin, f"row {begin}", {"reason": _first_line(fault)})
            yield Block(pl.DataFrame(), None, (*notices, lost), meta)
            return
        frame, dropped = _plain(frame, limits.depth)
        if begin == 0 and dropped:
            notices.append(Notice("nested-columns-dropped", len(dropped), None, {"columns": ", ".join(dropped)}))
        yield Block(frame, None, (*notices, *sampled_history(frame)), meta)
        notices = []


def _scan(source: Source, *, is_parquet: bool) -> pl.LazyFrame:
    import polars as pl

    if is_parquet and source.local is not None:
        return pl.scan_parquet(source.local, glob=False)
    if source.local is not None and source.head.startswith(ARROW_FILE):
        return pl.scan_ipc(source.local)
    with source.open() as stream:
        data = io.BytesIO(stream.read())
    if is_parquet:
        return pl.read_parquet(data).lazy()
    return (pl.read_ipc(data) if source.head.startswith(ARROW_FILE) else pl.read_ipc_stream(data)).lazy()


def _plain(frame: pl.DataFrame, depth: int) -> tuple[pl.DataFrame, list[str]]:
    """Unfold structs into `outer/inner`, turn every other type into numbers or text, and name what is neither."""
    import polars as pl

    for _ in range(depth):
        structs = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Struct)]
        if not structs:
            break
        for name in structs:
            inner = frame[name].struct.unnest()
            taken = set(frame.columns) - {name}
            inner = inner.rename({field: f"{name}/{field}" for field in inner.columns})
            frame = frame.drop(name).with_columns(c for c in inner.iter_columns() if c.name not in taken)
    columns, dropped = [], []
    for column in frame.iter_columns():
        made = _plain_column(column)
        if made is None:
            dropped.append(column.name)
        else:
            columns.append(made)
    return pl.DataFrame(columns), dropped


def _plain_column(column: pl.Series) -> pl.Series | None:
    import polars as pl

    kind = column.dtype
    if kind in (pl.Int64, pl.Float64, pl.String, pl.Boolean):
        return column
    if kind.is_integer():
        return column.cast(pl.Int64, strict=False)
    if kind.is_numeric():
        return column.cast(pl.Float64)
    if kind == pl.Null:
        return column.cast(pl.Float64)
    if kind in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if kind in (pl.Datetime, pl.Date):
        return column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64) / 1e6
    if kind == pl.Duration:
        return column.dt.total_microseconds().cast(pl.Float64) / 1e6
    return None


def _first_line(fault: Exception) -> str:
    return str(fault).strip().partition("\n")[0][:200]


READER: Final = Reader("parquet", sniff, read)
