"""What was read: path, format, rows, steps, and where each understood column came from.

Separate because `analyze` opens with it and `inspect` is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from triage.model import ColumnInfo, SourceInfo
from triage.report._lines import Line, Span, kept
from triage.report._numbers import moment, number, size
from triage.report._say import Say, counted
from triage.report._width import clean, clip_middle
from triage.schema import BY_NAME

STEP_COLUMNS: Final = ("step", "time", "epoch", "rank", "segment", "row")
"""Columns that place a row rather than measure it; not worth a mention of their own."""

AUTOMATIC_WINDOWS: Final = (32, 128)
"""Baseline length early and later where no window is set (science 3.1)."""


def source_rows(say: Say, source: SourceInfo, options: Mapping[str, Any], width: int) -> list[tuple[str, Line]]:
    """Label and value for each fact about the source."""
    rows: list[tuple[str, Line]] = [
        (say("headings", "read"), _read(source, width)),
        (say("headings", "extent"), (_plain(_extent(say, source)),)),
    ]
    times = [text for text in (moment(source.time_first), moment(source.time_last)) if text]
    if times:
        rows.append((say("headings", "time"), (_plain(" – ".join(dict.fromkeys(times))),)))
    rows.append((say("headings", "window"), (_plain(window_text(say, source, options)),)))
    return rows


def column_line(say: Say, name: str, column: ColumnInfo, rows: int) -> Line:
    """One column: its name, the name in the file where it differs, points where rows lack it, what is not finite."""
    parts = [counted(say, "n-points", column.points)] if column.points < rows or column.nonfinite else []
    logged = column.nonfinite - column.inferred
    if logged > 0:
        parts.append(say("headings", "n-nonfinite", n=logged))
    if column.inferred:
        parts.append(say("headings", "n-inferred", n=column.inferred))
    spans: list[Span] = [(clean(name), "strong")]
    if column.source and column.source != name:
        spans.append((f" ← {clean(column.source)}", "plain"))
    if parts:
        spans.append((" (" + say("headings", "comma").join(parts) + ")", "bad" if column.nonfinite else "dim"))
    return tuple((kept(text), style) for text, style in spans)


def understood(source: SourceInfo) -> tuple[list[str], list[str]]:
    """The columns with a canonical meaning, and the names of all others."""
    measured = [name for name in source.columns if name not in STEP_COLUMNS]
    return [name for name in measured if name in BY_NAME], [name for name in measured if name not in BY_NAME]


def columns_line(say: Say, source: SourceInfo) -> Line:
    """All understood columns in one line, the others counted."""
    known, others = understood(source)
    spans: list[Span] = []
    for name in known:
        spans += [(" · ", "dim")] if spans else []
        spans += column_line(say, name, source.columns[name], source.rows)
    if not spans:
        spans.append((say("headings", "no-columns"), "warn"))
    if others:
        spans.append((" · " + say("headings", "other-columns", n=len(others)), "dim"))
    return tuple(spans)


def window_text(say: Say, source: SourceInfo, options: Mapping[str, Any]) -> str:
    """The baseline length in logged points, with the steps that it spans."""
    window = options.get("window")
    if isinstance(window, int):
        return say("headings", "window-set", n=window, steps=_span(source, window))
    early, later = AUTOMATIC_WINDOWS
    return say("headings", "window-auto", early=early, later=later, steps=_span(source, later))


def _span(source: SourceInfo, window: int) -> str | None:
    """Steps that a window covers at the mean distance of the logged points; None where it cannot be told."""
    loss = source.columns.get("loss")
    first, last, points = (
        (source.step_first, source.step_last, source.rows)
        if loss is None
        else (loss.first_step, loss.last_step, loss.points)
    )
    if first is None or last is None or points < 2 or last <= first:
        return None
    return number(float(f"{window * (last - first) / (points - 1):.2g}"))


def _read(source: SourceInfo, width: int) -> Line:
    path = "<stdin>" if source.path == "-" else clean(source.path)
    facts = [source.format + (f" ({clean(source.writer)})" if source.writer else ""), size(source.bytes)]
    tail = " · ".join(clean(fact) for fact in facts if fact)
    return ((clip_middle(path, max(24, width - 14)), "strong"), (f" · {tail}", "plain"))


def _extent(say: Say, source: SourceInfo) -> str:
    unit = say("headings", f"unit-{source.step_unit.replace(' ', '-')}")
    parts = [counted(say, "n-rows", source.rows)]
    if source.step_first is not None and source.step_last is not None:
        parts.append(say("headings", "step-span", unit=unit, first=source.step_first, last=source.step_last))
    if source.segments > 1:
        parts.append(say("headings", "n-segments", n=source.segments))
    if source.dropped:
        parts.append(say("headings", "n-dropped", n=source.dropped))
    return " · ".join(parts)


def _plain(text: str) -> Span:
    return (text, "plain")
