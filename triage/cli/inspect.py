"""`triage inspect`: what was understood of a log; with --at, every decision at one step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from triage.cli import _flags as flag
from triage.cli._session import emit, inputs, judge, look_of, renderer_of, settings_of, shown_code
from triage.cli._write import check_output
from triage.errors import UsageError

At = Annotated[
    int | None, typer.Option(metavar="STEP", help="Show the numbers around this step and every decision made there.")
]


def inspect(
    *,
    paths: flag.Paths = None,
    at: At = None,
    window: flag.Window = None,
    map: flag.Map = None,  # noqa: A002 - the name of the flag
    signal: flag.Signal = None,
    direction: flag.Direction = None,
    from_step: flag.FromStep = None,
    to_step: flag.ToStep = None,
    segment: flag.Segment = None,
    sensitivity: flag.Sensitivity = None,
    join: flag.Join = None,
    grammars: flag.Grammars = None,
    format: flag.Format = None,  # noqa: A002 - the name of the flag
    output: flag.Output = None,
    lang: flag.Lang = None,
    quiet: flag.Quiet = None,
    no_color: flag.NoColor = None,
    debug: flag.Debug = False,
    version: flag.Version = False,
) -> int:
    """Show what was understood: format, columns, points, restarts, what is missing.

    Exit code 0: shown; 2: bad arguments; 3: could not read; 4: nothing can be shown.
    """
    given = locals()
    if at is not None:
        return _at_step(at, given)
    return judge("inspect", given, shown_code)


def _at_step(step: int, given: Mapping[str, Any]) -> int:
    from triage import pipeline
    from triage.report import json, terminal

    settings = settings_of(given)
    output = given["output"]
    renderer = renderer_of(settings, output)
    look = look_of(settings, output)
    options = settings.options()
    paths, stdin = inputs(given["paths"], settings)
    if len(paths) != 1:
        raise UsageError("--at looks into one run", hint="give one PATH")
    check_output(output, paths)
    view = pipeline.explain_step(paths[0], step, options, stdin=stdin)
    if renderer.name == json.RENDERER.name:
        emit(json.dumps_step(view), output)
    else:
        emit(terminal.render_step(view, look), output)
    return 0
