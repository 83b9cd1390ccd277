"""A stretch of console text → the pieces that were written at once, with the line that each stands on.

Separate because what a terminal shows is not what a file holds: bars are redrawn with carriage returns and backspaces,
colours are escape sequences, long lines are wrapped, and other output is glued to the end of a bar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from triage.readers._console_bars import METER, has_bar

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\r\b\v\f\x1b") + b"\x7f"
_REDRAWS: Final = "\b\v\f\x85\u2028\u2029"
_GLUED: Final = re.compile(r"(?:it/s|s/it)(?:[^\[\]\r\n]|\[[^\[\]\r\n]*\])*\](?=[ \t]*[^\s])")
"""The end of a bar that something is glued to."""

_TYPOGRAPHY: Final = (
    *(("‘", "'"), ("’", "'"), ("“", '"'), ("”", '"'), ("′", "'"), ("−", "-"), ("\u00a0", " "), ("\u202f", " ")),
    *(("\u2009", " "), ("\ufeff", ""), ("\u200b", ""), ("：", ":"), ("，", ","), ("＝", "="), ("（", "("), ("）", ")")),
)
"""Signs that word processors, web pages and full-width input put in place of those that loggers write."""

_DRAWN: Final = re.compile(r"[━╸╺]")

CLEARED: Final = "\x02"
"""Put before a dictionary that is printed where a bar was wiped off: the bar that follows is the same, up to date."""

MOST_JOINED: Final = 12
"""Most lines that are put together: a terminal of 80 columns wraps a line of Megatron-LM into six, rich into ten."""

_DICT_OPENS: Final = re.compile(r"\{['\"][\w/. -]+['\"]\s*:[^{}]*\Z")
_CELLS_OPEN: Final = re.compile(r"(?<!, )\biteration\s+\d+/\s*\d+ \|")
_OTHER_CELLS: Final = re.compile(r"\biteration\s+\d+/|validation|^\s*\[|^\s*time \(ms\)|^[\s-]*$")
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


def text_of(raw: bytes) -> str:
    """Decode a stretch of UTF-8 without the control characters that stand for nothing."""
    return raw.translate(None, _CONTROLS).decode("utf-8", "replace")


def hold_last_bar(text: str) -> tuple[str, str]:
    """Take a bar with values off the end of a stretch: the next one may begin with its redraw at the same step."""
    begin = max(text.rfind("\r", 0, -1), text.rfind("\n", 0, -1)) + 1
    last = text[begin:].rstrip()
    found = METER.search(last) if has_bar(last) else None
    if found is None or found.end() != len(last) or "=" not in found["meter"]:
        return text, ""
    return text[:begin], last + "\r"


def pieces_of(text: str, first: int) -> Pieces:
    """Take a stretch of whole lines to pieces; linear."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if not text.isascii():
        for sign, plain in _TYPOGRAPHY:
            if sign in text:
                text = text.replace(sign, plain)
    for sign in _REDRAWS:
        if sign in text:
            text = text.replace(sign, "\r")
    if has_bar(text):
        text = _GLUED.sub("\\g<0>\r", text)
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    lines: Sequence[int] = range(first, first + len(rows))
    if "\r" in text:
        rows, lines = _cut(rows, first)
    if "{'" in text or '{"' in text or "iteration " in text or "━" in text:
        return _joined(rows, lines)
    return Pieces(rows, lines, 0, frozenset())


def _cut(rows: Sequence[str], first: int) -> tuple[list[str], list[int]]:
    """Cut lines at redraws; what is overwritten with blanks goes."""
    texts: list[str] = []
    lines: list[int] = []
    for number, row in enumerate(rows, first):
        if "\r" not in row:
            texts.append(row)
            lines.append(number)
            continue
        is_cleared = False
        for part in row.split("\r"):
            if not part or part.isspace():
                is_cleared = is_cleared or bool(part)
                continue
            texts.append(CLEARED + part if is_cleared and part[0] == "{" else part)
            lines.append(number)
            is_cleared = False
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
    if "iteration" in row and not row.rstrip().endswith("|") and _CELLS_OPEN.search(row):
        return _cells_until(rows, at)
    if "━" in row and _RICH_OPENS.search(row):
        count = 1
        while at + count < len(rows) and count < MOST_JOINED and rows[at + count].startswith(" " * 10):
            count += 1
        return count
    return 1


def _cells_until(rows: Sequence[str], at: int) -> int:
    """How many rows hold the cells that begin at `at`; a wrap may fall behind a pipe, so that the last one counts."""
    whole = 0
    for count in range(1, MOST_JOINED):
        row = rows[at + count] if at + count < len(rows) else ""
        if _OTHER_CELLS.search(row):
            break
        if row.rstrip().endswith("|"):
            whole = count + 1
    return whole


def _until(rows: Sequence[str], at: int, closes: Test, opens: Test) -> int:
    for count in range(1, MOST_JOINED):
        if at + count >= len(rows) or opens(rows[at + count]):
            return 0
        if closes(rows[at + count]):
            return count + 1
    return 0


def _glue(first: str, rest: Sequence[str]) -> list[str]:
    """Undo the wrap: a terminal cuts at its width, wherever that is; other wraps cut at blanks, and shorter."""
    width = max(len(row) for row in (first, *rest[:-1]))
    glued = [first]
    before = first
    for row in rest:
        is_blank = before[-1:] in (" ", ",", "|", ":", "") or row[:1].isspace() or len(before) < width
        glued.append((" " if is_blank else "") + row.strip())
        before = row
    return glued
