"""What follows from an incident or a finding: ranked causes, the checklist branch, the restart plan.

Separate because incidents and findings carry the same advice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from triage.model import Cause, Checklist, ChecklistStep, Restart
from triage.report._lines import BLANK, Line, Span, Style, indent, line, listed, pairs, wrap
from triage.report._numbers import number
from triage.report._say import Say, evidence_lines
from triage.report._width import clean
from triage.texts import has

ANSWERS: Final[Mapping[str, Span]] = {"yes": ("✓", "good"), "no": ("✗", "bad"), "unknown": ("?", "warn")}
"""What stands before a step of a checklist: the answer of the log."""

_CAUSE_STYLES: Final[Mapping[str, Style]] = {"likely": "strong", "possible": "plain", "weak": "dim"}


def advice_lines(
    say: Say, causes: Sequence[Cause], checklist: Checklist | None, restart: Restart | None, width: int
) -> list[Line]:
    """Causes, checklist and restart plan; what is not there takes no line."""
    lines: list[Line] = []
    if causes:
        lines += [BLANK, line(say("headings", "causes"), style="strong")]
        for n, cause in enumerate(causes, 1):
            lines += indent(_cause(say, n, cause, width - 2), 2)
    if checklist is not None and checklist.steps:
        lines += [BLANK, line(say("headings", "checklist", id=checklist.id), style="strong")]
        for step in checklist.steps:
            lines += indent(_step(say, step, width - 2), 2)
    if restart is not None:
        lines += [BLANK, line(say("headings", "restart"), style="strong")]
        lines += indent(_restart(say, restart, width - 2), 2)
    return lines


def _cause(say: Say, n: int, cause: Cause, width: int) -> list[Line]:
    head: Line = (
        (f"{n}. ", "plain"),
        (say("causes", f"{cause.id}.name"), _CAUSE_STYLES[cause.confidence]),
        (f" ({cause.id})" if has("causes", f"{cause.id}.name") else "", "dim"),
        (" · " + say("headings", f"cause-{cause.confidence}", score=number(cause.score)), "plain"),
    )
    return [*wrap(head, width, hanging=3), *indent(evidence_lines(say, cause.evidence, width - 3), 3)]


def _step(say: Say, step: ChecklistStep, width: int) -> list[Line]:
    kind: Span = (say("headings", f"kind-{step.kind}"), "dim")
    return listed(ANSWERS[step.answer], (kind, (clean(step.text), "plain")), width)


def _restart(say: Say, plan: Restart, width: int) -> list[Line]:
    rows: list[tuple[str, Line]] = []

    def row(name: str, text: str | None, style: Style = "plain") -> None:
        if text:
            rows.append((say("headings", f"restart-{name}"), line(clean(text), style=style)))

    row("from", None if plan.from_step is None else say("headings", "at-step", step=plan.from_step), "strong")
    row("checkpoint", plan.checkpoint, "strong")
    row("poisoned", ", ".join(plan.poisoned_checkpoints), "bad")
    row("skip", None if plan.skip_steps is None else "–".join(map(str, plan.skip_steps)))
    row("lr", None if plan.lr_factor is None else " – ".join(f"×{number(factor)}" for factor in plan.lr_factor))
    row("restore", ", ".join(plan.restore))
    row("change", None if plan.change_first is None else _sentence(say, plan.change_first))
    row("replay", ", ".join(map(str, plan.replay)))
    lines = pairs(rows, width)
    for reason in plan.reasons:
        lines += listed(("·", "dim"), line(_sentence(say, reason), style="dim"), width)
    return lines


def _sentence(say: Say, id: str) -> str:  # noqa: A002 - as in texts
    """A reason or a change is an id with a sentence, a cause, or a sentence already."""
    for kind, key in (("messages", id), ("causes", f"{id}.name")):
        if has(kind, key):
            return say(kind, key)
    return clean(id)
