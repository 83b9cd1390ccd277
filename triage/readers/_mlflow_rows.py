"""Single measured values in the order of time → rows; the part that both of MLflow's stores share.

Separate because a store keeps every metric for itself: which values were logged together has to be found again. A row
ends where the step changes or a metric comes a second time, so that a step that was trained twice is two rows, and a
run that logs without steps gets a row for each round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.model import Block, Notice
from triage.readers._json_text import parse
from triage.readers._records import Columns

if TYPE_CHECKING:
    import polars as pl

STEP: Final = "_step"
TIME: Final = "_timestamp"
"""Columns of the rows besides the metrics: the step that was passed to MLflow, and milliseconds since 1970."""

SYSTEM: Final = "system/"
"""Metrics that MLflow measures by itself (load, memory); their step counts the measurements."""

ENDED: Final = frozenset({"FINISHED"})
FAILED: Final = frozenset({"FAILED", "KILLED"})

Value = tuple[str, float | None, int, int]
"""Metric, value (None = not logged), milliseconds since 1970, step."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a store says about a run besides its values.

    Attributes:
        run_id: MLflow's id.
        name: as shown to a person; "" without one.
        status: RUNNING, SCHEDULED, FINISHED, FAILED or KILLED; "" where it is not known.
        started: seconds since 1970.
        params: as logged, all of them text.
        is_deleted: put into MLflow's bin.
    """

    run_id: str
    name: str = ""
    status: str = ""
    started: float | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    is_deleted: bool = False

    def meta(self) -> dict[str, Any]:
        """Facts for `Block.meta`."""
        known = {"run_id": self.run_id, "display_name": self.name, "started": self.started, "status": self.status}
        config = {name: config_value(text) for name, text in self.params.items()}
        return {
            "format": "mlflow",
            "writer": "mlflow",
            "step_column": STEP,
            "config": config,
            **{key: value for key, value in known.items() if value},
        }

    def notices(self) -> tuple[Notice, ...]:
        """How the run ended, where it is not as it should."""
        found = []
        if self.status and self.status not in ENDED | FAILED:
            found.append(Notice("run-not-finished", 1, self.name or self.run_id, {"status": self.status}))
        if self.status in FAILED:
            found.append(Notice("run-failed", 1, self.name or self.run_id, {"status": self.status}))
        if self.is_deleted:
            found.append(Notice("deleted-run", 1, self.name or self.run_id))
        return tuple(found)


@dataclass(slots=True)
class Skipped:
    """What was left out of a run.

    Attributes:
        system: values that MLflow measured by itself.
        duplicates: values of metrics that are called like one of our own columns.
    """

    system: int = 0
    duplicates: int = 0

    def notices(self) -> tuple[Notice, ...]:
        """The counts that are not zero."""
        counts = (("system-metrics-skipped", self.system), ("duplicate-keys", self.duplicates))
        return tuple(Notice(name, count) for name, count in counts if count)


def frame_of_values(values: Sequence[Value], columns: Columns, skipped: Skipped) -> pl.DataFrame:
    """Make rows of values in the order of time; linear in values and in rows × metrics."""
    import numpy as np
    import polars as pl

    times: list[int] = []
    steps: list[int] = []
    cells: dict[str, tuple[list[int], list[float | None]]] = {}
    in_row: set[str] = set()
    for metric, value, time, step in values:
        if metric.startswith(SYSTEM):
            skipped.system += 1
            continue
        if metric in (STEP, TIME):
            skipped.duplicates += 1
            continue
        if not steps or step != steps[-1] or metric in in_row:
            steps.append(step)
            times.append(time)
            in_row.clear()
        in_row.add(metric)
        rows, logged = cells.setdefault(metric, ([], []))
        rows.append(len(steps) - 1)
        logged.append(value)
    if not steps:
        return pl.DataFrame()
    series = [pl.Series(STEP, steps, dtype=pl.Int64), pl.Series(TIME, times, dtype=pl.Int64)]
    for metric, (rows, logged) in cells.items():
        if columns.takes(metric, len(rows)):
            column = np.full(len(steps), math.nan)
            column[rows] = [math.nan if value is None else value for value in logged]
            is_logged = np.zeros(len(steps), dtype=bool)
            is_logged[rows] = [value is not None for value in logged]
            series.append(pl.Series(metric, column).set(~pl.Series(is_logged), None))
    return pl.DataFrame(series)


def block_of(frame: pl.DataFrame, run: str | None, facts: RunFacts, notices: Sequence[Notice]) -> Block:
    """A block of one run with what is known about it."""
    return Block(frame, run, tuple(notices), facts.meta())


def config_value(text: str) -> Any:
    """A parameter as what it spells; the text itself where that is no JSON value."""
    try:
        return parse(text.encode("utf-8", "replace"))
    except ValueError:
        return text
