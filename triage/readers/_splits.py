"""Rows that a text column marks as evaluation, moved out of the training columns.

Separate because it must happen before any column gets its name: `loss` of a row marked `val` is not the training loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from triage.readers._columns import BOOKKEEPING, EVAL_NAME, is_counter
from triage.readers._gather import SPLIT_NAME

if TYPE_CHECKING:
    import polars as pl

EVAL_MARK: Final = r"(?i)^(eval|evaluation|evaluate|val|valid|validation|validate|test|dev|holdout)([_/\-:. ].*)?$"
"""Texts that mark an evaluation row."""


def move_evaluation_rows(frame: pl.DataFrame, texts: Mapping[str, pl.Series]) -> tuple[pl.DataFrame, int]:
    """Move the metrics of rows marked as evaluation to columns with `eval/` in front.

    Returns:
        The frame, and how many rows were marked.
    """
    import polars as pl

    mark = None
    for name, column in texts.items():
        if SPLIT_NAME.fullmatch(name):
            found = column.str.strip_chars().str.contains(EVAL_MARK).fill_null(value=False)
            mark = found if mark is None else mark | found
    if mark is None or not mark.any():
        return frame, 0
    added: dict[str, pl.Series] = {}
    cleared: list[pl.Series] = []
    for column in frame.iter_columns():
        name = column.name
        if is_counter(name) or BOOKKEEPING.fullmatch(name) or EVAL_NAME.fullmatch(name):
            continue
        moved = column.set(~mark, None)
        if moved.null_count() == len(moved):
            continue
        cleared.append(column.set(mark, None))
        added[f"eval/{name}"] = moved
    frame = frame.with_columns(cleared)
    for name, moved in added.items():
        if name in frame.columns:
            frame = frame.with_columns(pl.coalesce(frame[name].cast(pl.Float64), moved.cast(pl.Float64)).alias(name))
        else:
            frame = frame.with_columns(moved.alias(name))
    return frame, int(mark.sum())
