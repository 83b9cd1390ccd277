"""One piece of text → what it says: a row, a part of one, a bar, a message, or nothing.

Separate because this is the careful path: it may try everything, since `_console_templates.py` asks it once per kind
of line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from triage.readers._console_bars import bar_of, has_bar
from triage.readers._console_fallback import read_bar, read_pairs
from triage.readers._console_fields import Pair, pairs_of
from triage.readers._console_grammar import Grammar, Grammars, pattern_of
from triage.readers._console_names import is_evaluation, is_metric
from triage.readers._console_numbers import NUMBER, is_number
from triage.readers._console_readings import NOTHING, ROLES, Cell, Reading, in_order, stamp_of
from triage.readers._console_tables import Table, header_of

_BARE: Final = re.compile(rf"\s*(?P<step>\d+)[\s,;:]+(?P<loss>{NUMBER})\s*")
"""Two bare columns; believed only where a text consists of them."""

TABLE_PATIENCE: Final = 8
"""Lines of other output within a table before it counts as ended."""


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
            if bar is not None and (
                reading := self._keras(text) or read_bar(text, bar, decimal_comma=self.decimal_comma)
            ):
                return reading
        if reading := self._by_grammar(text):
            return reading
        if reading := self._by_table(text):
            return reading
        if found := _BARE.fullmatch(text):
            return Reading("bare", _group_cells(found, {}), step_name="step")
        return read_pairs(text, decimal_comma=self.decimal_comma)

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
            "row",
            tuple(Cell(name, start, start, end) for name, start, end in cells),
            step_name="step",
            is_fixed=True,
            is_weak=True,
        )


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
    stamp = stamp_of(text)
    return Reading(
        kind,
        in_order([*cells.values(), *stamp]),
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
    if lower in {"rank", "epoch"} or lower.endswith((" epoch", "/epoch")):
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
        if value is None or name in ("split", "key") or not is_number(value):
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
    return in_order(cells)


def _renamed(cell: Cell, name: str) -> Cell:
    return Cell(name, cell.at, cell.start, cell.end)
