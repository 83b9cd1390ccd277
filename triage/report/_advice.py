"""What follows from an incident or a finding: ranked causes, the checklist branch, the restart plan.

Separate because incidents and findings carry the same advice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from triage.model import Cause, Checklist, ChecklistStep, Restart
from triage.report._lines import BLANK, Line, Span, Style, indent, line, listed, pairs, wrap
from triage.report._numbers import duration, number
from triage.report._say import Say, evidence_lines
from triage.report._width import clean
from triage.texts import has

ANSWERS: Final[Mapping[str, Span]] = {"yes": ("✓", "good"), "no": ("✗", "bad"), "unknown": ("?", "warn")}
"""What stands before a step of a checklist: the answer of the log."""

_CAUSE_STYLES: Final[Mapping[str, Style]] = {"likely": "strong", "possible": "plain", "weak": "dim"}


def advice_lines(
    say: Say,
    causes: Sequence[Cause],
    checklist: Checklist | None,
    restart: Restart | None,
    width: int,
    *,
    extent: str = "full",
) -> list[Line]:
    """Causes, checklist and restart plan; what is not there takes no line.

    Args:
        say: the words.
        causes: ranked causes.
        checklist: the branch that fits.
        restart: the restart plan.
        width: cells per line.
        extent: how much of the checklist is printed: full | short (the steps that the log answers, and the first
            experiment) | again (the steps that the log answers; the rest stands further up) | none.
    """
    lines: list[Line] = []
    if causes:
        lines += [BLANK, line(say("headings", "causes"), style="strong")]
        for n, cause in enumerate(causes, 1):
            lines += indent(_cause(say, n, cause, width - 2), 2)
    if checklist is not None and checklist.steps and extent != "none":
        lines += [BLANK, line(say("headings", f"checklist-{extent}", id=checklist.id), style="strong")]
        for step in _chosen(checklist, extent):
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


def _chosen(checklist: Checklist, extent: str) -> list[ChecklistStep]:
    """The steps that are printed."""
    if extent == "full":
        return list(checklist.steps)
    first = next((step for step in checklist.steps if step.kind == "experiment"), None) if extent == "short" else None
    return [step for step in checklist.steps if step.answer != "unknown" or step is first]


def _step(say: Say, step: ChecklistStep, width: int) -> list[Line]:
    """A step behind its answer; the lines of its text (a small table, a command) stay lines."""
    kind: Span = (say("headings", f"kind-{step.kind}"), "dim")
    first, *others = step.text.split("\n")
    lines = listed(ANSWERS[step.answer], (kind, (clean(first), "plain")), width)
    for other in others:
        lines += indent(wrap(line(clean(other)), width - 2), 2)
    return lines


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
    row("restore", say("headings", "comma").join(_sentence(say, item) for item in plan.restore))
    row("change", None if plan.change_first is None else _sentence(say, plan.change_first))
    row("replay", ", ".join(map(str, plan.replay)))
    if plan.lost_steps is not None:
        row("lost", say("headings", "restart-lost-text", n=plan.lost_steps, time=duration(plan.lost_seconds)))
    lines = pairs(rows, width)
    for reason in plan.reasons:
        lines += listed(("·", "dim"), line(_sentence(say, reason), style="dim"), width)
    return lines


def _sentence(say: Say, id: str) -> str:  # noqa: A002 - as in texts
    """An item of the plan is an id with a sentence, a cause, or a sentence already."""
    for kind, key in (("restart", id), ("causes", f"{id}.name")):
        if has(kind, key):
            return say(kind, key)
    return clean(id)
