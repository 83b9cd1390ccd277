"""`triage render`: a saved report in another form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from triage.cli import _flags as flag
from triage.cli._session import emit, inputs, look_of, renderer_of, settings_of
from triage.cli._write import check_output
from triage.errors import UnreadableError

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
    from triage.resolve import in_language

    settings = settings_of(locals())
    paths, _ = inputs([path], settings)
    check_output(output, paths)
    report = loads(_read(path))
    own = report.options.get("lang")
    look = look_of(settings, output)
    if lang is None and own in LANGUAGES:
        look = replace(look, lang=own)
    elif look.lang != own:
        report = in_language(report, look.lang)
    if checklist is not None:
        report = replace(report, options={**report.options, "checklist": settings.options().checklist})
    emit(renderer_of(settings, output).render(report, look), output)
    return 0


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
