"""A stretch of text → blocks: what the hands before this one made, as frames, notices and facts about the source.

Separate from `console.py` because this is where a source is remembered from one stretch to the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from triage.model import Block, Notice
from triage.readers._console_copies import Rows
from triage.readers._console_ends import Lengths, without_torn
from triage.readers._console_lines import Batch, batch_of, believable
from triage.readers._console_pieces import Pieces, pieces_of
from triage.readers._console_rows import Memory, rows_of
from triage.readers._console_steps import UNKNOWN
from triage.readers._console_stretches import Stretch
from triage.readers._console_templates import Templates
from triage.readers._records import Columns

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

MOST_EVENTS: Final = 1_000
"""Messages of one kind that are kept; past it they are counted."""

EVENT_CHARS: Final = 200
"""Characters of a message that are kept."""


@dataclass(slots=True)
class Run:
    """Where the reading of one source stands.

    Attributes:
        templates: knows the kinds of lines.
        memory: of the rows before.
        columns: which names become columns.
        writers: framework → rows.
        aliases: column → canonical, of the grammars that fitted.
        step_name: name of the step column: that of the first row that told a step.
        events: kind of message → how many.
        number: of the run within the source; None = the first.
        step, total: of the last row, to tell where another run begins.
        first_step: of the run.
        ranks: workers so far.
        lengths: how many numbers the rows have, to tell one that was cut.
    """

    templates: Templates
    columns: Columns
    memory: Memory = field(default_factory=Memory)
    writers: Counter[str] = field(default_factory=Counter)
    aliases: dict[str, str] = field(default_factory=dict)
    step_name: str = ""
    events: Counter[str] = field(default_factory=Counter)
    number: int = 1
    step: int = UNKNOWN
    total: int = UNKNOWN
    first_step: int = UNKNOWN
    ranks: set[int] = field(default_factory=set)
    lengths: Lengths = field(default_factory=Lengths)


def blocks_of(text: str, stretch: Stretch, run: Run) -> Iterator[Block]:
    """Read a stretch; several blocks where another run begins in it. Moves `run` on."""
    pieces = pieces_of(text, stretch.first)
    counts = run.memory.counts
    counts["rejoined-lines"] += pieces.joined
    found = run.templates.read(pieces.texts)
    has_rows = bool(run.memory.regular) or any(f.reading.kind == "row" and f.reading.grammar for f in found)
    found = believable(found, len(pieces.texts), run.memory.seen, counts, has_rows=has_rows)
    found = without_torn(found, pieces, counts)
    is_cut = stretch.is_last and not text.endswith(("\n", "\r"))
    found = run.lengths.without_cut_end(found, pieces.texts, counts) if is_cut else found
    run.lengths.learn(found)
    batch = batch_of(found, decimal_comma=run.templates.parser.decimal_comma, has_steps=run.memory.context.has_steps)
    _learn(batch, run)
    rows = rows_of(batch, run.memory, run.aliases)
    frame, events = _frame(rows, run), _events(rows, pieces, run)
    notices = (*stretch.notices, *_notices(counts), *run.columns.notices())
    meta = _meta(run, stretch.size)
    counts.clear()
    yield from _by_run(frame, rows, notices, {**meta, "text_events": events}, run)


def _learn(batch: Batch, run: Run) -> None:
    """Take from the grammars that fitted what the table needs to know."""
    for f in batch.found:
        grammar = f.reading.grammar
        if (
            grammar is not None
            and grammar.writer
            and f.reading.kind in ("row", "eval", "head", "item", "state", "summary")
        ):
            run.writers[grammar.writer] += len(f.places)
            run.aliases.update(grammar.aliases)
    if not run.step_name:
        names = {cell.name for f in batch.found for cell in f.reading.cells}
        told = [f for f in batch.found if f.reading.step_name and f.reading.kind != "state"]
        told = [f for f in told if any(c.name in ("@step", "@inner") for c in f.reading.cells)]
        if told:
            first = min(told, key=lambda f: (f.reading.kind in ("eval", "summary"), int(f.places[0])))
            run.step_name = first.reading.step_name
        elif "@n" in names:
            run.step_name = "step"


def _frame(rows: Rows, run: Run) -> pl.DataFrame:
    """The rows under the names of the writer."""
    import numpy as np
    import polars as pl

    height = len(rows.step)
    columns: list[pl.Series] = []

    def add(name: str, values: Any, there: Array, dtype: pl.DataType) -> None:
        if there.any() and (name in _PLACING or run.columns.takes(name, int(there.sum()))):
            # A metric that has the name of the step column keeps a name of its own.
            taken = any(column.name == name for column in columns)
            series = pl.Series(f"{name} (value)" if taken else name, values, dtype=dtype)
            columns.append(series if there.all() else series.set(pl.Series(~there), None))

    there = rows.step != UNKNOWN
    add(run.step_name or "step", np.where(there, rows.step, 0), there, pl.Int64())
    if any(rows.time):
        columns.append(pl.Series("time", rows.time, dtype=pl.String))
    known = rows.rank != UNKNOWN
    run.ranks.update(np.unique(rows.rank[known]).tolist())
    if len(run.ranks) == 1:  # one worker needs no name
        known = np.zeros(height, dtype=bool)
    add("rank", np.where(known, rows.rank, 0), known, pl.Int64())
    for name, (values, filled) in rows.columns.items():
        add(name, values, filled, pl.Float64())
    if not columns or not height:
        return pl.DataFrame()
    return pl.DataFrame(columns)


_PLACING: Final = frozenset({"step", "iter", "iteration", "global_step", "rank", "epoch", "num_updates", "batch"})


def _events(rows: Rows, pieces: Pieces, run: Run) -> list[dict[str, Any]]:
    events = []
    for place, kind, step in rows.events:
        run.events[kind] += 1
        if run.events[kind] > MOST_EVENTS:
            run.memory.counts["text-events-cut"] += 1
            continue
        text = pieces.texts[place].strip()[:EVENT_CHARS]
        line = int(pieces.lines[place])
        events.append({"kind": kind, "step": None if step == UNKNOWN else step, "line": line, "text": text})
    return events


def _meta(run: Run, size: int) -> dict[str, Any]:
    meta: dict[str, Any] = {"format": "console", "bytes": size, "aliases": dict(run.aliases)}
    if run.writers:
        meta["writer"] = run.writers.most_common(1)[0][0]
    if run.step_name:
        meta["step_column"] = run.step_name
    return meta


def _notices(counts: Mapping[str, int]) -> tuple[Notice, ...]:
    return tuple(Notice(name, count) for name, count in sorted(counts.items()) if count)


def _by_run(
    frame: pl.DataFrame, rows: Rows, notices: tuple[Notice, ...], meta: Mapping[str, Any], run: Run
) -> Iterator[Block]:
    """Cut a block where another run begins: back at the first step, and towards another end."""
    begins = [0, *_beginnings(rows, run), frame.height]
    for begin, end in pairwise(begins):
        if begin:
            run.number += 1
        part = frame[begin:end]
        first = begin == 0
        if part.height or (first and (notices or meta.get("text_events"))):
            name = None if run.number == 1 else str(run.number)
            yield Block(part, name, notices if first else (), meta if first else {**meta, "text_events": []})


def _beginnings(rows: Rows, run: Run) -> list[int]:
    """Rows with which another run begins; moves `run` on."""
    import numpy as np

    known = np.flatnonzero((rows.step != UNKNOWN) & (rows.total != UNKNOWN))
    if not len(known):
        return []
    step = np.concatenate(([run.step], rows.step[known]))
    total = np.concatenate(([run.total], rows.total[known]))
    if run.first_step == UNKNOWN:
        run.first_step = int(step[1])
    begins = []
    for back in np.flatnonzero((step[1:] < step[:-1]) & (total[1:] != total[:-1])).tolist():
        if step[back + 1] <= max(1, run.first_step):
            begins.append(int(known[back]))
            run.first_step = int(step[back + 1])
    run.step, run.total = int(step[-1]), int(total[-1])
    return [row for row in begins if row]
