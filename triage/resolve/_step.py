"""One resolved step: its answer, its words, and the numbers that it was answered from.

Separate from the answering so that a step can be said again, in another language, from what it carries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from triage.checklists import Branch, Step
from triage.model import Answer, ChecklistStep, Facts
from triage.resolve._conditions import asked_by, value_of
from triage.resolve._words import columns_of, how_to_log, name_of, spoken, used_by
from triage.texts import text as text_of

ANY_CAUSE: Final = "*"
"""In `causes` of an action: whichever cause was confirmed."""


def resolved(branch: Branch, step: Step, facts: Facts, answers: Mapping[str, Answer], lang: str) -> ChecklistStep:
    """A step of a branch with its answer, in words and numbers.

    Args:
        branch: the branch of the step.
        step: as it stands in the file.
        facts: what the log says.
        answers: step id → answer, of this step and of those before it.
        lang: en | zh.
    """
    answer = answers[step.id]
    asked = asked_by(step)
    missing = tuple(column for column in step.needs if column not in facts.columns)
    causes = standing_in(step, facts)
    text, words = spoken(step, answer, missing, _telling(branch, step, causes, facts, answers, lang), facts, lang)
    is_open = bool(missing) and answer == "unknown"
    detail: dict[str, Any] = {
        "words": words,
        "numbers": {f"{c.signal}.{c.statistic}": v for c in asked if (v := value_of(c, facts)) is not None},
        "values": {name: facts.placeholders[name] for name in sorted(used_by(step)) if name in facts.placeholders},
        "missing": missing if is_open else (),
        "how": {column: how_to_log(column, facts.framework, lang) for column in missing} if is_open else {},
        "confirm": step.confirm,
        "confirmed_by": causes,
        "tests": step.tests,
    }
    detail = {name: found for name, found in detail.items() if found}
    if step.kind == "action":
        detail["is_unlocked"] = answer == "yes"
    signals = sorted({name for c in asked for name in (c.signal, *columns_of(c.signal))})
    evidence = dict.fromkeys(e for name in signals for e in facts.evidence_ids.get(name, ()))
    return ChecklistStep(
        id=step.id,
        kind=step.kind,
        text=text,
        answer=answer,
        evidence_ids=tuple(evidence) if answer != "unknown" else (),
        detail=detail,
    )


def standing_in(step: Step, facts: Facts) -> tuple[str, ...]:
    """Confirmed causes that stand in for the confirming steps of an action."""
    known = facts.confirmed_causes
    return tuple(sorted(known if ANY_CAUSE in step.causes else known.intersection(step.causes)))


def _telling(
    branch: Branch, step: Step, causes: tuple[str, ...], facts: Facts, answers: Mapping[str, Answer], lang: str
) -> tuple[str, ...]:
    """What confirms or excludes an action, in words; of a locked one, the steps that have not said yes."""
    if causes:
        return tuple(text_of(lang, "causes", f"{cause}.name") for cause in causes)
    answer = answers[step.id]
    telling = [
        name
        for name in step.confirm
        if (answers.get(name) != "yes" if answer == "unknown" else answers.get(name) == answer)
    ]
    return tuple(name_of(one, facts, lang) for one in branch.steps if one.id in telling)
