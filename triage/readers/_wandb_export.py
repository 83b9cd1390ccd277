"""The history of a W&B run as its public interface exports it: rows, but perhaps not all of them.

Separate because it comes as CSV and as Parquet; the file that the client writes (`wandb.py`) always holds every row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from triage.model import Notice

if TYPE_CHECKING:
    import polars as pl

SAMPLES: Final = 500
"""Rows that `run.history()` gives where it is not told otherwise; of a longer run they are drawn at random."""

STEP: Final = "_step"
CLOCKS: Final = frozenset({"_runtime", "_timestamp"})
"""Columns that the client adds to every row."""


def sampled_history(frame: pl.DataFrame) -> tuple[Notice, ...]:
    """Say so where a table is such a sample: as many rows, and steps at irregular distances."""
    if frame.height != SAMPLES or STEP not in frame.columns or CLOCKS.isdisjoint(frame.columns):
        return ()
    gaps = frame[STEP].drop_nulls().diff().drop_nulls()
    if gaps.n_unique() < 2:
        return ()
    return (Notice("sampled-export", frame.height, None, {"writer": "W&B"}),)
