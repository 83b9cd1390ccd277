"""The command line: one file per command, each argv → settings → pipeline → renderer → exit code."""

from __future__ import annotations

import typer

from triage.cli import _flags as flag
from triage.cli.analyze import analyze
from triage.cli.config import config
from triage.cli.convert import convert
from triage.cli.explain import explain
from triage.cli.inspect import inspect
from triage.cli.render import render
from triage.cli.spikes import spikes

COMMANDS = (analyze, spikes, inspect, convert, explain, render, config)
"""Every command, in the order of `triage --help`."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: the styled one loads rich and takes twice as long
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    app.command()(command)


@app.callback()
def main(*, version: flag.Version = False, debug: flag.Debug = False) -> None:
    """Say what went wrong in a training run, which factor ran away first and what to do next, from the log alone."""
