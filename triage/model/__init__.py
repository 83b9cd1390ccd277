"""The values that flow through the house, frozen: RunTable → Event → Incident → Diagnosis → Report.

Every stage makes new values from old ones; nothing is filled in later. Words: docs/definitions.md.

Non-finite numbers stay what they are (`nan`, `inf`) inside these values; only the JSON renderer turns them into the
strings "NaN", "Infinity" and "-Infinity". None means "not known" or "does not apply", never "not finite".
"""

from triage.model.advice import Checklist, ChecklistStep, Facts, Restart
from triage.model.diagnosis import (
    Cause,
    Diagnosis,
    Event,
    Evidence,
    Finding,
    FirstMover,
    Incident,
    NonFinite,
    TimelinePoint,
)
from triage.model.report import MissingMetric, NotJudged, Question, Report, RunReport, Series
from triage.model.step import Decision, StepValues, StepView
from triage.model.tables import Block, ColumnInfo, Notice, ReadError, RunTable, SourceInfo
from triage.model.words import (
    CLASSES,
    SCHEMA_VERSION,
    VERDICTS,
    Answer,
    CauseConfidence,
    Confidence,
    EventClass,
    EvidenceVerdict,
    Severity,
    Status,
    Verdict,
)

__all__ = [
    "CLASSES",
    "SCHEMA_VERSION",
    "VERDICTS",
    "Answer",
    "Block",
    "Cause",
    "CauseConfidence",
    "Checklist",
    "ChecklistStep",
    "ColumnInfo",
    "Confidence",
    "Decision",
    "Diagnosis",
    "Event",
    "EventClass",
    "Evidence",
    "EvidenceVerdict",
    "Facts",
    "Finding",
    "FirstMover",
    "Incident",
    "MissingMetric",
    "NonFinite",
    "NotJudged",
    "Notice",
    "Question",
    "ReadError",
    "Report",
    "Restart",
    "RunReport",
    "RunTable",
    "Series",
    "Severity",
    "SourceInfo",
    "Status",
    "StepValues",
    "StepView",
    "TimelinePoint",
    "Verdict",
]
