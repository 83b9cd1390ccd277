"""Findings: faults without a spike of the loss, and context. One family per file; listed here."""

from collections.abc import Sequence
from typing import Final

from triage.findings import attempts, columns, evaluation, flat_loss, gradient, hidden_nan, loss_scale, noise
from triage.findings._contract import Context, FindingRule
from triage.findings._remarks import remarks
from triage.model import Diagnosis, Event, Finding
from triage.signals import SignalTable

__all__ = ["ORDER", "RULES", "find", "remarks"]

RULES: Final[tuple[FindingRule, ...]] = (
    *hidden_nan.RULES,
    *loss_scale.RULES,
    *columns.RULES,
    *flat_loss.RULES,
    *evaluation.RULES,
    *attempts.RULES,
    *gradient.RULES,
    *noise.RULES,
)
"""All findings; of equal severity the earlier one is named first."""

ORDER: Final = ("error", "warning", "info")


def find(signals: SignalTable, events: Sequence[Event], diagnoses: Sequence[Diagnosis]) -> tuple[Finding, ...]:
    """Every finding of a run, most severe first."""
    context = Context(signals, events, diagnoses)
    found = [
        Finding(rule.id, place.severity or rule.severity, place.step, place.evidence)
        for rule in RULES
        if all(name in signals.columns and signals.logged[name].any() for name in rule.needs)
        for place in rule.find(context)
    ]
    return tuple(sorted(found, key=lambda f: ORDER.index(f.severity)))
