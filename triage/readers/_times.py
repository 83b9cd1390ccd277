"""Times of day and spans of time, written as text, in seconds.

Separate from `_cells.py` because a time is no number until its form is known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

DAY: Final = r"^(\d{4}[-/]\d\d?[-/]\d\d?)[T ](\d\d?:\d\d(?::\d\d)?)(?:[.,](\d+))?\s*(Z|[+-]\d\d:?\d\d)?$"
"""A date with a time: ISO 8601, and what Python's logging writes (a comma before the fraction)."""

SPAN: Final = r"^(?:(\d+) days?,? )?(?:(\d+):)?(\d\d?):(\d\d(?:\.\d+)?)$"
"""A span: [D day(s),] [H:]MM:SS[.fraction]."""

_DAY: Final = re.compile(DAY)
_SPAN: Final = re.compile(SPAN)


def looks_like_time(text: str) -> bool:
    """Say whether one cell is a time that `seconds` reads."""
    text = text.strip()
    return bool(_DAY.match(text) or _SPAN.match(text))


def seconds(cells: pl.Series) -> pl.Series:
    """Read a text column of times; Float64 seconds (since 1970 where there is a date), null where a cell is no time."""
    import polars as pl

    cell = pl.col("cell").str.strip_chars()
    frame = cells.alias("cell").to_frame()

    def group(pattern: str, index: int) -> pl.Expr:
        return cell.str.extract(pattern, index)

    day = (group(DAY, 1).str.replace_all("/", "-") + " " + group(DAY, 2)).str.to_datetime(
        "%Y-%m-%d %H:%M:%S", time_unit="us", strict=False
    )
    zone = group(DAY, 4).str.replace(":", "", literal=True).str.replace("Z", "+0000", literal=True)
    minutes = zone.str.slice(1, 2).cast(pl.Float64, strict=False) * 60 + zone.str.slice(3, 2).cast(
        pl.Float64, strict=False
    )
    east = pl.when(zone.str.starts_with("-")).then(-minutes).otherwise(minutes).fill_null(0.0)
    fraction = ("0." + group(DAY, 3)).cast(pl.Float64, strict=False).fill_null(0.0)
    stamp = day.dt.epoch("us").cast(pl.Float64) / 1e6 + fraction - 60 * east

    parts = [group(SPAN, i).cast(pl.Float64, strict=False) for i in (1, 2, 3, 4)]
    span = parts[0].fill_null(0) * 86_400 + parts[1].fill_null(0) * 3_600 + parts[2] * 60 + parts[3]
    return frame.select(pl.coalesce(stamp, span).alias(cells.name))[cells.name]
