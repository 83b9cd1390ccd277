"""What a line of a console says, as values.

Separate because the careful reading makes these and the fast one copies them; neither knows the other's ways.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.readers._console_grammar import Grammar, Message

ROLES: Final = ("step", "epoch", "inner", "length", "total", "rank", "n")
"""Numbers that place a row; they stand in columns of their own until the step is known."""

_TIMESTAMP: Final = re.compile(r"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?")
_NAMED: Final = re.compile(r"\w\s*[:=]\s")
_STAMP_WITHIN: Final = 60
"""A time stamp begins within this many characters and before any name; elsewhere it is the time of something else."""


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


def stamp_of(text: str) -> tuple[Cell, ...]:
    """The time stamp at the beginning of a line, as a cell."""
    found = _TIMESTAMP.search(text, 0, _STAMP_WITHIN + 30)
    if found is None or found.start() > _STAMP_WITHIN or _NAMED.search(text, 0, found.start()):
        return ()
    return (Cell("@time", found.start(), *found.span()),)


def in_order(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Cells in the order of the text."""
    return tuple(sorted(cells, key=lambda cell: cell.start))
