"""What was read, in the words of a report: where every column came from, what it holds, what was said about a step.

Separate from `_table.py`, which makes the table: nothing here changes a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from triage.model import ColumnInfo, Notice, SourceInfo
from triage.readers._gather import CONTEXT_NAME, Rows

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

OWN_COLUMNS: Final = ("row", "segment")
"""Columns of the table that no source column may be called."""

MOST_CONTEXT: Final = 1_000
"""Most changes of a text column (a data source, say) that are kept as messages."""


def describe(
    path: str,
    reader: str,
    rows: Rows,
    table: pl.DataFrame,
    unit: str,
    sources: Mapping[str, str],
    inferred: Mapping[str, tuple[int, ...]],
) -> SourceInfo:
    """Say what was read.

    Args:
        path: of the source.
        reader: name of the format, where the blocks do not tell a better one.
        rows: as gathered.
        table: as built.
        unit: what the step counts.
        sources: column -> source name.
        inferred: column -> rows with an inferred NaN.
    """
    columns = {
        column.name: _column_info(column, table["step"], sources.get(column.name, column.name), inferred)
        for column in table.iter_columns()
        if column.name not in OWN_COLUMNS
    }
    clock = table["time"].drop_nulls() if "time" in table.columns else None
    has_clock = clock is not None and len(clock)
    return SourceInfo(
        path=path,
        format=str(rows.meta.get("format", reader)),
        writer=rows.meta.get("writer"),
        rows=rows.frame.height,
        bytes=rows.meta.get("bytes"),
        dropped=int(rows.meta.get("dropped", 0)),
        step_unit=unit,
        step_first=int(table["step"][0]),
        step_last=int(table["step"][-1]),
        time_first=float(clock[0]) if has_clock and clock is not None else None,
        time_last=float(clock[-1]) if has_clock and clock is not None else None,
        segments=int(table["segment"][-1]) + 1,
        config=rows.config,
        columns=columns,
    )


def _column_info(
    column: pl.Series, step: pl.Series, source: str, inferred: Mapping[str, tuple[int, ...]]
) -> ColumnInfo:
    points = len(column) - column.null_count()
    if not points:
        return ColumnInfo(source, 0, 0, 0, None, None, None)
    where = column.is_not_null().arg_true()
    first, last = int(where[0]), int(where[-1])
    finite = int(column.is_finite().sum()) if column.dtype.is_float() else points
    return ColumnInfo(
        source=source,
        points=points,
        nonfinite=points - finite,
        inferred=len(inferred.get(column.name, ())),
        first_step=int(step[first]),
        last_step=int(step[last]),
        last=float(column[last]),
    )


def messages(rows: Rows, table: pl.DataFrame, firsts: Array | None) -> tuple[Mapping[str, Any], ...]:
    """Lines that speak of a step, with the row they belong to; and the changes of texts that tell what a batch was.

    Args:
        rows: as gathered.
        table: as built.
        firsts: (rows of the table,) position of the first source row of each; None where the rows were reordered.
    """
    import numpy as np

    steps = table["step"].to_numpy()
    found_messages: list[Mapping[str, Any]] = []
    for event in rows.meta.get("text_events", ()):
        row = None
        if event.get("step") is not None and len(steps):
            found = np.flatnonzero(steps == event["step"])
            row = int(found[-1]) if len(found) else None
        found_messages.append(
            {"step": event.get("step"), "row": row, "kind": event.get("kind"), "text": event.get("text")}
        )
    for name, column in rows.texts.items():
        if firsts is None or not CONTEXT_NAME.fullmatch(name):
            continue
        texts = column.to_list()
        before = None
        changes = []
        for row, first in enumerate(firsts):
            text = texts[int(first)]
            if text is not None and text != before:
                changes.append({"step": int(steps[row]), "row": row, "kind": "context", "text": f"{name}={text}"})
                before = text
        if len(changes) <= MOST_CONTEXT:
            found_messages.extend(changes)
    return tuple(found_messages)


def merged(notices: Sequence[Notice]) -> tuple[Notice, ...]:
    """One notice for each id and place, counts added: blocks repeat themselves."""
    kept: dict[tuple[str, str | None], Notice] = {}
    for notice in notices:
        key = (notice.id, notice.where)
        old = kept.get(key)
        if old is None:
            kept[key] = notice
        else:
            kept[key] = Notice(notice.id, old.count + notice.count, old.where, {**notice.detail, **old.detail})
    return tuple(kept.values())
