"""What follows from an incident or a finding: ranked causes, the checklist branch, the restart plan.

Separate because incidents and findings carry the same advice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from triage.model import Cause, Checklist, Restart
from triage.report._checklist import checklist_lines
from triage.report._lines import BLANK, Line, Style, indent, line, wrap
from triage.report._numbers import number
from triage.report._restart import restart_lines
from triage.report._say import Say, evidence_lines
from triage.texts import has

_CAUSE_STYLES: Final[Mapping[str, Style]] = {"likely": "strong", "possible": "plain", "weak": "dim"}


def advice_lines(
    say: Say,
    causes: Sequence[Cause],
    checklist: Checklist | None,
    restart: Restart | None,
    width: int,
    *,
    extent: str,
    log_starts: int | None = None,
) -> list[Line]:
    """Causes, checklist and restart plan; what is not there takes no line.

    Args:
        say: the words.
        causes: ranked causes.
        checklist: the branch that fits.
        restart: the restart plan.
        width: cells per line.
        extent: how much of the checklist is printed: full | short | again | told (see `checklist_lines`) | none.
        log_starts: first step of the log, for the plan.
    """
    lines: list[Line] = []
    if causes:
        lines += [BLANK, line(say("headings", "causes"), style="strong")]
        for n, cause in enumerate(causes, 1):
            lines += indent(_cause(say, n, cause, width - 2), 2)
    if checklist is not None and checklist.steps and extent != "none":
        lines += [BLANK, *checklist_lines(say, checklist, causes, width, extent=extent)]
    if restart is not None:
        lines += [BLANK, line(say("headings", "restart"), style="strong")]
        lines += indent(restart_lines(say, restart, width - 2, log_starts=log_starts), 2)
    return lines


def _cause(say: Say, n: int, cause: Cause, width: int) -> list[Line]:
    head: Line = (
        (f"{n}. ", "plain"),
        (say("causes", f"{cause.id}.name"), _CAUSE_STYLES[cause.confidence]),
        (f" ({cause.id})" if has("causes", f"{cause.id}.name") else "", "dim"),
        (" · " + say("headings", f"cause-{cause.confidence}", score=number(cause.score)), "plain"),
    )
    return [*wrap(head, width, hanging=3), *indent(evidence_lines(say, cause.evidence, width - 3), 3)]
