"""What belongs together: events of one signal, and of the signals that moved with it, become incidents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.model import Event, Incident
from triage.signals import SignalTable

CLUSTER_GAP: Final = 50
"""Logged points between excursions that belong together (definitions 5.1)."""
PERIODIC_COUNT: Final = 4
PERIODIC_SPREAD: Final = 0.1
"""Four or more excursions whose gaps vary by less than 10 % are locked to a period (science 3.5)."""


def group(signals: SignalTable, events: Sequence[Event]) -> list[Incident]:
    """Join the excursions of each judged signal into incidents; attach what other signals did meanwhile."""
    names = [judged.name for judged in signals.judged]
    incidents: list[Incident] = []
    for name in names:
        own = _without_echoes([e for e in events if e.signal == name and e.tier != "heavy-tail"])
        incidents += _periodic(signals, _clusters(signals, name, own))
    for event in (e for e in events if e.signal not in names):
        host = next((i for i in incidents if _overlaps(signals, i, event)), None)
        if host is None:
            incidents.append(Incident(event.signal, (event,)))
        else:
            incidents[incidents.index(host)] = replace(host, joined=(*host.joined, event))
    return incidents


def _without_echoes(events: list[Event]) -> list[Event]:
    """Drop what another detector says better: a drift, or a return to the start, that an open excursion explains."""
    opened = [e for e in events if e.detector == "excursion" and e.is_open]
    late = [e for e in events if e.detector == "back-to-start"]

    def is_echo(event: Event) -> bool:
        explained = any(e.end >= event.peak for e in opened) or (event.detector == "drift" and bool(late))
        return event.detector != "excursion" and explained

    return [event for event in events if not is_echo(event)]


def _clusters(signals: SignalTable, name: str, events: Sequence[Event]) -> list[Incident]:
    """Excursions no more than the cluster gap apart, within one segment, are one incident."""
    import numpy as np

    position = np.cumsum(signals.logged[name]) - 1  # logged point of each row
    groups: list[list[Event]] = []
    for event in sorted(events, key=lambda e: (e.onset, -e.end)):
        last = groups[-1] if groups else None
        if last is not None:
            end = max(e.end for e in last)
            near = event.onset < end or position[event.onset] - position[end - 1] <= CLUSTER_GAP
            if near and signals.segment[event.onset] == signals.segment[last[0].onset]:
                last.append(event)
                continue
        groups.append([event])
    return [Incident(name, tuple(g)) for g in groups]


def _periodic(signals: SignalTable, incidents: list[Incident]) -> list[Incident]:
    """Four or more incidents at even distances are one, locked to a period; what the end of the log cuts joins it."""
    import numpy as np

    onsets = np.array([signals.step[i.events[0].onset] for i in incidents], dtype=float)
    if len(onsets) < PERIODIC_COUNT:
        return incidents
    closed = [not any(e.is_open for e in i.events) for i in incidents]
    whole = [i for i, ok in zip(incidents, closed, strict=True) if ok]
    if len(whole) < PERIODIC_COUNT or not all(closed[:-1]):
        return incidents
    gaps = np.diff(onsets)
    if gaps.std() > PERIODIC_SPREAD * gaps.mean():
        return incidents
    cut = incidents[-1].events if not closed[-1] else ()
    if cut and not all(e.censored for e in cut if e.is_open):
        return incidents
    events = tuple(e for i in incidents for e in i.events)
    return [Incident(incidents[0].signal, events, is_periodic=True)]


def _overlaps(signals: SignalTable, incident: Incident, event: Event) -> bool:
    """Did an event of another signal move with the incident?"""
    first, last = incident.events[0].onset, max(e.end for e in incident.events)
    same = signals.segment[event.onset] == signals.segment[first]
    return bool(same) and event.onset <= last + CLUSTER_GAP and event.end >= first - CLUSTER_GAP
