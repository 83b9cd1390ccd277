"""What detection, classification and the search for causes make."""

from __future__ import annotations

from dataclasses import dataclass

from triage.model.advice import Checklist, Restart
from triage.model.words import (
    CauseConfidence,
    Confidence,
    EventClass,
    EvidenceVerdict,
    Severity,
    Status,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that speaks for or against something, or that is missing.

    Attributes:
        id: kebab-case id with a text in `texts/evidence.toml`.
        signal: the column it speaks of.
        observed, baseline, threshold: the numbers; None where they do not apply.
        step: where it was seen.
        verdict: supports | contradicts | missing.
    """

    id: str
    signal: str | None
    observed: float | None = None
    baseline: float | None = None
    threshold: float | None = None
    step: int | None = None
    verdict: EvidenceVerdict = "supports"


@dataclass(frozen=True, slots=True)
class Event:
    """One interval in one signal that left its band. Rows are positions in the run's frame, `end` exclusive.

    Attributes:
        signal: column name.
        detector: the detector that saw it.
        tier: why it opened: a point tier (detectors/_tiers.py) or early | level | drift | nonfinite | back-to-start.
        onset: first row out of band.
        trigger: the row on which it opened (onset ≤ trigger).
        peak: row of the largest excess; non-finite outranks finite.
        end: row after the last row out of band, the tail included.
        recovered: first row of the stretch that confirmed the recovery; None if there was none.
        healthy: last in-band row before onset; None if there was none.
        width: logged points out of band (z ≥ 3) from onset to recovery.
        censored: the log ended before the deadline, or before the recovery was confirmed.
        is_open: not recovered by its deadline or by the end of the log.
        n_nonfinite: non-finite values in it.
        peak_value: raw value at the peak.
        level: raw value that held at onset (the frozen baseline).
        excess: excess at the peak over the level: nats in log space, otherwise units of effect.
        z: robust z at the peak; inf for a non-finite value.
        confidence: how sure the interval itself is.
        evidence: numbers.
        n_groups: separate excursions within it, bridging two points in band.
        needed: how many more logged points would have decided; 0 where decided.
    """

    signal: str
    detector: str
    tier: str
    onset: int
    trigger: int
    peak: int
    end: int
    recovered: int | None
    healthy: int | None
    width: int
    censored: bool
    is_open: bool
    n_nonfinite: int
    peak_value: float
    level: float | None
    excess: float
    z: float
    confidence: Confidence = "high"
    evidence: tuple[Evidence, ...] = ()
    n_groups: int = 1
    needed: int = 0


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """When one signal first left its band around an incident."""

    signal: str
    step: int
    z: float | None
    ratio: float | None


@dataclass(frozen=True, slots=True)
class FirstMover:
    """The signal that departed first, and by how many steps before the loss; None where no order can be told."""

    signal: str
    lead_steps: int | None


@dataclass(frozen=True, slots=True)
class Cause:
    """One possible cause with what speaks for and against it.

    Attributes:
        id: family/name from the closed list.
        confidence: likely (score ≥ 0.65) | possible (≥ 0.4) | weak.
        score: 0..1.
        evidence: supporting, contradicting and missing numbers.
    """

    id: str
    confidence: CauseConfidence
    score: float
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class NonFinite:
    """The first non-finite value of an incident, in whichever signal it came first."""

    signal: str
    step: int


@dataclass(frozen=True, slots=True)
class Incident:
    """Events that belong together, before they have a class. Rows as in Event.

    Attributes:
        signal: the judged signal (loss, an evaluation loss, or the one named with --signal).
        events: the excursions of that signal, in order.
        joined: events of other signals that moved with it.
        is_periodic: the excursions are locked to a period.
    """

    signal: str
    events: tuple[Event, ...]
    joined: tuple[Event, ...] = ()
    is_periodic: bool = False


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One incident with its class and all that is said about it; fields as in the JSON (`event_class` is `class`)."""

    event_class: EventClass
    status: Status
    censored: bool
    signal: str
    segment: int
    onset_step: int
    onset_range: tuple[int | None, int]
    onset_time: float | None
    onset_abrupt: bool
    peak_step: int
    peak_value: float
    recovered_step: int | None
    last_healthy_step: int | None
    first_nonfinite: NonFinite | None
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    n_points: int
    """Logged points out of band."""
    n_excursions: int
    """Separate excursions joined in this incident."""
    end_step: int
    """Step of the last point out of band."""
    baseline: float | None
    """Level of the signal that held at onset."""
    row_onset: int
    row_healthy: int | None
    row_peak: int
    row_end: int
    first_mover: FirstMover | None = None
    timeline: tuple[TimelinePoint, ...] = ()
    causes: tuple[Cause, ...] = ()
    checklist: Checklist | None = None
    restart: Restart | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault without a spike of the loss, or context."""

    id: str
    severity: Severity
    step: int | None
    evidence: tuple[Evidence, ...] = ()
    causes: tuple[Cause, ...] = ()
    checklist: Checklist | None = None
