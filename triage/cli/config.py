"""`triage config`: every setting, its value and where it came from."""

from __future__ import annotations

from triage.cli import _flags as flag
from triage.cli._session import emit, look_of, renderer_of, settings_of
from triage.cli._write import check_output


def config(
    *,
    format: flag.Format = None,  # noqa: A002 - the name of the flag
    output: flag.Output = None,
    lang: flag.Lang = None,
    no_color: flag.NoColor = None,
    debug: flag.Debug = False,
    version: flag.Version = False,
) -> int:
    """List every setting, its value and where it came from.

    Defaults are overridden by triage.toml or [tool.triage] in pyproject.toml, these by TRIAGE_* variables, these by
    flags.
    """
    from triage.report import json, terminal

    settings = settings_of(locals())
    check_output(output, ())
    rows = [(name, found.value, found.origin) for name, found in settings.values.items()]
    if renderer_of(settings, output).name == json.RENDERER.name:
        emit(json.dumps_settings(rows), output)
    else:
        emit(terminal.render_settings(rows, look_of(settings, output)), output)
    return 0
