"""CSV and TSV: what loggers write, what pandas and spreadsheets make of it, and what W&B and TensorBoard export."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UnreadableError
from triage.model import Block, Notice
from triage.options import Limits, Options
from triage.readers._columns import best_first, is_step
from triage.readers._contract import HEAD_BYTES, Reader, Source, Wanted
from triage.readers._csv_dialect import SAMPLE_LINES, Dialect, find_dialect
from triage.readers._csv_exports import (
    chart_blocks,
    deepspeed_names,
    is_chart,
    is_tensorboard,
    refuse_runs_table,
    tensorboard_block,
)
from triage.readers._csv_rows import Layout, read_stretch
from triage.readers._jsonl_lines import Lines, read_lines
from triage.readers._source import head_text
from triage.readers._wandb_export import sampled_history

if TYPE_CHECKING:
    import polars as pl

INDEX: Final = ("", "Unnamed: 0")
"""Names of the column that pandas writes its index into."""


def sniff(source: Source) -> bool:
    """Does the head split into a header and columns of numbers?"""
    return find_dialect(head_text(source), source.name, is_cut=len(source.head) >= HEAD_BYTES) is not None


def read(source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    """Yield a block for every 16 MiB of lines; of an export of a user interface the whole table at once."""
    stretches = read_lines(source, limits)
    first = next(stretches)
    dialect = _dialect(first, source)
    if dialect is None:
        raise UnreadableError("no table of numbers in it", path=source.path, hint="name the format, or another file")
    refuse_runs_table(dialect.columns, source)
    layout, notices = _layout(dialect, limits, wanted)
    frames = _frames(itertools.chain([first], stretches), layout, notices)
    meta: dict[str, Any] = {"format": "csv", "bytes": source.size}
    if is_chart(dialect.columns) or is_tensorboard(dialect.columns):
        yield from _export_blocks(list(frames), dialect, source, tuple(notices), meta)
        return
    names = deepspeed_names(dialect.columns, source)
    if dialect.columns[0] in INDEX and dialect.columns[0] in layout.keep:
        names |= {dialect.columns[0]: "index"}
        meta["step_column"] = "index"
    for frame in frames:
        found = (*_taken(notices), *sampled_history(frame))
        yield Block(frame.rename(names, strict=False), None, found, meta)
    if notices:
        import polars as pl

        yield Block(pl.DataFrame(), None, _taken(notices), meta)


def _dialect(first: Lines, source: Source) -> Dialect | None:
    text = first.text.replace(b"\r", b"\n")
    sample = b"\n".join(text.split(b"\n", SAMPLE_LINES)[:SAMPLE_LINES])
    return find_dialect(sample.decode("utf-8", errors="replace"), source.name, is_cut=False)


def _layout(dialect: Dialect, limits: Limits, wanted: Wanted) -> tuple[Layout, list[Notice]]:
    notices: list[Notice] = []
    is_export = is_chart(dialect.columns) or is_tensorboard(dialect.columns)

    def choose(columns: Sequence[str]) -> frozenset[str]:
        names = [name for name in columns if is_export or wanted(name)]
        if columns[0] in INDEX and any(is_step(name) for name in columns):
            notices.append(Notice("index-column-dropped"))
            names = [name for name in names if name not in INDEX]
        if len(names) > limits.columns:
            detail = {"limit": limits.columns}
            notices.append(Notice("columns-over-limit", len(names) - limits.columns, None, detail))
            names = best_first(names, Options())[: limits.columns]
        return frozenset(names)

    return Layout(dialect, dialect.columns, choose(dialect.columns), choose), notices


def _frames(stretches: Iterator[Lines], layout: Layout, notices: list[Notice]) -> Iterator[pl.DataFrame]:
    """Read stretch after stretch; what happened on the way is added to `notices` before a frame is given."""
    skip = layout.dialect.skip + (1 if layout.dialect.has_header else 0)
    for lines in stretches:
        # A carriage return that is left stands alone: line ends of old systems, or one within a quoted cell.
        text, number = lines.text.replace(b"\r", b"\n"), lines.first
        if number == 1:
            text, number = _after(text, skip), 1 + skip
        is_open = lines.is_last and bool(text) and not text.endswith(b"\n")
        frames = read_stretch(text, number, layout, is_open=is_open)
        notices += lines.notices
        notices += (Notice(kind, count, f"line {layout.where[kind]}") for kind, count in layout.counts.items())
        layout.counts.clear()
        layout.where.clear()
        yield from frames


def _after(text: bytes, lines: int) -> bytes:
    parts = text.split(b"\n", lines)
    return parts[lines] if len(parts) > lines else b""


def _taken(notices: list[Notice]) -> tuple[Notice, ...]:
    """The notices so far; they are told once."""
    taken = tuple(notices)
    notices.clear()
    return taken


def _export_blocks(
    frames: Sequence[pl.DataFrame], dialect: Dialect, source: Source, notices: tuple[Notice, ...], meta: dict[str, Any]
) -> Iterator[Block]:
    import polars as pl

    if not frames:
        yield Block(pl.DataFrame(), None, notices, meta)
        return
    frame = pl.concat(frames, how="diagonal_relaxed")
    if is_chart(dialect.columns):
        yield from chart_blocks(frame, notices, {**meta, "format": "wandb-chart-csv", "writer": "W&B"})
    else:
        yield tensorboard_block(frame, source, notices, {**meta, "format": "tensorboard-csv", "writer": "TensorBoard"})


READER: Final = Reader("csv", sniff, read)
