"""`triage explain`: what a class, finding, cause, notice or exit code means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from triage.cli import _flags as flag
from triage.cli._session import emit, look_of, settings_of
from triage.cli._write import check_output

if TYPE_CHECKING:
    from triage.report.terminal import Shelf

Id = Annotated[
    str | None,
    typer.Argument(
        metavar="ID",
        help="An id of the output (single-step, loss-scale-collapse, data/bad-batch …), or a list: classes, statuses, "
        "verdicts, findings, causes, evidence, notices, exit-codes, checklists. Without ID: all lists.",
        show_default=False,
    ),
]


def explain(
    *,
    id: Id = None,  # noqa: A002 - the word of the contract
    output: flag.Output = None,
    lang: flag.Lang = None,
    no_color: flag.NoColor = None,
    debug: flag.Debug = False,
    version: flag.Version = False,
) -> int:
    """Explain an id of the output, or print a list of them.

    Exit code 0: explained; 2: there is no such id.
    """
    from triage.report import terminal

    settings = settings_of(locals())
    check_output(output, ())
    look = look_of(settings, output)
    emit(terminal.render_explained(id, decision_rows(), shelf(), look), output)
    return 0


def decision_rows() -> list[tuple[str, str, str]]:
    """The decision table as condition, class and status, in its order."""
    from triage.classify import TABLE

    return [(row.id, row.event_class, row.status) for row in TABLE]


def shelf() -> Shelf:
    """The checklists and lists: titles, and steps with nothing known about a log."""
    from triage.checklists import BRANCHES, LISTS
    from triage.model import Facts
    from triage.report.terminal import Shelf
    from triage.resolve import resolve, title

    return Shelf(BRANCHES, LISTS, title, lambda one, lang: resolve(one, Facts(), lang).steps)
