"""Numbers as a person reads them: four digits, NaN and ±inf spelled out, steps and counts in full.

Separate so that every renderer writes the same number in the same way.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

_FIXED_FROM: Final = 1e-3
_FIXED_TO: Final = 1e6
"""Between these a number is written out, outside with an exponent; what fits a column of ten cells."""

_EPOCH_FROM: Final = 1e8
"""Seconds from here on (1973) are a date, fewer are a time since the start."""


def number(value: float | None) -> str | None:
    """Four significant digits; None stays None, non-finite values are "NaN", "+inf", "-inf"."""
    if value is None:
        return None
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    if not _FIXED_FROM <= abs(value) < _FIXED_TO:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    fixed = f"{value:.{digits}f}"
    return fixed.rstrip("0").rstrip(".") if "." in fixed else fixed


def change(value: float, baseline: float | None) -> str | None:
    """How far a value is from its baseline: "×3.9", or "+0.4" where a ratio says nothing; None where it is unknown."""
    if baseline is None or not math.isfinite(value) or not math.isfinite(baseline):
        return None
    if baseline > 0 and value > 0:
        ratio = value / baseline
        return f"×{ratio:.2f}" if ratio < 10 else f"×{number(float(f'{ratio:.3g}'))}"
    difference = number(value - baseline)
    return difference if difference is None or difference.startswith("-") else f"+{difference}"


def size(n_bytes: int | None) -> str | None:
    """Bytes in the unit that keeps the number short."""
    if n_bytes is None:
        return None
    value = float(n_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1000
    return f"{number(float(f'{value:.3g}'))} TB"


def moment(seconds: float | None) -> str | None:
    """A time of the log: a date in UTC, or the seconds since the start."""
    if seconds is None or not math.isfinite(seconds):
        return None
    if seconds < _EPOCH_FROM:
        return f"{number(seconds)} s"
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):  # milliseconds, or a column that is no time at all
        return number(seconds)


def duration(seconds: float | None) -> str | None:
    """A stretch of time in the two units that say most: "3 h 20 min"; None where it is not known."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return None
    rest = round(seconds)
    if rest < 1:
        return f"{number(seconds)} s"
    parts: list[str] = []
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
