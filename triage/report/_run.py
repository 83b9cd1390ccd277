"""The frame around the incidents of a run: verdict, findings, what could not be judged, what would help, notices.

Separate from the incidents because every command shows some of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from triage.model import Finding, MissingMetric, Notice, NotJudged, ReadError, Report, RunReport
from triage.report._advice import advice_lines
from triage.report._lines import Line, Span, Style, indent, line, listed, wrap
from triage.report._numbers import number
from triage.report._order import worst_first
from triage.report._say import Say, counted, evidence_lines, values
from triage.report._width import clean, pad
from triage.texts import entries, has, placeholders_of

VERDICT_STYLES: Final[Mapping[str, Style]] = {
    "healthy": "good",
    "recovered": "good",
    "undetermined": "warn",
    "unresolved": "bad",
}
DECIDES_SHOWN: Final = 2
"""Causes that a missing metric would decide and that are named; the rest is counted."""

MISSING_SHOWN: Final = 5
"""Missing metrics that `analyze` names, most telling first; `inspect` names all."""

_SEVERITIES: Final[Mapping[str, Span]] = {"error": ("✗", "bad"), "warning": ("!", "warn"), "info": ("·", "dim")}


def verdict_lines(say: Say, run: RunReport, width: int, *, is_named: bool, word_width: int = 0) -> list[Line]:
    """The verdict in one line; with the name of the run where there are several.

    Args:
        say: the words.
        run: the run.
        width: cells per line.
        is_named: the name of the run stands before its verdict.
        word_width: cells of the word in front, so that several runs align.
    """
    word = pad(say("verdicts", f"{run.verdict}.word"), word_width)
    spans: list[Span] = [(word, VERDICT_STYLES[run.verdict]), ("  ", "plain")]
    if is_named:
        spans += [(clean(run.run_id), "strong"), (say("headings", "colon"), "plain")]
    spans.append((_verdict(say, run), "plain"))
    return wrap(tuple(spans), width, hanging=2)


def overall_lines(say: Say, report: Report, width: int) -> list[Line]:
    """One line over several runs: the worst verdict, and how many have which."""
    order = ("unresolved", "undetermined", "recovered", "healthy")
    counts = [(name, sum(run.verdict == name for run in report.runs)) for name in order]
    parts = [f"{n} {say('verdicts', f'{name}.name')}" for name, n in counts if n]
    if report.errors:
        parts.append(counted(say, "n-errors", len(report.errors)))
    return wrap(
        (
            (say("verdicts", f"{report.verdict}.word"), VERDICT_STYLES[report.verdict]),
            ("  " + say("headings", "all-runs", runs=counted(say, "n-runs", len(report.runs))), "plain"),
            (say("headings", "comma").join(parts), "plain"),
        ),
        width,
        hanging=2,
    )


def error_lines(errors: Sequence[ReadError], width: int) -> list[Line]:
    """Each path that could not be read or judged: where, what happened, what to do."""
    lines: list[Line] = []
    for error in errors:
        where = f"{clean(error.path)}: " if error.path else ""
        lines += listed(("✗", "bad"), ((where, "strong"), (clean(error.message), "plain")), width)
        if error.hint:
            lines += indent(listed(("→", "dim"), line(clean(error.hint)), width - 2), 2)
    return lines


def finding_lines(
    say: Say, findings: Sequence[Finding], width: int, *, extent: str, told: Collection[str] = ()
) -> list[Line]:
    """Each finding with its numbers and its advice; errors first.

    Args:
        say: the words.
        findings: of one run.
        width: cells per line.
        extent: that of `advice_lines`; context (severity info) shows its checklist in full only.
        told: ids of checklists that stand further up.
    """
    order = list(_SEVERITIES)
    lines: list[Line] = []
    known = set(told)
    for found in sorted(findings, key=lambda one: order.index(one.severity)):
        spans: list[Span] = [
            (say("headings", f"severity-{found.severity}") + " ", _SEVERITIES[found.severity][1]),
            (found.id, "strong"),
        ]
        if found.step is not None:
            spans.append((" · " + say("headings", "at-step", step=found.step), "plain"))
        if has("findings", f"{found.id}.means"):
            spans.append((" · " + say("findings", f"{found.id}.means"), "plain"))
        lines += listed(_SEVERITIES[found.severity], tuple(spans), width)
        lines += indent(evidence_lines(say, found.evidence, width - 4), 4)
        branch = None if found.checklist is None else found.checklist.id
        own = "none" if extent == "short" and found.severity == "info" else extent
        own = "told" if own != "none" and branch in known else own
        lines += indent(advice_lines(say, found.causes, found.checklist, None, width - 4, extent=own), 4)
        known |= {branch} if branch is not None and own != "none" else set()
    return lines


def not_judged_lines(say: Say, missed: Sequence[NotJudged], width: int) -> list[Line]:
    """Each detector that could not run, and what it would have needed."""
    lines: list[Line] = []
    for found in missed:
        needs = ", ".join(clean(column) for column in found.missing) or None
        text = say("headings", "not-judged-text", name=_detector(say, found.detector), needs=needs)
        lines += listed(("?", "warn"), line(text), width)
    return lines


def missing_lines(
    say: Say, missing: Sequence[MissingMetric], width: int, *, most: int | None = None, told: Collection[str] = ()
) -> list[Line]:
    """Each column that would have helped: what it decides, and under it how to log it.

    Args:
        say: the words.
        missing: most telling first.
        width: cells per line.
        most: how many are named; the rest is counted. None = all.
        told: columns whose setting stands further up.
    """
    lines: list[Line] = []
    for found in missing[:most]:
        comma = say("headings", "comma")
        decides = comma.join(_decided(say, name) for name in found.would_decide[:DECIDES_SHOWN]) or None
        more = len(found.would_decide) - DECIDES_SHOWN
        text = say("headings", "missing-text", decides=decides, more=more if more > 0 else None)
        lines += listed(("+", "accent"), ((clean(found.column), "strong"), (text, "plain")), width)
        is_told = found.column in told or not found.how
        lines += [] if is_told else indent(wrap(line(clean(found.how), style="dim"), width - 2), 2)
    left_out = 0 if most is None else len(missing) - most
    if left_out > 0:
        lines.append(line(say("headings", "missing-more", n=left_out), style="dim"))
    return lines


def notice_lines(say: Say, notices: Sequence[Notice], width: int) -> list[Line]:
    """Each notice in one sentence."""
    lines: list[Line] = []
    for found in notices:
        lines += listed(("·", "dim"), line(notice_text(say, found)), width)
    return lines


def notice_text(say: Say, found: Notice) -> str:
    """The sentence of a notice; what its detail holds beyond the sentence stands behind it in brackets."""
    detail = {name: value for name, value in values(found.detail).items() if value not in (None, "")}
    known = {"count": number(found.count), "where": _place(say, found.where), **detail}
    sentence = say("notices", found.id, **known)
    if not has("notices", found.id):
        return sentence
    used = placeholders_of(entries("notices")[found.id][say.lang])
    rest = [f"{name} {value}" for name, value in detail.items() if name not in used and value not in sentence]
    return f"{sentence} ({', '.join(rest)})" if rest else sentence


def _place(say: Say, where: str | None) -> str | None:
    """A place in the source in the language of the reader: line, byte, step; anything else as it stands."""
    if where is None:
        return None
    kind, _, n = where.partition(" ")
    if kind in ("line", "byte", "step") and n.isdigit():
        return say("headings", f"place-{kind}", n=n)
    return clean(where)


def _detector(say: Say, id: str) -> str:  # noqa: A002 - as in texts
    for kind, key in (("headings", f"detector-{id}"), ("findings", f"{id}.name")):
        if has(kind, key):
            return say(kind, key)
    return clean(id)


def _decided(say: Say, id: str) -> str:  # noqa: A002 - as in texts
    for kind in ("causes", "findings", "classes"):
        if has(kind, f"{id}.name"):
            return say(kind, f"{id}.name")
    return clean(id)


def _verdict(say: Say, run: RunReport) -> str:
    worst = worst_first(run.diagnoses)[0][1] if run.diagnoses else None
    told = {"unresolved": "incidents", "recovered": "incidents", "superseded": "superseded", "accepted": "accepted"}
    is_open = worst is not None and worst.status == "unresolved"
    if worst is not None and run.verdict in ("unresolved", "recovered") and is_open == (run.verdict == "unresolved"):
        return say(
            "verdicts",
            f"{run.verdict}.{told[worst.status]}",
            worst=say("classes", f"{worst.event_class}.name"),
            signal=clean(worst.signal),
            step=worst.onset_step,
            healthy=worst.last_healthy_step,
            incidents=counted(say, "n-incidents", len(run.diagnoses)) if len(run.diagnoses) > 1 else None,
        )
    if run.verdict == "unresolved":
        errors = [found.id for found in run.findings if found.severity == "error"]
        return say("verdicts", "unresolved.findings", findings=", ".join(errors) or None)
    if run.verdict == "recovered":
        return say("verdicts", "recovered.others", incidents=counted(say, "n-incidents", len(run.diagnoses)))
    if run.verdict == "healthy":
        warned = say("headings", "comma").join(found.id for found in run.findings if found.severity == "warning")
        rows = counted(say, "n-rows", run.source.rows)
        return say("verdicts", "healthy.warned" if warned else "healthy.text", rows=rows, findings=warned)
    if run.findings:
        return say("verdicts", "undetermined.findings", findings=", ".join(found.id for found in run.findings))
    return say("verdicts", "undetermined.text")
