"""Conditions against facts, three-valued: a statistic that is not known makes a comparison unknown, never false."""

from __future__ import annotations

from typing import Final

from triage.checklists import Comparison, Condition, Step
from triage.model import Facts

COMPARE: Final = {
    "==": lambda a, b: a == b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}


def holds(condition: Condition, facts: Facts) -> bool | None:
    """Does the condition hold? None = the facts do not tell."""
    known = [compare(c, facts) for c in condition.comparisons]
    decisive = condition.join == "any"
    if decisive in known:
        return decisive
    return None if None in known else not decisive


def compare(comparison: Comparison, facts: Facts) -> bool | None:
    """Is the statistic on that side of the value? None = it is not known."""
    value = value_of(comparison, facts)
    return None if value is None else bool(COMPARE[comparison.operator](value, comparison.value))


def value_of(comparison: Comparison, facts: Facts) -> float | None:
    """The statistic that a comparison asks for; None = not known."""
    if comparison.statistic == "is_logged":
        return float(comparison.signal in facts.columns)
    return facts.statistics.get((comparison.signal, comparison.statistic))


def asked_by(step: Step) -> tuple[Comparison, ...]:
    """The comparisons of the yes and no conditions, one for each statistic, in order."""
    both = [c for condition in (step.yes_if, step.no_if) if condition for c in condition.comparisons]
    return tuple({(c.signal, c.statistic): c for c in reversed(both)}.values())[::-1]


def deciding(condition: Condition | None, facts: Facts, *, fulfilled: bool) -> tuple[Comparison, ...]:
    """The comparisons of a condition that are known to be fulfilled, or known not to be."""
    comparisons = () if condition is None else condition.comparisons
    return tuple(c for c in comparisons if compare(c, facts) is fulfilled)
