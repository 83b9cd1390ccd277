"""What every command does around its work: settings, choice of input, look of the output, remarks, writing.

Separate so that a command is only flags → pipeline → renderer → exit code.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from triage.cli._write import check_output, print_whole, write_whole
from triage.errors import ExitCode, TriageError, UnreadableError, UsageError
from triage.report import BY_NAME, PIPED_WIDTH, RENDERERS, Look, Renderer
from triage.settings import KINDS, Settings, resolve
from triage.texts import text

if TYPE_CHECKING:
    from triage.model import Report

SILENCE_S: Final = 5.0
"""How long standard input that nobody named may stay silent; longer than a remote `cat` needs to start [choice]."""

PICKED_SHOWN: Final = 8
"""Logs that are named where the current directory was searched; the rest is counted."""

NARROWEST: Final = 40
"""Cells; below this nothing can be aligned."""


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Find every setting, from the parameters of a command (None = not given) and what lies below them."""
    named = {name.replace("_", "-"): value for name, value in given.items() if value is not None}
    flags = {name: value for name, value in named.items() if name in KINDS}
    if "map" in flags:
        flags["map"] = _mapping(flags["map"])
    if named.get("no-color"):
        flags["color"] = "never"
    return resolve(flags, os.environ, Path.cwd())


def look_of(settings: Settings, output: str | None) -> Look:
    """How the result is shown, by where it goes."""
    is_file = output not in (None, "-")
    is_terminal = not is_file and sys.stdout.isatty()
    return Look(
        lang=settings["lang"],
        width=_width(is_terminal=is_terminal),
        is_coloured=_is_coloured(settings["color"], is_terminal=is_terminal),
        is_unicode=is_file or _carries(sys.stdout.encoding),
    )


def renderer_of(settings: Settings, output: str | None) -> Renderer:
    """The output format: as asked for, else by the ending of the output file, else for the terminal."""
    name = settings["format"]
    if name is None:
        fitting = [found for found in RENDERERS if output and output.lower().endswith(found.suffixes)]
        return fitting[0] if fitting else RENDERERS[0]
    if name not in BY_NAME:
        raise UsageError(f"format is {name!r}", path=settings.origin("format"), hint=f"use one of {', '.join(BY_NAME)}")
    return BY_NAME[name]


def remark(settings: Settings, id: str, **placeholders: object) -> None:  # noqa: A002 - as in texts
    """Say something on standard error, unless --quiet."""
    if not settings["quiet"]:
        tell(text(settings["lang"], "messages", id, **placeholders))


def tell(message: str) -> None:
    """Write one line to standard error; a closed one is no reason to fail."""
    from triage.report.terminal import clean

    try:
        sys.stderr.write("".join(clean(line) + "\n" for line in message.split("\n")))
        sys.stderr.flush()
    except (OSError, ValueError, UnicodeEncodeError):
        return


def emit(rendered: str, output: str | None) -> None:
    """Print the result, or write it to a file whole; raises OutputError."""
    if output in (None, "-"):
        print_whole(rendered)
    else:
        assert output is not None  # noqa: S101 - tells the type checker what the line above says
        write_whole(output, lambda path: path.write_text(rendered, encoding="utf-8"))


def inputs(paths: Sequence[str] | None, settings: Settings) -> tuple[list[str], BinaryIO | None]:
    """What is read: the PATHs, or standard input if something is piped in, or the current directory.

    Raises:
        UnreadableError: standard input was chosen because it is a pipe, and nothing comes.
        UsageError: `-` where standard input is a terminal; a PATH without a character.
    """
    stdin = getattr(sys.stdin, "buffer", None)
    if paths and "" in paths:
        raise UsageError("a PATH is empty", hint="is the variable that should hold it set?")
    if paths:
        if "-" in paths and (stdin is None or sys.stdin.isatty()):
            raise UsageError("standard input is a terminal", hint="pipe a log into triage, or give a PATH")
        return list(paths), stdin if "-" in paths else None
    mode = _stdin_mode()
    if mode is None or stdin is None:
        remark(settings, "searching-here")
        return ["."], None
    if not stat.S_ISREG(mode):
        _await_first_byte()
    return ["-"], stdin


def judge(command: str, given: Mapping[str, Any], code_of: Callable[[Report], int] | None = None) -> int:
    """Analyze and print: the whole way of the commands that print a report.

    Args:
        command: analyze | spikes | inspect; which part of the report is shown.
        given: the parameters of the command.
        code_of: the exit code, where it is not that of the gate.
    """
    from triage import pipeline

    settings = settings_of(given)
    output = given.get("output")
    options = settings.options()
    renderer = renderer_of(settings, output)
    look = look_of(settings, output)
    paths, stdin = inputs(given.get("paths"), settings)
    check_output(output, paths)
    report = pipeline.analyze(paths, options, stdin=stdin)
    shown = {**report.options, "command": command, "worst": bool(given.get("worst"))}
    code = report.exit_code if code_of is None else code_of(report)
    report = replace(report, options=shown, exit_code=int(code))
    if not given.get("paths") and stdin is None:
        picked = [run.source.path for run in report.runs]
        more = len(picked) - PICKED_SHOWN
        shown_paths = ", ".join(picked[:PICKED_SHOWN]) or "–"
        remark(settings, "picked", paths=shown_paths, more=more if more > 0 else None)
    emit(renderer.render(report, look), output)
    if renderer.name != RENDERERS[0].name or output not in (None, "-"):
        for error in report.errors:
            complain(TriageError(error.message, path=error.path, hint=error.hint))
    return report.exit_code


def complain(error: TriageError) -> None:
    """Say on standard error what happened, where, and what to do."""
    where = f"{error.path}: " if error.path else ""
    tell(f"triage: {where}{error.message}" + (f"\n  {error.hint}" if error.hint else ""))


def wants_json(argv: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether the result was to be JSON, told from the raw arguments, where these could not be parsed."""
    for n, argument in enumerate(argv):
        if argument in ("--format=json", "-fjson"):
            return True
        if argument in ("--format", "-f"):
            return argv[n + 1 : n + 2] == ["json"]
    return environ.get("TRIAGE_FORMAT") == "json"


def failed_report(error: TriageError) -> str:
    """The JSON of a call that ended with an error before there was a report."""
    from triage.model import ReadError, Report
    from triage.report.json import dumps

    code = int(error.exit_code)
    return dumps(Report("undetermined", code, {}, (), (ReadError(error.path, code, error.message, error.hint),)))


def shown_code(report: Report) -> int:
    """The exit code of a command that only shows: 3 where a path could not be read, 4 where nothing can be shown."""
    codes = {error.exit_code for error in report.errors}
    if ExitCode.UNREADABLE in codes:
        return ExitCode.UNREADABLE
    return ExitCode.OK if report.runs else max(codes, default=ExitCode.OK)


def _mapping(given: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in given:
        left, mark, right = item.partition("=")
        if not (left.strip() and mark and right.strip()):
            raise UsageError(f"--map {item!r} names no column and source", hint="write --map loss=my/loss_name")
        pairs.update({left.strip(): right.strip()})
    return pairs


def _stdin_mode() -> int | None:
    """The file type of standard input if it can carry a log, else None (terminal, /dev/null, closed)."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return None
    return mode if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode) else None


def _await_first_byte() -> None:
    """Wait for standard input to speak or to end, but not for ever: nobody asked for it by name."""
    import select

    if not select.select([sys.stdin.fileno()], [], [], SILENCE_S)[0]:
        raise UnreadableError(
            f"nothing arrived on standard input within {SILENCE_S:.0f} s",
            path="-",
            hint="give a PATH, or - to wait for standard input",
        )


def _width(*, is_terminal: bool) -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return max(NARROWEST, int(columns))
    if is_terminal:
        return max(NARROWEST, os.get_terminal_size(sys.stdout.fileno()).columns or PIPED_WIDTH)
    return PIPED_WIDTH


def _is_coloured(color: str, *, is_terminal: bool) -> bool:
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"


def _carries(encoding: str | None) -> bool:
    """Whether an encoding has the drawn characters and Chinese."""
    try:
        "⣿┤×中".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
