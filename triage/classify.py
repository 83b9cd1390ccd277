"""From events to incidents to classes: what belongs together, and the decision table that names it.

The table is data and is printed by `triage explain classes`; the first row whose condition holds decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from triage.incidents import CLUSTER_GAP, group
from triage.model import (
    CLASSES,
    Confidence,
    Diagnosis,
    Event,
    EventClass,
    Evidence,
    Incident,
    NonFinite,
    Status,
)
from triage.signals import SignalTable, updates_before
from triage.signals.companions import DEPART_Z
from triage.signals.precursors import last_healthy, stretch_start

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SINGLE_POINTS: Final = 3
"""A single-step excursion has at most 3 logged points (definitions 5.2)."""
START_STEPS: Final = 2
"""A log that begins later than this, and than two logging intervals, is an excerpt of a longer run [choice]."""
FIRST_POINTS: Final = 2
"""First-step NaN: the first non-finite value lies in the first or second logged point (definitions 5.2)."""
ABRUPT_POINTS: Final = 3
"""An onset is abrupt if half of the excess, or twice the level, is reached within 3 logged points [choice]."""
CENSORED_NONFINITE: Final = 2
"""A log that ends after one or two non-finite points leaves open whether they stay [choice]."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the decision table looks at; everything about one incident that its class depends on."""

    never_finite: bool
    first_nonfinite_point: int | None
    """0-based logged point of the first non-finite loss or gradient; None if all are finite."""
    blew_up_before: bool
    """A finite excursion came before the first non-finite value."""
    at_first_update: bool
    """It came with the first optimizer update, however many micro-batches were logged before."""
    begins_at_start: bool
    """The log begins with the run; an excerpt that begins later had a finite history before its first point."""
    is_open: bool
    points: int
    excursions: int
    is_periodic: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the decision table."""

    id: str
    holds: Callable[[Facts], bool]
    event_class: EventClass
    status: Status


def _starts_nonfinite(f: Facts) -> bool:
    early = f.first_nonfinite_point is not None and f.first_nonfinite_point < FIRST_POINTS
    early = (early and (f.begins_at_start or f.first_nonfinite_point == 0)) or f.at_first_update
    return early and not f.blew_up_before and f.is_open


TABLE: Final[tuple[Row, ...]] = (
    Row("never-finite", lambda f: f.never_finite, "first-step-nan", "unresolved"),
    Row("nonfinite-from-the-start", _starts_nonfinite, "first-step-nan", "unresolved"),
    Row("not-recovered", lambda f: f.is_open, "non-recovering", "unresolved"),
    Row("locked-to-a-period", lambda f: f.is_periodic, "consecutive", "recovered"),
    Row("several-excursions", lambda f: f.excursions > 1, "consecutive", "recovered"),
    Row("longer-than-three-points", lambda f: f.points > SINGLE_POINTS, "consecutive", "recovered"),
    Row("one-short-excursion", lambda _: True, "single-step", "recovered"),
)


def decide(facts: Facts) -> Row:
    """The first row of the table that holds."""
    return next(row for row in TABLE if row.holds(facts))


def classify(signals: SignalTable, events: Sequence[Event]) -> tuple[Diagnosis, ...]:
    """Every incident with its class, in order of onset."""
    incidents = group(signals, events)
    diagnoses = [_diagnose(signals, incident) for incident in incidents]
    return tuple(_supersede(signals, sorted(diagnoses, key=lambda d: d.row_onset)))


# ── what it is ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _diagnose(signals: SignalTable, incident: Incident) -> Diagnosis:
    """One incident with its class and numbers."""
    first = _first_nonfinite(signals, incident)
    facts = facts_of(signals, incident, first)
    row = decide(facts)
    events = incident.events
    worst = max(events, key=lambda e: e.excess)  # infinite where a value is not finite
    opened = [e for e in events if e.is_open and not incident.is_periodic]
    onset = _onset(signals, incident, first, row.event_class)
    healthy = last_healthy(signals, incident.signal, incident.events[0].healthy, onset)
    step = int(signals.step[onset])
    recovered = None if row.status == "unresolved" else events[-1].recovered
    censored = bool(opened) and opened[-1].censored and opened[-1].n_nonfinite <= CENSORED_NONFINITE
    return Diagnosis(
        event_class=row.event_class,
        status=row.status,
        censored=censored,
        signal=incident.signal,
        segment=int(signals.segment[onset]),
        onset_step=step,
        onset_range=(_before(signals, incident, onset), step),
        onset_time=_time(signals, onset),
        onset_abrupt=_abrupt(signals, incident, onset),
        peak_step=int(signals.step[worst.peak]),
        peak_value=worst.peak_value,
        recovered_step=int(signals.step[recovered]) if recovered is not None else None,
        last_healthy_step=int(signals.step[healthy]) if healthy is not None else None,
        first_nonfinite=first,
        confidence=_confidence(incident, censored=censored, status=row.status),
        evidence=_evidence(signals, incident, row, worst, onset),
        n_points=facts.points,
        n_excursions=facts.excursions,
        end_step=int(signals.step[events[-1].end - 1]),
        baseline=events[0].level,
        row_onset=onset,
        row_healthy=healthy,
        row_peak=worst.peak,
        row_end=max(e.end for e in events),
    )


def facts_of(signals: SignalTable, incident: Incident, first: NonFinite | None) -> Facts:
    """What the table needs to know of an incident."""
    import numpy as np

    events = incident.events
    rows, values = signals.points(incident.signal)
    segment = signals.segment[events[0].onset]
    own = signals.segment[rows] == segment
    point = None
    finite_before = False
    if first is not None:
        at_rows, _ = signals.points(first.signal)
        at_rows = at_rows[signals.segment[at_rows] == segment]
        point = int(np.searchsorted(signals.step[at_rows], first.step))
        value = signals.columns[incident.signal]
        finite_before = any(
            e.tier != "nonfinite" and signals.step[e.onset] <= first.step and np.isfinite(value[e.onset])
            for e in events
        )
    return Facts(
        never_finite=incident.signal != "grad_norm" and not bool(np.isfinite(values[own]).any()),
        first_nonfinite_point=point,
        blew_up_before=finite_before,
        at_first_update=first is not None and updates_before(signals, int(segment), first.step) == 1,
        begins_at_start=_begins_at_start(signals.step[rows[own]]),
        is_open=any(e.is_open for e in events) and not incident.is_periodic,
        points=sum(e.width for e in events),
        excursions=sum(e.n_groups for e in events),
        is_periodic=incident.is_periodic,
    )


def _begins_at_start(step: NDArray[np.int64]) -> bool:
    """Is the first logged step within two logging intervals of the start, as far as a few steps can tell?"""
    import numpy as np

    gaps = np.diff(step)
    gaps = gaps[gaps > 0]
    interval = int(gaps.min()) if len(gaps) else 1
    return bool(len(step)) and int(step[0]) <= max(START_STEPS, 2 * interval)


def _first_nonfinite(signals: SignalTable, incident: Incident) -> NonFinite | None:
    """The first non-finite value of the loss or the gradient within the incident, the gradient's run-up included."""
    import numpy as np

    start = incident.events[0].onset
    stop = max(e.end for e in incident.events)
    if not any(e.n_nonfinite for e in (*incident.events, *incident.joined)):
        return None
    found: list[tuple[int, int, str]] = []
    for order, name in enumerate((incident.signal, "grad_norm")):
        if name not in signals.columns:
            continue
        bad = signals.logged[name] & ~np.isfinite(signals.columns[name])
        inside = np.flatnonzero(bad[start:stop])
        if len(inside):
            row = start + int(inside[0])
            while row > 0 and bad[row - 1] and signals.segment[row - 1] == signals.segment[start]:
                row -= 1
            found.append((row, order, name))
    if not found:
        return None
    row, _, name = min(found)
    return NonFinite(name, int(signals.step[row]))


def _onset(signals: SignalTable, incident: Incident, first: NonFinite | None, event_class: EventClass) -> int:
    """The incident's first row: its first excursion, or an earlier non-finite gradient that led to it."""
    import numpy as np

    onset = incident.events[0].onset
    if first is None or event_class == "single-step":
        return onset
    rows = np.flatnonzero((signals.step == first.step) & (signals.segment == signals.segment[onset]))
    return min(onset, int(rows[0])) if len(rows) else onset


def _before(signals: SignalTable, incident: Incident, onset: int) -> int | None:
    """Step of the judged signal's last in-band row before the onset: the onset lies after it; None = there is none."""
    rows, _ = signals.points(incident.signal)
    healthy = incident.events[0].healthy
    before = rows[rows <= min(healthy, onset - 1)] if healthy is not None else rows[:0]
    return int(signals.step[before[-1]]) if len(before) else None


def _abrupt(signals: SignalTable, incident: Incident, onset: int) -> bool:
    """Was half of the excess, or twice the level, reached within three logged points of the onset?"""
    import numpy as np

    event = incident.events[0]
    if event.tier in ("drift", "back-to-start"):
        return False
    rows, values = signals.points(incident.signal)
    at = int(np.searchsorted(rows, onset))
    near = values[at : at + ABRUPT_POINTS]
    if event.level is None:
        return bool((~np.isfinite(near)).any())
    if (~np.isfinite(near)).any() or (event.level > 0 and (near >= 2 * event.level).any()):
        return True
    if not math.isfinite(event.peak_value):
        return False
    if event.level > 0 and event.peak_value > 0:  # half way in nats
        half = math.sqrt(event.level * event.peak_value)
    else:
        half = event.level + 0.5 * (event.peak_value - event.level)
    return bool((near >= half).any()) if event.peak_value >= event.level else bool((near <= half).any())


def _time(signals: SignalTable, row: int) -> float | None:
    frame = signals.table.frame
    if "time" not in frame.columns:
        return None
    value = frame["time"][row]
    return float(value) if value is not None else None


def _confidence(incident: Incident, *, censored: bool, status: Status) -> Confidence:
    """How sure the class is: the surest of its events; low where the log ended too early, or was smoothed."""
    order = ("low", "medium", "high")
    if censored or (incident.events[-1].censored and status != "unresolved"):
        return "low"
    if any(found.id == "looks-smoothed" for event in incident.events for found in event.evidence):
        return "low"
    best = max(incident.events, key=lambda e: order.index(e.confidence)).confidence
    several = len(incident.events) > 1 or incident.events[0].width > SINGLE_POINTS
    return "medium" if best == "low" and several else best


def _evidence(signals: SignalTable, incident: Incident, row: Row, worst: Event, onset: int) -> tuple[Evidence, ...]:
    """The numbers behind the class, most telling first."""
    events = incident.events
    step = int(signals.step[onset])
    out = list(worst.evidence)
    out.append(
        Evidence("out-of-band-points", incident.signal, float(sum(e.width for e in events)), None, SINGLE_POINTS, step)
    )
    groups = sum(e.n_groups for e in events)
    if groups > 1:
        out.append(Evidence("excursions", incident.signal, float(groups), None, CLUSTER_GAP, step))
    if incident.is_periodic:
        gap = (signals.step[events[-1].onset] - signals.step[events[0].onset]) / max(1, len(events) - 1)
        out.append(Evidence("periodic", incident.signal, float(gap), None, None, step))
    last = events[-1]
    if row.status == "recovered" and last.recovered is not None:
        took = float(signals.step[last.recovered] - signals.step[worst.peak])
        out.append(
            Evidence("recovered-within", incident.signal, took, last.level, None, int(signals.step[last.recovered]))
        )
    elif last.is_open and last.n_nonfinite > CENSORED_NONFINITE:
        out.append(
            Evidence(
                "nonfinite-stays", incident.signal, float(last.n_nonfinite), None, None, int(signals.step[last.peak])
            )
        )
    elif last.is_open and last.censored:
        out.append(Evidence("log-ends-first", incident.signal, float(last.needed), last.level, None, step))
    elif last.is_open:
        out.append(Evidence("not-recovered-by-deadline", incident.signal, float(last.width), last.level, None, step))
    for name, z in signals.companions.items():
        start = stretch_start(signals, z, onset)
        at = onset if z[onset] >= DEPART_Z else start
        if start < onset or z[onset] >= DEPART_Z:
            value = float(signals.columns[name][at])
            out.append(Evidence("second-signal", name, value, None, DEPART_Z, int(signals.step[start])))
    return tuple(out)


# ── attempts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _supersede(signals: SignalTable, diagnoses: list[Diagnosis]) -> list[Diagnosis]:
    """Mark unresolved incidents whose steps a later segment trained again and passed in health (definitions 6)."""
    import numpy as np

    out = []
    for d in diagnoses:
        if d.status == "unresolved":
            later = signals.segment > d.segment
            again = later & (signals.step >= d.onset_step)
            started = bool((signals.step[later] <= d.onset_step).any())
            sick = any(o.status == "unresolved" and o.segment > d.segment for o in diagnoses)
            if started and not sick and int(signals.step[again].max(initial=-1)) >= d.end_step:
                proof = Evidence(
                    "superseded-by-later-segment",
                    d.signal,
                    float(d.segment + 1),
                    None,
                    None,
                    int(np.min(signals.step[again])),
                )
                d = _ended_by_restart(d, proof)  # noqa: PLW2901
        out.append(d)
    return out


def _ended_by_restart(d: Diagnosis, proof: Evidence) -> Diagnosis:
    """The diagnosis as superseded: a restart, not the end of the log, cut its attempt short, so nothing stays open."""
    kept = tuple(e for e in d.evidence if e.id != "log-ends-first")
    confidence: Confidence = "medium" if d.censored else d.confidence
    return replace(d, status="superseded", censored=False, confidence=confidence, evidence=(*kept, proof))


def worst_class(diagnoses: Sequence[Diagnosis]) -> EventClass | None:
    """The most severe class among diagnoses; None if there are none."""
    return max((d.event_class for d in diagnoses), key=CLASSES.index, default=None)
