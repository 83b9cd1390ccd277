"""Tolerant parsing of JSON text: what trainers write in place of JSON, read without losing a NaN.

Separate from the readers because the line reader, the document reader and the state reader must agree on every token.

    orjson            strict JSON, fast
    standard library  bare NaN, Infinity, 1e999, integers of any length, control characters in strings
    repaired text     nan, -inf, nan(ind), +1, .5, 007, None, True: tokens of C, C++ and Python printers
    quoted values     1.#QNAN, tensor(nan, device='cuda:0'), nothing at all: read as text, as from a quoted cell
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final

MAX_INT_DIGITS: Final = 4_000
"""Longest run of digits that Python turns into an integer (its own guard is 4300); a longer one becomes a float."""

SCAN_BYTES: Final = 4 << 20
"""How much text the search for objects inside a line may walk over again; keeps hostile lines linear."""

SCAN_STARTS: Final = 64
"""Most openings of one line that are tried and fail: far more than two torn lines on one another ever hold."""

STRING: Final = r'"(?:[^"\\]|\\.)*+"?'
"""Pattern of a string. One without an end reaches to the end of the text: looking for the next quote from each escaped
quote inside it would take quadratic time."""

_NUMBER = r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"  # possessive: a long run of digits is walked once
_NONFINITE = r"(?:[nN][aA][nN](?:\(\w{0,8}\))?|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)"
_SCALAR_TOKEN: Final = re.compile(rf"([+-]?)(?:({_NONFINITE})|({_NUMBER}))")
_STRING_OR_BARE: Final = re.compile(
    rf"{STRING}|(?<![\w.+\-])((?:[+-]?(?:{_NONFINITE}|{_NUMBER}))|None|True|False)(?![\w.+\-#])"
)
_BARE_VALUE: Final = re.compile(rf"""{STRING}|(:\s*+)((?:[\w.+\-#]++(?:\([^()\[\]{{}}"]{{0,80}}\))?)?)(?=\s*+[,}}])""")
"""A value behind a colon that is no string, object or list; it may be missing."""
_PLAIN: Final = re.compile(rf"-?{_NUMBER}|-?Infinity|NaN|null|true|false")
_WORDS: Final = {"None": "null", "True": "true", "False": "false"}
OBJECT_START: Final = re.compile(r'\{\s*"')
_NOT_BLANK: Final = re.compile(r"[^\s]")
_STRUCTURE: Final = re.compile(rf"{STRING}|[{{}}\[\],]")
_CLOSERS: Final = {"{": "}", "[": "]"}
_DECODER: Final = json.JSONDecoder(strict=False)


def parse(text: bytes) -> Any:
    """Parse one JSON value, tolerating bare non-finite tokens and loose numbers; raises ValueError if it is none."""
    import orjson

    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return parse_text(text.decode("utf-8", "replace"))


def parse_text(text: str) -> Any:
    """The slower steps of `parse` for text that strict JSON refused; raises ValueError."""
    for mend in (str, repair, _quoted):
        mended = mend(text)
        if mended != text or mend is str:
            text = mended
            try:
                return json.loads(text, strict=False)
            except (ValueError, RecursionError):
                continue
    raise ValueError("not JSON")


def _quoted(text: str) -> str:
    """Put values that are not JSON in quotes, and null where one is missing; linear."""
    return _BARE_VALUE.sub(_quote, text)


def _quote(match: re.Match[str]) -> str:
    colon, value = match.groups()
    if colon is None or _PLAIN.fullmatch(value):
        return match.group(0)
    return f"{colon}{json.dumps(value)}" if value else f"{colon}null"


def repair(text: str) -> str:
    """Replace bare tokens outside strings by what Python's JSON reader takes for them; linear."""
    return _STRING_OR_BARE.sub(_repaired, text)


def _repaired(match: re.Match[str]) -> str:
    token = match.group(1)
    if token is None:
        return match.group(0)
    if token in _WORDS:
        return _WORDS[token]
    value = token_number(token)
    if isinstance(value, int):
        return str(value)
    if value is None or math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def token_number(token: str) -> int | float | None:
    """The number that a bare token stands for, integers exact; None if it is not one."""
    match = _SCALAR_TOKEN.fullmatch(token)
    if match is None:
        return None
    sign, nonfinite, number = match.groups()
    if nonfinite:
        size = math.nan if nonfinite[0] in "nN" else math.inf
        return -size if sign == "-" else size
    if number.isdigit() and len(number) <= MAX_INT_DIGITS:
        return int(sign + number)
    return float(sign + number)


Found = tuple[int, int, dict[str, Any]]
"""Start and end of an object in a text, and the object."""


def find_objects(text: str) -> list[Found]:
    """All JSON objects inside a text, with their start and end; openings that lead nowhere are passed over.

    Bounded work: at most SCAN_STARTS failed openings, fewer in a text that is long itself.
    """
    allowed = max(2, min(SCAN_STARTS, SCAN_BYTES // (len(text) + 1)))
    found: list[Found] = []
    position = 0
    while allowed and (start := OBJECT_START.search(text, position)):
        try:
            value, position = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            allowed -= 1
            position = start.start() + 1
            continue
        found.append((start.start(), position, value))
    return found


@dataclass(frozen=True, slots=True)
class Parsed:
    """The JSON values of a document.

    Attributes:
        values: nearly always one; several where documents stand one after another.
        torn: characters at the end that belong to no whole item.
        is_closed: it ends where it should.
    """

    values: list[Any]
    torn: int = 0
    is_closed: bool = True


def parse_all(text: str) -> Parsed:
    """All JSON values of a document, one after another.

    A document that ends in the middle (a killed writer, a full disk) is closed after its last whole item.
    """
    try:
        return Parsed([parse_text(text)])
    except ValueError:
        text = repair(text)
    values: list[Any] = []
    position = 0
    while start := _NOT_BLANK.search(text, position):
        try:
            value, position = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            rest = text[start.start() :]
            saved, end = _closed(rest)
            return Parsed(values + saved, len(rest) - end, is_closed=False)
        values.append(value)
    return Parsed(values)


def _closed(text: str) -> tuple[list[Any], int]:
    """The beginning of a document up to its last whole item, with what is open closed; [] if nothing can be saved."""
    stack: list[str] = []
    end = depth = 0
    for token in _STRUCTURE.finditer(text):
        mark = token.group()
        if mark in _CLOSERS:
            stack.append(_CLOSERS[mark])
        elif mark in "}]":
            if not stack or stack.pop() != mark:
                break
            end, depth = token.end(), len(stack)
        elif mark == "," and stack:
            end, depth = token.start(), len(stack)
    closing = "".join(reversed(stack[:depth]))
    try:
        return ([json.loads(text[:end] + closing, strict=False)], end) if end else ([], 0)
    except (ValueError, RecursionError):
        return [], 0
