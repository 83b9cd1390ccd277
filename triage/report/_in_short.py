"""The five things that everyone asks first, right under the verdict.

What happened, from which step, which step is safe to go back to, what to run first, and what must not be done yet.
Separate from the incidents because it answers for a whole run, from what is worst in it. It only picks and words what
the report says; each row of the tables below is one way of being ill.
"""

from __future__ import annotations

import math
from typing import Final

from triage.model import Checklist, Diagnosis, Finding, RunReport
from triage.report._checklist import brief, ordered
from triage.report._lines import Line, Style, indent, line, pairs
from triage.report._numbers import change, number
from triage.report._order import worst_first
from triage.report._say import Say, counted, signal_name
from triage.report._width import clean
from triage.texts import has

POISONED_NAMED: Final = 3
"""Checkpoints that are named as unusable; the restart plan names all."""

_TELLING: Final = {"level-shift": "plateau", "back-to-start": "back-to-start", "slow-rise": "slow-rise"}
"""Evidence that says how a run was lost → the sentence that tells it."""

_FROM_THE_START: Final = frozenset({"smooth-but-not-learning", "flat-loss", "accumulation-scaling"})
_HARMLESS: Final = frozenset({"always-clipped", "periodic-spikes", "heavy-tailed-noise", "slow-drift"})
"""Findings that were so from the first step, and those that leave nothing to go back from."""


def in_short_lines(say: Say, run: RunReport, width: int, *, is_named: bool = False) -> list[Line]:
    """The block of one run; nothing where there is nothing to say beyond the verdict.

    Args:
        say: the words.
        run: the run.
        width: cells per line.
        is_named: the heading names the run.
    """
    found = subject(run)
    if isinstance(found, Diagnosis):
        rows = _of_incident(say, run, found)
    elif isinstance(found, Finding):
        rows = _of_finding(say, found)
    elif run.verdict == "undetermined":
        rows = [
            ("what", line(say("in-short", "undetermined.what"))),
            ("run-first", line(say("in-short", "undetermined.do"))),
        ]
    else:
        return []
    name = clean(run.run_id) if is_named else None
    head = line(say("in-short", "heading", run=name), style="strong")
    labelled = [(say("in-short", f"label-{label}"), value) for label, value in rows]
    return [head, *indent(pairs(labelled, width - 2), 2)]


def subject(run: RunReport) -> Diagnosis | Finding | None:
    """What the block speaks of: the open incident, else the fault, else the worst incident, else the warning."""
    worst = worst_first(run.diagnoses)[0][1] if run.diagnoses else None
    errors = [found for found in run.findings if found.severity == "error"]
    warnings = [found for found in run.findings if found.severity == "warning"]
    if worst is not None and (worst.status == "unresolved" or not errors):
        return worst
    return next(iter([*errors, *warnings]), None)


# ── an incident ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_incident(say: Say, run: RunReport, found: Diagnosis) -> list[tuple[str, Line]]:
    return [
        ("what", line(_what(say, run, found), style="strong")),
        ("since", line(_since(say, found))),
        ("suspect", line(_suspect(say, found))),
        ("safe", line(_safe(say, run, found), style="warn" if found.last_healthy_step is None else "strong")),
        ("run-first", line(_first(say, found.checklist, found))),
        ("not-yet", line(_not_yet(say, found), style="bad" if found.status == "unresolved" else "plain")),
    ]


def _what(say: Say, run: RunReport, found: Diagnosis) -> str:
    """What the signal did, its class, and whether it is the worst of several."""
    kind = _kind(found)
    telling = next((e for e in found.evidence if _TELLING.get(e.id) == kind), None)
    is_worded = math.isfinite(found.peak_value) and found.baseline is not None
    text = say(
        "in-short",
        f"what.{kind}",
        signal=clean(found.signal),
        peak=number(found.peak_value),
        peak_step=found.peak_step,
        baseline=number(found.baseline) if is_worded else None,
        change=change(found.peak_value, found.baseline),
        points=counted(say, "n-points", found.n_points),
        n=found.n_excursions,
        onset=found.onset_step,
        last=found.end_step,
        recovered=found.recovered_step,
        observed=None if telling is None else number(telling.observed),
        first=None if found.first_nonfinite is None else signal_name(found.first_nonfinite.signal),
    )
    if found.status == "superseded":
        text += say("in-short", "what.superseded")
    elif found.censored:
        text += say("in-short", "what.censored")
    text = say("headings", "in-brackets", text=text, name=say("classes", f"{found.event_class}.name"))
    if len(run.diagnoses) > 1:
        n = next(n for n, one in enumerate(run.diagnoses, 1) if one is found)
        text = say("in-short", "what.worst", n=n, total=len(run.diagnoses)) + text
    return text


def _kind(found: Diagnosis) -> str:
    """Which sentence tells it: the first row that holds."""
    is_nonfinite = not math.isfinite(found.peak_value)
    told = next((_TELLING[e.id] for e in found.evidence if e.id in _TELLING), None)
    table = (
        (found.event_class == "first-step-nan" and is_nonfinite, "first-step"),
        (found.event_class == "first-step-nan", "first-step-gradient"),
        (found.event_class == "single-step" and is_nonfinite, "nonfinite-point"),
        (found.event_class == "single-step", "point"),
        (found.event_class == "consecutive" and is_nonfinite, "nonfinite-points"),
        (found.event_class == "consecutive" and found.n_excursions > 1, "several"),
        (found.event_class == "consecutive", "long"),
        (is_nonfinite and found.peak_step == found.onset_step, "nonfinite-at-once"),
        (is_nonfinite, "nonfinite-after"),
        (told is not None, str(told)),
        (True, "lost"),
    )
    return next(kind for holds, kind in table if holds)


def _since(say: Say, found: Diagnosis) -> str:
    low, high = found.onset_range
    mover = found.first_mover
    leads = mover is not None and mover.signal != found.signal and bool(mover.lead_steps)
    return say(
        "in-short",
        "since",
        step=found.onset_step,
        after=low if low is not None and high - low > 1 else None,
        shape=say("headings", "abrupt" if found.onset_abrupt else "slow"),
        mover=signal_name(mover.signal) if mover is not None and leads else None,
        lead=mover.lead_steps if mover is not None and leads else None,
    )


def _suspect(say: Say, found: Diagnosis | Finding) -> str:
    """The leading cause, never as if it were confirmed."""
    if not found.causes:
        return say("in-short", "no-suspect")
    cause = found.causes[0]
    name = say("causes", f"{cause.id}.name") if has("causes", f"{cause.id}.name") else clean(cause.id)
    return say("in-short", f"suspect.{cause.confidence}", cause=name)


def _safe(say: Say, run: RunReport, found: Diagnosis) -> str:
    step = found.last_healthy_step
    if step is None:
        return say("in-short", "safe.none")
    plan = found.restart
    unsettled = found.checklist is not None and any(
        one.id == "state-settled" and one.answer == "no" for one in found.checklist.steps
    )
    is_start = run.source.step_first is not None and step <= run.source.step_first
    kind = (
        "checkpoint"
        if plan is not None and plan.checkpoint
        else "too-late"
        if plan is not None and "no-safe-checkpoint" in plan.reasons
        else "superseded"
        if found.status == "superseded"
        else "unresolved"
        if found.status == "unresolved"
        else "unsettled"
        if unsettled
        else "recovered"
    )
    name = clean(plan.checkpoint or "") if plan is not None else ""
    text = say("in-short", f"safe.{kind}", step=step, checkpoint=name)
    return text + say("in-short", "safe.start") if is_start and kind in ("unresolved", "superseded") else text


def _first(say: Say, checklist: Checklist | None, found: Diagnosis | Finding) -> str:
    """The first experiment in a line."""
    steps = [] if checklist is None else ordered(checklist, found.causes)
    return brief(steps[0]) if steps else say("in-short", "no-experiment")


def _not_yet(say: Say, found: Diagnosis) -> str:
    kind = "superseded" if found.status == "superseded" else found.event_class
    text = say("in-short", f"not-yet.{kind}", healthy=found.last_healthy_step)
    named = () if found.restart is None else found.restart.poisoned_checkpoints
    if named:
        more = len(named) - POISONED_NAMED
        names = ", ".join(clean(name) for name in named[:POISONED_NAMED])
        text += say("in-short", "not-yet.poisoned", names=names, more=more if more > 0 else None)
    return text


# ── a finding ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_finding(say: Say, found: Finding) -> list[tuple[str, Line]]:
    means = say("findings", f"{found.id}.means") if has("findings", f"{found.id}.means") else clean(found.id)
    style: Style = "strong" if found.severity == "error" else "plain"
    branch = "" if found.checklist is None else found.checklist.id
    rows = [
        ("what", line(say("headings", "in-brackets", text=means, name=clean(found.id)), style=style)),
        ("since", line(say("in-short", "since-finding" if found.step is not None else "since-whole", step=found.step))),
        ("suspect", line(_suspect(say, found))),
        ("safe", line(_safe_finding(say, found))),
        ("run-first", line(_first(say, found.checklist, found))),
    ]
    if has("in-short", f"not-yet.{branch}"):
        rows.append(("not-yet", line(say("in-short", f"not-yet.{branch}", healthy=None))))
    return rows


def _safe_finding(say: Say, found: Finding) -> str:
    if has("in-short", f"safe.{found.id}"):
        return say("in-short", f"safe.{found.id}", step=found.step)
    if found.id in _FROM_THE_START:
        return say("in-short", "safe.from-the-start")
    if found.id in _HARMLESS or found.step is None:
        return say("in-short", "safe.harmless" if found.id in _HARMLESS else "safe.unknown")
    return say("in-short", "safe.before", step=found.step)
