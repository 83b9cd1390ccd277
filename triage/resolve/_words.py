"""The words of a resolved step: the frame around it, its numbers, and the placeholders of this run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final

from triage.checklists import (
    GENERIC_FRAMEWORK,
    Comparison,
    Framework,
    Step,
    Text,
    load_frameworks,
    load_phrases,
    load_placeholders,
    load_signals,
    load_statistics,
)
from triage.model import Answer, Facts
from triage.resolve._conditions import asked_by, deciding, value_of

_PLACEHOLDER: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}")

_TIME: Final = re.compile(r"\s*[(（][^()（）]*[)）]$")

_NO_DECIMALS: Final = 100.0
_EXPONENT: Final = 1e6
"""From 100 on decimals say nothing; from a million on a number is shorter with an exponent [choice]."""


def spoken(
    step: Step, answer: Answer, missing: tuple[str, ...], telling: tuple[str, ...], facts: Facts, lang: str
) -> tuple[str, dict[str, str]]:
    """The text of a step with its answer, and the pieces that it is made of.

    Args:
        step: as it stands in the file.
        answer: as resolved.
        missing: columns that would answer it and are not logged.
        telling: what confirms, excludes or locks an action, in words.
        facts: what the log says.
        lang: en | zh.

    Returns:
        The whole text, and by name `brief` (the step in a line), `ask` (question or instruction), `said` (the numbers),
        `meaning` (of the answer), and without an answer `if_yes` and `if_no`; a piece that is empty is left out.
    """
    meaning = step.yes if answer == "yes" else step.no
    numbers = tuple(_numbers(step, answer, facts, lang))
    words = {
        "text": step.text.in_language(lang),
        "yes": "" if step.yes is None else step.yes.in_language(lang),
        "no": "" if step.no is None else step.no.in_language(lang),
        "meaning": "" if meaning is None else meaning.in_language(lang),
        "numbers": _join(numbers, "list_separator", lang),
        "columns": _join((f"`{column}`" for column in missing), "name_separator", lang),
        "means": _join(_means(asked_by(step), missing, lang), "list_separator", lang),
        "steps": _join(telling, "list_separator", lang),
    }
    frame = _frame(step, answer, has_missing=bool(missing), has_numbers=bool(numbers))
    text = words["text"] if frame is None else load_phrases()[frame].in_language(lang)
    whole = fill(_PLACEHOLDER.sub(lambda match: words.get(match[1], match[0]), text), facts, lang)
    is_answered = answer != "unknown"
    pieces = {
        "brief": "" if step.short is None else step.short.in_language(lang),
        "ask": words["text"],
        "said": words["numbers"],
        "meaning": words["meaning"] if is_answered else "",
        "if_yes": "" if is_answered else words["yes"],
        "if_no": "" if is_answered else words["no"],
    }
    return whole, {name: fill(piece, facts, lang) for name, piece in pieces.items() if piece}


def name_of(step: Step, facts: Facts, lang: str) -> str:
    """A step by its short line, without the time that stands in brackets at its end."""
    return _TIME.sub("", fill((step.short or step.text).in_language(lang), facts, lang))


def used_by(step: Step) -> frozenset[str]:
    """The placeholders of a step's texts."""
    texts = (step.text, step.short, step.yes, step.no)
    return frozenset(name for text in texts if text is not None for name in _PLACEHOLDER.findall(text.en))


def how_to_log(column: str, framework: str | None, lang: str) -> str:
    """How to turn a column on in this framework; the line of a plain loop where it has no setting; "" if neither."""
    for name in (framework, GENERIC_FRAMEWORK):
        text = next((f.columns[column] for f in load_frameworks() if f.name == name and column in f.columns), None)
        if text is not None:
            return text.in_language(lang)
    return ""


def fill(text: str, facts: Facts, lang: str) -> str:
    """Put the values of this run in place of the placeholders; what is not known is said in words."""
    own = next((f for f in load_frameworks() if f.name == (facts.framework or GENERIC_FRAMEWORK)), None)

    def value_of_run(match: re.Match[str]) -> str:
        placeholder = load_placeholders().get(match[1])
        if placeholder is None:
            return match[0]
        value = facts.placeholders.get(match[1]) or _call(match[1], own, lang)
        if value is None:
            return placeholder.unknown.in_language(lang)
        return placeholder.known.in_language(lang).replace("{value}", value)

    return _PLACEHOLDER.sub(value_of_run, text)


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


def _numbers(step: Step, answer: Answer, facts: Facts, lang: str) -> Iterable[str]:
    """The numbers that decided: those behind the condition that gave the answer; all known ones without an answer."""
    if answer == "yes":
        asked = deciding(step.yes_if, facts, fulfilled=True)
    elif answer == "no" and step.no_if is not None:
        asked = deciding(step.no_if, facts, fulfilled=True)
    elif answer == "no":
        asked = deciding(step.yes_if, facts, fulfilled=False)
    else:
        asked = asked_by(step)
    known = ((f"{c.signal}.{c.statistic}", value_of(c, facts)) for c in asked)
    return dict.fromkeys(_say(key, value, lang) for key, value in known if value is not None)


def _means(asked: tuple[Comparison, ...], missing: tuple[str, ...], lang: str) -> Iterable[str]:
    """What the missing columns would have shown, each once."""
    absent = [c for c in asked if set(columns_of(c.signal)) & set(missing)] or asked
    return dict.fromkeys(_named(load_statistics()[c.statistic].means, c.signal, lang) for c in absent)


def _call(name: str, framework: Framework | None, lang: str) -> str | None:
    calls = {} if framework is None else {"clip_call": framework.clip, "unscale_call": framework.unscale}
    return calls[name].in_language(lang) if name in calls else None


def columns_of(signal: str) -> tuple[str, ...]:
    """The columns that a signal is made of; none for what comes from the config or the run as a whole."""
    known = load_signals().get(signal)
    return (signal,) if known is None else known.columns


def _say(key: str, value: float, lang: str) -> str:
    signal, _, name = key.rpartition(".")
    statistic = load_statistics()[name]
    special = {1.0: statistic.says_one, 0.0: statistic.says_zero, math.inf: statistic.says_infinite}.get(value)
    below = statistic.says_negative if value < 0 else None
    text = special or below or statistic.says or statistic.means
    size = -value if below else value
    return _named(text, signal, lang).replace("{value}", _number(size)).replace("{percent}", _percent(size))


def _named(text: Text, signal: str, lang: str) -> str:
    known = load_signals().get(signal)
    return text.in_language(lang).replace("{signal}", signal if known is None else known.name.in_language(lang))


def _join(parts: Iterable[str], separator: str, lang: str) -> str:
    return load_phrases()[separator].in_language(lang).join(parts)


def _percent(share: float) -> str:
    """A share in percent, three significant digits."""
    return f"{_number(float(f'{100 * share:.3g}'))} %"


def _number(value: float) -> str:
    """Three significant digits, whole numbers in full up to a million."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    is_whole = value == int(value) or abs(value) >= _NO_DECIMALS
    return f"{value:.0f}" if is_whole and abs(value) < _EXPONENT else f"{value:.3g}"
