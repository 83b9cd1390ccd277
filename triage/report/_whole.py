"""The whole story of a run, as `analyze` prints it.

Separate because each command's view is a file: this one, `_spikes.py`, `_inspect.py`, `_step.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.model import VERDICTS, Diagnosis, Question, Report, RunReport
from triage.options import Options
from triage.report._checklist import ANSWERS, settings_told
from triage.report._in_short import in_short_lines
from triage.report._incident import RIGHT, SPARE, incident_lines, short_head, short_line
from triage.report._lines import BLANK, Line, Span, indent, line, pairs, table, wrap
from triage.report._numbers import number
from triage.report._order import SHOWN_FULLY, worst_first
from triage.report._run import (
    MISSING_SHOWN,
    error_lines,
    finding_lines,
    missing_lines,
    not_judged_lines,
    notice_lines,
    overall_lines,
    verdict_lines,
)
from triage.report._say import Say, counted
from triage.report._source import columns_line, source_rows
from triage.report._width import cells

LISTED: Final = Options().max_incidents
"""Incidents that get a line of their own; the rest is counted."""

EXTENT: Final = Options().checklist
"""How much of a checklist is printed where the report does not say."""

RUNS_LISTED: Final = 12
"""Runs that get a line of their own above all of them; the rest is counted, so that the worst one is on the screen."""


def report_lines(say: Say, report: Report, width: int) -> list[Line]:
    """Every run of a report, then what could not be read."""
    lines: list[Line] = []
    is_many = len(report.runs) + len(report.errors) > 1
    if is_many:
        lines += [*overall_lines(say, report, width), *indent(_runs(say, report, width - 2), 2), BLANK]
        worst = max(report.runs, key=lambda run: VERDICTS.index(run.verdict), default=None)
        if worst is not None and worst is not report.runs[0]:
            short = in_short_lines(say, worst, width, is_named=True)
            lines += [*short, BLANK] if short else []
    for run in report.runs:
        lines += [*_run(say, run, report.options, width, is_named=is_many), BLANK]
    lines += error_lines(report.errors, width)
    while lines and lines[-1] == BLANK:
        lines.pop()
    return lines


def _runs(say: Say, report: Report, width: int) -> list[Line]:
    """One line per run, worst first; none for one run beside what could not be read."""
    if len(report.runs) < 2:
        return []
    ranked = sorted(report.runs, key=lambda run: VERDICTS.index(run.verdict), reverse=True)
    widest = max(cells(say("verdicts", f"{run.verdict}.word")) for run in ranked[:RUNS_LISTED])
    lines: list[Line] = []
    for run in ranked[:RUNS_LISTED]:
        lines += verdict_lines(say, run, width, is_named=True, word_width=widest)
    if len(ranked) > RUNS_LISTED:
        lines.append(line(say("headings", "runs-left-out", n=len(ranked) - RUNS_LISTED), style="dim"))
    return lines


def _run(say: Say, run: RunReport, options: Mapping[str, Any], width: int, *, is_named: bool) -> list[Line]:
    rows = source_rows(say, run.source, options, width)
    rows.append((say("headings", "columns"), columns_line(say, run.source)))
    short = in_short_lines(say, run, width)
    lines = [*verdict_lines(say, run, width, is_named=is_named), BLANK, *short, *([BLANK] if short else [])]
    lines += pairs(rows, width)
    if run.diagnoses:
        lines += [BLANK, *_incidents(say, run, options, width)]
    extent = str(options.get("checklist", EXTENT))
    told = {found.checklist.id for found in run.diagnoses if found.checklist is not None}
    columns = settings_told(run) if extent == "full" else ()
    sections = (
        ("findings", finding_lines(say, run.findings, width - 2, extent=extent, told=told)),
        ("questions", _questions(say, run.questions, width - 2)),
        ("not-judged", not_judged_lines(say, run.not_judged, width - 2)),
        ("missing", missing_lines(say, run.missing_metrics, width - 2, most=MISSING_SHOWN, told=columns)),
        ("notices", notice_lines(say, run.notices, width - 2)),
    )
    for heading, body in sections:
        if body:
            lines += [BLANK, line(say("headings", heading), style="strong"), *indent(body, 2)]
    return lines


def _incidents(say: Say, run: RunReport, options: Mapping[str, Any], width: int) -> list[Line]:
    ranked = worst_first(run.diagnoses)
    most = options.get("max_incidents", LISTED)
    fully = SHOWN_FULLY if most == LISTED else int(most)
    lines: list[Line] = []
    if len(ranked) > 1:
        lines += [*_roll_up(say, run, width), BLANK]
    extent = str(options.get("checklist", EXTENT))
    told: set[str] = set()
    for n, found in ranked[:fully]:
        is_told = extent != "none" and found.checklist is not None and found.checklist.id in told
        lines += [*incident_lines(say, n, found, run, width, extent="again" if is_told else extent), BLANK]
        if found.checklist is not None:
            told.add(found.checklist.id)
    rest = ranked[fully : max(fully, LISTED)]
    if rest:
        lines += [line(say("headings", "more-incidents", n=len(rest)), style="strong")]
        lines += indent(list_lines(say, rest, width - 2), 2)
    left_out = len(ranked) - fully - len(rest)
    if left_out > 0:
        lines += indent([line(say("headings", "left-out", n=left_out), style="dim")], 2)
    while lines and lines[-1] == BLANK:
        lines.pop()
    return lines


def list_lines(say: Say, numbered: Sequence[tuple[int, Diagnosis]], width: int) -> list[Line]:
    """One aligned line per incident, under a head."""
    head: list[Span] = [("#", "dim"), *short_head(say)]
    rows: list[list[Span]] = [[(str(n), "dim"), *short_line(say, found)] for n, found in numbered]
    right = frozenset({0, *(column + 1 for column in RIGHT)})
    return table([head, *rows], right=right, width=width, spare=[column + 1 for column in SPARE])


def _roll_up(say: Say, run: RunReport, width: int) -> list[Line]:
    """How many incidents there are, how often they come, and how many are in which state."""
    states = [
        f"{n} {say('statuses', f'{status}.name')}"
        for status in ("unresolved", "recovered", "superseded", "accepted")
        if (n := sum(found.status == status for found in run.diagnoses))
    ]
    spans: list[Span] = [
        (counted(say, "n-incidents", len(run.diagnoses)), "strong"),
        (say("headings", "colon") + say("headings", "comma").join(states), "plain"),
    ]
    rate = _rate(run)
    if rate is not None:
        spans.append((" · " + say("headings", "rate", n=rate), "dim"))
    return wrap(tuple(spans), width, hanging=2)


def _rate(run: RunReport) -> str | None:
    """Incidents per 1,000 steps; None without a span of steps."""
    first, last = run.source.step_first, run.source.step_last
    if first is None or last is None or last <= first:
        return None
    return number(float(f"{1000 * len(run.diagnoses) / (last - first + 1):.2g}"))


def _questions(say: Say, questions: Sequence[Question], width: int) -> list[Line]:
    """The sorting questions with their answers; nothing where this log answers none of them."""
    if all(question.answer == "unknown" for question in questions):
        return []
    lines: list[Line] = []
    for question in questions:
        text = say("headings", f"question-{question.id}")
        lines += wrap((ANSWERS[question.answer], (f" {text}", "plain")), width, hanging=2)
    return lines
