"""One line per incident, as `spikes` prints them.

Separate because each command's view is a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triage.model import Report, RunReport
from triage.report._lines import BLANK, Line, indent, line, wrap
from triage.report._order import worst_first
from triage.report._run import error_lines, overall_lines, verdict_lines
from triage.report._say import Say
from triage.report._source import window_text
from triage.report._whole import list_lines


def spikes_lines(say: Say, report: Report, width: int) -> list[Line]:
    """Every run: its verdict, the window, and its incidents in the order of the log, or worst first where asked."""
    lines: list[Line] = []
    is_many = len(report.runs) + len(report.errors) > 1
    if is_many:
        lines += [*overall_lines(say, report, width), BLANK]
    most = int(report.options.get("max_incidents", len(report.runs)))
    windows = [_window(say, run, report.options, width, is_many=is_many) for run in report.runs]
    is_common = len(windows) > 1 and bool(windows[0]) and all(one == windows[0] for one in windows)
    if is_common:
        lines += [*windows[0], BLANK]
    for run, window in zip(report.runs, windows, strict=True):
        lines += verdict_lines(say, run, width, is_named=is_many)
        lines += [] if is_common else indent(window, 2)
        ranked = worst_first(run.diagnoses)
        shown = ranked[:most]
        if not report.options.get("worst"):
            shown = sorted(shown, key=lambda pair: pair[0])
        if shown:
            lines += [BLANK, *indent(list_lines(say, shown, width - 2), 2)]
        if len(ranked) > len(shown):
            lines += indent([line(say("headings", "left-out", n=len(ranked) - len(shown)), style="dim")], 2)
        lines.append(BLANK)
    lines += error_lines(report.errors, width)
    while lines and lines[-1] == BLANK:
        lines.pop()
    return lines


def _window(say: Say, run: RunReport, options: Mapping[str, Any], width: int, *, is_many: bool) -> list[Line]:
    """The window and its steps; the automatic one is told of a single run only, so that many runs stay readable."""
    if is_many and options.get("window") is None:
        return []
    text = window_text(say, run.source, options)
    return wrap(line(say("headings", "window-line", text=text), style="dim"), width - 2)
