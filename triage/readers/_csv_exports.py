"""Tables that a user interface exports: what stands in their header is not what a logger would write.

Separate from `csv.py`, which knows about cells; here it is about what the columns mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UnreadableError
from triage.model import Block, Notice
from triage.readers._contract import Source

if TYPE_CHECKING:
    import polars as pl

RUNS_TABLE: Final = frozenset({"Name", "State"})
"""Columns of the W&B table of runs: one row a run."""

CHART_SPLIT: Final = " - "
"""Between run and metric in the header of a W&B chart; run names may hold it too, metrics do not."""

BANDS: Final = ("__MIN", "__MAX")
"""Endings of the columns that a W&B chart adds: the range that one drawn point stands for."""

TENSORBOARD: Final = ("Wall time", "Step", "Value")
TENSORBOARD_MOST: Final = 1_000
"""Points that the TensorBoard page keeps of a tag; with that many, some are missing."""

TENSORBOARD_NAME: Final = re.compile(r"(?:run-(?P<run>.*?)-)?tag-(?P<tag>.+?)\.(?:csv|json)", re.IGNORECASE)
DEEPSPEED_NAME: Final = re.compile(r"(?P<tag>Train_Samples_\w+)\.csv", re.IGNORECASE)
"""DeepSpeed's CSV monitor: one file a tag; the step counts samples, which only the file name says."""


def refuse_runs_table(columns: Sequence[str], source: Source) -> None:
    """Refuse a table that holds a row for every run; raises UnreadableError."""
    if set(columns) >= RUNS_TABLE:
        raise UnreadableError(
            "is a W&B table of runs: one row for every run, no time series",
            path=source.path,
            hint="export a chart as CSV, or the history of one run (run.scan_history())",
        )


def is_chart(columns: Sequence[str]) -> bool:
    """Say whether a header is that of a W&B chart: an x axis, then `<run> - <metric>` columns."""
    return len(columns) > 1 and CHART_SPLIT not in columns[0] and all(CHART_SPLIT in name for name in columns[1:])


def is_tensorboard(columns: Sequence[str]) -> bool:
    """Say whether a header is that of a TensorBoard download."""
    return tuple(columns) == TENSORBOARD


def chart_blocks(frame: pl.DataFrame, notices: tuple[Notice, ...], meta: dict[str, Any]) -> Iterator[Block]:
    """Split a chart into its runs, one block each; rows in which a run has no value are left out."""
    import polars as pl

    axis, *columns = frame.columns
    runs: dict[str, dict[str, str]] = {}
    for name in columns:
        run, _, metric = name.rpartition(CHART_SPLIT)
        if not metric.endswith(BANDS):
            runs.setdefault(run, {})[name] = metric
    bucketed = _is_bucketed(frame, runs)
    sampled = Notice("sampled-export", frame.height, None, {"writer": "W&B", "bucketed": bucketed})
    for run, metrics in runs.items():
        names = {old: new for old, new in metrics.items() if new != axis}
        if names:
            rows = frame.filter(pl.any_horizontal(pl.col(list(names)).is_not_null()))
            yield Block(rows.select(axis, *names).rename(names), run, (*notices, sampled), meta)


def tensorboard_block(frame: pl.DataFrame, source: Source, notices: tuple[Notice, ...], meta: dict[str, Any]) -> Block:
    """Name the value after the tag in the file name, and the run too."""
    found = TENSORBOARD_NAME.fullmatch(source.name)
    tag = found["tag"] if found else (source.name.rpartition(".")[0] or "Value")
    if frame.height >= TENSORBOARD_MOST:
        notices = (*notices, Notice("sampled-export", frame.height, None, {"writer": "TensorBoard"}))
    return Block(frame.rename({"Value": tag}), None, notices, meta)


def deepspeed_names(columns: Sequence[str], source: Source) -> dict[str, str]:
    """New names for the file of a DeepSpeed monitor: the full tag instead of its last part."""
    found = DEEPSPEED_NAME.fullmatch(source.name)
    if not found or len(columns) != 2 or not found["tag"].lower().endswith(columns[1].lower()):
        return {}
    return {columns[1]: found["tag"]}


def _is_bucketed(frame: pl.DataFrame, runs: dict[str, dict[str, str]]) -> bool:
    """Say whether a drawn point stands for more than one logged value."""
    for names in runs.values():
        for name in names:
            low, high = (f"{name}{band}" for band in BANDS)
            if low in frame.columns and high in frame.columns and bool((frame[low] != frame[high]).any()):
                return True
    return False
