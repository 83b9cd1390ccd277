"""Styled lines: what the pieces of the terminal output are made of before colour is put on.

Separate so that the pieces need no terminal library and can be compared as plain text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from triage.report._width import GLUE, JOINER, cells, chop, may_break, pad, pieces

Style = Literal["plain", "strong", "dim", "good", "bad", "warn", "accent"]

Span = tuple[str, Style]
Line = tuple[Span, ...]

BLANK: Final[Line] = ()
"""An empty line."""

PROSE_WIDTH: Final = 112
"""Longest line of prose in cells; wider ones are hard to follow, however wide the terminal is."""


def line(*parts: str | Span, style: Style = "plain") -> Line:
    """Make a line; plain strings get `style`."""
    return tuple((part, style) if isinstance(part, str) else part for part in parts)


def plain(found: Line) -> str:
    """The text of a line without styles."""
    return shown("".join(text for text, _ in found))


def shown(text: str) -> str:
    """A text as it is put out: what only steers where lines break is gone."""
    return text.replace(GLUE, " ").replace(JOINER, "")


def kept(text: str) -> str:
    """A text that stays on one line where it can: its blanks glued, its wide characters joined."""
    glued = text.replace(" ", GLUE)
    return "".join(JOINER + char if n and may_break(glued[n - 1], char) else char for n, char in enumerate(glued))


def width_of(found: Sequence[Span]) -> int:
    """The cells that a line takes."""
    return sum(cells(shown(text)) for text, _ in found)


def indent(lines: Iterable[Line], by: int) -> list[Line]:
    """Move lines to the right; empty lines stay empty."""
    return [((" " * by, "plain"), *found) if found else found for found in lines]


def wrap(found: Line, width: int, *, hanging: int = 0) -> list[Line]:
    """Break a line at blanks and between wide characters.

    Args:
        found: the line; its first line starts at the margin.
        width: cells per line.
        hanging: blanks before every line but the first.
    """
    width = max(width, hanging + 8)
    lines: list[list[Span]] = [[]]
    used = start = 0
    for unit in _fitting(_units(found), width - hanging):
        is_blank = unit[0][0].isspace() and unit[0][0] != GLUE
        size = width_of(unit)
        if is_blank and ((used == start and len(lines) > 1) or used + size > width):
            continue
        if not is_blank and used + size > width and used > start:
            lines.append([(" " * hanging, "plain")] if hanging else [])
            used = start = hanging
        for text, style in unit:
            for n, part in enumerate(
                chop(text, width - used, width - hanging) if used + cells(text) > width else [text]
            ):
                if n:
                    lines.append([(" " * hanging, "plain")] if hanging else [])
                    used = start = hanging
                lines[-1].append((part, style))
                used += cells(part)
    return [joined(spans) for spans in lines]


def _fitting(units: Sequence[list[Span]], room: int) -> list[list[Span]]:
    """Units that are wider than a line are taken apart where they were glued."""
    fitting: list[list[Span]] = []
    for unit in units:
        is_glued = any(GLUE in text or JOINER in text for text, _ in unit)
        loose = tuple((shown(text), style) for text, style in unit)
        fitting += _units(loose) if is_glued and width_of(loose) > room else [unit]
    return fitting


def _units(found: Sequence[Span]) -> list[list[Span]]:
    """Pieces that stay on one line together: a break is not allowed where one style ends in the middle of a word."""
    units: list[list[Span]] = []
    last = " "
    for text, style in found:
        for n, piece in enumerate(pieces(text)):
            if units and n == 0 and not may_break(last, piece[0]):
                units[-1].append((piece, style))
            else:
                units.append([(piece, style)])
            last = piece[-1]
    return units


def joined(spans: Sequence[Span]) -> Line:
    """Join neighbours of one style, and drop blanks at the end."""
    together: list[Span] = []
    for text, style in spans:
        if together and together[-1][1] == style:
            together[-1] = (together[-1][0] + text, style)
        else:
            together.append((text, style))
    while together and not together[-1][0].strip(" "):
        together.pop()
    if together:
        together[-1] = (together[-1][0].rstrip(" "), together[-1][1])
    return tuple(together)


def pairs(rows: Sequence[tuple[str, Line]], width: int, *, gap: int = 2) -> list[Line]:
    """Lay out labels and values in two columns; long values wrap under themselves."""
    label_width = max((cells(label) for label, _ in rows), default=0) + gap
    lines: list[Line] = []
    for label, value in rows:
        head: Span = (pad(label, label_width), "dim")
        lines += wrap((head, *value), min(width, PROSE_WIDTH), hanging=label_width)
    return lines


def listed(mark: Span, found: Line, width: int) -> list[Line]:
    """A line behind a mark, wrapped under itself."""
    lead = cells(mark[0]) + 1
    return wrap((mark, (" ", "plain"), *found), min(width, PROSE_WIDTH), hanging=lead)


def table(
    rows: Sequence[Sequence[Span]],
    *,
    right: frozenset[int] = frozenset(),
    head: bool = True,
    width: int | None = None,
    spare: Sequence[int] = (),
) -> list[Line]:
    """Align cells in columns, two blanks apart.

    Args:
        rows: cells of each row; the first row is the head where `head`.
        right: columns whose text stands at the right end (numbers).
        head: the first row is dimmed.
        width: cells per line; past it columns are left out.
        spare: columns that are left out first, in this order.
    """
    shown = list(range(len(rows[0]))) if rows else []
    widths = {column: max(cells(row[column][0]) for row in rows) for column in shown}
    for column in spare:
        if width is not None and sum(widths[n] + 2 for n in shown) - 2 > width:
            shown.remove(column)
    lines: list[Line] = []
    for n, row in enumerate(rows):
        spans: list[Span] = []
        for column in shown:
            text, style = row[column]
            spans.append((pad(text, widths[column], right=column in right), "dim" if head and n == 0 else style))
            spans.append(("  ", "plain"))
        lines.append(joined(spans))
    return lines
