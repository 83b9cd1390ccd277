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

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from triage.checklists import (
    GENERIC_FRAMEWORK,
    Comparison,
    Condition,
    Framework,
    Step,
    Text,
    branch_map,
    load_branch,
    load_frameworks,
    load_phrases,
    load_placeholders,
    load_signals,
    load_statistics,
)
from triage.errors import UsageError
from triage.model import Answer, Checklist, ChecklistStep, Facts

_PLACEHOLDER: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}")

_NO_DECIMALS: Final = 100.0
_EXPONENT: Final = 1e6
"""From 100 on decimals say nothing; from a million on a number is shorter with an exponent [choice]."""

_COMPARE: Final = {
    "==": lambda a, b: a == b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}


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
        raise UsageError(f"no checklist {branch_id!r}", hint="see `triage explain checklists`") from error
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


def how_to_log(column: str, framework: str | None, lang: str) -> str:
    """How to turn a column on in this framework; the line of a plain loop where it has no setting; "" if neither."""
    for name in (framework, GENERIC_FRAMEWORK):
        text = next((f.columns[column] for f in load_frameworks() if f.name == name and column in f.columns), None)
        if text is not None:
            return text.in_language(lang)
    return ""


def holds(condition: Condition, facts: Facts) -> bool | None:
    """Does the condition hold? None = the facts do not tell."""
    known = [_compare(c, facts) for c in condition.comparisons]
    decisive = condition.join == "any"
    if decisive in known:
        return decisive
    return None if None in known else not decisive


def _compare(comparison: Comparison, facts: Facts) -> bool | None:
    value = _value(comparison, facts)
    return None if value is None else bool(_COMPARE[comparison.operator](value, comparison.value))


def _value(comparison: Comparison, facts: Facts) -> float | None:
    if comparison.statistic == "is_logged":
        return float(comparison.signal in facts.columns)
    return facts.statistics.get((comparison.signal, comparison.statistic))


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    if facts.confirmed_causes.intersection(step.causes):
        return "yes"
    confirming = [before.get(name, "unknown") for name in step.confirm]
    if "no" in confirming:
        return "no"
    return "yes" if all(answer == "yes" for answer in confirming) else "unknown"


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _resolved(step: Step, facts: Facts, answers: Mapping[str, Answer], lang: str) -> ChecklistStep:
    answer = answers[step.id]
    asked = _asked(step)
    numbers = {f"{c.signal}.{c.statistic}": v for c in asked if (v := _value(c, facts)) is not None}
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
    by = tuple(sorted(facts.confirmed_causes.intersection(step.causes))) or step.confirm
    meaning = step.yes if answer == "yes" else step.no
    words = {
        "text": step.text.in_language(lang),
        "yes": "" if step.yes is None else step.yes.in_language(lang),
        "no": "" if step.no is None else step.no.in_language(lang),
        "meaning": "" if meaning is None else meaning.in_language(lang),
        "numbers": _join((_say(key, value, lang) for key, value in numbers.items()), "list_separator", lang),
        "columns": _join((f"`{column}`" for column in missing), "name_separator", lang),
        "means": _join(_means(asked, missing, lang), "list_separator", lang),
        "steps": _join((f"`{name}`" for name in by), "name_separator", lang),
    }
    frame = _frame(step, answer, has_missing=bool(missing), has_numbers=bool(numbers))
    text = words["text"] if frame is None else load_phrases()[frame].in_language(lang)
    text = _PLACEHOLDER.sub(lambda match: words.get(match[1], match[0]), text)
    signals = sorted({name for c in asked for name in (c.signal, *_columns(c.signal))})
    evidence = (e for name in signals for e in facts.evidence_ids.get(name, ()))
    return ChecklistStep(
        id=step.id,
        kind=step.kind,
        text=fill(text, facts, lang),
        answer=answer,
        evidence_ids=tuple(dict.fromkeys(evidence)) if answer != "unknown" else (),
        detail=detail,
    )


def _frame(step: Step, answer: Answer, *, has_missing: bool, has_numbers: bool) -> str | None:
    """The phrase around a step: the first row that fits; None = the bare text."""
    is_log, is_action = step.kind == "log", step.kind == "action"
    is_question = is_log and step.yes is not None
    is_item = is_log and step.yes is None and step.yes_if is not None
    table = (
        (is_question and answer == "yes", "yes"),
        (is_question and answer == "no", "no"),
        (is_question and has_missing, "missing"),
        (is_question and has_numbers, "unclear"),
        (is_question, "open"),
        (is_item and answer == "yes", "item_yes"),
        (is_item, "item_missing"),
        (is_log and has_missing, "look_missing"),
        (is_action and answer == "yes", "unlocked"),
        (is_action and answer == "no", "excluded"),
        (is_action, "locked"),
    )
    return next((frame for fits, frame in table if fits), None)


def _means(asked: tuple[Comparison, ...], missing: tuple[str, ...], lang: str) -> Iterable[str]:
    """What the missing columns would have shown, each once."""
    absent = [c for c in asked if set(_columns(c.signal)) & set(missing)] or asked
    return dict.fromkeys(_named(load_statistics()[c.statistic].means, c.signal, lang) for c in absent)


def fill(text: str, facts: Facts, lang: str) -> str:
    """Put the values of this run in place of the placeholders; what is not known is said in words."""
    own = next((f for f in load_frameworks() if f.name == (facts.framework or GENERIC_FRAMEWORK)), None)

    def spoken(match: re.Match[str]) -> str:
        placeholder = load_placeholders().get(match[1])
        if placeholder is None:
            return match[0]
        value = facts.placeholders.get(match[1]) or _call(match[1], own, lang)
        if value is None:
            return placeholder.unknown.in_language(lang)
        return placeholder.known.in_language(lang).replace("{value}", value)

    return _PLACEHOLDER.sub(spoken, text)


def _call(name: str, framework: Framework | None, lang: str) -> str | None:
    calls = {} if framework is None else {"clip_call": framework.clip, "unscale_call": framework.unscale}
    return calls[name].in_language(lang) if name in calls else None


def _asked(step: Step) -> tuple[Comparison, ...]:
    """The comparisons of the yes and no conditions, one for each statistic, in order."""
    both = [c for condition in (step.yes_if, step.no_if) if condition for c in condition.comparisons]
    return tuple({(c.signal, c.statistic): c for c in reversed(both)}.values())[::-1]


def _columns(signal: str) -> tuple[str, ...]:
    known = load_signals().get(signal)
    return (signal,) if known is None else known.columns


def _say(key: str, value: float, lang: str) -> str:
    signal, _, name = key.rpartition(".")
    statistic = load_statistics()[name]
    text = statistic.says or (statistic.says_one if value else statistic.says_zero)
    return "" if text is None else _named(text, signal, lang).replace("{value}", _number(value))


def _named(text: Text, signal: str, lang: str) -> str:
    known = load_signals().get(signal)
    return text.in_language(lang).replace("{signal}", signal if known is None else known.name.in_language(lang))


def _join(parts: Iterable[str], separator: str, lang: str) -> str:
    return load_phrases()[separator].in_language(lang).join(parts)


def _number(value: float) -> str:
    """Three significant digits, whole numbers in full up to a million."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    is_whole = value == int(value) or abs(value) >= _NO_DECIMALS
    return f"{value:.0f}" if is_whole and abs(value) < _EXPONENT else f"{value:.3g}"
