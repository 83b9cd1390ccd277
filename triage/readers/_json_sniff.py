"""Is a text JSON lines, one JSON document, or neither? Decided once, so that two readers never claim the same file.

Folders of training runs are full of JSON that is no log (configurations, vocabularies, data sets), so both kinds must
hold numbers, and a document must hold a table of them. The rules, in order; the text begins with ...

    { or [ and its first line ends in the middle of a value, or goes beyond the head     one document
    { or [ and there is no further line, and it holds a table                           one document
    anything, and lines hold objects (see `_holds_rows`)                                 lines
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal

from triage.options import Options
from triage.readers._cells import is_number
from triage.readers._columns import canonical_wanted
from triage.readers._contract import Wanted
from triage.readers._json_shapes import tables_of
from triage.readers._json_text import find_objects, parse_all

SHARE_OF_LINES: Final = 0.5
"""Where fewer lines than this hold objects, two objects must have the same keys: a log, not a text that quotes some."""

TABLE_ROWS: Final = 8
"""A column of more numbers than this is a column whatever its name; a shorter one may be a list of layer sizes."""

NO_TEXT_SHARE: Final = 100
"""One character in so many may be none of a text (a torn sector, a bell); in a binary log one in ten is."""

_NO_TEXT: Final = re.compile("[\x01-\x06\x0b\x0e-\x1a\x1c-\x1f\ufffd]")
_ROWS: Final = re.compile(r"^\s*\[\s*[\[{]|:\s*\[\s*\{|^\s*\{[^{}]*\}\s*\{")
_COLUMN: Final = re.compile(rf':\s*\[(?:\s*[^\s\[\]{{}}",]+\s*,){{{TABLE_ROWS}}}')
_KEYED: Final = re.compile(r':\s*\{\s*"-?\d+"\s*:|"values"\s*:\s*[\[{]')
_FRACTION: Final = re.compile(r"[:\[,]\s*-?(?:\d+\.\d|\d+[eE]|NaN|Infinity)")
_PAIR: Final = re.compile(r'"([^"\\]{1,200})"\s*:\s*-?(?:[\d.]|NaN|Infinity|null)')
_OPEN_END: Final = frozenset("{[,:")


def kind_of_json(head: str, *, is_whole: bool) -> Literal["lines", "document"] | None:
    """Tell what the head of a text is; `is_whole` = it is the whole text."""
    text = head.replace("\0", "").lstrip()
    if len(_NO_TEXT.findall(text)) * NO_TEXT_SHARE > len(text):
        return None
    first, newline, _ = text.partition("\n")
    lines = [line for line in text.splitlines() if line.strip()]
    if not is_whole and len(lines) > 1:
        lines.pop()  # it may be cut
    if text[:1] in ("{", "["):
        if newline and first.rstrip()[-1:] in _OPEN_END:
            return "document" if _is_document(text, is_whole=is_whole) else None
        if newline and not is_whole and len(lines) == 1 and _holds_rows([first]):
            return "lines"  # a short line, then one that goes beyond the head
        if (not newline and not is_whole) or len(lines) == 1:
            if _is_document(text, is_whole=is_whole):
                return "document"
            if text[0] == "[":
                return None
            if not newline and not is_whole:  # one line that goes beyond the head: thousands of columns
                return "lines" if any(_known()(name) for name in _PAIR.findall(text)) else None
    return "lines" if _holds_rows(lines) else None


def _is_document(text: str, *, is_whole: bool) -> bool:
    if is_whole:
        values = parse_all(text).values
        if values:
            tables = tables_of(values[0] if len(values) == 1 else values, "")
            return any(_tells(table.rows) for table in tables)
    has_table = any(pattern.search(text) for pattern in (_ROWS, _COLUMN, _KEYED))
    return has_table and bool(_FRACTION.search(text))


def _tells(rows: Any) -> bool:
    """Do these rows look logged: two or more, with a name that trainers use or many fractions in a column?"""
    numbers: Counter[str] = Counter()
    fractions: Counter[str] = Counter()
    for row in rows[: TABLE_ROWS + 2]:
        numbers.update(name for name, cell in row.items() if _is_numeric(cell))
        fractions.update(name for name, cell in row.items() if isinstance(cell, float))
    is_known = any(count > 1 and _known()(name) for name, count in numbers.items())
    return len(rows) > 1 and (is_known or any(count > TABLE_ROWS for count in fractions.values()))


def _holds_rows(lines: list[str]) -> bool:
    keys: Counter[frozenset[str]] = Counter()
    n_lines = 0
    known = False
    for line in lines:
        rows = [value for _, _, value in find_objects(line) if _has_number(value)]
        n_lines += bool(rows)
        keys.update(frozenset(value) for value in rows)
        known = known or any(_known()(name) for value in rows for name in value)
    if len(lines) == 1 and not known:
        return False
    return n_lines > SHARE_OF_LINES * len(lines) or any(count > 1 for count in keys.values())


@cache
def _known() -> Wanted:
    return canonical_wanted(Options())


def _has_number(value: Mapping[str, Any]) -> bool:
    return any(
        _has_number(cell) if isinstance(cell, dict) else _is_numeric(cell) or isinstance(cell, list) or cell is None
        for cell in value.values()
    )


def _is_numeric(cell: Any) -> bool:
    return type(cell) in (int, float) or (isinstance(cell, str) and is_number(cell))
