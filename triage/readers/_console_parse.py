"""One piece of text → what it says: a row, a part of one, a bar, a message, or nothing.

Separate because this is the careful path: it may try everything, since `_console_templates.py` asks it once per kind of line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from triage.readers._console_bars import Bar, bar_of, has_bar
from triage.readers._console_counters import Mark, counters_of, rank_of
from triage.readers._console_fields import Pair, after_prefix, pairs_of
from triage.readers._console_grammar import Grammar, Grammars, Message, pattern_of
from triage.readers._console_names import is_evaluation, is_gradient, is_loss, is_metric
from triage.readers._console_numbers import NUMBER
from triage.readers._console_tables import Table, header_of

ROLES: Final = ("step", "epoch", "inner", "length", "total", "rank", "n")
"""Numbers that place a row; they stand in columns of their own until the step is known."""

DEAD_WORDS: Final = re.compile(r"\bNamespace\(|\bConfig\(|\bArguments\(|^\s*(?:import|def|class|return|#|//)\b")
"""Lines of configuration and source code, in which numbers with the names of metrics are settings."""

_BARE: Final = re.compile(rf"\s*(?P<step>\d+)[\s,;:]+(?P<loss>{NUMBER})\s*")
"""Two bare columns; believed only where a text consists of them."""

_TIMESTAMP: Final = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?")
_STAMP_WITHIN: Final = 60
"""A time stamp begins within this many characters; further on it is the time of something else."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a line.

    Attributes:
        name: column, or "@" and a role.
        at: where its name begins (the text from here to the number is the same in every line of this kind).
        start, end: where the number is.
    """

    name: str
    at: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What a piece says.

    Attributes:
        kind: row | eval | head | item | state | summary | bar | message | nothing.
        cells: its numbers, in the order of the text.
        grammar: the grammar that fits; None for the generic fallback, bars and messages.
        message: the message that fits.
        step_name: name of the step column as this line has it; "" = no word on that.
        is_fixed: its columns come from a header above it, so that lines alike in form may differ in meaning.
        is_weak: only of use where lines with the same columns recur.
    """

    kind: str
    cells: tuple[Cell, ...] = ()
    grammar: Grammar | None = None
    message: Message | None = None
    step_name: str = ""
    is_fixed: bool = False
    is_weak: bool = False

    def key(self) -> Key:
        """What two lines have in common that are of one kind."""
        names = tuple(cell.name for cell in self.cells)
        return (self.kind, id(self.grammar), id(self.message), names, self.step_name, self.is_weak)


Key = tuple[str, int, int, tuple[str, ...], str, bool]

NOTHING: Final = Reading("nothing")


@dataclass(slots=True)
class Parser:
    """Reads pieces one by one; remembers the grammar that fitted last and the header of the open table.

    Attributes:
        grammars: what is tried.
        decimal_comma: numbers are written with a decimal comma.
        last: the grammar that fitted last, tried first.
        table: the open table.
    """

    grammars: Grammars
    decimal_comma: bool = False
    last: Grammar | None = None
    table: Table | None = None
    _patience: int = field(default=0)

    def read(self, text: str) -> Reading:
        """Say what a piece of text is."""
        if reading := self._message(text):
            return reading
        if has_bar(text) or "━" in text:
            bar = bar_of(text)
            if bar is not None and (reading := self._keras(text) or _bar(text, bar, decimal_comma=self.decimal_comma)):
                return reading
        if reading := self._by_grammar(text):
            return reading
        if reading := self._by_table(text):
            return reading
        if found := _BARE.fullmatch(text):
            return Reading("bare", _group_cells(found, {}), step_name="step")
        return _generic(text, decimal_comma=self.decimal_comma)

    def _message(self, text: str) -> Reading | None:
        lower = text.lower()
        for message in self.grammars.messages:
            if all(word in lower for word in message.needs) and (
                found := pattern_of(message.line, ignore_case=True).search(text)
            ):
                cells = _group_cells(found, {})
                return Reading("message", cells, message=message)
        return None

    def _keras(self, text: str) -> Reading | None:
        return self._by_grammar(text) if "/step" in text else None

    def _by_grammar(self, text: str) -> Reading | None:
        if self.last is not None and (reading := self._try(self.last, text)):
            return reading
        for grammar in self.grammars.lines:
            if grammar is not self.last and (reading := self._try(grammar, text)):
                if reading.kind not in ("nothing", "head", "eval", "summary"):
                    self.last = grammar
                return reading
        return None

    def _try(self, grammar: Grammar, text: str) -> Reading | None:
        if not all(word in text for word in grammar.needs):
            return None
        if grammar.any_of and not any(word in text for word in grammar.any_of):
            return None
        found = pattern_of(grammar.line).search(text)
        return None if found is None else read_with(grammar, found, text, decimal_comma=self.decimal_comma)

    def _by_table(self, text: str) -> Reading | None:
        header = header_of(text)
        if header is not None:
            self.table, self._patience = header, 1
            return Reading("head", is_fixed=True)
        if self.table is None:
            return None
        cells = self.table.cells_of(text)
        if cells is None:
            if text.strip() and not self.table.is_rule(text):
                # A line or two of other output do not end a table.
                self._patience -= 1
                if self._patience < 0:
                    self.table = None
            return None
        self._patience = TABLE_PATIENCE
        return Reading(
            "row", tuple(Cell(name, start, start, end) for name, start, end in cells), step_name="step", is_fixed=True
        )


TABLE_PATIENCE: Final = 8
"""Lines of other output within a table before it counts as ended."""


def read_with(grammar: Grammar, found: re.Match[str], text: str, *, decimal_comma: bool) -> Reading:
    """Read a line that a grammar fits."""
    if grammar.kind == "ignore":
        return Reading("nothing", grammar=grammar)
    cells = {cell.name: cell for cell in _group_cells(found, grammar.rename) if cell.name not in grammar.skip}
    kind = "eval" if is_evaluation(found.groupdict().get("split") or "") else grammar.kind
    taken = [found.span(name) for name, value in found.groupdict().items() if value is not None]
    if grammar.fields != "none":
        for pair in pairs_of(text, grammar.fields, decimal_comma=decimal_comma):
            if not any(pair.start < end and start < pair.end for start, end in taken):
                _add_field(cells, pair, grammar)
    if not any(not name.startswith("@") for name in cells) and kind not in ("head", "item"):
        return NOTHING
    if kind == "item" and (key := next((n for n in cells if n.lower() in grammar.step), None)):
        # A record that tells its step among its values.
        cells["@step"] = _renamed(cells.pop(key), "@step")
    stamp = _stamp(text)
    return Reading(
        kind,
        _in_order([*cells.values(), *stamp]),
        grammar,
        step_name=grammar.step[0] if grammar.step else "step",
    )


def _add_field(cells: dict[str, Cell], pair: Pair, grammar: Grammar) -> None:
    lower = pair.name.lower()
    name = grammar.rename.get(pair.name, pair.name)
    if name in grammar.skip or lower in grammar.skip:
        return
    if lower in grammar.step:
        # The best of several counters; the others are left out.
        rank = grammar.step.index(lower)
        if "@step" not in cells or rank == 0:
            cells["@step"] = Cell("@step", pair.at, pair.start, pair.end)
        return
    if lower == "rank" or lower == "epoch" or lower.endswith((" epoch", "/epoch")):
        role = "@rank" if lower == "rank" else "epoch"
        cells.setdefault(role, Cell(role, pair.at, pair.start, pair.end))
        return
    if grammar.prefix and not is_evaluation(name):
        name = grammar.prefix + name
    cells.setdefault(name, Cell(name, pair.at, pair.start, pair.end))


def _group_cells(found: re.Match[str], rename: Mapping[str, str]) -> tuple[Cell, ...]:
    """The named groups of a pattern as cells; `key` names the column of `value`."""
    cells = []
    for name, value in found.groupdict().items():
        if value is None or name in ("split", "key"):
            continue
        start, end = found.span(name)
        if name in ("value", "average"):
            key = rename.get(found["key"], found["key"])
            if is_metric(key):
                is_average = name == "average"
                cells.append(Cell(f"{key}_avg" if is_average else key, found.start("key"), start, end))
        elif name in ROLES:
            cells.append(Cell(f"@{name}", start, start, end))
        else:
            cells.append(Cell(rename.get(name, name), start, start, end))
    return _in_order(cells)


def _bar(text: str, bar: Bar, *, decimal_comma: bool) -> Reading | None:
    """A state of a bar: a counter for what comes after it, and a row where it carries values."""
    if not bar.is_training:
        return Reading("nothing")
    cells = {"@n": Cell("@n", bar.n[0], *bar.n), "@total": Cell("@total", bar.total[0], *bar.total)}
    if bar.epoch is not None:
        cells["@epoch"] = Cell("@epoch", bar.epoch[0], *bar.epoch)
    for start, end in bar.values:
        for pair in pairs_of(text[:end], "any", decimal_comma=decimal_comma):
            if pair.start >= start and pair.name.lower() not in ("epoch", "step", "global_step", "v_num"):
                cells.setdefault(pair.name, Cell(pair.name, pair.at, pair.start, pair.end))
    return Reading("bar", _in_order([*cells.values()]))


def _generic(text: str, *, decimal_comma: bool) -> Reading:
    """The fallback: pairs of which one is a loss or a gradient norm, with whatever counts in the line."""
    begin = after_prefix(text)
    pairs = [p for p in pairs_of(text, "any", decimal_comma=decimal_comma)]
    values = [p for p in pairs if is_loss(p.name) or is_gradient(p.name)]
    if not values or DEAD_WORDS.search(text):
        return NOTHING
    first = values[0]
    marks, step_name = counters_of(text, begin, first.at)
    marks += _own_counters(text, pairs, marks)
    rank = rank_of(text)
    taken = [(start, end) for _, start, end in (*marks, *([rank] if rank else ()))]
    prefix = "eval/" if is_evaluation(text[begin : first.at]) else ""
    cells: dict[str, Cell] = {f"@{role}": Cell(f"@{role}", start, start, end) for role, start, end in marks}
    if rank:
        cells["@rank"] = Cell("@rank", rank[1], rank[1], rank[2])
    for pair in pairs:
        lower = pair.name.lower()
        if any(pair.start < end and start < pair.end for start, end in taken) or lower.endswith("epoch"):
            continue
        name = prefix + pair.name if prefix and not is_evaluation(pair.name) else pair.name
        cells.setdefault(name, Cell(name, pair.at, pair.start, pair.end))
    kind = "eval" if prefix else "row"
    return Reading(kind, _in_order([*cells.values(), *_stamp(text)]), step_name=step_name, is_weak=True)


def _own_counters(text: str, pairs: Sequence[Pair], marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Counters under names such as `train_step`, where nothing else counts."""
    if any(role in ("step", "inner") for role, _, _ in marks):
        return ()
    for pair in pairs:
        if re.fullmatch(r"\w*[_/.](?:global_)?(?:step|iter|iteration|num_updates)", pair.name.lower()):
            value = text[pair.start : pair.end]
            if value.isdigit():
                return (("step", pair.start, pair.end),)
    return ()


def _stamp(text: str) -> tuple[Cell, ...]:
    found = _TIMESTAMP.search(text, 0, _STAMP_WITHIN + 30)
    if found is None or found.start() > _STAMP_WITHIN:
        return ()
    return (Cell("@time", found.start(), *found.span()),)


def _in_order(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    return tuple(sorted(cells, key=lambda cell: cell.start))


def _renamed(cell: Cell, name: str) -> Cell:
    return Cell(name, cell.at, cell.start, cell.end)
