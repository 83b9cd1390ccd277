"""What kind of table a text is: its separator, its decimal mark, its header.

Separate because the sniffer, the reader and the tolerant path must come to the same answer.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.options import Options
from triage.readers._cells import ABSENT, is_number
from triage.readers._columns import canonical_wanted
from triage.readers._times import looks_like_time

SEPARATORS: Final = (",", "\t", ";", "|")
SAMPLE_LINES: Final = 60
"""Lines of the head that are looked at."""

SAME_WIDTH: Final = 0.8
"""Share of the lines that must have as many cells as the header; the rest are ragged or torn."""

SAME_WIDTH_NAMED: Final = 0.5
"""The same for a file whose name says that it is a table."""

NUMBER_SHARE: Final = 0.8
"""Share of a column's filled cells that must be numbers for it to be a metric."""

LONGEST_NAME: Final = 200
"""Characters; a longer "name" is a sentence."""

NAMES: Final = (".csv", ".tsv", ".tab")
"""Endings that speak for a table; a second witness only."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a table is written.

    Attributes:
        separator: between the cells.
        decimal_comma: "0,5" is a half.
        skip: lines before the header.
        columns: names in order, unique; "" for an index without a name.
        has_header: the first line holds names, and not numbers.
    """

    separator: str
    decimal_comma: bool
    skip: int
    columns: tuple[str, ...]
    has_header: bool


def find_dialect(text: str, name: str, *, is_cut: bool) -> Dialect | None:
    """Find out how a text is written as a table; None where it is none.

    Args:
        text: the beginning of the file.
        name: file name, as a second witness.
        is_cut: the text goes on behind `text`, so that its last line may be torn.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").split("\n")
    if is_cut and len(lines) > 1:
        lines.pop()
    skip = next((i for i, line in enumerate(lines) if line.strip() and not line.lower().startswith("sep=")), None)
    if skip is None:
        return None
    sample = [line for line in lines[skip : skip + SAMPLE_LINES] if line.strip()]
    named = name.lower().endswith(NAMES)
    found = [d for separator in SEPARATORS if (d := _try(sample, separator, skip, named=named))]
    return max(found, key=lambda dialect: len(dialect.columns), default=None)


def _try(sample: Sequence[str], separator: str, skip: int, *, named: bool) -> Dialect | None:
    rows = split_lines(sample, separator)
    header = [cell.strip().lstrip("#").strip() for cell in rows[0]] if rows else []
    body = rows[1:]
    if not _is_header(header):
        return _headless(rows, separator, skip) if named and len(rows) > 1 else None
    if len(header) == 1 and (separator != "," or not (named or _is_known(header[0])) or not body):
        return None
    again = next((i for i, row in enumerate(body) if is_header_again(row, header)), len(body))
    body = body[:again]
    if not body:
        return Dialect(separator, False, skip, unique(header), True) if named else None
    same = sum(len(row) == len(header) for row in body)
    if same < (SAME_WIDTH_NAMED if named else SAME_WIDTH) * len(body) - 1:
        return None
    comma = separator in ";\t|" and _writes_decimal_comma(body)
    is_table = any(
        _is_metric([row[i] for row in body if i < len(row)], decimal_comma=comma) for i in range(len(header))
    )
    return Dialect(separator, comma, skip, unique(header), True) if is_table else None


def _headless(rows: Sequence[Sequence[str]], separator: str, skip: int) -> Dialect | None:
    """A table of numbers without names; they are numbered from 1, so that `--map loss=column_2` can name them."""
    width = len(rows[0])
    if width < 2 or not all(len(row) == width for row in rows):
        return None
    comma = separator in ";\t|" and _writes_decimal_comma(rows)
    if not all(is_number(cell, decimal_comma=comma) or cell.strip().lower() in ABSENT for row in rows for cell in row):
        return None
    return Dialect(separator, comma, skip, tuple(f"column_{i + 1}" for i in range(width)), False)


def split_lines(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Split lines into cells as a table writer quotes them; a line that cannot be split is left out."""
    reader = csv.reader(lines, delimiter=separator)
    rows: list[list[str]] = []
    while True:
        try:
            row = next(reader, None)
        except csv.Error:
            continue
        if row is None:
            return rows
        if row:
            rows.append(row)


def unique(header: Sequence[str]) -> tuple[str, ...]:
    """Make names unique: a second `loss` becomes `loss.1`."""
    seen: dict[str, int] = {}
    names = []
    for name in header:
        count = seen.get(name, 0)
        seen[name] = count + 1
        names.append(f"{name}.{count}" if count else name)
    return tuple(names)


def is_header_again(row: Sequence[str], columns: Sequence[str]) -> bool:
    """Say whether a row in the middle of a table is a header: a restart that appended to the same file."""
    cells = [cell.strip() for cell in row]
    return len(cells) > 1 and _is_header(cells) and 2 * len(set(cells) & set(columns)) >= min(len(cells), len(columns))


def _is_header(cells: Sequence[str]) -> bool:
    """Say whether cells are names: no numbers, no sentences, no JSON."""
    filled = [cell for cell in cells if cell]
    if not filled or len(filled) < len(cells) - 1:
        return False
    return all(
        len(cell) <= LONGEST_NAME
        and not cell.startswith(("{", "[", "'", '"'))
        and not any(mark in cell for mark in "{}\n")
        and cell.lower() not in ABSENT
        and not is_number(cell, decimal_comma=True)
        and not is_number(cell)
        and not looks_like_time(cell)
        for cell in filled
    )


def _is_known(name: str) -> bool:
    return canonical_wanted(Options())(name)


def _is_metric(cells: Sequence[str], *, decimal_comma: bool) -> bool:
    filled = [cell for cell in cells if cell.strip().lower() not in ABSENT]
    held = sum(is_number(cell, decimal_comma=decimal_comma) for cell in filled)
    return held > 0 and held >= NUMBER_SHARE * len(filled)


def _writes_decimal_comma(rows: Sequence[Sequence[str]]) -> bool:
    """Say whether numbers have a comma where only a decimal mark can stand."""
    cells = [cell for row in rows for cell in row if "," in cell]
    return any(is_number(cell, decimal_comma=True) and not is_number(cell) for cell in cells)
