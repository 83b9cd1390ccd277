"""Lines of one kind → columns, thousands at a time.

Separate because this is what makes the reader fast. A line that has been read with care becomes a template: the same
text with its numbers as groups, dates and other numbers as digits of the same form. Whatever matches the template
would have been read in the same way, so that a whole block of such lines is taken at once by a regular expression.
Correctness never depends on it: a line without a template is read with care.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.readers._console_numbers import NUMBER, NUMBER_COMMA
from triage.readers._console_parse import Parser
from triage.readers._console_readings import Key, Reading

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

FIRST_CHUNK: Final = 32
"""Lines read with care before the templates found in them are tried on the rest; doubled each time."""

MOST_TEMPLATES: Final = 64
"""Templates kept; past it those that matched least are forgotten. A log has ten kinds of rows, not a hundred."""

WORTH: Final = 2
"""Lines of one kind in a chunk that make a template of it."""

_TOKENS: Final = re.compile(
    r"(?P<bar>\|[\u2580-\u259f# \d]*[\u2580-\u259f#][\u2580-\u259f# \d]*\||%\|[ ]+\|)|(?P<drawn>[\u2500-\u257f]+)"
    r"|(?P<blank>[ \t]+)|(?P<hex>0x[0-9a-fA-F]+)"
    r"|(?P<decimal>(?<![A-Za-z_\d])(?:\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+))|(?P<integer>(?<![A-Za-z_\d])\d+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_GENERAL: Final = {
    "bar": r"%?\|[\x{2580}-\x{259f}# 0-9]*\|",
    "drawn": r"[\x{2500}-\x{257f}]+",
    "hex": r"0x[0-9a-fA-F]+",
    "decimal": r"(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)",
    "integer": r"[0-9]+",
}
_STAMP: Final = r"([0-9]{4}[-/][0-9]{2}[-/][0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?)"
_SPECIAL: Final = frozenset(r".^$*+?()[]{}|\\")


@dataclass(slots=True)
class Template:
    """A kind of line.

    Attributes:
        pattern: for the whole line, one group a cell.
        reading: what the line is, as read with care.
        hits: how often it matched.
    """

    pattern: str
    reading: Reading
    hits: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """Lines of one kind in a block.

    Attributes:
        places: (lines,) their places in the block, ascending.
        reading: what they are; the places of its cells are those of one of the lines.
        columns: name → (lines,) the texts of its numbers; one for each cell of the reading.
    """

    places: Array
    reading: Reading
    columns: Mapping[str, pl.Series]


@dataclass(slots=True)
class Templates:
    """Templates of a source, learned while it is read.

    Attributes:
        parser: reads with care.
        is_fast: learn templates at all; off, every line is read with care (for tests).
        known: templates, most used first.
    """

    parser: Parser
    is_fast: bool = True
    known: list[Template] = field(default_factory=list)

    def read(self, texts: Sequence[str]) -> list[Found]:
        """Read the pieces of a block; lines that say nothing are left out."""
        import numpy as np
        import polars as pl

        lines = pl.Series("", texts, dtype=pl.String)
        left = np.flatnonzero(self._may_hold(lines).to_numpy())
        found: list[Found] = []
        if self.is_fast:
            for template in self.known:
                left = _take(template, lines, left, found)
        careful = _Careful(self.parser)
        chunk = FIRST_CHUNK if self.is_fast else len(left)
        while len(left):
            head, left = left[:chunk], left[chunk:]
            shapes = careful.read(texts, head, shaped=self.is_fast)
            for template in self._learn(shapes):
                left = _take(template, lines, left, found)
            chunk *= 2
        self.known.sort(key=lambda template: -template.hits)
        del self.known[MOST_TEMPLATES:]
        return [*found, *careful.found()]

    def _may_hold(self, lines: pl.Series) -> pl.Series:
        """Lines that hold a word of interest, or nothing but numbers."""
        words = lines.str.contains_any(list(self.parser.grammars.hints), ascii_case_insensitive=True)
        if words.all():
            return words
        return words | lines.str.contains(_NUMBERS_ONLY)

    def _learn(self, shapes: Mapping[str, Template]) -> list[Template]:
        known = {template.pattern for template in self.known}
        often = sorted(
            (t for t in shapes.values() if t.hits >= WORTH and t.pattern not in known), key=lambda t: -t.hits
        )
        self.known += often[:MOST_TEMPLATES]
        return often[:MOST_TEMPLATES]


_NUMBERS_ONLY: Final = r"^[-+\s|0-9.,:eEnNaAiIfFoOlLgG]*[0-9][-+\s|0-9.,:eEnNaAiIfFoOlLgG]*$"
"""Numbers, pipes and the letters of nan, inf, No Log and exponents: a row of a table."""


@dataclass(slots=True)
class _Careful:
    """Lines read one by one, gathered by kind."""

    parser: Parser
    _kinds: dict[Key, tuple[Reading, list[int], list[tuple[str, ...]]]] = field(default_factory=dict)

    def read(self, texts: Sequence[str], places: Array, *, shaped: bool) -> dict[str, Template]:
        """Read some lines; returns the forms among them (by pattern), counted, where they are asked for."""
        shapes: dict[str, Template] = {}
        for place in map(int, places):
            text = texts[place]
            reading = self.parser.read(text)
            if reading.kind != "nothing":
                _, rows, cells = self._kinds.setdefault(reading.key(), (reading, [], []))
                rows.append(place)
                cells.append(tuple(text[cell.start : cell.end] for cell in reading.cells))
            if shaped and not reading.is_fixed:
                pattern = pattern_of(text, reading, decimal_comma=self.parser.decimal_comma)
                shapes.setdefault(pattern, Template(pattern, reading)).hits += 1
        return shapes

    def found(self) -> list[Found]:
        """Everything that was read."""
        import numpy as np
        import polars as pl

        out = []
        for reading, rows, cells in self._kinds.values():
            turned = list(zip(*cells, strict=True))
            names = [cell.name for cell in reading.cells]
            columns = {name: pl.Series(name, turned[i], dtype=pl.String) for i, name in enumerate(names)}
            out.append(Found(np.array(rows, dtype=np.int64), reading, columns))
        return out


def _take(template: Template, lines: pl.Series, left: Array, found: list[Found]) -> Array:
    """Take the lines that match a template; returns the places that are left."""
    import polars as pl

    if not len(left):
        return left
    part = lines.gather(pl.Series(left))
    names = [cell.name for cell in template.reading.cells]
    if not names:
        hits: Array = part.str.contains(template.pattern).to_numpy()
        columns = {}
    else:
        groups = part.str.extract_groups(template.pattern).struct.unnest()
        hits = groups.to_series(0).is_not_null().to_numpy()
        columns = {} if not hits.any() else _named(groups, names, hits)
    if not hits.any():
        return left
    template.hits += int(hits.sum())
    if template.reading.kind != "nothing":
        found.append(Found(left[hits], template.reading, columns))
    return left[~hits]


def _named(groups: pl.DataFrame, names: Sequence[str], hits: Array) -> dict[str, pl.Series]:
    import polars as pl

    rows = groups if hits.all() else groups.filter(pl.Series(hits))
    return {name: column.alias(name) for name, column in zip(names, rows.iter_columns(), strict=True)}


def pattern_of(text: str, reading: Reading, *, decimal_comma: bool = False) -> str:
    """Make a pattern (of the syntax of Rust's regex, which has no look-around) for all lines like this one.

    The text is kept, but for the digits of numbers that are not read; those keep their form, so that 12 never stands
    for 0:12 or 1.2. What stands between the beginning of a name and its number is kept digit by digit.
    """
    number = f"({NUMBER_COMMA if decimal_comma else NUMBER})"
    parts = ["^"]
    done = 0
    for cell in reading.cells:
        if cell.start < done:
            continue  # within another cell
        name = max(done, cell.at)
        parts.append(_general(text[done:name], before=text[done - 1 : done]))
        parts.append(_literal(text[name : cell.start], before=text[name - 1 : name]))
        parts.append(_STAMP if cell.name == "@time" else number)
        done = cell.end
    parts.append(_general(text[done:].rstrip(), before=text[done - 1 : done]))
    return "".join(parts) + r"[ \t]*$"


def _general(text: str, *, before: str) -> str:
    parts = []
    for token in _TOKENS.finditer(text):
        kind = token.lastgroup or "other"
        if kind == "blank":
            last = token.start() and text[token.start() - 1 : token.start()]
            parts.append(_blank(last or before, text[token.end() : token.end() + 1]))
        elif kind == "other":
            parts.append(_escaped(token[0]))
        else:
            parts.append(_GENERAL[kind])
    return "".join(parts)


def _literal(text: str, *, before: str) -> str:
    """The text as it is, any number of blanks for some."""
    parts = []
    for run in re.split(r"([ \t]+)", text):
        if not run:
            continue
        if run.isspace():
            parts.append(_blank(before, ""))
        else:
            parts += map(_escaped, run)
        before = run[-1:]
    return "".join(parts)


def _blank(before: str, after: str) -> str:
    """Padding shrinks as numbers grow: it may vanish behind a sign, but not between two words."""
    is_padding = not before.isalnum() and (not after or after.isdigit() or after in "-+.")
    return r"[ \t]*" if is_padding else r"[ \t]+"


def _escaped(char: str) -> str:
    return f"\\{char}" if char in _SPECIAL else char
