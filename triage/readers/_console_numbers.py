"""How a number is written in console text, and what must not be taken for one.

Separate because the careful reading of one line and the fast reading of ten thousand must agree on what a number is:
both build their patterns from here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from triage.readers._cells import numbers

if TYPE_CHECKING:
    import polars as pl

# PaddleOCR pads with the letter x ("nanxxx"); C run-time libraries of old print 1.#QNAN.
_NOT_FINITE: Final = (
    r"[nN][aA][nN](?:\((?:ind|snan)\)|x+)?|[iI][nN][fF](?:[iI][nN][iI][tT][yY]|x+)?|1\.#(?:QNAN|SNAN|IND|INF)"
)
_EXPONENT: Final = r"(?:[eE][-+]?[0-9]+)?"

NUMBER: Final = (
    rf"[-+]?(?:{_NOT_FINITE}|(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+){_EXPONENT})"
)
"""A number with a point and perhaps commas between thousands, NaN and infinity in every spelling; no look-around."""

NUMBER_COMMA: Final = rf"[-+]?(?:{_NOT_FINITE}|[0-9]+(?:,[0-9]+)?{_EXPONENT})"
"""A number with a decimal comma."""

_WHOLE: Final = re.compile(rf"{NUMBER}|{NUMBER_COMMA}")

_UNITS: Final = (
    r"ms|us|µs|ns|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|bytes?|[KMGTP]i?[Bb](?:/s)?|[kKmM]?it/s|s/it|"
    r"(?:tok(?:en)?s?|samples?|images?|imgs?|steps?|iters?|words?|frames?|examples?|ex|seq(?:uence)?s?)/s(?:ec(?:ond)?)?|"
    r"sec/\w+|[TGM]FLOPS?(?:/s)?|%|°C?|[MG]?Hz|W"
)
"""What follows a measurement of time, memory or speed; such a value is no metric of the training."""

ENDS: Final = rf"(?![\w%°])(?!\.\w)(?![:/-][0-9])(?!\s*(?:{_UNITS})(?![\w/]))"
"""What must not follow a number: a unit, a percent sign, more digits of a date, time, counter or version."""

_OPENS: Final = r"(?:[\"']|\(=|tensor\(\[?|\[+|(?:np\.|numpy\.|jnp\.)?(?:float|int|bfloat)[0-9]+\()?"
"""What may stand between the separator and a number: a quote, or the shell of a tensor, an array scalar or a list."""


def is_number(text: str) -> bool:
    """Say whether a text is a number and nothing else, with a point or a comma."""
    return _WHOLE.fullmatch(text) is not None


def value_pattern(*, decimal_comma: bool = False) -> str:
    """A pattern for one value, its digits in the group `value`; for the careful reading."""
    return rf"{_OPENS}(?P<value>{NUMBER_COMMA if decimal_comma else NUMBER}){ENDS}"


def average_pattern(*, decimal_comma: bool = False) -> str:
    """A pattern for a smoothed value in parentheses after the current one, in the group `average`."""
    return rf"(?:[\"'\])]*\s*\(\s*(?P<average>{NUMBER_COMMA if decimal_comma else NUMBER})\s*\))?"


_DECIMAL_COMMAS: Final = re.compile(r"[:=\s][-+]?(?:0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,}))(?![\d,])")
_DECIMAL_POINTS: Final = re.compile(r"[:=\s][-+]?[0-9]+\.[0-9]+(?![\d.])")

COMMA_LEAD: Final = 3
"""How many values with a decimal comma there must be for each with a point: a wrong guess turns 1,234 into 1.234."""


def has_decimal_commas(text: str) -> bool:
    """Say whether the numbers of a text are written with a decimal comma, as some locales do."""
    commas = len(_DECIMAL_COMMAS.findall(text))
    return commas > 1 and commas >= COMMA_LEAD * len(_DECIMAL_POINTS.findall(text))


def is_whole_value(text: str, end: int, value: str) -> bool:
    """Say whether a value ends where it was cut: 5,12 is not the value 5, but [0.1,0.2] begins with the value 0.1."""
    return not (text[end : end + 1] == "," and text[end + 1 : end + 2].isdigit() and value.isdigit())


def to_numbers(cells: pl.Series, *, decimal_comma: bool = False) -> pl.Series:
    """Turn the captured texts of a column into Int64 or Float64; null stays null."""
    padded = cells.str.ends_with("x")
    if padded.any():
        cells = cells.str.strip_chars_end("x")
    return numbers(cells, decimal_comma=decimal_comma).values
