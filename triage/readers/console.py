"""Console text: whatever a training job printed, in any of the line grammars under `grammars/`.

One tolerant reader, block by block. A block goes through four hands: pieces (what was written at once), templates (what kind
of line each piece is), rows (what belongs together), and this file, which makes frames and notices of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UnreadableError
from triage.model import Block, Notice
from triage.options import Limits
from triage.readers._console_grammar import Grammars, builtin_grammars
from triage.readers._console_lines import Batch, batch_of, believable, trains
from triage.readers._console_numbers import has_decimal_commas
from triage.readers._console_parse import Parser
from triage.readers._console_pieces import Pieces, pieces_of, text_of
from triage.readers._console_rows import Memory, Rows, rows_of
from triage.readers._console_steps import UNKNOWN
from triage.readers._console_stretches import Stretch, stretches
from triage.readers._console_templates import Found, Templates
from triage.readers._contract import HEAD_BYTES, Reader, Source, Wanted
from triage.readers._records import Columns
from triage.readers._source import head_text

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

PRINTABLE: Final = 0.95
"""Share of printable characters that makes a head a text."""

PEEK_BYTES: Final = 2 << 20
"""How much of a file is looked at where its head holds no row: configurations and warnings before the first row are long."""

MOST_EVENTS: Final = 1_000
"""Messages of one kind that are kept; past it they are counted."""

EVENT_CHARS: Final = 200
"""Characters of a message that are kept."""

_MARKUP: Final = re.compile(r"\s*(?:<(?:!DOCTYPE|html|\?xml|svg)|[{\[]\s*\n\s*\")", re.IGNORECASE)
"""The beginning of a web page or of a JSON document over several lines: other readers' business."""


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


def reader_with(grammars: Grammars) -> Reader:
    """The reader with other grammars than those that come with triage (see `read_grammars` and `join_grammars`)."""
    return Reader(
        "console",
        lambda source: sniff(source, grammars),
        lambda source, limits, wanted: read(source, limits, wanted, grammars),
    )


def sniff(source: Source, grammars: Grammars | None = None) -> bool:
    """Is it text in which some grammar, or the fallback, finds training rows or messages that tell of one?"""
    grammars = grammars or builtin_grammars()
    head = head_text(source)
    if not _is_text(head) or _MARKUP.match(head):
        return False
    if holds_rows(head, grammars):
        return True
    if len(source.head) < HEAD_BYTES or source.size is None:
        return False
    return any(holds_rows(text, grammars) for text in _further(source))


def _is_text(head: str) -> bool:
    sample = head[:4096]
    shown = sum(char.isprintable() or char in "\r\n\t\b\x1b" for char in sample)
    return bool(sample) and "\ufffd" not in sample[:64] and shown >= PRINTABLE * len(sample)


def _further(source: Source) -> Iterator[str]:
    """What follows the head, and the end of a plain file."""
    try:
        with source.open() as stream:
            yield text_of(stream.read(PEEK_BYTES))
        if source.local is not None and source.size is not None and source.size > PEEK_BYTES:
            with source.local.open("rb") as file:
                file.seek(source.size - HEAD_BYTES)
                yield text_of(file.read()).partition("\n")[2]
    except (OSError, UnreadableError):
        return


def holds_rows(text: str, grammars: Grammars) -> bool:
    """Say whether a text holds training rows, or messages of a training job."""
    pieces = pieces_of(text, 1)
    found = Templates(Parser(grammars, has_decimal_commas(text))).read(pieces.texts)
    kept = believable(found, len(pieces.texts), Counter(), Counter())
    if any(trains(f) or (f.reading.kind in ("row", "eval") and f.reading.grammar) for f in kept):
        return True
    return any(f.reading.message is not None and (f.reading.message.marks or f.reading.message.nan) for f in kept)


def read(source: Source, limits: Limits, wanted: Wanted, grammars: Grammars | None = None) -> Iterator[Block]:
    """Yield the rows of every stretch of text, in order.

    Raises:
        UnreadableError: nothing in the text is a row.
    """
    templates = Templates(Parser(grammars or builtin_grammars()))
    run = Run(templates, Columns(wanted, limits.columns))
    has_rows = is_begun = False
    for stretch in stretches(source, limits):
        text = text_of(stretch.text)
        if not is_begun and text:
            is_begun = True
            templates.parser.decimal_comma = has_decimal_commas(text[:HEAD_BYTES])
            run.memory.counts["decimal-commas"] += templates.parser.decimal_comma
        for block in _blocks(text, stretch, run):
            has_rows = has_rows or block.frame.height > 0
            yield block
        if stretch.is_last and not has_rows:
            raise UnreadableError(
                "text without a line that tells a loss or a gradient norm",
                path=source.path,
                hint="give the log that the training job printed; docs/grammars.md tells how to add its form",
            )


def _blocks(text: str, stretch: Stretch, run: Run) -> Iterator[Block]:
    pieces = pieces_of(text, stretch.first)
    counts = run.memory.counts
    counts["lines-joined"] += pieces.joined
    found = believable(run.templates.read(pieces.texts), len(pieces.texts), run.memory.seen, counts)
    found = _whole(found, pieces, counts)
    batch = batch_of(found, decimal_comma=run.templates.parser.decimal_comma, has_steps=run.memory.context.has_steps)
    _learn(batch, run)
    rows = rows_of(batch, run.memory, run.aliases)
    frame, events = _frame(rows, run), _events(rows, pieces, run)
    notices = (*stretch.notices, *_notices(counts), *run.columns.notices())
    meta = _meta(run, stretch.size)
    counts.clear()
    yield from _by_run(frame, rows, notices, {**meta, "text_events": events}, run)


def _whole(found: list[Found], pieces: Pieces, counts: Counter[str]) -> list[Found]:
    """Leave out rows that were begun and never ended, unless they hold a number that is not finite."""
    if not pieces.torn:
        return found
    import numpy as np

    kept = []
    for f in found:
        torn = np.isin(f.places, list(pieces.torn))
        if not torn.any() or f.reading.kind not in ("row", "eval"):
            kept.append(f)
            continue
        for row in np.flatnonzero(torn).tolist():
            torn[row] = not any("n" in (column[row] or "").lower() for column in f.columns.values())
        counts["torn-rows"] += int(torn.sum())
        mask = _series(~torn)
        columns = {name: column.filter(mask) for name, column in f.columns.items()}
        if not torn.all():
            kept.append(Found(f.places[~torn], f.reading, columns))
    return kept


def _series(mask: Array) -> pl.Series:
    import polars as pl

    return pl.Series(mask)


def _learn(batch: Batch, run: Run) -> None:
    """Take from the grammars that fitted what the table needs to know."""
    for f in batch.found:
        grammar = f.reading.grammar
        if grammar is not None and grammar.writer and f.reading.kind in ("row", "eval", "head", "item", "state", "summary"):
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
            series = pl.Series(name, values, dtype=dtype)
            columns.append(series if there.all() else series.set(pl.Series(~there), None))

    there = rows.step != UNKNOWN
    add(run.step_name or "step", np.where(there, rows.step, 0), there, pl.Int64())
    if any(rows.time):
        columns.append(pl.Series("time", rows.time, dtype=pl.String))
    known = rows.rank != UNKNOWN
    run.ranks.update(np.unique(rows.rank[known]).tolist())
    if len(run.ranks) < 2:  # noqa: PLR2004 - one worker needs no name
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
    for begin, end in zip(begins, begins[1:], strict=False):
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


READER: Final = Reader("console", sniff, read)
