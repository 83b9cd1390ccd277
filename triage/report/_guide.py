"""A checklist with nothing known about a log, as `explain` prints it.

Every question stands with what either answer means, every experiment with its outcomes, every action in full.

Separate from `_checklist.py`, which shows one log's answers and leaves out what they settle.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from triage.model import ChecklistStep
from triage.report._checklist import prose_lines, words_of
from triage.report._lines import BLANK, Line, Span, indent, line, listed, pairs
from triage.report._say import Say
from triage.report._width import clean

_NUMBERED: Final = re.compile(r"(\d+\.) +")
"""A list that counts its items itself."""


def branch_lines(say: Say, steps: Sequence[ChecklistStep], width: int) -> list[Line]:
    """The steps of a branch under headings, in the order in which they are worked through."""
    logs = [step for step in steps if step.kind == "log"]
    experiments = [step for step in steps if step.kind == "experiment"]
    groups: list[tuple[str, list[Line]]] = [
        ("guide-look", [found for step in logs if not _is_question(step) for found in _text(step, width - 2)]),
        ("guide-log", [found for step in logs if _is_question(step) for found in _question(say, step, width - 2)]),
        ("checklist-do-next", [f for n, step in enumerate(experiments, 1) for f in _behind(f"{n}.", step, width - 2)]),
        ("checklist-locked", _actions(say, steps, experiments, width - 2)),
        ("checklist-fixed", [found for step in steps if step.kind == "verify" for found in _text(step, width - 2)]),
    ]
    lines: list[Line] = []
    for heading, body in groups:
        if body:
            lines += [BLANK] if lines else []
            lines += [line(say("headings", heading), style="strong"), *indent(body, 2)]
    return lines


def list_lines(say: Say, steps: Sequence[ChecklistStep], width: int) -> list[Line]:
    """The items of a list, each behind its number or a dot; of a question also what the answers mean."""
    lines: list[Line] = []
    for step in steps:
        if _is_question(step):
            lines += _question(say, step, width)
            continue
        text = _ask(step)
        number = _NUMBERED.match(text)
        mark = number[1] if number else "·"
        body = prose_lines(text[number.end() :] if number else text, width - len(mark) - 1)
        lines += _marked((mark, "strong" if number else "dim"), body)
    return lines


def _question(say: Say, step: ChecklistStep, width: int) -> list[Line]:
    words = words_of(step)
    lines = listed(("·", "dim"), line(clean(_ask(step))), width)
    rows = [
        (say("headings", f"guide-{answer}"), line(clean(words[f"if_{answer}"]), style="dim"))
        for answer in ("yes", "no")
        if words.get(f"if_{answer}")
    ]
    return [*lines, *indent(pairs(rows, width - 4, gap=1), 4)]


def _actions(say: Say, steps: Sequence[ChecklistStep], experiments: Sequence[ChecklistStep], width: int) -> list[Line]:
    numbers = {step.id: str(n) for n, step in enumerate(experiments, 1)}
    lines: list[Line] = []
    for step in steps:
        if step.kind != "action":
            continue
        by = [numbers[name] for name in step.detail.get("confirm") or () if name in numbers]
        after = say("headings", "after-experiments", n=", ".join(by)) if by else ""
        lines += listed(("·", "dim"), ((clean(_ask(step)), "plain"), (after, "dim")), width)
    return lines


def _behind(mark: str, step: ChecklistStep, width: int) -> list[Line]:
    return _marked((mark, "strong"), _text(step, width - len(mark) - 1))


def _marked(mark: Span, body: Sequence[Line]) -> list[Line]:
    """Lines under each other behind a mark."""
    return [(mark, (" ", "plain"), *body[0]), *indent(body[1:], len(mark[0]) + 1)]


def _text(step: ChecklistStep, width: int) -> list[Line]:
    return prose_lines(_ask(step), width)


def _ask(step: ChecklistStep) -> str:
    return words_of(step).get("ask") or step.text


def _is_question(step: ChecklistStep) -> bool:
    return "if_yes" in words_of(step)
