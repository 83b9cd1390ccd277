"""The contract of a detector: what it needs, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from triage.model import Event
from triage.options import Options
from triage.signals import SignalTable


@dataclass(frozen=True, slots=True)
class Detector:
    """One way in which a signal leaves its band.

    Attributes:
        id: kebab-case name as printed under "could not be judged".
        needs: columns without which it cannot run: one of each tuple.
        detect: events in rows of the signal table, in order; pure.
    """

    id: str
    needs: tuple[tuple[str, ...], ...]
    detect: Callable[[SignalTable, Options], list[Event]]
