"""`triage explain`: what a class, finding, cause, notice or exit code means."""

from __future__ import annotations

import re
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
    from triage.checklists import BRANCHES, LISTS, load_branch
    from triage.report.terminal import Shelf

    def title(one: str, lang: str) -> str:
        return str(getattr(load_branch(one).title, lang))

    return Shelf((*BRANCHES, *LISTS), title, bare_steps)


def bare_steps(one: str, lang: str) -> list[tuple[str, str]]:
    """Kind and text of each step: a question of the log as it is asked, anything else as it stands in a report."""
    from triage.checklists import load_branch, load_placeholders
    from triage.model import Facts
    from triage.resolve import resolve

    words = {f"{{{name}}}": getattr(found.unknown, lang) for name, found in load_placeholders().items()}
    bare = {step.id: step.text for step in resolve(one, Facts(), lang).steps}
    steps: list[tuple[str, str]] = []
    for step in load_branch(one).steps:
        text = bare[step.id]
        if step.kind == "log":
            text = re.sub(r"\{\w+\}", lambda found: words.get(found[0], found[0]), getattr(step.text, lang))
        steps.append((step.kind, text))
    return steps
