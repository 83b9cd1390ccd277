"""A stretch of console text → the pieces that were written at once, with the line that each stands on.

Separate because what a terminal shows is not what a file holds: bars are redrawn with carriage returns and backspaces,
colours are escape sequences, long lines are wrapped, and other output is glued to the end of a bar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from triage.readers._console_bars import METER, has_bar, split_bars

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_BREAKS: Final = re.compile(r"[\r\x08\x0b\x0c\x85\u2028\u2029]+")
_CONTROLS: Final = re.compile(r"[\x00-\x07\x0e-\x1f\x7f\ufeff\u200b\u200e\u200f]")

_TYPOGRAPHY: Final = (
    *(("‘", "'"), ("’", "'"), ("“", '"'), ("”", '"'), ("′", "'"), ("−", "-"), ("\u00a0", " "), ("\u202f", " ")),
    *(("\u2009", " "), ("：", ":"), ("，", ","), ("＝", "="), ("（", "("), ("）", ")")),
)
"""Signs that word processors, web pages and full-width input put in place of those that loggers write."""

_DRAWN: Final = re.compile(r"[━╸╺]")

MOST_JOINED: Final = 12
"""Most lines that are put together: a terminal of 80 columns wraps a line of Megatron-LM into six, rich into ten."""

_DICT_OPENS: Final = re.compile(r"\{['\"][\w/. -]+['\"]\s*:[^{}]*\Z")
_CELLS_OPEN: Final = re.compile(r"\biteration\s+\d+/\s*\d+ \|(?!.*\|\s*\Z)")
_RICH_OPENS: Final = re.compile(r"━.*\d+/\d+.*it/s")

Test = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of text in order.

    Attributes:
        texts: no line ends, escapes or typographic quotes in them.
        lines: number of the line in the file that each stands on.
        joined: how many lines were put together with the one before.
        torn: places of pieces that were begun and never ended.
    """

    texts: list[str]
    lines: Sequence[int]
    joined: int
    torn: frozenset[int]


def pieces_of(text: str, first: int) -> Pieces:
    """Take a stretch of whole lines to pieces; linear."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if not text.isascii():
        for sign, plain in _TYPOGRAPHY:
            if sign in text:
                text = text.replace(sign, plain)
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    lines: Sequence[int] = range(first, first + len(rows))
    if _BREAKS.search(text) or has_bar(text):
        rows, lines = _cut(rows, first)
    if _CONTROLS.search(text):
        rows = [_CONTROLS.sub("", row) for row in rows]
    if "{'" in text or '{"' in text or "iteration " in text or "━" in text:
        return _joined(rows, lines)
    return Pieces(rows, lines, 0, frozenset())


def _cut(rows: Sequence[str], first: int) -> tuple[list[str], list[int]]:
    """Cut lines at redraws and behind bars."""
    texts: list[str] = []
    lines: list[int] = []
    for number, row in enumerate(rows, first):
        for part in _BREAKS.split(row) if _BREAKS.search(row) else (row,):
            if not part.strip():
                continue
            if has_bar(part) and METER.search(part):
                cut = [piece for piece in split_bars(part) if piece.strip()]
                texts += cut
                lines += [number] * len(cut)
            else:
                texts.append(part)
                lines.append(number)
    return texts, lines


def _joined(rows: Sequence[str], lines: Sequence[int]) -> Pieces:
    """Put together what a terminal wrapped: an open dictionary, an open row of cells, the values of a drawn bar."""
    texts: list[str] = []
    kept: list[int] = []
    torn: set[int] = set()
    joined = at = 0
    while at < len(rows):
        row = rows[at]
        count = _wrapped(rows, at)
        if count > 1:
            row = "".join(_glue(row, rows[at + 1 : at + count]))
            joined += count - 1
        elif count == 0:
            torn.add(len(texts))
        texts.append(row)
        kept.append(lines[at])
        at += max(1, count)
    return Pieces(texts, kept, joined, frozenset(torn))


def _wrapped(rows: Sequence[str], at: int) -> int:
    """How many rows from `at` on are one; 0 = a row is open and never closed."""
    row = rows[at]
    if "{" in row and _DICT_OPENS.search(row):
        return _until(rows, at, lambda text: "}" in text, lambda text: "{" in text)
    if "iteration" in row and "|" in row and _CELLS_OPEN.search(row):
        return _until(
            rows, at, lambda text: text.rstrip().endswith("|"), lambda text: "iteration" in text.split("|")[0]
        )
    if "━" in row and _RICH_OPENS.search(row):
        count = 1
        while at + count < len(rows) and count < MOST_JOINED and rows[at + count].startswith(" " * 10):
            count += 1
        return count
    return 1


def _until(rows: Sequence[str], at: int, closes: Test, opens: Test) -> int:
    for count in range(1, MOST_JOINED):
        if at + count >= len(rows) or opens(rows[at + count]):
            return 0
        if closes(rows[at + count]):
            return count + 1
    return 0


def _glue(first: str, rest: Sequence[str]) -> list[str]:
    """Undo the wrap: a terminal cuts at its width, wherever that is; other wraps cut at blanks and leave lines shorter."""
    width = max(len(row) for row in (first, *rest[:-1]))
    glued = [first]
    before = first
    for row in rest:
        is_blank = before[-1:] in (" ", ",", "|", ":", "") or row[:1].isspace() or len(before) < width
        glued.append((" " if is_blank else "") + row.strip())
        before = row
    return glued
