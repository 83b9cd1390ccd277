"""What a checklist is resolved from and to, and the restart plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from triage.model.words import Answer


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
