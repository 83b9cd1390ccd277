"""The published shape of a report as tables: JSON key, attribute of the value, how it is read back.

Separate from `json.py` so that the contract (schema version 1) is one page; keys are only ever added, and their order
is the order in the output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from triage import model

NONFINITE: Final[Mapping[str, float]] = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""How a non-finite number is written; JSON has no number for it."""

Read = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its JSON name, the attribute that it holds, and the way back from JSON."""

    name: str
    attribute: str
    read: Read


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of object: the value type and its keys in order."""

    make: Callable[..., Any]
    keys: tuple[Key, ...]

    def load(self, raw: Mapping[str, Any]) -> Any:
        """Build the value; keys that are absent keep the default of the type. Raises TypeError where it has none."""
        return self.make(**{key.attribute: key.read(raw[key.name]) for key in self.keys if key.name in raw})


def same(value: Any) -> Any:
    """The value as it stands."""
    return value


def number(value: Any) -> Any:
    """A number, non-finite ones from their words."""
    return NONFINITE.get(value, value) if isinstance(value, str) else value


def items(value: Any) -> tuple[Any, ...]:
    """A list of plain values; null = none."""
    return tuple(value or ())


def numbers(value: Any) -> tuple[Any, ...]:
    """A list of numbers that may be non-finite or null."""
    return tuple(number(item) for item in value or ())


def pair(value: Any) -> tuple[Any, ...] | None:
    """Two values, or null."""
    return None if value is None else tuple(value)


def mapping(value: Any) -> dict[str, Any]:
    """An object with free keys; null = empty."""
    return dict(value or {})


def measured(value: Any) -> dict[str, Any]:
    """An object whose values are numbers."""
    return {name: number(item) for name, item in (value or {}).items()}


def many(shape: Shape) -> Read:
    """A list of objects; null = none."""
    return lambda value: tuple(shape.load(item) for item in value or ())


def one(shape: Shape) -> Read:
    """One object, or null."""
    return lambda value: None if value is None else shape.load(value)


def named(shape: Shape) -> Read:
    """An object of objects; null = empty."""
    return lambda value: {name: shape.load(item) for name, item in (value or {}).items()}


def shape(make: Callable[..., Any], *keys: str | Key | tuple[str, Read]) -> Shape:
    """Write a shape shortly: a name alone is the attribute of that name, read as it stands."""
    rows = []
    for key in keys:
        if isinstance(key, Key):
            rows.append(key)
        elif isinstance(key, str):
            rows.append(Key(key, key, same))
        else:
            rows.append(Key(key[0], key[0], key[1]))
    return Shape(make, tuple(rows))


EVIDENCE: Final = shape(
    model.Evidence,
    "id",
    "signal",
    ("observed", number),
    ("baseline", number),
    ("threshold", number),
    "step",
    "verdict",
)
CAUSE: Final = shape(model.Cause, "id", "confidence", ("score", number), ("evidence", many(EVIDENCE)))
CHECKLIST_STEP: Final = shape(
    model.ChecklistStep, "id", "kind", "text", "answer", ("evidence_ids", items), ("detail", mapping)
)
CHECKLIST: Final = shape(model.Checklist, "id", ("steps", many(CHECKLIST_STEP)))
RESTART: Final = shape(
    model.Restart,
    "from_step",
    "checkpoint",
    ("poisoned_checkpoints", items),
    ("skip_steps", pair),
    ("lr_factor", pair),
    ("restore", items),
    "change_first",
    ("replay", items),
    ("reasons", items),
    "lost_steps",
    ("lost_seconds", number),
)
NONFINITE_VALUE: Final = shape(model.NonFinite, "signal", "step")
FIRST_MOVER: Final = shape(model.FirstMover, "signal", "lead_steps")
TIMELINE_POINT: Final = shape(model.TimelinePoint, "signal", "step", ("z", number), ("ratio", number))
DIAGNOSIS: Final = shape(
    model.Diagnosis,
    Key("class", "event_class", same),
    "status",
    "censored",
    "signal",
    "segment",
    "onset_step",
    ("onset_range", pair),
    ("onset_time", number),
    "onset_abrupt",
    "peak_step",
    ("peak_value", number),
    "recovered_step",
    "last_healthy_step",
    ("first_nonfinite", one(NONFINITE_VALUE)),
    "confidence",
    ("first_mover", one(FIRST_MOVER)),
    ("timeline", many(TIMELINE_POINT)),
    ("evidence", many(EVIDENCE)),
    ("causes", many(CAUSE)),
    ("checklist", one(CHECKLIST)),
    ("restart", one(RESTART)),
    "n_points",
    "n_excursions",
    "end_step",
    ("baseline", number),
    "row_onset",
    "row_healthy",
    "row_peak",
    "row_end",
)
FINDING: Final = shape(
    model.Finding,
    "id",
    "severity",
    "step",
    ("evidence", many(EVIDENCE)),
    ("causes", many(CAUSE)),
    ("checklist", one(CHECKLIST)),
)
COLUMN: Final = shape(
    model.ColumnInfo,
    Key("from", "source", same),
    "points",
    "nonfinite",
    "inferred",
    "first_step",
    "last_step",
    ("last", number),
)
SOURCE: Final = shape(
    model.SourceInfo,
    "path",
    "format",
    "writer",
    "rows",
    "bytes",
    "dropped",
    "step_unit",
    "step_first",
    "step_last",
    ("time_first", number),
    ("time_last", number),
    "segments",
    ("config", mapping),
    ("columns", named(COLUMN)),
)
QUESTION: Final = shape(model.Question, "id", "answer", ("evidence_ids", items))
MISSING_METRIC: Final = shape(model.MissingMetric, "column", ("would_decide", items), "how")
SERIES: Final = shape(
    model.Series, "column", ("step", items), ("min", numbers), ("max", numbers), ("nonfinite_steps", items), "segment"
)
NOT_JUDGED: Final = shape(model.NotJudged, "detector", ("missing", items))
NOTICE: Final = shape(model.Notice, "id", "count", "where", ("detail", mapping))
RUN: Final = shape(
    model.RunReport,
    "run_id",
    "verdict",
    ("source", one(SOURCE)),
    ("diagnoses", many(DIAGNOSIS)),
    ("findings", many(FINDING)),
    ("questions", many(QUESTION)),
    ("missing_metrics", many(MISSING_METRIC)),
    ("series", many(SERIES)),
    ("not_judged", many(NOT_JUDGED)),
    ("notices", many(NOTICE)),
)
READ_ERROR: Final = shape(model.ReadError, "path", "exit_code", "message", "hint")
REPORT: Final = shape(
    model.Report, "verdict", "exit_code", ("options", mapping), ("errors", many(READ_ERROR)), ("runs", many(RUN))
)
STEP_VALUES: Final = shape(model.StepValues, "step", "row", "segment", ("values", measured))
DECISION: Final = shape(
    model.Decision,
    "signal",
    ("value", number),
    ("prediction", number),
    ("scale", number),
    ("z", number),
    ("excess", number),
    ("z_open", number),
    ("record", number),
    ("tier_results", mapping),
    "state",
    "accepted",
)
STEP_VIEW: Final = shape(
    model.StepView,
    "run_id",
    "step",
    "row",
    "segment",
    ("values", measured),
    ("decisions", many(DECISION)),
    ("neighbours", many(STEP_VALUES)),
)

BY_TYPE: Final[Mapping[Callable[..., Any], Shape]] = {
    found.make: found
    for found in (
        EVIDENCE,
        CAUSE,
        CHECKLIST_STEP,
        CHECKLIST,
        RESTART,
        NONFINITE_VALUE,
        FIRST_MOVER,
        TIMELINE_POINT,
        DIAGNOSIS,
        FINDING,
        COLUMN,
        SOURCE,
        QUESTION,
        MISSING_METRIC,
        SERIES,
        NOT_JUDGED,
        NOTICE,
        RUN,
        READ_ERROR,
        REPORT,
        STEP_VALUES,
        DECISION,
        STEP_VIEW,
    )
}
"""Every shape that a report or a step view can hold, by its value type."""
