"""The tolerant path of JSON lines: every line by itself, and for a line that fails all that can still be saved.

Separate because it is the yardstick: the layout path must give the same cells or leave the line to this one.

    the line is                                        becomes
    one object                                         a row
    a list of objects                                  a row each
    text before an object, several objects             a row each
    an object with text behind it                      a row if it has two pairs or more (else it is a quotation)
    the head and the rest of a torn line, in two lines a row (counted: rejoined-lines)
    blank                                              nothing
    anything else                                      skipped and counted (skipped-lines); at the end: torn-tail
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from triage.model import Notice
from triage.readers._json_text import OBJECT_START, Found, find_objects, parse_text, repair

QUOTED_PAIRS: Final = 2
"""Fewer pairs than this, with text behind: an object quoted in a message, as in `RuntimeError: {"step": 41} oops`."""

REJOIN_LINES: Final = 2
"""How far the rest of a torn line may be from its head: the next line, or the one after a blank or whole line."""

KEY_REACH: Final = 64
"""How far before an object its key may end: only blanks stand between them."""

_KEY_BEFORE: Final = re.compile(r'(?:"\s*:|\[)\s*$')
_GOES_ON: Final = re.compile(r"\s*[,}\]]")
"""An object with a key before it and a continuation behind it is a part of one whose beginning or end is torn."""

_HARMLESS: Final = re.compile(r"(?:\x1b\[[0-9;]*[A-Za-z]|[\s,;\]\x07])*")
"""What may stand behind an object without being text: colour codes, and the comma of a list with one object a line."""


@dataclass(slots=True)
class Rows:
    """What came out of a list of lines.

    Attributes:
        records: the objects, in order.
        lines: for each object the number of its line.
        skipped: lines that held something but no object.
        first_skipped: number of the first of them.
        rejoined: torn lines put together again.
        torn_bytes: length of the unfinished last line.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    skipped: int = 0
    first_skipped: int | None = None
    rejoined: int = 0
    torn_bytes: int = 0

    def notices(self) -> tuple[Notice, ...]:
        """What was skipped or repaired."""
        found = []
        if self.skipped:
            found.append(Notice("skipped-lines", self.skipped, f"line {self.first_skipped}"))
        if self.rejoined:
            found.append(Notice("rejoined-lines", self.rejoined))
        if self.torn_bytes:
            found.append(Notice("torn-tail", self.torn_bytes, detail={"bytes": self.torn_bytes}))
        return tuple(found)


def read_rows(lines: Iterable[tuple[int, bytes]], *, last_line: int | None = None) -> Rows:
    """Read numbered lines one by one; `last_line` is the number of an unterminated last line of the source."""
    import orjson

    loads = orjson.loads
    rows = Rows()
    torn = _Torn()
    for number, line in lines:
        try:
            value = loads(line)
        except orjson.JSONDecodeError:
            value = None
        if type(value) is dict:
            rows.records.append(value)
            rows.lines.append(number)
            continue
        if not line.strip():
            continue
        is_last = number == last_line
        found = _rows_in(value) if value is not None else _recover(line, number, torn, rows, is_last=is_last)
        rows.records.extend(found)
        rows.lines.extend([number] * len(found))
        if is_last and (torn.is_tail or not found):
            rows.torn_bytes = len(torn.text.encode("utf-8", "replace")) or len(line)
        elif not found:
            rows.skipped += 1
            rows.first_skipped = rows.first_skipped or number
    return rows


@dataclass(slots=True)
class _Torn:
    """The last beginning of an object that found no end.

    Attributes:
        text: from its opening bracket on; "" = none.
        line: number of its line.
        is_tail: nothing came after it in its line.
    """

    text: str = ""
    line: int = 0
    is_tail: bool = False


def _rows_in(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return value
    return []


def _recover(line: bytes, number: int, torn: _Torn, rows: Rows, *, is_last: bool) -> list[dict[str, Any]]:
    """The objects that a failing line holds, joined with the torn line before it where that helps; updates `torn`."""
    if not torn.text and b"{" not in line:
        torn.is_tail = False
        return []
    text = line.decode("utf-8", "replace")
    try:
        found = _rows_in(parse_text(text))
    except ValueError:
        pass
    else:
        torn.text, torn.is_tail = "", False
        return found
    if torn.text and number - torn.line <= REJOIN_LINES:
        joined, objects = _best_reading(torn.text + text)
        if objects and objects[0][0] == 0 and objects[0][1] > len(torn.text):
            rows.rejoined += 1
            return _accepted(joined, objects, number, torn, is_last=is_last)
    text, objects = _best_reading(text)
    return _accepted(text, objects, number, torn, is_last=is_last)


def _best_reading(text: str) -> tuple[str, list[Found]]:
    """The objects in a text as it stands or repaired, whichever leaves less of it over."""
    objects = find_objects(text)
    repaired = repair(text)
    if repaired == text:
        return text, objects
    more = find_objects(repaired)
    return (repaired, more) if _share(more, repaired) > _share(objects, text) else (text, objects)


def _share(objects: list[Found], text: str) -> float:
    return sum(end - start for start, end, _ in objects) / len(text)


def _accepted(text: str, objects: list[Found], number: int, torn: _Torn, *, is_last: bool) -> list[dict[str, Any]]:
    """Those of the objects that are rows; what is left of an opening without end goes to `torn`."""
    torn.text, torn.line, torn.is_tail = "", number, False
    whole = [found for found in objects if not _is_part(text, found, is_last=is_last)]
    ends = [0, *(end for _, end, _ in whole)]
    starts = [*(start for start, _, _ in whole), len(text)]
    for gap_start, gap_end in zip(ends, starts, strict=True):
        if opening := OBJECT_START.search(text, gap_start, gap_end):
            torn.text, torn.is_tail = text[opening.start() : gap_end], gap_end == len(text)
    return [
        value
        for (_, end, value), gap_end in zip(whole, starts[1:], strict=True)
        if len(value) >= QUOTED_PAIRS or _HARMLESS.fullmatch(text, end, gap_end)
    ]


def _is_part(text: str, found: Found, *, is_last: bool) -> bool:
    """Is this object the value of a key, in an object that is itself torn?"""
    start, end, _ = found
    if not _KEY_BEFORE.search(text, max(0, start - KEY_REACH), start):
        return False
    return bool(_GOES_ON.match(text, end)) or (is_last and end == len(text))
