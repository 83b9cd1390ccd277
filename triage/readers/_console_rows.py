"""The lines of a block → one row a record, columns under the names of the writer.

Separate because here the lines meet: parts of one record become one row, the redraws of a bar shrink to one, and
messages become rows where the log has no column of its own for what they say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from triage.readers._console_copies import Rows, without_copies
from triage.readers._console_lines import Batch, Numbers
from triage.readers._console_messages import kept_steps, message_cells
from triage.readers._console_names import is_gradient
from triage.readers._console_steps import UNKNOWN, Context, epochs_of, steps_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


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
    whole, doubled = without_copies(_laid_out(columns, batch, group, steps, told), batch, group)
    memory.counts["doubled-rows"] += doubled
    return whole


def _last_states(batch: Batch, steps: Array, epochs: Array) -> Array:
    """Lines that are not overwritten by a later redraw: of a bar at one step, of an epoch's running means."""
    import numpy as np

    alive = np.ones(len(batch.places), dtype=bool)
    drawn = np.flatnonzero(batch.where(lambda f: f.reading.kind == "bar" and len(f.reading.cells) > 2))
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
