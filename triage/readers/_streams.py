"""Streams of rows that were written side by side (ranks, files of one run), brought onto one line of steps.

Separate from `_steps.py`, which places one stream, and from `_table.py`, which wants one row a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from triage.model import Notice
from triage.readers._coalesce import merge
from triage.readers._steps import fill, place

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

MOST_RANKS: Final = 100_000
"""More different values than any job has workers: then `rank` is a metric and no worker."""

RANK_COLUMNS: Final = ("loss", "grad_norm")
"""Columns that are kept for every rank; others only where they hold a non-finite value."""


@dataclass(frozen=True, slots=True)
class Line:
    """All rows on one line.

    Attributes:
        order: (rows,) positions that bring the rows into order; None where they are in order.
        step, segment: (rows,) in that order.
        outside: (rows,) in that order: the row had no step of its own and stands beside the first or last one.
        notices: what was repaired.
    """

    order: Array | None
    step: Array
    segment: Array
    outside: Array
    notices: tuple[Notice, ...]


def ranks_of(frame: pl.DataFrame, step: Array) -> Array | None:
    """The worker of every row, where several workers wrote into one log; None where they did not.

    A metric may be called rank too: workers are whole numbers, few, and each of them logs many of the steps.
    """
    import numpy as np

    if "rank" not in frame.columns:
        return None
    column = frame["rank"]
    known = column.is_not_null().to_numpy()
    values = column.to_numpy()
    if not known.any() or not np.all(np.isfinite(values[known])) or np.any(values[known] != np.floor(values[known])):
        return None
    ranks = np.where(known, values, values[known].min()).astype(np.int64)
    distinct = len(np.unique(ranks))
    if distinct < 2 or distinct > MOST_RANKS or ranks.min() < 0:
        return None
    pairs = len(np.unique(np.stack([ranks, step]), axis=1).T)
    return ranks if 2 * pairs >= distinct * len(np.unique(step)) else None


def line_up(
    stream: Array | None, step: Array, known: Array, has_loss: Array, loss: Array | None, epoch: Array | None
) -> Line:
    """Place every stream by itself, then lay the streams over one another by segment and step.

    Args:
        stream: (rows,) number of the stream; None = one stream.
        step: (rows,) Int64; anything where `known` is false.
        known: (rows,) the row carries a step.
        has_loss: (rows,) the row carries the loss that is judged.
        loss: (rows,) that loss, NaN where there is none; None without one.
        epoch: (rows,) the epoch, NaN where there is none; None without one.
    """
    import numpy as np

    height = len(step)
    placed = np.zeros(height, dtype=np.int64)
    segment = np.zeros(height, dtype=np.int32)
    outside = np.zeros(height, dtype=bool)
    notices: list[Notice] = []
    is_sorted = True
    for rows in [slice(None)] if stream is None else [np.flatnonzero(stream == s) for s in np.unique(stream)]:
        filled, lost, repaired = fill(step[rows], known[rows], has_loss[rows])
        if lost.all():
            outside[rows] = True
            continue
        if lost.any():
            ends = np.flatnonzero(~lost)
            filled = filled.copy()
            filled[: ends[0]] = filled[ends[0]]
            filled[ends[-1] + 1 :] = filled[ends[-1]]
        spot = place(
            filled,
            has_loss[rows] & ~lost,
            None if loss is None else loss[rows],
            None if epoch is None else epoch[rows],
        )
        placed[rows], segment[rows], outside[rows] = spot.step, spot.segment, lost
        is_sorted &= spot.order is None
        notices.extend(spot.notices)
        if repaired:
            notices.append(Notice("steps-filled-in", repaired))
    order = None
    if stream is not None or not is_sorted:
        order = np.lexsort((np.arange(height), placed, segment))
        placed, segment, outside = placed[order], segment[order], outside[order]
    return Line(order, placed, segment, outside, _once(notices))


def split_ranks(
    frame: pl.DataFrame, ranks: Array, starts: Array, axes: Sequence[str], room: int
) -> tuple[pl.DataFrame, dict[str, int], Notice]:
    """Keep the lowest rank that logs the loss as the main series, the loss of the others beside it as `loss@rankN`.

    Nothing is averaged: a NaN on one worker must stay visible.

    Args:
        frame: canonical names, rows in order of segment and step.
        ranks: (rows,) worker.
        starts: first row of each step.
        axes: columns that place a row; they are taken from all ranks.
        room: how many more columns the run may have.

    Returns:
        One row a step; the conflicts by column; and the notice with the non-finite counts of every other rank.
    """
    import numpy as np
    import polars as pl

    all_ranks = [int(rank) for rank in np.unique(ranks)]
    has_loss = frame["loss"].is_not_null().to_numpy() if "loss" in frame.columns else np.ones(len(ranks), dtype=bool)
    main = next((rank for rank in all_ranks if has_loss[ranks == rank].any()), all_ranks[0])
    of_main = ranks == main
    conflicts: dict[str, int] = {}
    columns: list[pl.Series] = []
    for column in frame.iter_columns():
        merged = merge(column, starts, None if column.name in axes else of_main)
        columns.append(merged.values)
        if merged.conflicts and column.name not in axes:
            conflicts[column.name] = merged.conflicts
    columns = [
        pl.Series("rank", [float(main)]).new_from_index(0, len(starts)) if c.name == "rank" else c for c in columns
    ]
    nonfinite: dict[str, int] = {}
    left_out = 0
    for rank in (rank for rank in all_ranks if rank != main):
        rows = ranks == rank
        for column in frame.iter_columns():
            name = column.name
            if name in axes or name == "rank":
                continue
            odd = int((column.is_not_null() & ~column.is_finite()).filter(pl.Series(rows)).sum())
            if not odd and (name not in RANK_COLUMNS or not column.is_not_null().filter(pl.Series(rows)).any()):
                continue
            if odd:
                nonfinite[f"{name}@rank{rank}"] = odd
            if len(columns) >= room:
                left_out += 1
                continue
            columns.append(merge(column, starts, rows).values.alias(f"{name}@rank{rank}"))
    detail = {"main": main, "nonfinite": nonfinite, "left_out": left_out}
    return pl.DataFrame(columns), conflicts, Notice("ranks-in-one-file", len(all_ranks), None, detail)


def _once(notices: list[Notice]) -> tuple[Notice, ...]:
    """One notice of each kind: ranks that restart together restarted once."""
    kept: dict[str, Notice] = {}
    for notice in notices:
        if notice.id not in kept or kept[notice.id].count < notice.count:
            kept[notice.id] = notice
    return tuple(kept.values())
