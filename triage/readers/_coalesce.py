"""Several rows of one step as one row, and the ranks of one step side by side.

Separate from `_table.py` because this is where a value could be lost: what wins is one rule, in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Merged:
    """A column after coalescing.

    Attributes:
        values: one cell a group; null where no row of the group carries one.
        conflicts: cells that differed from the one that was kept.
    """

    values: pl.Series
    conflicts: int


def group_starts(*keys: Array) -> Array:
    """Positions at which any of the keys changes; rows of one group stand together."""
    import numpy as np

    changes = np.zeros(len(keys[0]), dtype=bool)
    changes[:1] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changes)


def merge(column: pl.Series, starts: Array, rows: Array | None = None) -> Merged:
    """Merge a column over groups of rows.

    The last value of a group wins, but a finite value never overwrites a non-finite one: a NaN that was logged once
    is a fact that a later print of the same step does not undo.

    Args:
        column: Float64, null = not logged.
        starts: first row of each group, ascending, beginning with 0.
        rows: (rows,) only these count; None = all.
    """
    import numpy as np
    import polars as pl

    valid = column.is_not_null().to_numpy()
    if rows is not None:
        valid = valid & rows
    values = column.to_numpy()
    height = len(values)
    position = np.arange(height, dtype=np.int64)
    last = np.maximum.reduceat(np.where(valid, position, -1), starts)
    odd = valid & ~np.isfinite(values)
    if odd.any():
        last_odd = np.maximum.reduceat(np.where(odd, position, -1), starts)
        last = np.where(last_odd >= 0, last_odd, last)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, height)))
    kept = values[np.maximum(last, 0)][group]
    with np.errstate(invalid="ignore"):
        differs = valid & ~((values == kept) | (np.isnan(values) & np.isnan(kept)))
    picked = pl.Series(np.maximum(last, 0)).set(pl.Series(last < 0), None)
    return Merged(column.gather(picked), int(differs.sum()))


def merge_all(frame: pl.DataFrame, starts: Array, quiet: Sequence[str]) -> tuple[pl.DataFrame, dict[str, int]]:
    """Merge every column of a frame; returns it with the conflicts by column, those of `quiet` columns left out."""
    import polars as pl

    if len(starts) == frame.height:
        return frame, {}
    conflicts: dict[str, int] = {}
    merged: list[pl.Series] = []
    for column in frame.iter_columns():
        result = merge(column, starts)
        merged.append(result.values)
        if result.conflicts and column.name not in quiet:
            conflicts[column.name] = result.conflicts
    return pl.DataFrame(merged), conflicts
