"""What stands beside a log: a folder of checkpoints, and a second file with columns per batch.

Separate from the formats because neither is a log: the first gives steps that names tell, the second columns that are
joined to a run by its steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UnreadableError, UsageError
from triage.model import ColumnInfo, Notice, RunTable

if TYPE_CHECKING:
    import polars as pl

NAME: Final = re.compile(
    r"(?:^|[-_=.])(?:(?:global[-_]?)?step|checkpoint|ckpt|iter|iteration|batch|ba|model|state)[-_=]?(\d+)(?=$|[-_.=])",
    re.IGNORECASE,
)
"""Names that trainers give to saved states: checkpoint-1500, step_1500.pt, iter_0001500, global_step1500, ckpt-1500."""
BARE: Final = re.compile(r"^(\d+)(?:\.(?:pt|pth|ckpt|bin|safetensors|npz|msgpack))?$")
"""A folder or file that is named by its step alone."""
MOST_ENTRIES: Final = 100_000


def with_checkpoints(tables: tuple[RunTable, ...], folder: str) -> tuple[RunTable, ...]:
    """The runs with a message per saved state in `folder`: kind "checkpoint", its step, and its name as text.

    Raises:
        UsageError: the folder is missing, or none of its names holds a step.
    """
    saved = checkpoints(folder)
    messages: tuple[Mapping[str, Any], ...] = tuple(
        {"kind": "checkpoint", "step": step, "text": name} for step, name in saved
    )
    return tuple(replace(table, messages=(*table.messages, *messages)) for table in tables)


def checkpoints(folder: str) -> tuple[tuple[int, str], ...]:
    """(step, name) of every saved state directly in a folder, in order of the step; no file is opened."""
    path = Path(folder)
    try:
        names = [entry.name for _, entry in zip(range(MOST_ENTRIES), sorted(path.iterdir()), strict=False)]
    except OSError as error:
        why = error.strerror or "cannot be listed"
        raise UsageError(
            f"checkpoints: {why.lower()}", path=folder, hint="name the folder of the saved states"
        ) from error
    found = {name: step for name in names if (step := step_of(name)) is not None}
    if not found:
        raise UsageError(
            "checkpoints: no name here holds a step",
            path=folder,
            hint="expected names such as checkpoint-1500 or step_1500.pt; or give --checkpoint-every",
        )
    return tuple(sorted((step, name) for name, step in found.items()))


def step_of(name: str) -> int | None:
    """The step in the name of a saved state; None where it holds none."""
    match = NAME.search(name) or BARE.match(name)
    return int(match.group(1)) if match else None


def with_batches(tables: tuple[RunTable, ...], path: str, read: Callable[[str], RunTable]) -> tuple[RunTable, ...]:
    """The runs with the columns of a second file joined by step; a column that a run has already stays its own.

    Args:
        tables: the runs.
        path: the second file, in any format that is read.
        read: reads one run from a path.

    Raises:
        UnreadableError: the file cannot be read.
        UsageError: it has no steps, or none of the runs.
    """
    batch = read(path)
    if batch.source.step_unit == "row":
        raise UsageError("batches: the file has no step column", path=path, hint="log the step beside each batch")
    return tuple(_joined(table, batch, path) for table in tables)


def _joined(table: RunTable, batch: RunTable, path: str) -> RunTable:
    import polars as pl

    own = set(table.frame.columns)
    new = [c for c in batch.frame.columns if c not in own and batch.frame[c].dtype.is_numeric()]
    last = batch.frame.select("step", *new).drop_nulls("step").unique("step", keep="last", maintain_order=True)
    joined = table.frame.join(last, on="step", how="left", maintain_order="left")
    matched = int(table.frame["step"].is_in(last["step"].implode()).sum())
    if not matched:
        raise UsageError(
            "batches: none of its steps is a step of the log", path=path, hint="both files must count the same steps"
        )
    infos = {name: _info(joined, name, batch) for name in new}
    notice = Notice("batches-joined", matched, path, {"columns": ", ".join(new)})
    return replace(
        table,
        frame=joined.with_columns(pl.col(c).cast(pl.Float64) for c in new),
        source=replace(table.source, columns={**table.source.columns, **infos}),
        notices=(*table.notices, notice),
    )


def _info(frame: pl.DataFrame, name: str, batch: RunTable) -> ColumnInfo:
    """What a joined column holds in the run."""
    import polars as pl

    rows = frame.filter(pl.col(name).is_not_null())
    values = rows[name].cast(pl.Float64)
    source = batch.source.columns[name].source if name in batch.source.columns else name
    bad = int((~values.is_finite()).sum())
    if rows.is_empty():
        return ColumnInfo(source, 0, 0, 0, None, None, None)
    return ColumnInfo(source, rows.height, bad, 0, rows["step"][0], rows["step"][-1], values[-1])


def single(path: str, tables: tuple[RunTable, ...], faults: tuple[str, ...]) -> RunTable:
    """The one run that a file must hold; raises UnreadableError otherwise."""
    if len(tables) == 1:
        return tables[0]
    what = "; ".join(faults) if faults else f"holds {len(tables)} runs, one was expected"
    raise UnreadableError(f"batches: {what}", path=path, hint="give one file with a row per batch")
