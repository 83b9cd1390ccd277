"""Text to numbers: one table of spellings for all readers, for one cell and for whole columns.

Separate because every text format meets the same spellings, and because a spelling that one reader takes for "nothing"
and another for NaN would make two logs of one run differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

ABSENT: Final = frozenset({"", "none", "null", "-", "--", "na", "n/a", "<na>", "nil", "undefined"})
"""Words (lower case) for a cell that was not logged."""

WORDS: Final[dict[str, str]] = {
    "+nan": "nan",
    "nan(ind)": "nan",
    "-nan(ind)": "nan",
    "nan(snan)": "nan",
    "-nan(snan)": "nan",
    # What C run-time libraries of old print.
    "1.#qnan": "nan",
    "-1.#qnan": "nan",
    "1.#ind": "nan",
    "-1.#ind": "nan",
    "1.#inf": "inf",
    "-1.#inf": "-inf",
    # YAML.
    ".nan": "nan",
    ".inf": "inf",
    "+.inf": "inf",
    "-.inf": "-inf",
    "∞": "inf",
    "-∞": "-inf",
    "true": "1",
    "false": "0",
}
"""Words (lower case) that neither Python nor polars reads as a number, and the number they mean."""

WRAPPERS: Final = (
    # str() of a tensor, an array scalar or a list of one, as json.dumps(default=str) and print leave them.
    r"^(?:tensor|array)\(\[?\s*([^\s,()\[\]]+)\]?\s*(?:,.*)?\)$",
    r"^(?:\w+\.)?(?:float|int|bfloat)\d*\(([^\s,()]+)\)$",
    r"^\[\s*([^\s,\[\]]+)\s*\]$",
)
"""Shapes around a single number; the first group is the number."""

THOUSANDS: Final = r"^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$"
THOUSANDS_DECIMAL_COMMA: Final = r"^[+-]?\d{1,3}(?:[.\u00a0\u202f ]\d{3})+(?:,\d*)?$"

_WRAPPER_PATTERNS: Final = tuple(re.compile(pattern) for pattern in WRAPPERS)
_THOUSANDS: Final = re.compile(THOUSANDS)
_THOUSANDS_DECIMAL_COMMA: Final = re.compile(THOUSANDS_DECIMAL_COMMA)
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf|infinity)")
"""What float() may be given: it would also take underscores and other digits, which no logger writes."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A text column as numbers.

    Attributes:
        values: Int64 where every value is a whole number that fits (exact beyond 2^53), Float64 otherwise; null where
            the cell is absent or could not be read.
        unread: how many cells hold text that is no number.
    """

    values: pl.Series
    unread: int


def number(text: str, *, decimal_comma: bool = False) -> int | float | None:
    """Read one cell.

    Args:
        text: the cell as written.
        decimal_comma: "0,5" is a half and "1.234" a thousand.

    Returns:
        The number (NaN and ±inf included), or None for a cell that was not logged.

    Raises:
        ValueError: the cell holds text that is no number.
    """
    word = text.strip().strip("\"'").strip().lower()
    if word in ABSENT:
        return None
    for pattern in _WRAPPER_PATTERNS:
        if found := pattern.match(word):
            word = found[1]
    word = WORDS.get(word, word)
    if decimal_comma:
        if _THOUSANDS_DECIMAL_COMMA.match(word):
            word = re.sub("[.\u00a0\u202f ]", "", word)
        word = word.replace(",", ".")
    elif _THOUSANDS.match(word):
        word = word.replace(",", "")
    if not _NUMBER.fullmatch(word):
        raise ValueError(text)
    try:
        return int(word)
    except ValueError:
        return float(word)


def is_number(text: str, *, decimal_comma: bool = False) -> bool:
    """Say whether the cell holds a number; an absent one does not."""
    try:
        return number(text, decimal_comma=decimal_comma) is not None
    except ValueError:
        return False


def numbers(cells: pl.Series, *, decimal_comma: bool = False) -> Numbers:
    """Read a whole text column; equal to `number` cell by cell, at column speed.

    Only the cells that polars cannot read by itself are looked at twice, so a clean column costs one cast.
    """
    import polars as pl

    absent = cells.null_count()
    whole = cells.cast(pl.Int64, strict=False)
    if whole.null_count() == absent:
        return Numbers(whole, 0)
    if not decimal_comma:
        values = cells.cast(pl.Float64, strict=False)
        if values.null_count() == absent:
            return Numbers(values, 0)
    else:
        values = pl.Series(cells.name, [None], dtype=pl.Float64).new_from_index(0, len(cells))
    left = (values.is_null() & cells.is_not_null()).arg_true()
    tidy = _tidy(cells.gather(left), decimal_comma=decimal_comma)
    fixed = tidy.cast(pl.Float64, strict=False)
    unread = int((fixed.is_null() & tidy.is_not_null()).sum())
    values = values.scatter(left, fixed)
    # Whole numbers stay exact although some cells of the column are blank.
    whole = whole.scatter(left, tidy.cast(pl.Int64, strict=False))
    if whole.null_count() == values.null_count() and whole.null_count() < len(whole):
        return Numbers(whole, unread)
    return Numbers(values, unread)


def _tidy(cells: pl.Series, *, decimal_comma: bool) -> pl.Series:
    """Bring odd spellings into the form that polars casts; null where the cell is absent."""
    import polars as pl

    cell = pl.col("cell")
    frame = cells.alias("cell").to_frame()
    frame = frame.select(cell.str.strip_chars().str.strip_chars("\"'").str.strip_chars().str.to_lowercase())
    for pattern in WRAPPERS:
        frame = frame.select(cell.str.replace(pattern, "$1"))
    frame = frame.select(
        pl.when(cell.is_in(sorted(ABSENT))).then(None).otherwise(cell.replace(WORDS)).alias("cell"),
    )
    if decimal_comma:
        bare = cell.str.replace_all("[.\u00a0\u202f ]", "")
        plain = pl.when(cell.str.contains(THOUSANDS_DECIMAL_COMMA)).then(bare).otherwise(cell)
        frame = frame.select(plain.str.replace_all(",", ".", literal=True).alias("cell"))
    else:
        bare = cell.str.replace_all(",", "", literal=True)
        frame = frame.select(pl.when(cell.str.contains(THOUSANDS)).then(bare).otherwise(cell).alias("cell"))
    return frame["cell"]
