"""Resolve a checklist: take a branch, the facts of one log and a language, and answer what the log answers.

Pure: the same facts give the same steps. Separate from `triage.checklists` (data) and `triage.facts` (numbers).

How a step is answered
    log         yes if its yes condition holds, no if its no condition holds (without one: if the yes condition is known
                to be false), unknown otherwise, also where both hold. Conditions are three-valued: a statistic that is
                not known makes a comparison unknown, never false.
    action      yes = confirmed: every step in `confirm` says yes, or one of its causes was confirmed by a person.
                no = one of those steps says no. unknown = still locked; an experiment is never answered by a log.
    others      unknown: they are to be done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triage.checklists import BRANCHES, LISTS, Step, branch_map, load_branch
from triage.errors import UsageError
from triage.model import Answer, Checklist, ChecklistStep, Facts
from triage.resolve._conditions import asked_by, holds, value_of
from triage.resolve._words import columns_of, how_to_log, spoken

__all__ = ["branch_of", "how_to_log", "resolve", "title"]

ANY_CAUSE = "*"
"""In `causes` of an action: whichever cause was confirmed."""


def branch_of(event_class_or_finding: str) -> str:
    """The id of the one branch that belongs to this class or finding; raises UsageError for an unknown id."""
    branch = branch_map().get(event_class_or_finding)
    if branch is None:
        raise UsageError(f"no checklist for {event_class_or_finding!r}", hint="use the id of a class or a finding")
    return branch


def resolve(branch_id: str, facts: Facts, lang: str) -> Checklist:
    """Resolve a branch or list against one log.

    Args:
        branch_id: a branch or list id; from a class or finding by `branch_of`.
        facts: what the log says; `Facts()` = nothing known, which gives the bare checklist.
        lang: en | zh.

    Returns:
        The steps in order. `text` holds answer, numbers and meaning; `detail` may hold `numbers` ("signal.statistic" →
        value), `missing` (columns), `how` (column → setting), `confirm` (step ids) and `is_unlocked`.

    Raises:
        UsageError: there is no such branch or list.
    """
    try:
        branch = load_branch(branch_id)
    except KeyError as error:
        raise UsageError(f"no checklist {branch_id!r}", hint=f"use one of {', '.join(BRANCHES + LISTS)}") from error
    answers: dict[str, Answer] = {}
    steps = []
    for step in branch.steps:
        if step.when is not None and holds(step.when, facts) is False:
            continue
        answers[step.id] = _answer(step, facts, answers)
        steps.append(_resolved(step, facts, answers, lang))
    return Checklist(branch.id, tuple(steps))


def title(branch_id: str, lang: str) -> str:
    """The title of a branch or list."""
    return load_branch(branch_id).title.in_language(lang)


def _answer(step: Step, facts: Facts, before: Mapping[str, Answer]) -> Answer:
    if step.kind == "log":
        return _log_answer(step, facts)
    if step.kind == "action":
        return _action_answer(step, facts, before)
    return "unknown"


def _log_answer(step: Step, facts: Facts) -> Answer:
    yes = None if step.yes_if is None else holds(step.yes_if, facts)
    no = yes is False if step.no_if is None else holds(step.no_if, facts)
    if bool(yes) == bool(no):  # neither, or numbers that contradict each other
        return "unknown"
    return "yes" if yes else "no"


def _action_answer(step: Step, facts: Facts, before: Mapping[str, Answer]) -> Answer:
    if _standing_in(step, facts):
        return "yes"
    confirming = [before.get(name, "unknown") for name in step.confirm]
    if "no" in confirming:
        return "no"
    return "yes" if all(answer == "yes" for answer in confirming) else "unknown"


def _resolved(step: Step, facts: Facts, answers: Mapping[str, Answer], lang: str) -> ChecklistStep:
    answer = answers[step.id]
    asked = asked_by(step)
    numbers = {f"{c.signal}.{c.statistic}": v for c in asked if (v := value_of(c, facts)) is not None}
    missing = tuple(column for column in step.needs if column not in facts.columns)
    detail: dict[str, Any] = {}
    if numbers:
        detail["numbers"] = numbers
    if missing and answer == "unknown":
        detail["missing"] = missing
        detail["how"] = {column: how_to_log(column, facts.framework, lang) for column in missing}
    if step.kind == "action":
        detail["confirm"] = step.confirm
        detail["is_unlocked"] = answer == "yes"
    telling = _standing_in(step, facts) or _telling(step, answer, answers)
    signals = sorted({name for c in asked for name in (c.signal, *columns_of(c.signal))})
    evidence = dict.fromkeys(e for name in signals for e in facts.evidence_ids.get(name, ()))
    return ChecklistStep(
        id=step.id,
        kind=step.kind,
        text=spoken(step, answer, missing, telling, facts, lang),
        answer=answer,
        evidence_ids=tuple(evidence) if answer != "unknown" else (),
        detail=detail,
    )


def _standing_in(step: Step, facts: Facts) -> tuple[str, ...]:
    """Confirmed causes that stand in for the confirming steps of an action."""
    known = facts.confirmed_causes
    return tuple(sorted(known if ANY_CAUSE in step.causes else known.intersection(step.causes)))


def _telling(step: Step, answer: Answer, answers: Mapping[str, Answer]) -> tuple[str, ...]:
    """The steps that confirm or exclude an action; of a locked one, those that have not said yes."""
    if answer == "unknown":
        return tuple(name for name in step.confirm if answers.get(name) != "yes")
    return tuple(name for name in step.confirm if answers.get(name) == answer)
