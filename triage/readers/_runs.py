"""Several runs in one file, told apart by a text column: each row goes to its own run, so that none hides another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from triage.model import Block, Notice

if TYPE_CHECKING:
    import polars as pl

RUN_COLUMNS: Final = ("run", "run_id", "run_name", "run/id", "run/name", "experiment", "exp_name", "trial", "trial_id")
"""Names under which loggers that share a file put the name of the run."""
MOST_RUNS: Final = 1_000
"""More different values than this name something else (a sample, a request)."""
ROWS_PER_RUN: Final = 2
"""... and so do values that hardly ever come twice: a run has rows."""


def apart(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of one source with the rows of different runs in blocks of their own.

    The run that comes first keeps the name of the file; the others go by their value. Rows without a value, and sources
    whose reader told the runs apart already, stay as they are.
    """
    first: str | None = None
    for block in blocks:
        name = _column(block.frame) if block.run is None else None
        if name is None:
            yield block
            continue
        groups = block.frame.partition_by(name, as_dict=True, maintain_order=True)
        names = [key[0] for key in groups]
        first = first if first is not None else next((n for n in names if n is not None), None)
        others = [n for n in names if n not in (None, first)]
        if not others:
            yield block
            continue
        told = Notice("runs-in-one-file", len(others) + 1, None, {"column": name})
        for index, (key, frame) in enumerate(groups.items()):
            run = None if key[0] in (None, first) else str(key[0])
            notices = (*block.notices, told) if index == 0 else ()
            yield replace(block, frame=frame, run=run, notices=notices)


def _column(frame: pl.DataFrame) -> str | None:
    """The column that names the runs, where this stretch has one with more than one value, or with text at all."""
    import polars as pl

    for name in frame.columns:
        if name.lower() not in RUN_COLUMNS or frame.schema[name] != pl.String:
            continue
        count = frame[name].n_unique()
        if count <= MOST_RUNS and count * ROWS_PER_RUN <= max(frame.height, ROWS_PER_RUN):
            return name
    return None
