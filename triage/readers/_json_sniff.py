"""Is a text JSON lines, one JSON document, or neither? Decided once, so that two readers never claim the same file.

The rules, in order; the text begins with ...

    { or [ and its first line is cut off by the line end               a document
    { or [ longer than the head: a list, or a table shows in it        a document
    { or [ one line only: a list, or an object that holds a table      a document
    anything, and lines hold objects (see `_holds_rows`)               lines
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, Literal

from triage.readers._json_text import find_objects, parse_text

SNIFF_LINES: Final = 200
"""Most lines of the head that are looked at."""

SHARE_OF_LINES: Final = 0.5
"""Where fewer lines than this hold objects, two objects must have the same keys: a log, not a text that quotes some."""

TABLE_ITEMS: Final = 8
"""A longer list of numbers in an object is a column, not a list of parameter groups."""

_LONG_LIST: Final = re.compile(rf':\s*\[(?:\s*[^\s\[\]{{}}",]+\s*,){{{TABLE_ITEMS}}}')
_ROWS_OR_KEYED: Final = re.compile(r':\s*(?:\[\s*\{|\{\s*"-?\d+"\s*:)|"values"\s*:\s*[\[{]')
_OPEN_END: Final = frozenset("{[,:")


def kind_of_json(head: str, *, is_whole: bool) -> Literal["lines", "document"] | None:
    """Tell what the head of a text is; `is_whole` = it is the whole text."""
    text = head.replace("\0", "").lstrip()
    whole, newline, _ = text.partition("\n")
    lines = [line for line in text.splitlines()[: SNIFF_LINES + 1] if line.strip()]
    if not is_whole and len(lines) > 1:
        lines.pop()  # it may be cut
    if text[:1] in ("{", "["):
        first = whole.rstrip()
        if newline and first[-1:] in _OPEN_END:
            return "document"
        if not newline and not is_whole:
            return "document" if text[0] == "[" or _has_table(first) else "lines"
        if len(lines) == 1 and _is_document(first):
            return "document"
    return "lines" if _holds_rows(lines) else None


def _has_table(text: str) -> bool:
    return bool(_LONG_LIST.search(text) or _ROWS_OR_KEYED.search(text))


def _is_document(line: str) -> bool:
    try:
        value = parse_text(line)
    except ValueError:
        return line.startswith("[") or _has_table(line)
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], (dict, list))
    return isinstance(value, dict) and _has_table(line)


def _holds_rows(lines: list[str]) -> bool:
    keys: Counter[frozenset[str]] = Counter()
    n_lines = 0
    for line in lines:
        rows = [value for _, _, value in find_objects(line)]
        n_lines += bool(rows)
        keys.update(frozenset(value) for value in rows)
    return n_lines > SHARE_OF_LINES * len(lines) or any(count > 1 for count in keys.values())
