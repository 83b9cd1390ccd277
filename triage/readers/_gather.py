"""Blocks of a source gathered into one frame of numbers, with what was not a number counted.

Separate from `_table.py` because this is about cells and types; what a column or a row means is decided there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.model import Block, Notice
from triage.options import Limits, Options
from triage.readers._cells import numbers
from triage.readers._columns import BOOKKEEPING, EVAL_NAME, best_first, is_counter
from triage.readers._runs import apart
from triage.readers._times import looks_like_time, seconds

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

SPLIT_NAME: Final = re.compile(
    r"(?:.*[./_ ])?(?:split|phase|mode|stage|event|type|subset|job|kind|prefix|loop|dataloader)", re.IGNORECASE
)
"""Text columns that may say whether a row is training or evaluation; kept until that is decided."""

CONTEXT_NAME: Final = re.compile(
    r"(?:.*[./_ ])?(?:source|dataset|data_source|domain|corpus|shard|data_file|batch_file|language|task)s?",
    re.IGNORECASE,
)
"""Text columns that say what a batch was made of; kept as messages."""

DISTINCT: Final = 64
"""How many different texts of a column are remembered; only their number is of use beyond."""

NO_NUMBERS: Final = "row_without_numbers"
"""Stands in for the columns of a block that holds none; always blank."""

TEXT_SAMPLE: Final = 64
"""Cells looked at before a whole text column is read as numbers."""


@dataclass(slots=True)
class Tally:
    """What a column held besides numbers, while it is gathered."""

    cells: int = 0
    distinct: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Part:
    """One source (or one run of a source) while it is gathered.

    Attributes:
        frames: numbers only (Int64 for counters, Float64 for the rest), in order.
        texts: per frame, the text columns that are still needed.
        others: per frame, which rows hold something besides numbers: text, a list.
        tallies: column -> texts met in it.
        lists: how many cells held lists or objects.
        notices: of the blocks.
        meta: of the blocks, merged.
        rank: the worker that the file name tells; None = not told.
    """

    frames: list[pl.DataFrame] = field(default_factory=list)
    texts: list[dict[str, pl.Series]] = field(default_factory=list)
    others: list[np.ndarray[Any, Any]] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of one run in the order of their sources, under source names.

    Attributes:
        frame: numbers; null = not logged.
        part: (rows,) which part a row came from.
        texts: text columns that are still needed, full length.
        others: (rows,) the row holds something besides numbers: text, a list.
        config: constant texts, and what the writers declared.
        notices: what was dropped or repaired.
        meta: merged over the parts.
    """

    frame: pl.DataFrame
    part: np.ndarray[Any, Any]
    texts: Mapping[str, pl.Series]
    others: np.ndarray[Any, Any]
    config: Mapping[str, Any]
    notices: tuple[Notice, ...]
    meta: Mapping[str, Any]


def collect(
    blocks: Iterable[Block], options: Options, *, rank: int | None = None, is_eval: bool = False
) -> dict[str | None, Part]:
    """Gather the blocks of one source, run by run.

    Args:
        blocks: as a reader yields them.
        options: names of counters that are mapped by hand.
        rank: the worker that wrote the file, where its name tells.
        is_eval: the file holds evaluation rows, as its name tells: its columns get an `eval/` in front.
    """
    parts: dict[str | None, Part] = {}
    for block in apart(blocks):
        part = parts.setdefault(block.run, Part(rank=rank))
        part.notices.extend(block.notices)
        _merge_meta(part.meta, block.meta)
        frame = block.frame
        if is_eval:
            renames = {name: _as_eval(name, options) for name in frame.columns}
            frame = frame.rename({old: new for old, new in renames.items() if new not in frame.columns})
        if frame.height:
            _take(part, frame, {str(block.meta.get("step_column")), *options.mapping.values()})
    return parts


def join(parts: Sequence[Part], limits: Limits, options: Options) -> Rows:
    """Put the parts of one run one after another.

    Columns beyond `limits.columns` are dropped and counted, those that could be canonical last.
    """
    import numpy as np
    import polars as pl

    notices = [notice for part in parts for notice in part.notices]
    tallies: dict[str, Tally] = {}
    meta: dict[str, Any] = {}
    frames, texts, marks = [], [], []
    for index, part in enumerate(parts):
        sums = {key: meta.get(key, 0) + part.meta[key] for key in ("bytes", "dropped") if part.meta.get(key)}
        _merge_meta(meta, {**part.meta, **sums})
        for name, tally in part.tallies.items():
            whole = tallies.setdefault(name, Tally())
            whole.cells += tally.cells
            whole.distinct |= tally.distinct
        for frame in part.frames:
            told = part.rank is not None and "rank" not in frame.columns
            frames.append(frame.with_columns(pl.lit(part.rank, pl.Int64).alias("rank")) if told else frame)
            marks.append(np.full(frame.height, index, dtype=np.int32))
        texts.extend(part.texts)
        part.frames.clear()  # one copy of the numbers is enough
    frames, over = _within_limit(frames, limits, options)
    if over:
        notices.append(Notice("columns-over-limit", over, None, {"limit": limits.columns}))
    heights = [frame.height for frame in frames]
    frame = _concat(frames)
    frames.clear()
    frame, dropped, config = _without_text(frame, tallies, meta)
    notices.extend(dropped)
    notices.extend(_list_notices(parts))
    whole_texts = {
        name: _stack(name, [block.get(name) for block in texts], heights)
        for name in dict.fromkeys(name for block in texts for name in block)
    }
    part_marks = np.concatenate(marks) if marks else np.zeros(0, dtype=np.int32)
    others = np.concatenate([held for part in parts for held in part.others] or [np.zeros(0, dtype=bool)])
    return Rows(frame, part_marks, whole_texts, others, config, tuple(notices), meta)


def _as_eval(name: str, options: Options) -> str:
    placed = is_counter(name) or BOOKKEEPING.fullmatch(name) or EVAL_NAME.fullmatch(name)
    return name if placed or name in options.mapping.values() else f"eval/{name}"


def _merge_meta(into: dict[str, Any], new: Mapping[str, Any]) -> None:
    """Later values win; configs and aliases are united, and what was said about steps is appended."""
    for key, value in new.items():
        if key in ("config", "aliases"):
            into[key] = {**into.get(key, {}), **value}
        elif key == "text_events":
            into[key] = [*into.get(key, ()), *value]
        else:
            into[key] = value


def _take(part: Part, frame: pl.DataFrame, own_counters: set[str]) -> None:
    """Type the columns of one block and add them to the part."""
    import numpy as np
    import polars as pl

    typed: list[pl.Series] = []
    texts: dict[str, pl.Series] = {}
    others = np.zeros(frame.height, dtype=bool)
    for column in frame.iter_columns():
        name, kind = column.name, column.dtype
        if kind == pl.String:
            written = column.is_not_null()
            column, unread = _read_text(column, part, texts)  # noqa: PLW2901 - the same column, typed
            if unread and column.null_count() == len(column):  # among numbers, text is a cell that failed
                others |= written.to_numpy()
        elif kind.is_nested() or kind in (pl.Object, pl.Binary):
            others |= column.is_not_null().to_numpy()
            part.lists[name] = part.lists.get(name, 0) + len(column) - column.null_count()
            continue
        if column.dtype.is_integer() and (name in own_counters or is_counter(name)):
            typed.append(column.cast(pl.Int64, strict=False))
        else:
            typed.append(column.cast(pl.Float64, strict=False))
    if not typed:
        # A frame without columns has no height; one blank column keeps the rows.
        typed.append(pl.Series(NO_NUMBERS, [None], dtype=pl.Float64).new_from_index(0, frame.height))
    part.frames.append(pl.DataFrame(typed))
    part.texts.append(texts)
    part.others.append(others)


def _read_text(column: pl.Series, part: Part, texts: dict[str, pl.Series]) -> tuple[pl.Series, int]:
    """Read a text column as numbers or times; what is neither is tallied, counted, and kept where it may be needed."""
    import polars as pl

    name = column.name
    sample = column.drop_nulls().head(TEXT_SAMPLE).unique().to_list()
    if sample and all(looks_like_time(text) for text in sample):
        return seconds(column), 0
    if sample and numbers(pl.Series(sample)).unread == len(sample) and not _any_number(column):
        values, unread = pl.Series(name, [None], dtype=pl.Float64).new_from_index(0, len(column)), len(column)
        unread -= column.null_count()
    else:
        read = numbers(column)
        values, unread = read.values, read.unread
    if unread:
        tally = part.tallies.setdefault(name, Tally())
        tally.cells += unread
        if len(tally.distinct) < DISTINCT:
            bad = column.filter(values.is_null() & column.is_not_null()).unique(maintain_order=True)
            tally.distinct.update(bad.head(DISTINCT).to_list())
        if SPLIT_NAME.fullmatch(name) or CONTEXT_NAME.fullmatch(name):
            texts[name] = column
    return values, unread


def _any_number(column: pl.Series) -> bool:
    import polars as pl

    return column.cast(pl.Float64, strict=False).null_count() < len(column)


def _within_limit(frames: list[pl.DataFrame], limits: Limits, options: Options) -> tuple[list[pl.DataFrame], int]:
    names = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    if len(names) <= limits.columns:
        return frames, 0
    keep = set(best_first(names, options)[: limits.columns])
    return [frame.select(n for n in frame.columns if n in keep) for frame in frames], len(names) - len(keep)


def _concat(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Put frames below one another; a counter that is whole in one and a float in another stays whole where it can."""
    import polars as pl

    kinds: dict[str, set[pl.DataType]] = {}
    for frame in frames:
        for name, kind in frame.schema.items():
            kinds.setdefault(name, set()).add(kind)
    mixed = [name for name, kind in kinds.items() if len(kind) > 1]
    if mixed:
        frames = [
            frame.with_columns(_whole(frame[name]) for name in mixed if name in frame.columns) for frame in frames
        ]
        still = {n for n in mixed if len({f.schema[n] for f in frames if n in f.columns}) > 1}
        frames = [f.with_columns(pl.col(n).cast(pl.Float64) for n in still if n in f.columns) for f in frames]
    if not frames:
        return pl.DataFrame()
    return frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal")


def _whole(column: pl.Series) -> pl.Series:
    """The column as Int64 where every value is whole, itself otherwise."""
    import polars as pl

    if column.dtype == pl.Int64:
        return column
    whole = column.cast(pl.Int64, strict=False)
    return whole if whole.cast(pl.Float64).equals(column, check_names=False) else column


def _stack(name: str, columns: Sequence[pl.Series | None], heights: Sequence[int]) -> pl.Series:
    import polars as pl

    blank = pl.Series(name, [None], dtype=pl.String)
    return pl.concat(
        [blank.new_from_index(0, height) if c is None else c for c, height in zip(columns, heights, strict=True)]
    )


def _without_text(
    frame: pl.DataFrame, tallies: Mapping[str, Tally], meta: Mapping[str, Any]
) -> tuple[pl.DataFrame, list[Notice], dict[str, Any]]:
    """Take the columns of text out of the numbers: constant ones into the config, the others into a counted notice."""
    config = dict(meta.get("config", {}))
    gone: list[str] = []
    counts: dict[str, int] = {}
    notices: list[Notice] = []
    for name, tally in tallies.items():
        held = frame.height - frame[name].null_count() if name in frame.columns else 0
        if held >= tally.cells:
            notices.append(Notice("text-in-number-column", tally.cells, name, {"example": min(tally.distinct)}))
            continue
        gone.append(name)
        if len(tally.distinct) == 1 and not held:
            config.setdefault(name, next(iter(tally.distinct)))
        else:
            counts[name] = len(tally.distinct)
    if counts:
        detail = {"columns": ", ".join(counts), "distinct": counts}
        notices.append(Notice("text-columns-dropped", len(counts), None, detail))
    gone = [name for name in gone if name in frame.columns]
    return frame.drop(gone) if gone else frame, notices, config


def _list_notices(parts: Sequence[Part]) -> list[Notice]:
    lists: dict[str, int] = {}
    for part in parts:
        for name, count in part.lists.items():
            lists[name] = lists.get(name, 0) + count
    if not any(lists.values()):
        return []
    return [Notice("nested-columns-dropped", sum(lists.values()), None, {"columns": ", ".join(lists)})]
