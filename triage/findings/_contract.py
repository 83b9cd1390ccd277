"""The contract of a finding: what it needs, how severe it is, and how it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from triage.model import Diagnosis, Event, Evidence, Severity
from triage.signals import SignalTable


@dataclass(frozen=True, slots=True)
class Context:
    """What a finding may look at: the signals, the events of the detectors, and the diagnoses made of them."""

    signals: SignalTable
    events: Sequence[Event]
    diagnoses: Sequence[Diagnosis]


@dataclass(frozen=True, slots=True)
class Found:
    """One place where a finding holds.

    Attributes:
        step: where it begins; None = the run as a whole.
        evidence: the numbers.
        severity: overrides the finding's own where its gravity depends on what was seen.
    """

    step: int | None
    evidence: tuple[Evidence, ...]
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class FindingRule:
    """One finding.

    Attributes:
        id: from the closed list.
        severity: error | warning | info.
        needs: columns, all of which must be logged; empty = it decides itself.
        find: the places where it holds; pure.
    """

    id: str
    severity: Severity
    needs: tuple[str, ...]
    find: Callable[[Context], Iterable[Found]]


BLOCKS: Final = 32
"""A log is cut into so many blocks where the shape of the whole run counts [choice: as in the drift detector]."""
