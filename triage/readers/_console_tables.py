"""Tables drawn with characters: a header line with names, then lines of numbers under it.

Separate because here a line means nothing without the header above it. Read: cells between pipes (Markdown and boxes),
cells between tabs, and columns aligned with blanks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from triage.readers._cells import ABSENT
from triage.readers._console_names import STEP_NAMES, is_gradient, is_loss, is_metric
from triage.readers._console_numbers import NUMBER

_NUMBER: Final = re.compile(NUMBER)
_RULE: Final = re.compile(r"[\s|+:=─━═┼│┃╇╪-]+")
_NO_VALUE: Final = ABSENT | {"no log", "nan%", "—"}
_COUNTERS: Final = frozenset({*STEP_NAMES, "epoch", "steps", "iterations"})
_SPLITS: Final = (
    ("pipes", re.compile(r"\s*[|│┃]\s*")),
    ("tabs", re.compile(r"\s*\t\s*")),
    ("blanks", re.compile(r"\s{2,}")),
    ("words", re.compile(r"\s+")),
)

FEWEST_COLUMNS: Final = 2


@dataclass(frozen=True, slots=True)
class Table:
    """The header of a table.

    Attributes:
        form: what stands between its cells.
        names: of the columns, "" for one that is not read, "@step" for the counter.
    """

    form: str
    names: tuple[str, ...]

    def cells_of(self, text: str) -> tuple[tuple[str, int, int], ...] | None:
        """The numbers of a line of the table as (name, start, end); None where it is no line of it."""
        spans = _cells(text, "words" if self.form == "blanks" else self.form)
        if len(spans) != len(self.names):
            return None
        found = []
        for name, (start, end) in zip(self.names, spans, strict=True):
            value = text[start:end]
            if _NUMBER.fullmatch(value):
                if name:
                    found.append((name, start, end))
            elif name and value.lower() not in _NO_VALUE:
                return None
        return tuple(found) if any(not name.startswith("@") for name, _, _ in found) else None

    def is_rule(self, text: str) -> bool:
        """Say whether a line is the rule under a header."""
        return bool(_RULE.fullmatch(text))


def header_of(text: str) -> Table | None:
    """Read a line as a header: no numbers, a counter among the names, and a loss."""
    if "oss" not in text or any(char.isdigit() for char in text) or len(text) > 400:
        return None
    for form, _ in _SPLITS:
        spans = _cells(text, form)
        words = [text[start:end] for start, end in spans]
        if len(words) < FEWEST_COLUMNS or not all(0 < len(word) <= 40 for word in words):
            continue
        lower = [word.lower() for word in words]
        if not any(word in _COUNTERS for word in lower) or not any(map(is_loss, words)):
            continue
        if form == "words" and not all(re.fullmatch(r"[\w/.()@-]+", word) for word in words):
            continue
        return Table("words" if form == "words" else form, tuple(_column(word) for word in words))
    return None


def _column(word: str) -> str:
    lower = word.lower()
    if lower in ("step", "steps", "iteration", "iterations", "iter", "global_step", "global step"):
        return "@step"
    if lower == "epoch":
        return "epoch"
    return word if is_metric(word) or is_loss(word) or is_gradient(word) else ""


def _cells(text: str, form: str) -> list[tuple[int, int]]:
    """Where the cells of a line stand, the blanks around them left off; none for an empty cell at either end."""
    splitter = dict(_SPLITS)[form]
    spans = []
    begin = 0
    for found in splitter.finditer(text):
        spans.append((begin, found.start()))
        begin = found.end()
    spans.append((begin, len(text)))
    trimmed = []
    for start, end in spans:
        cell = text[start:end]
        left = len(cell) - len(cell.lstrip())
        right = len(cell.rstrip())
        trimmed.append((start + left, start + max(left, right)))
    if trimmed and trimmed[0][0] >= trimmed[0][1]:
        trimmed.pop(0)
    if trimmed and trimmed[-1][0] >= trimmed[-1][1]:
        trimmed.pop()
    return trimmed
