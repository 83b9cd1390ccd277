"""The contract of a cause: what it must show, what raises it, what lowers it. Data; scored in one place.

A check is one comparison of a number measured around the onset: (signal, statistic) of `triage.facts`, and a few
more of the incident itself (`_measured.py`). True, false, or unknown where the log does not hold the number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from triage.model import Cause, CauseConfidence, Evidence, EvidenceVerdict

OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}

BASE: Final = 0.5
"""Score of a cause whose required evidence is there (science 7.2)."""
RAISE: Final = 0.15
RAISE_MOST: Final = 0.3
LOWER: Final = 0.2
"""What each supporting and contradicting number adds and takes (science 7.2)."""
CAP_MISSING: Final = 0.5
"""A missing key signal caps the score (science 7.2)."""
CAP_SPARSE: Final = 0.4
SPARSE: Final = 8
"""A logging interval above 8 steps caps causes that rest on an order (science 7.2)."""
RIVAL: Final = 0.6
"""Most that a cause behind the first can score: the numbers that raise it are there for the first one too [choice]."""
LIKELY: Final = 0.65
POSSIBLE: Final = 0.4
"""Scores from which a cause is likely or possible (definitions 11.1)."""
NAMED: Final = 0.2
"""Below this a cause is not worth a line [choice]."""
KEEP: Final = 5
"""Causes that are reported per diagnosis, best first [choice]."""

Measured = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison.

    Attributes:
        id: evidence id, with a text in `texts/evidence.toml`.
        signal, statistic: which number.
        compare: one of OPERATORS.
        value: what it is compared with; its origin stands beside the rule.
    """

    id: str
    signal: str
    statistic: str
    compare: str
    value: float

    def holds(self, measured: Measured) -> bool | None:
        """True, false, or None where the number is not known."""
        found = measured.get((self.signal, self.statistic))
        return None if found is None else OPERATORS[self.compare](found, self.value)

    def evidence(self, measured: Measured, verdict: EvidenceVerdict) -> Evidence:
        """The comparison as a line of evidence."""
        return Evidence(
            self.id,
            self.signal,
            measured.get((self.signal, self.statistic)),
            measured.get((self.signal, "level_before")) if self.statistic == "value_at_onset" else None,
            self.value,
            None,
            verdict,
        )


@dataclass(frozen=True, slots=True)
class CauseRule:
    """One cause.

    Attributes:
        id: from the closed list.
        about: classes and findings that it can stand behind.
        requires: groups of checks; of every group at least one must hold.
        raises: checks that each add to the score.
        lowers: checks that each take from it.
        keys: columns without which the score is capped; each is named as missing.
        orders: rests on which signal moved first.
        base: score with the required evidence alone: 0.5; 0.4 where the signature is shared with other causes.
        top: highest score that a log alone can give.
    """

    id: str
    about: frozenset[str]
    requires: tuple[tuple[Check, ...], ...]
    raises: tuple[Check, ...] = ()
    lowers: tuple[Check, ...] = ()
    keys: tuple[str, ...] = ()
    orders: bool = False
    base: float = BASE
    top: float = 0.8


Kind = Literal["supports", "contradicts"]


def weigh(rule: CauseRule, measured: Measured, columns: frozenset[str]) -> Cause | None:
    """Score one cause; None where required evidence is absent or unknown."""
    proofs: list[Evidence] = []
    for group in rule.requires:
        held = [check for check in group if check.holds(measured)]
        if not held:
            return None
        proofs.append(held[0].evidence(measured, "supports"))
    raised = [check for check in rule.raises if check.holds(measured)]
    lowered = [check for check in rule.lowers if check.holds(measured)]
    score = rule.base + min(RAISE_MOST, RAISE * len(raised)) - LOWER * len(lowered)
    missing = [name for name in rule.keys if name not in columns]
    if missing:
        score = min(score, CAP_MISSING)
    if rule.orders and measured.get(("incident", "stride"), 1.0) > SPARSE:
        score = min(score, CAP_SPARSE)
    score = round(min(score, rule.top), 3)
    if score < NAMED:
        return None
    proofs += [check.evidence(measured, "supports") for check in raised]
    proofs += [check.evidence(measured, "contradicts") for check in lowered]
    proofs += [Evidence("metric-not-logged", name, verdict="missing") for name in missing]
    return Cause(rule.id, confidence(score), score, tuple(proofs))


def confidence(score: float) -> CauseConfidence:
    """The word for a score (definitions 11.1)."""
    return "likely" if score >= LIKELY else "possible" if score >= POSSIBLE else "weak"


def rank(rules: Sequence[CauseRule], about: str, measured: Measured, columns: frozenset[str]) -> tuple[Cause, ...]:
    """Every cause that can stand behind `about` (a class or finding id), best first; ties keep the list's order."""
    best: dict[str, Cause] = {}
    for rule in rules:
        cause = weigh(rule, measured, columns) if about in rule.about else None
        if cause is not None and (cause.id not in best or cause.score > best[cause.id].score):
            best[cause.id] = cause
    found = sorted(best.values(), key=lambda cause: -cause.score)[:KEEP]
    return (*found[:1], *(rival(cause) for cause in found[1:]))


def rival(cause: Cause) -> Cause:
    """A second explanation of the same numbers: one log can call at most one cause likely."""
    score = min(cause.score, RIVAL)
    return replace(cause, score=score, confidence=confidence(score))
