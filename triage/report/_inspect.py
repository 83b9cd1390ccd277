"""What was understood of a log on one screen, as `inspect` prints it.

Separate because each command's view is a file.
"""

from __future__ import annotations

from triage.model import Report, RunReport
from triage.report._lines import BLANK, Line, Span, indent, line, pairs, table, wrap
from triage.report._numbers import number
from triage.report._run import error_lines, missing_lines, not_judged_lines, notice_lines
from triage.report._say import Say, values
from triage.report._source import source_rows, understood
from triage.report._width import clean, clip

OTHERS_SHOWN = 12
"""Columns without a canonical meaning that are named; the rest is counted."""


def inspect_lines(say: Say, report: Report, width: int) -> list[Line]:
    """Every run: source, columns, gaps in what can be judged, notices."""
    lines: list[Line] = []
    for run in report.runs:
        lines += [*_run(say, report, run, width), BLANK]
    lines += error_lines(report.errors, width)
    while lines and lines[-1] == BLANK:
        lines.pop()
    return lines


def _run(say: Say, report: Report, run: RunReport, width: int) -> list[Line]:
    lines = [line(clean(run.run_id), style="strong")]
    rows = source_rows(say, run.source, report.options, width)
    if run.source.config:
        config = ", ".join(f"{clean(name)}={value or '–'}" for name, value in values(run.source.config).items())
        rows.append((say("headings", "config"), line(clip(config, 4 * width))))
    lines += pairs(rows, width)
    lines += [BLANK, line(say("headings", "columns-title"), style="strong"), *indent(_columns(say, run, width - 2), 2)]
    sections = (
        ("not-judged", not_judged_lines(say, run.not_judged, width - 2)),
        ("missing", missing_lines(say, run.missing_metrics, width - 2)),
        ("notices", notice_lines(say, run.notices, width - 2)),
    )
    for heading, body in sections:
        if body:
            lines += [BLANK, line(say("headings", heading), style="strong"), *indent(body, 2)]
    return lines


def _columns(say: Say, run: RunReport, width: int) -> list[Line]:
    known, others = understood(run.source)
    lines: list[Line] = []
    if known:
        names = ("name", "from", "points", "nonfinite", "inferred", "steps", "last")
        rows: list[list[Span]] = [[(say("headings", f"column-{name}"), "dim") for name in names]]
        room = max(12, width // 3)
        for name in known:
            column = run.source.columns[name]
            steps = "–" if column.first_step is None else f"{column.first_step}–{column.last_step}"
            logged = column.nonfinite - column.inferred
            rows.append(
                [
                    (clean(name), "strong"),
                    (clip(clean(column.source), room), "plain"),
                    (str(column.points), "plain"),
                    (str(logged), "bad" if logged else "dim"),
                    (str(column.inferred), "bad" if column.inferred else "dim"),
                    (steps, "plain"),
                    (number(column.last) or "–", "plain"),
                ]
            )
        lines += table(rows, right=frozenset({2, 3, 4, 5, 6}), width=width, spare=(6, 5, 1))
    else:
        lines += wrap(line(say("headings", "no-columns"), style="warn"), width)
    if others:
        named = ", ".join(clean(name) for name in others[:OTHERS_SHOWN])
        more = len(others) - OTHERS_SHOWN
        text = say("headings", "others-named", names=named, more=more if more > 0 else None)
        lines += wrap(line(text, style="dim"), width, hanging=2)
    return lines
