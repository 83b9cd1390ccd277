"""Text in terminal cells: cleaning, measuring, padding, clipping, wrapping; wide characters count twice.

Separate because every piece of the terminal output aligns with it. Everything that comes from a log (run names,
columns, paths) is untrusted and goes through `clean` first.
"""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
"""Stands for a character that could steer the terminal or be hidden in it; visible, so that names stay different."""

GLUE: Final = "\u00a0"
"""A blank at which no line is broken; it is an ordinary blank in the output."""

JOINER: Final = "\u2060"
"""Between two characters where a line could break and must not; it is left out of the output."""

_STEERING: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters, marks that turn the writing direction, invisible ones, and lone surrogates."""

_CLOSING: Final = frozenset("，。；：、？！）》】」』”’…,.;:?!)%]}")
_OPENING: Final = frozenset("（《【「『“‘([{")


def clean(text: object) -> str:
    """Give untrusted text for one line of a terminal: tabs and line ends become blanks, steering characters visible."""
    return _STEERING.sub(REPLACEMENT, re.sub(r"[\t\r\n]+", " ", str(text)))


def cells(text: str) -> int:
    """Width in terminal cells; a Chinese character takes two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill with blanks up to a width; `right` puts the text at the right end. A longer text stays as it is."""
    blanks = " " * max(0, width - cells(text))
    return blanks + text if right else text + blanks


def clip(text: str, width: int) -> str:
    """Cut to a width, with … where something is missing."""
    if cells(text) <= width:
        return text
    kept = ""
    for char in text:
        if cells(kept + char) > width - 1:
            break
        kept += char
    return kept + "…"


def clip_middle(text: str, width: int) -> str:
    """Cut to a width in the middle, so that both ends of a path stay readable."""
    if cells(text) <= width or width < 8:
        return clip(text, width)
    tail = ""
    for char in reversed(text):
        if cells(char + tail) > (width - 1) * 2 // 3:
            break
        tail = char + tail
    return clip(text, width - cells(tail)) + tail


def pieces(text: str) -> list[str]:
    """Split a text where a line may break: after blanks, between wide characters, never before closing punctuation."""
    found: list[str] = []
    for word in re.findall(r" +|[^ ]+", text):
        if word[0] == " ":
            found.append(word)
            continue
        current = word[0]
        for char in word[1:]:
            if may_break(current[-1], char):
                found.append(current)
                current = ""
            current += char
        found.append(current)
    return found


def may_break(before: str, after: str) -> bool:
    """Whether a line may break between two neighbouring characters."""
    if {before, after} & {GLUE, JOINER}:
        return False
    if before == " " or after == " ":
        return True
    return (cells(before) > 1 or cells(after) > 1) and after not in _CLOSING and before not in _OPENING


def chop(text: str, first: int, width: int) -> list[str]:
    """Cut a piece that is longer than a line: `first` cells are left on the line where it begins."""
    parts: list[str] = []
    current, room = "", first
    for char in text:
        if cells(current + char) > room and (current or not parts):
            parts.append(current)
            current, room = "", width
        current += char
    return [*parts, current]
