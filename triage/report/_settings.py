"""Every setting with its value and origin, as `config` prints them.

Separate because each command's view is a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from triage.report._lines import Line, Span, table
from triage.report._say import Say
from triage.report._width import clean, clip

Rows = Sequence[tuple[str, Any, str]]
"""Setting, value, origin."""


def settings_lines(say: Say, rows: Rows, width: int) -> list[Line]:
    """One aligned line per setting; what is not the default stands out."""
    head: list[Span] = [(say("headings", f"config-{name}"), "dim") for name in ("setting", "value", "origin")]
    cells = [head]
    for name, value, origin in rows:
        is_default = origin == "default"
        shown = clip(_written(value), max(16, width // 3))
        cells.append([(name, "plain"), (shown, "plain" if is_default else "strong"), (clean(origin), "dim")])
    return table(cells)


def _written(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ", ".join(f"{clean(name)}={clean(item)}" for name, item in value.items()) or "–"
    return clean(value)
