"""The closed lists of words that values of the model take."""

from __future__ import annotations

from typing import Final, Literal

SCHEMA_VERSION: Final = 1

EventClass = Literal["single-step", "consecutive", "non-recovering", "first-step-nan"]
Status = Literal["recovered", "unresolved", "superseded", "accepted"]
Verdict = Literal["healthy", "recovered", "undetermined", "unresolved"]
Confidence = Literal["high", "medium", "low"]
CauseConfidence = Literal["likely", "possible", "weak"]
EvidenceVerdict = Literal["supports", "contradicts", "missing"]
Severity = Literal["error", "warning", "info"]
Answer = Literal["yes", "no", "unknown"]

CLASSES: Final[tuple[EventClass, ...]] = ("single-step", "consecutive", "non-recovering", "first-step-nan")
"""The four classes, least severe first."""

VERDICTS: Final[tuple[Verdict, ...]] = ("healthy", "recovered", "undetermined", "unresolved")
"""The verdicts of a run, best first; several runs have the worst of theirs."""
