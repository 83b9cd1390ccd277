"""What `inspect --at STEP` shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """What the detection decided about one value of one signal, and from which numbers.

    Attributes:
        signal: column name.
        value: the logged value; NaN and ±inf as logged.
        prediction: the level that excess is counted from there, in raw units; None before there is one.
        scale: robust noise around the prediction, in the space that the signal is judged in.
        z: robust z of the value; inf for a non-finite one, None without a baseline.
        excess: value over prediction: nats in log space, otherwise units of effect.
        z_open: the z that opens an event here, calibrated to the noise of this run.
        record: largest excess among the last 100 accepted rows, in the space that the signal is judged in.
        tier_results: tier → did it open an event on this row; empty where none did.
        state: calm | in event | recovering.
        accepted: the value enters the baseline.
    """

    signal: str
    value: float | None
    prediction: float | None
    scale: float | None
    z: float | None
    excess: float | None
    z_open: float | None
    record: float | None
    tier_results: Mapping[str, bool]
    state: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class StepValues:
    """The logged numbers of one row; a column that is not logged there is absent."""

    step: int
    row: int
    segment: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class StepView:
    """One step under the glass: its numbers, those of its neighbours, and every decision made there.

    Attributes:
        run_id: the run.
        step, row, segment: where it is; the last attempt where several segments have the step.
        values: column → logged value; a column that is not logged there is absent.
        decisions: one per judged signal, the main one first.
        neighbours: rows before and after, in order, this one left out.
    """

    run_id: str
    step: int
    row: int
    segment: int
    values: Mapping[str, float]
    decisions: tuple[Decision, ...] = ()
    neighbours: tuple[StepValues, ...] = ()
