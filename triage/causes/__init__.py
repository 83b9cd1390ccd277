"""Causes: which of the known reasons the numbers speak for. One family per file; listed here."""

from collections.abc import Sequence
from typing import Final

from triage.causes import (
    data,
    evaluation,
    grad,
    hardware,
    lr,
    model,
    numeric,
    objective,
    optimizer,
    parallel,
    precision,
    resume,
    run,
)
from triage.causes._contract import CauseRule, rank, rival
from triage.causes._course import course
from triage.causes._measured import compared, flags, of_diagnosis, of_finding
from triage.model import Cause, Diagnosis, Facts, Finding
from triage.signals import SignalTable

RULES: Final[tuple[CauseRule, ...]] = (
    *resume.RULES,
    *lr.RULES,
    *precision.RULES,
    *optimizer.RULES,
    *numeric.RULES,
    *data.RULES,
    *grad.RULES,
    *objective.RULES,
    *model.RULES,
    *evaluation.RULES,
    *parallel.RULES,
    *hardware.RULES,
    *run.RULES,
)
"""All rules; where scores tie, the earlier one is named first: what is measured directly before what is inferred."""


def causes_of(
    signals: SignalTable,
    about: Diagnosis | Finding,
    facts: Facts,
    findings: Sequence[Finding],
    *,
    is_context: bool = False,
) -> tuple[Cause, ...]:
    """The causes behind one diagnosis or finding, best first; each id once, with its best score.

    Args:
        signals: the run.
        about: what is to be explained.
        facts: the numbers around it.
        findings: all findings of the run.
        is_context: a finding beside diagnoses; the same numbers explain those, so none of its causes is likely.
    """
    subject: str
    if isinstance(about, Diagnosis):
        subject = about.event_class
        own = of_diagnosis(signals, about) | course(signals, about) | flags(findings, until=about.onset_step)
    else:
        subject = about.id
        own = of_finding(signals, about) | flags(findings)
    measured = {**own, **facts.statistics}
    measured |= compared(measured)
    if "clip_coef" not in facts.columns and ("clip_coef", "is_configured") not in measured:
        measured["clip_coef", "absent"] = 1.0
    causes = rank(RULES, subject, measured, facts.columns)
    return tuple(rival(cause) for cause in causes) if is_context else causes
