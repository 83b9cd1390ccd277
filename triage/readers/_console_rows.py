"""The lines of a block → one row a record, columns under the names of the writer.

Separate because here the lines meet: parts of one record become one row, the redraws of a bar shrink to one, a second
logger's copy of a row goes, and messages become rows where the log has no column of its own for what they say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.readers._console_lines import Batch, Numbers
from triage.readers._console_messages import kept_steps, message_cells
from triage.readers._console_names import is_gradient, is_loss
from triage.readers._console_parse import Key
from triage.readers._console_steps import UNKNOWN, Context, epochs_of, steps_of

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


@dataclass(slots=True)
class Memory:
    """What is known of a source from the blocks before.

    Attributes:
        context: for the steps.
        regular: columns that rows fill by themselves, with how many cells they have.
        counts: notice id → how often, since the last block.
        seen: columns of lines without a grammar → how many lines.
        announces_skips: messages tell which steps were skipped.
    """

    context: Context = field(default_factory=Context)
    regular: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    seen: Counter[frozenset[str]] = field(default_factory=Counter)
    announces_skips: bool = False


def rows_of(batch: Batch, memory: Memory, aliases: Mapping[str, str]) -> Rows:
    """Make rows of the lines of a block. Linear in lines × columns of their kind."""
    import numpy as np

    count = len(batch.places)
    headings = batch.where(lambda f: f.reading.kind == "head")
    epochs = epochs_of(batch.lines, headings, memory.context)
    before = memory.context.step
    steps, told = steps_of(batch.lines, memory.context)
    alive = _last_states(batch, steps, epochs)
    memory.counts["bar-states-merged"] += count - int(alive.sum())
    for numbers, found in zip(batch.numbers, batch.found, strict=True):
        if found.reading.kind != "message":
            memory.regular.update({name: int(there.sum()) for name, (_, there) in numbers.items()})
    items = batch.where(lambda f: f.reading.kind == "item")
    group = np.arange(count) if not items.any() else np.maximum(np.cumsum(~items) - 1, 0)
    height = int(group[-1]) + 1 if count else 0
    columns: Numbers = {}
    for found, span, numbers in zip(batch.found, batch.spans, batch.numbers, strict=True):
        if found.reading.kind == "message":
            continue
        grammar = found.reading.grammar
        if grammar is not None and grammar.loss:
            numbers = _loss_left_out(numbers, grammar.loss, grammar.skipped, memory)  # noqa: PLW2901 - the same, completed
        for name, (values, there) in numbers.items():
            _put(columns, name, height, group[span], values, there & alive[span])
    for name, positions, values in message_cells(batch, steps, memory.regular, aliases):
        _put(columns, name, height, group[positions], values, np.ones(len(positions), dtype=bool))
        memory.announces_skips = memory.announces_skips or name == "is_skipped"
    if memory.announces_skips:
        positions, values = kept_steps(batch, steps, before)
        _put(columns, "is_skipped", height, group[positions], values, np.ones(len(positions), dtype=bool))
    _put_epochs(columns, batch, epochs, group, alive, memory)
    return _without_copies(_laid_out(columns, batch, group, steps, told), batch, group, memory)


def _last_states(batch: Batch, steps: Array, epochs: Array) -> Array:
    """Lines that are not overwritten by a later redraw: of a bar at one step, of an epoch's running means."""
    import numpy as np

    alive = np.ones(len(batch.places), dtype=bool)
    drawn = np.flatnonzero(batch.where(lambda f: f.reading.kind == "bar" and len(f.reading.cells) > 2))  # noqa: PLR2004 - counter, total
    if len(drawn):
        again = steps[drawn[1:]] == steps[drawn[:-1]]
        alive[drawn[:-1][again]] = False
    states = np.flatnonzero(batch.where(lambda f: f.reading.kind == "state"))
    if len(states):
        inner = batch.lines.roles["inner"]
        goes_on = (epochs[states[1:]] == epochs[states[:-1]]) & (inner[states[1:]] >= inner[states[:-1]])
        alive[states[:-1][goes_on]] = False
    return alive


def _loss_left_out(numbers: Numbers, losses: tuple[str, ...], skipped: str, memory: Memory) -> Numbers:
    """Undo how Megatron-LM prints a loss that is not finite, or that a skipped step does not have."""
    import numpy as np

    name = next((loss for loss in losses if loss in numbers), None)
    if name is None:
        bad = [values[there & ~np.isfinite(values)] for n, (values, there) in numbers.items() if is_gradient(n)]
        if not any(map(len, bad)):
            return numbers
        values, there = next((v, t) for n, (v, t) in numbers.items() if is_gradient(n) and (t & ~np.isfinite(v)).any())
        wrong = there & ~np.isfinite(values)
        memory.counts["loss-missing-nan"] += int(wrong.sum())
        name = next((loss for loss in losses if memory.regular[loss]), losses[0])
        return {**numbers, name: (np.full(len(values), np.nan), wrong)}
    if skipped in numbers:
        values, there = numbers[name]
        none = there & (values == 0) & numbers[skipped][1] & (numbers[skipped][0] > 0)
        if none.any():
            memory.counts["loss-of-skipped-step"] += int(none.sum())
            # What is left of such a row tells of the skip alone, lest it look like one that lost its loss.
            kept = {n for n in numbers if n == skipped or "scale" in n}
            return {n: (v, t if n in kept else t & ~none) for n, (v, t) in numbers.items()}
    return numbers


def _put(columns: Numbers, name: str, height: int, rows: Array, values: Array, there: Array) -> None:
    import numpy as np

    if not there.any():
        return
    if name not in columns:
        columns[name] = (np.full(height, np.nan), np.zeros(height, dtype=bool))
    into, filled = columns[name]
    into[rows[there]] = values[there]
    filled[rows[there]] = True


def _put_epochs(columns: Numbers, batch: Batch, epochs: Array, group: Array, alive: Array, memory: Memory) -> None:
    """The epoch of rows that tell it, of the states of a bar, and of messages where nothing else places them."""
    import numpy as np

    told = batch.lines.roles["epoch"]
    kinds = batch.where(lambda f: f.reading.kind != "head")
    fill = np.where(told != UNKNOWN, told, UNKNOWN)
    states = batch.where(lambda f: f.reading.kind == "state")
    if not memory.context.has_steps:
        states = states | batch.lines.is_message
    fill = np.where(states & (fill == UNKNOWN), epochs, fill)
    rows = np.flatnonzero((fill != UNKNOWN) & kinds & alive)
    if len(rows):
        _put(
            columns, "epoch", int(group[-1]) + 1, group[rows], fill[rows].astype(float), np.ones(len(rows), dtype=bool)
        )


def _laid_out(columns: Numbers, batch: Batch, group: Array, steps: Array, told: Array) -> Rows:
    """One entry a record: what its lines say, its step as one of them tells it."""
    import numpy as np

    count = len(batch.places)
    height = int(group[-1]) + 1 if count else 0
    first = np.flatnonzero(np.diff(group, prepend=-1))
    step = steps[first]
    if height < count:
        own = np.flatnonzero(told)
        step[group[own][::-1]] = steps[own][::-1]
    total, rank = (_first_known(batch.lines.roles[role], group, height) for role in ("total", "rank"))
    time: list[str | None] = [None] * height
    for found, span in zip(batch.found, batch.spans, strict=True):
        stamps = found.columns.get("@time")
        if stamps is not None:
            for row, stamp in zip(group[span].tolist(), stamps.to_list(), strict=True):
                time[row] = stamp
    events = [
        (int(batch.places[position]), found.reading.message.kind, int(steps[position]))
        for found, span in zip(batch.found, batch.spans, strict=True)
        if found.reading.message is not None and found.reading.message.kind
        for position in span.tolist()
    ]
    return Rows(columns, step, total, rank, time, sorted(events))


def _first_known(values: Array, group: Array, height: int) -> Array:
    import numpy as np

    out = np.full(height, UNKNOWN, dtype=np.int64)
    known = np.flatnonzero(values != UNKNOWN)
    out[group[known][::-1]] = values[known][::-1]
    return out


def _without_copies(rows: Rows, batch: Batch, group: Array, memory: Memory) -> Rows:
    """Take out what a second logger printed of the same step, and rows that hold nothing.

    In a stretch of rows of one step a number is a copy where the one before it in its column is the same: to the digit
    where both rows are of one kind, up to rounding where they are not. A row of which nothing is left goes.
    """
    import numpy as np

    height = len(rows.step)
    if not height:
        return rows
    kept = np.flatnonzero(_filled(rows.columns, height) & _is_training(rows.columns, batch, group, height))
    step, rank = rows.step[kept], rows.rank[kept]
    same = (step[1:] == step[:-1]) & (step[1:] != UNKNOWN) & (rank[1:] == rank[:-1])
    if not same.any():
        return _taken(rows, kept)
    begin = np.maximum.accumulate(np.where(np.concatenate(([True], ~same)), np.arange(len(kept)), 0))
    _clear_copies(rows.columns, kept, begin, _kind_of_rows(batch, group)[kept])
    still = kept[_filled(rows.columns, height)[kept]]
    memory.counts["doubled-rows"] += len(kept) - len(still)
    return _taken(rows, still)


def _filled(columns: Numbers, height: int) -> Array:
    """Rows that hold a number besides the epoch."""
    import numpy as np

    filled = np.zeros(height, dtype=bool)
    for name, (_, there) in columns.items():
        if name != "epoch":
            filled |= there
    return filled


def _is_training(columns: Numbers, batch: Batch, group: Array, height: int) -> Array:
    """Rows that are not put together from values of a box that holds neither a loss nor a gradient: some other table."""
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
