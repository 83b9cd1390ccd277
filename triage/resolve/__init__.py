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

from triage.checklists import BRANCHES, LISTS, Step, branch_map, load_branch
from triage.errors import UsageError
from triage.model import Answer, Checklist, Facts
from triage.resolve._conditions import holds
from triage.resolve._language import in_language, resolve_again
from triage.resolve._step import resolved, standing_in
from triage.resolve._words import how_to_log

__all__ = ["branch_of", "how_to_log", "in_language", "resolve", "resolve_again", "title"]


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
        The steps in order. `text` holds answer, numbers and meaning in one piece; `detail` holds them apart: `words`
        (see `_words.spoken`), `numbers` ("signal.statistic" → value), `values` (placeholder → value), `missing`
        (columns), `how` (column → setting), `confirm` (step ids), `is_unlocked`, `confirmed_by` (causes), `tests`
        (causes). What does not apply is left out.

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
        steps.append(resolved(branch, step, facts, answers, lang))
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
    if standing_in(step, facts):
        return "yes"
    confirming = [before.get(name, "unknown") for name in step.confirm]
    if "no" in confirming:
        return "no"
    return "yes" if all(answer == "yes" for answer in confirming) else "unknown"
