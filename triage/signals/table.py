"""The SignalTable: the run's columns as arrays, hidden non-finite losses restored, derived columns added."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triage.model import RunTable
from triage.options import Options
from triage.schema import BY_NAME
from triage.signals.companions import departures
from triage.signals.derived import derive, hidden_losses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Rows = NDArray[np.intp]

OPPONENT: Final = re.compile(
    r"(^|[/_. -])((d|dis|disc|discriminator|critic|adv)[/_. -]?loss|loss[/_. -]?(d|disc|discriminator)|err_?d)"
    r"($|[/_. -])",
    re.IGNORECASE,
)
"""Names of the loss of the other player of an adversarial pair. The two move against each other: a generator whose loss
rises for good has met a better discriminator, it has not diverged."""
OPTIMIZER_STEP: Final = "optimizer_step"
"""Column of the second counter of trainers that log every micro-batch."""
BOOKKEEPING: Final = frozenset({"row", "segment", "step", "time", "rank"})


@dataclass(frozen=True, slots=True)
class Judged:
    """A signal that is judged: its column and which way is bad."""

    name: str
    direction: str


@dataclass(frozen=True, slots=True)
class SignalTable:
    """One run as the detectors see it; all arrays have one entry per row of the run's frame.

    Attributes:
        table: the run.
        columns: column → values; null is NaN here, see `logged`.
        logged: column → mask of rows in which it was logged (a logged NaN counts).
        step, segment: Int arrays.
        hidden: rows whose finite loss hides a non-finite one (Hugging Face's filter).
        judged: signals that get incidents.
        is_adversarial: the log holds the loss of an opponent, so that lasting changes of level are the game itself.
        companions: column → robust z of its departure from its own baseline; NaN where it was not logged or has none.
    """

    table: RunTable
    columns: Mapping[str, Array]
    logged: Mapping[str, NDArray[np.bool_]]
    step: NDArray[np.int64]
    segment: NDArray[np.int64]
    hidden: Rows
    judged: tuple[Judged, ...]
    is_adversarial: bool
    companions: Mapping[str, Array]

    def points(self, name: str) -> tuple[Rows, Array]:
        """Rows in which a column was logged, and its values there (may be non-finite)."""
        import numpy as np

        rows = np.flatnonzero(self.logged[name])
        return rows, self.columns[name][rows]


def build(table: RunTable, options: Options) -> SignalTable:
    """Turn a run into signals. Linear in rows times columns.

    Restores hidden non-finite losses before any statistic, so that a filtered NaN counts like a logged one, and keeps
    only the steps that were asked for (`--from-step`, `--to-step`, `--segment last`).
    """
    import numpy as np

    frame = _asked_for(table, options)
    columns: dict[str, Array] = {}
    logged: dict[str, NDArray[np.bool_]] = {}
    for name in frame.columns:
        if name in BOOKKEEPING or not frame[name].dtype.is_numeric():
            continue
        series = frame[name]
        logged[name] = series.is_not_null().to_numpy()
        columns[name] = series.cast(float).fill_null(float("nan")).to_numpy().astype(float)
    step = frame["step"].fill_null(-1).to_numpy().astype(np.int64)
    segment = frame["segment"].to_numpy().astype(np.int64)
    hidden = np.empty(0, dtype=np.intp)
    if "loss" in columns:
        hidden = hidden_losses(columns, logged)
        if len(hidden):
            columns["loss"] = columns["loss"].copy()
            columns["loss"][hidden] = np.nan
    derive(columns, logged)
    judged = choose_judged(columns, logged, options)
    return SignalTable(
        table=table,
        columns=columns,
        logged=logged,
        step=step,
        segment=segment,
        hidden=hidden,
        judged=judged,
        is_adversarial=any(OPPONENT.search(name) for name in frame.columns),
        companions=departures(columns, logged),
    )


def _asked_for(table: RunTable, options: Options):  # type: ignore[no-untyped-def]  # noqa: ANN202
    """The rows that are judged."""
    import polars as pl

    frame = table.frame
    if options.segment == "last" and frame.height:
        frame = frame.filter(pl.col("segment") == frame["segment"].max())
    if options.from_step is not None:
        frame = frame.filter(pl.col("step") >= options.from_step)
    if options.to_step is not None:
        frame = frame.filter(pl.col("step") <= options.to_step)
    return frame


def choose_judged(
    columns: Mapping[str, Array], logged: Mapping[str, NDArray[np.bool_]], options: Options
) -> tuple[Judged, ...]:
    """Which signals get incidents: the one asked for, else the loss, else every evaluation loss (definitions 2.3)."""
    if options.signal is not None:
        return (Judged(options.signal, options.direction),) if options.signal in columns else ()
    if "loss" in columns and logged["loss"].sum() >= 1:
        return (Judged("loss", "up"),)
    evals = [name for name in columns if is_eval_loss(name) and logged[name].sum() >= 2]
    return tuple(Judged(name, "up") for name in evals)


def is_eval_loss(name: str) -> bool:
    """Is this column a loss on held-out data? Canonical, or one of several under their own names."""
    lowered = name.lower()
    if name == "eval_loss":
        return True
    if name in BY_NAME:
        return False
    held_out = any(word in lowered for word in ("eval", "valid", "val/", "val_", "test", "dev"))
    return held_out and any(word in lowered for word in ("loss", "crossentropy", "cross_entropy", "nll"))


def updates_before(signals: SignalTable, segment: int, step: int) -> float | None:
    """Optimizer updates that were applied before a row, where the log counts them beside its micro-steps.

    None where it does not. Trainers with two counters log a loss per micro-batch; what breaks after their first update
    breaks many rows into the log.
    """
    import numpy as np

    if OPTIMIZER_STEP not in signals.columns:
        return None
    rows = np.flatnonzero((signals.segment == segment) & signals.logged[OPTIMIZER_STEP])
    at = rows[signals.step[rows] <= step]
    if not len(at):
        return None
    counts = signals.columns[OPTIMIZER_STEP]
    return float(counts[at[-1]] - counts[rows[0]])
