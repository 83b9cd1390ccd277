"""The values that flow through the house, frozen: RunTable → Event → Incident → Diagnosis → Report.

Every stage makes new values from old ones; nothing is filled in later. Words and definitions: ARCHITECTURE.md.

Non-finite numbers stay what they are (`nan`, `inf`) inside these values; only the JSON renderer turns them into the
strings "NaN", "Infinity" and "-Infinity". None means "not known" or "does not apply", never "not finite".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    import polars as pl

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


# ── what the readers make ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a reader or a stage did with the input and that a person should know; never a verdict.

    Attributes:
        id: kebab-case id with a text in `texts/notices.toml`.
        count: how many rows, cells, lines or bytes it concerns.
        where: file, line, column or step, as text; None where it is the whole source.
        detail: numbers and names that the text needs as placeholders.
    """

    id: str
    count: int = 1
    where: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of source rows as a reader yields it: columns under their source names, nothing interpreted yet.

    Attributes:
        frame: one row per source row, in the order of the source. Numbers are Float64 or Int64, other cells String or
            Boolean. null = the cell is absent, blank or JSON null; NaN and ±inf = written as such.
        run: which run of the source the rows belong to; None = the source holds one run.
        notices: what was skipped, repaired or guessed in this stretch.
        meta: facts about the source, merged over all blocks of a run (later ones win). Known keys: `format`, `writer`,
            `config` (dict), `step_column` (the axis that the writer declares), `bytes` (read), `dropped` (rows),
            `text_events` (list of dicts: messages that carry a step), `aliases` (source name → canonical).
    """

    frame: pl.DataFrame
    run: str | None = None
    notices: tuple[Notice, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """Where a column came from and what it holds.

    Attributes:
        source: its name in the file, or names joined by ", " where several were coalesced.
        points: logged values, non-finite ones included, nulls not.
        nonfinite: NaN and ±inf among them (inferred NaN included).
        inferred: NaN that the encoder had dropped, among `nonfinite`.
        first_step, last_step: steps of the first and last logged value; None without points.
        last: the last logged value.
    """

    source: str
    points: int
    nonfinite: int
    inferred: int
    first_step: int | None
    last_step: int | None
    last: float | None


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What was read: the first lines of every report."""

    path: str
    format: str
    writer: str | None
    rows: int
    bytes: int | None
    dropped: int
    step_unit: str
    """optimizer step | sample | token | epoch | row (no step in the log)"""
    step_first: int | None
    step_last: int | None
    time_first: float | None
    time_last: float | None
    segments: int
    config: Mapping[str, Any]
    columns: Mapping[str, ColumnInfo]


@dataclass(frozen=True, slots=True)
class RunTable:
    """One run as one columnar table.

    Attributes:
        run_id: short name of the run, unique among the runs of one call.
        frame: columns `row` Int64 (strictly increasing), `segment` Int32 (never decreasing), `step` Int64 (strictly
            increasing within a segment), `time` Float64 seconds (where logged), and the metrics as Float64, canonical
            names first. null = not logged, NaN/inf = logged non-finite.
        inferred: column → rows (positions in `frame`) whose NaN was inferred from a null.
        source: what was read and where each column came from.
        notices: everything that was skipped, repaired or guessed.
        messages: log lines that say something about a step: {"step", "row", "kind", "text"}.
    """

    run_id: str
    frame: pl.DataFrame
    inferred: Mapping[str, tuple[int, ...]]
    source: SourceInfo
    notices: tuple[Notice, ...] = ()
    messages: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ReadError:
    """A path that could not be read or judged, as it stands in the report."""

    path: str | None
    exit_code: int
    message: str
    hint: str | None


# ── what detection and classification make ───────────────────────────────────────────────────────────────────────────


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
class ChecklistStep:
    """One step of a branch, answered as far as the log answers it."""

    id: str
    kind: Literal["log", "experiment", "action", "verify"]
    text: str
    answer: Answer
    evidence_ids: tuple[str, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checklist:
    """The branch that fits one diagnosis or finding."""

    id: str
    steps: tuple[ChecklistStep, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What one log says around one diagnosis or finding: all that a checklist is resolved from.

    Attributes:
        columns: canonical columns that the log holds.
        statistics: (signal, statistic) → value, from the closed list `checklists/statistics.toml`; a missing key is
            unknown, a value is never NaN.
        evidence_ids: signal → ids of the evidence that speaks of it.
        placeholders: bare numbers for the texts, by name (`checklists/placeholders.toml`); a missing key is unknown.
        framework: which framework wrote the log, as in `checklists/settings.toml`; None = not known.
        confirmed_causes: causes that a person has confirmed; the log alone confirms none.
    """

    columns: frozenset[str] = frozenset()
    statistics: Mapping[tuple[str, str], float] = field(default_factory=dict)
    evidence_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    placeholders: Mapping[str, str] = field(default_factory=dict)
    framework: str | None = None
    confirmed_causes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Restart:
    """How to go on: where from, what to skip, what to change first."""

    from_step: int | None
    checkpoint: str | None
    poisoned_checkpoints: tuple[str, ...]
    skip_steps: tuple[int, int] | None
    lr_factor: tuple[float, float] | None
    restore: tuple[str, ...]
    change_first: str | None
    replay: tuple[int, ...]
    reasons: tuple[str, ...]
    lost_steps: int | None = None
    """Steps between the last healthy one and the end of the incident: what it cost."""
    lost_seconds: float | None = None
    """The same in wall-clock seconds; None where the log holds no time."""


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


# ── what is printed ──────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── what `inspect --at STEP` shows ───────────────────────────────────────────────────────────────────────────────────


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
