"""The command `triage`: runs the command line and turns every way out into its published exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from triage.errors import ExitCode, OutputError, TriageError, UsageError


def run() -> NoReturn:
    """Run the command line with the arguments of the process and leave with its exit code."""
    _open_closed()
    sys.exit(main(sys.argv[1:]))


def _open_closed() -> None:
    """Give a process that was started with closed streams empty ones: the exit code is worth having without them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - open to the end


def main(argv: Sequence[str]) -> int:
    """Run the command line and give its exit code; no exception leaves it, except with --debug."""
    is_debug = "--debug" in argv or os.environ.get("TRIAGE_DEBUG", "") not in ("", "0")
    try:
        return _called(argv)
    except TriageError as error:
        return _failed(error, argv)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        from triage.cli._write import silence_stdout

        silence_stdout()
        return int(ExitCode.OK)
    except Exception as error:  # noqa: BLE001 - the last stop: whatever it is, a person gets one line and a code
        return _broke(error, is_debug=is_debug)


def _called(argv: Sequence[str]) -> int:
    import typer

    from triage.cli import app

    try:
        code = typer.main.get_command(app).main(args=list(argv), prog_name="triage", standalone_mode=False)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except Exception as error:
        # typer's argument errors have no public base class; all of them can format themselves
        words = getattr(error, "format_message", None)
        if words is None or isinstance(error, TriageError):
            raise
        raise UsageError(words() or "no command", hint=_help_hint(error)) from error
    return int(code or 0)


def _help_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{getattr(context, 'command_path', None) or 'triage'} --help lists what there is"


def _failed(error: TriageError, argv: Sequence[str]) -> int:
    """Say what happened on standard error; where JSON was asked for, standard output gets it too."""
    from triage.cli._session import complain, failed_report, wants_json
    from triage.cli._write import print_whole

    complain(error)
    if error.exit_code <= ExitCode.UNDETERMINED and wants_json(argv, os.environ):
        try:
            print_whole(failed_report(error))
        except OutputError as second:
            complain(second)
            return int(second.exit_code)
    return int(error.exit_code)


def _broke(error: Exception, *, is_debug: bool) -> int:
    try:
        from triage.cli._session import tell
    except Exception:  # noqa: BLE001 - a broken install: the error may be in this very import

        def tell(message: str) -> None:
            sys.stderr.write(message + "\n")

    if is_debug:
        import traceback

        traceback.print_exc()
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" ({os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno})"  # noqa: PTH119
    tell(f"triage: internal error: {type(error).__name__}: {error}{where}")
    if not is_debug:
        tell("  Please report it with the output of the same command and --debug, and of `triage --version`.")
    return int(ExitCode.INTERNAL)


if __name__ == "__main__":
    run()
