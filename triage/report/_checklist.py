"""A checklist for a person at a terminal: what the log answers first, then what to run, then what must wait.

Separate from `_advice.py` because it is the longest part of the output and is laid out for scanning: one line per
answered question, the open ones in one group, experiments numbered, locked actions by their short lines only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.checklists import BRANCHES, load_branch
from triage.model import Cause, Checklist, ChecklistStep, RunReport
from triage.report._lines import BLANK, PROSE_WIDTH, Line, Span, indent, line, listed, pairs, wrap
from triage.report._say import Say, counted
from triage.report._width import clean

ANSWERS: Final[Mapping[str, Span]] = {"yes": ("✓", "accent"), "no": ("✗", "accent"), "unknown": ("?", "warn")}
"""What stands before a question: the answer of the log. Neither answer is good or bad, so neither is green or red."""

OUTCOME: Final = "- "
"""How a line of an experiment begins that says what an outcome means."""

_NAMED_CAUSES: Final = ("likely", "possible")
"""Causes strong enough to choose the first experiment."""


def checklist_lines(
    say: Say, checklist: Checklist, causes: Sequence[Cause], width: int, *, extent: str = "full"
) -> list[Line]:
    """A branch under its title.

    Args:
        say: the words.
        checklist: the branch, resolved against the log.
        causes: ranked causes; the leading one chooses the first experiment.
        width: cells per line.
        extent: full | short (what the log answers, the first experiment, what must wait) | again (what the log answers;
            the rest stands further up) | told (all of it stands further up).
    """
    title = line(say("headings", f"checklist-{extent}", title=title_of(say, checklist)), style="strong")
    head = wrap(title, width, hanging=2)
    groups = [] if extent == "told" else [_answered(say, checklist, width - 2, is_told=extent == "again")]
    if extent == "full":
        groups += [
            _open(say, checklist, width - 2),
            _called_for(say, checklist, width - 2),
            _experiments(say, ordered(checklist, causes), width - 2, heading="do-next"),
            _locked(say, checklist, causes, width - 2),
            _fixed(say, checklist, width - 2),
            wrap(line(say("headings", "checklist-explain", id=checklist.id), style="dim"), width - 2),
        ]
    elif extent == "short":
        groups += [
            _called_for(say, checklist, width - 2),
            _experiments(say, ordered(checklist, causes)[:1], width - 2, heading="first-experiment"),
            _waiting(say, checklist, width - 2),
            _left_out(say, checklist, width - 2),
        ]
    lines = list(head)
    for group in groups:
        lines += [BLANK] if group and len(lines) > len(head) else []
        lines += indent(group, 2)
    return lines


def title_of(say: Say, checklist: Checklist) -> str:
    """The title of a branch; its id where this version does not know it."""
    return load_branch(checklist.id).title.in_language(say.lang) if checklist.id in BRANCHES else clean(checklist.id)


def ordered(checklist: Checklist, causes: Sequence[Cause]) -> list[ChecklistStep]:
    """The experiments, the one that tests the leading cause first; else in the order of the branch."""
    experiments = [step for step in checklist.steps if step.kind == "experiment"]
    for cause in causes:
        fitting = [step for step in experiments if cause.confidence in _NAMED_CAUSES and _tests(step, cause.id)]
        if fitting:
            return [fitting[0], *(step for step in experiments if step is not fitting[0])]
    return experiments


def brief(step: ChecklistStep) -> str:
    """A step in one line; the first line of its text where it has no short one."""
    return clean(words_of(step).get("brief") or step.text.split("\n")[0])


def words_of(step: ChecklistStep) -> Mapping[str, str]:
    """The pieces of a step's text; empty for a report that does not hold them."""
    found: Any = step.detail.get("words")
    return found if isinstance(found, Mapping) else {}


def prose_lines(text: str, width: int) -> list[Line]:
    """A text whose lines stay lines: rows that begin with blanks as they are, outcomes behind an arrow."""
    lines: list[Line] = []
    for one in text.split("\n"):
        if one.startswith(OUTCOME):
            lines += listed(("→", "accent"), _outcome(clean(one.removeprefix(OUTCOME))), width)
        elif one.startswith(" "):
            lead = len(one) - len(one.lstrip(" "))
            lines += indent(wrap(line(clean(one.lstrip(" "))), width - lead), lead)
        else:
            lines += wrap(line(clean(one)), min(width, PROSE_WIDTH))
    return lines


def _outcome(text: str) -> Line:
    """What is seen, set off from what it means."""
    for colon in (": ", "："):
        seen, mark, meaning = text.partition(colon)
        if mark:
            return ((seen, "strong"), (mark + meaning, "plain"))
    return ((text, "plain"),)


def _tests(step: ChecklistStep, cause: str) -> bool:
    found = step.detail.get("tests") or ()
    return any(cause == one or (str(one).endswith("/") and cause.startswith(str(one))) for one in found)


def _answered(say: Say, checklist: Checklist, width: int, *, is_told: bool) -> list[Line]:
    """Where to look first, then each question that the log answers."""
    lines: list[Line] = []
    for step in checklist.steps:
        if step.kind != "log":
            continue
        words = words_of(step)
        if step.answer != "unknown":
            lines += question_lines(say, step, width)
        elif not words.get("brief") and not is_told:
            lines += listed(("→", "accent"), line(clean(words.get("ask") or step.text)), width)
    return lines


def question_lines(say: Say, step: ChecklistStep, width: int) -> list[Line]:
    """A question with its answer and number in a line, what it means under it."""
    words = words_of(step)
    if not words.get("brief"):
        return listed(ANSWERS[step.answer], line(clean(step.text)), width)
    said = words.get("said")
    text = say("headings", f"answer-{step.answer}", said=clean(said) if said else None)
    spans: Line = ((brief(step), "plain"), (" → ", "dim"), (text, "strong"))
    lines = listed(ANSWERS[step.answer], spans, width)
    if words.get("meaning"):
        lines += indent(wrap(line(clean(words["meaning"])), min(width, PROSE_WIDTH) - 2), 2)
    return lines


def _open(say: Say, checklist: Checklist, width: int) -> list[Line]:
    """The questions that the log leaves open, and which column would answer them."""
    found = _unanswered(checklist)
    if not found:
        return []
    lines: list[Line] = [line(say("headings", "checklist-open"), style="strong")]
    settings: dict[str, str] = {}
    for step in found:
        said = "" if step.detail.get("missing") else words_of(step).get("said", "")
        numbers = say("headings", "behind", text=clean(said)) if said else ""
        spans: Line = ((brief(step), "plain"), (numbers, "dim"))
        lines += indent(listed(ANSWERS["unknown"], spans, width - 2), 2)
        settings |= {str(name): str(how) for name, how in (step.detail.get("how") or {}).items()}
    rows = [(say("headings", "log-column", column=clean(name)), line(clean(how))) for name, how in settings.items()]
    return [*lines, *indent(pairs(rows, width - 2), 2)]


def settings_told(run: RunReport) -> frozenset[str]:
    """The columns whose setting a full checklist of the run names."""
    found = [*(one.checklist for one in run.diagnoses), *(one.checklist for one in run.findings)]
    steps = [step for one in found if one is not None for step in _unanswered(one)]
    return frozenset(str(name) for step in steps for name in step.detail.get("how") or {})


def _unanswered(checklist: Checklist) -> list[ChecklistStep]:
    return [s for s in checklist.steps if s.kind == "log" and s.answer == "unknown" and words_of(s).get("brief")]


def _called_for(say: Say, checklist: Checklist, width: int) -> list[Line]:
    """Actions that the log itself confirms."""
    found = _actions(checklist, "yes")
    lines: list[Line] = [line(say("headings", "checklist-called-for"), style="strong")] if found else []
    for step in found:
        lines += indent(listed(("→", "accent"), line(clean(words_of(step).get("ask") or step.text)), width - 2), 2)
    return lines


def _experiments(say: Say, steps: Sequence[ChecklistStep], width: int, *, heading: str) -> list[Line]:
    lines: list[Line] = [line(say("headings", f"checklist-{heading}"), style="strong")] if steps else []
    for n, step in enumerate(steps, 1):
        number = f"{n}. "
        body = prose_lines(words_of(step).get("ask") or step.text, width - 2 - len(number))
        lines.append(((f"  {number}", "strong"), *body[0]))
        lines += indent(body[1:], 2 + len(number))
    return lines


def _locked(say: Say, checklist: Checklist, causes: Sequence[Cause], width: int) -> list[Line]:
    """Actions that wait for an experiment, and those that the log excludes: one line each."""
    numbers = {step.id: n for n, step in enumerate(ordered(checklist, causes), 1)}
    lines: list[Line] = []
    for answer, heading in (("unknown", "checklist-locked"), ("no", "checklist-excluded")):
        found = _actions(checklist, answer)
        lines += [line(say("headings", heading), style="strong")] if found else []
        for step in found:
            after = [str(numbers[name]) for name in step.detail.get("confirm") or () if name in numbers]
            text = say("headings", "after-experiments", n=", ".join(after)) if after and answer == "unknown" else ""
            lines += indent(listed(("·", "dim"), ((brief(step), "plain"), (text, "dim")), width - 2), 2)
    return lines


def _waiting(say: Say, checklist: Checklist, width: int) -> list[Line]:
    """Actions that must not be done yet, in one sentence."""
    found = [brief(step) for step in _actions(checklist, "unknown")]
    if not found:
        return []
    text = say("headings", "semicolon").join(found)
    head: Span = (say("headings", "checklist-waiting"), "strong")
    return wrap((head, (text, "plain")), min(width, PROSE_WIDTH), hanging=2)


def _actions(checklist: Checklist, answer: str) -> list[ChecklistStep]:
    return [step for step in checklist.steps if step.kind == "action" and step.answer == answer]


def _fixed(say: Say, checklist: Checklist, width: int) -> list[Line]:
    found = [step for step in checklist.steps if step.kind == "verify"]
    lines: list[Line] = [line(say("headings", "checklist-fixed"), style="strong")] if found else []
    for step in found:
        lines += indent(prose_lines(words_of(step).get("ask") or step.text, width - 2), 2)
    return lines


def _left_out(say: Say, checklist: Checklist, width: int) -> list[Line]:
    """How much more `--checklist full` shows."""
    n_open = len(_unanswered(checklist))
    n_more = max(0, sum(step.kind == "experiment" for step in checklist.steps) - 1)
    parts = [counted(say, "n-open", n_open)] if n_open else []
    parts += [counted(say, "n-experiments", n_more)] if n_more else []
    if not parts:
        return []
    text = say("headings", "checklist-left-out", parts=say("headings", "comma").join(parts))
    return wrap(line(text, style="dim"), width)
