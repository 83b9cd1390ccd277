"""The restart plan in sentences: where from, with what, what to change first, and what it has cost.

Separate from `_advice.py` because the plan is read on its own, often by someone else than the rest.
"""

from __future__ import annotations

from typing import Final

from triage.model import Restart
from triage.report._lines import Line, Style, line, listed
from triage.report._numbers import duration, number
from triage.report._say import Say
from triage.report._width import clean
from triage.texts import has

SAID_ALREADY: Final = frozenset({"no-healthy-step", "checkpoints-unknown", "no-safe-checkpoint"})
"""Reasons that the first sentence of the plan gives."""


def restart_lines(say: Say, plan: Restart, width: int, *, log_starts: int | None = None) -> list[Line]:
    """The plan, one sentence a line, in the order in which it is carried out; then why, and what it cost.

    Args:
        say: the words.
        plan: the plan.
        width: cells per line.
        log_starts: first step of the log; a plan that goes back to it starts anew. None = not known.
    """
    lines: list[Line] = []

    def tell(id: str, style: Style = "plain", **values: object) -> None:  # noqa: A002 - as in texts
        lines.extend(listed(("·", "dim"), line(say("restart", id, **values), style=style), width))

    tell(f"plan-{_from(plan, log_starts)}", "strong", step=plan.from_step, checkpoint=clean(plan.checkpoint or ""))
    if plan.poisoned_checkpoints:
        tell("plan-poisoned", "bad", names=", ".join(clean(name) for name in plan.poisoned_checkpoints))
    comma = say("headings", "comma")
    if plan.restore and not _is_anew(plan, log_starts):
        tell("plan-restore", names=comma.join(sentence(say, item) for item in plan.restore))
    if plan.change_first is not None:
        tell("plan-change", change=sentence(say, plan.change_first))
    if plan.replay:
        suspect, *others = plan.replay
        tell("plan-replay", suspect=suspect, ordinary=others[0] if others else None)
    if plan.skip_steps is not None:
        tell("plan-skip", first=plan.skip_steps[0], last=plan.skip_steps[1])
    if plan.lr_factor is not None:
        low, high = plan.lr_factor
        tell("plan-lr-back" if low == high else "plan-lr", low=number(low), high=number(high))
    for reason in plan.reasons:
        if reason not in SAID_ALREADY:
            tell("plan-why", "dim", reason=sentence(say, reason))
    if plan.lost_steps is not None:
        tell("plan-lost", n=plan.lost_steps, time=duration(plan.lost_seconds))
    return lines


def _is_anew(plan: Restart, log_starts: int | None) -> bool:
    """Whether the plan goes back to where the log begins."""
    return plan.checkpoint is None and plan.from_step is not None and plan.from_step == log_starts


def _from(plan: Restart, log_starts: int | None) -> str:
    """Which sentence says where to start."""
    if plan.checkpoint:
        return "checkpoint"
    if plan.from_step is None:
        return "anew"
    if _is_anew(plan, log_starts):
        return "start"
    return "too-late" if "no-safe-checkpoint" in plan.reasons else "step"


def sentence(say: Say, id: str) -> str:  # noqa: A002 - as in texts
    """An item of the plan is an id with a sentence, a cause, or a sentence already."""
    for kind, key in (("restart", id), ("causes", f"{id}.name")):
        if has(kind, key):
            return say(kind, key)
    return clean(id)
