"""What is printed: everything said about each run, and the result of one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triage.model.diagnosis import Diagnosis, Finding
from triage.model.tables import Notice, ReadError, SourceInfo
from triage.model.words import Answer, Verdict


@dataclass(frozen=True, slots=True)
class Question:
    """One of the four sorting questions, as far as this log answers it."""

    id: str
    answer: Answer
    evidence_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MissingMetric:
    """A column that is not in the log, what it would have decided, and how to turn it on in the writing framework."""

    column: str
    would_decide: tuple[str, ...]
    how: str


@dataclass(frozen=True, slots=True)
class Series:
    """A thinned column for pictures: per bucket the first step, the least and the largest finite value.

    Attributes:
        column: canonical name.
        step: first step of each bucket.
        min, max: over the bucket's finite values; None for a bucket without one.
        nonfinite_steps: steps with NaN or ±inf.
        segment: the segment that the buckets belong to (one Series per column and segment); None = all segments of the
            run in the order of the source, so that steps may go back.
    """

    column: str
    step: tuple[int, ...]
    min: tuple[float | None, ...]
    max: tuple[float | None, ...]
    nonfinite_steps: tuple[int, ...] = ()
    segment: int | None = None


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A detector that could not run, and the columns that it would have needed."""

    detector: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunReport:
    """Everything said about one run."""

    run_id: str
    verdict: Verdict
    source: SourceInfo
    diagnoses: tuple[Diagnosis, ...] = ()
    findings: tuple[Finding, ...] = ()
    questions: tuple[Question, ...] = ()
    missing_metrics: tuple[MissingMetric, ...] = ()
    series: tuple[Series, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one call: what every renderer gets."""

    verdict: Verdict
    exit_code: int
    options: Mapping[str, Any]
    runs: tuple[RunReport, ...] = ()
    errors: tuple[ReadError, ...] = ()
