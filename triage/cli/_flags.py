"""The flags that commands share, as types: name, help, form.

Separate so that every command spells a flag in the same way; what a flag means is in `options.py`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from triage._version import version


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"triage {version()}")
        raise typer.Exit


_INPUT = "Which part is read and judged"
_OUTPUT = "What is printed"

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH",
        help="Files, directories or globs, each its own run; - is standard input. Without PATH: standard input if "
        "something is piped in, else the current directory is searched.",
        show_default=False,
    ),
]
Window = Annotated[
    int | None,
    typer.Option(metavar="POINTS", help="Length of the baseline in logged points. Default: 32 early, 128 later."),
]
FailOn = Annotated[
    str | None,
    typer.Option(metavar="never|unresolved|any", help="What makes the exit code 1. Default: unresolved."),
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map", metavar="NAME=SOURCE", help="Read SOURCE as the column NAME, as in loss=my/loss. Repeatable."
    ),
]
Signal = Annotated[
    str | None, typer.Option(metavar="NAME", help="Judge this column as the main one instead of the loss.")
]
Direction = Annotated[str | None, typer.Option(metavar="up|down", help="Which way is bad for --signal. Default: up.")]
FromStep = Annotated[int | None, typer.Option(metavar="STEP", help="First step that is judged.")]
ToStep = Annotated[int | None, typer.Option(metavar="STEP", help="Last step that is judged.")]
Segment = Annotated[str | None, typer.Option(metavar="last", help="Judge only what came after the last restart.")]
Sensitivity = Annotated[
    str | None, typer.Option(metavar="low|normal|high", help="How far a value must stray. Default: normal.")
]
MaxIncidents = Annotated[
    int | None,
    typer.Option(metavar="N", help="Show at most N incidents in full. Default: 3 in full, 100 in a line each."),
]
Join = Annotated[bool | None, typer.Option("--join", help="All PATHs are one run (train and eval files, ranks).")]
Checkpoints = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Folder of the saved states; tells which are safe to restart from."),
]
CheckpointEvery = Annotated[
    int | None, typer.Option(metavar="STEPS", help="Steps between saved states, where no folder or log line tells.")
]
Batches = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Second file with columns per batch (lengths, tokens), joined by step."),
]
Grammars = Annotated[
    str | None, typer.Option(metavar="FILE", help="Line grammars of your own for console text (docs/grammars.md).")
]
Checklist = Annotated[
    str | None,
    typer.Option(
        metavar="full|short|none",
        help="How much of the checklist the terminal shows. short: what this log answers, the first experiment, and "
        "what must wait; full: all of it. JSON always holds all. Default: short.",
    ),
]
Worst = Annotated[bool | None, typer.Option("--worst", help="Worst incident first instead of the order of the log.")]
Format = Annotated[str | None, typer.Option("--format", "-f", metavar="terminal|json", help="Form of the result.")]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the result to FILE, whole or not at all."),
]
Lang = Annotated[str | None, typer.Option(metavar="en|zh", help="Language. Default: TRIAGE_LANG, then the locale.")]
Quiet = Annotated[bool | None, typer.Option("--quiet", "-q", help="No remarks on standard error.")]
NoColor = Annotated[bool | None, typer.Option("--no-color", help="No colours; the variable NO_COLOR does the same.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")]
Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
]
