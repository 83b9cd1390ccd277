"""`triage render`: a saved report in another form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triage.cli import _flags as flag
from triage.cli._session import emit, inputs, look_of, renderer_of, settings_of
from triage.cli._write import check_output
from triage.errors import UnreadableError, UsageError

if TYPE_CHECKING:
    from triage.model import Report

ReportPath = Annotated[
    str, typer.Argument(metavar="REPORT", help="A report that --format json wrote; - is standard input.")
]

Length = Annotated[
    str | None,
    typer.Option("--checklist", metavar="full|short|none", help="How much of the checklist is shown, as in analyze."),
]


def render(
    *,
    path: ReportPath,
    format: flag.Format = None,  # noqa: A002 - the name of the flag
    output: flag.Output = None,
    checklist: Length = None,
    lang: flag.Lang = None,
    quiet: flag.Quiet = None,
    no_color: flag.NoColor = None,
    debug: flag.Debug = False,
    version: flag.Version = False,
) -> int:
    """Show a saved report as the run that wrote it would have shown it.

    Language and length of the checklists are those of the report unless --lang and --checklist are given. Exit code
    0: shown; 2: bad arguments; 3: no report.
    """
    from dataclasses import replace

    from triage.options import LANGUAGES
    from triage.report.json import loads

    settings = settings_of(locals())
    paths, _ = inputs([path], settings)
    check_output(output, paths)
    report = loads(_read(path))
    own = report.options.get("lang")
    look = look_of(settings, output)
    if lang is None and own in LANGUAGES:
        look = replace(look, lang=own)
    elif look.lang != own:
        report = _in(report, look.lang, path)
    if checklist is not None:
        report = replace(report, options={**report.options, "checklist": settings.options().checklist})
    renderer = renderer_of(settings, output)
    try:
        shown = renderer.render(report, look)
    except (TypeError, AttributeError, ValueError, LookupError) as error:  # a file that a person may have edited
        raise UnreadableError(
            f"the report is damaged: {type(error).__name__}: {error}", path=path, hint="write it again from the log"
        ) from error
    emit(shown, output)
    return 0


def _in(report: Report, lang: str, path: str) -> Report:
    """The report in another language; one whose checklists are not of this triage cannot be told anew."""
    from triage.resolve import in_language

    try:
        return in_language(report, lang)
    except (TypeError, AttributeError, ValueError, LookupError, UsageError) as error:
        raise UnreadableError(
            f"the report cannot be told in {lang!r}: {error}", path=path, hint="leave --lang out"
        ) from error


def _read(path: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadableError(f"cannot read the report: {reason}", path=path, hint="check the path") from error
    except UnicodeDecodeError as error:
        raise UnreadableError(
            "this is not UTF-8 text", path=path, hint="give a report that `triage analyze --format json` wrote"
        ) from error
