"""Writing a result: to standard output in one go, or to a file whole or not at all.

Separate because `convert` writes files by other means than `analyze` and must be as careful.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from triage.errors import OutputError, UsageError


def check_output(output: str | None, paths: Sequence[str]) -> None:
    """Refuse an output that cannot be written, or that is an input, before the work is done.

    Raises:
        OutputError: no such folder, a folder itself, or not permitted.
        UsageError: the output is one of the inputs.
    """
    if output in (None, "-"):
        return
    assert output is not None  # noqa: S101 - tells the type checker what the line above says
    target = Path(os.path.realpath(output))
    if any(path != "-" and os.path.realpath(path) == str(target) and target.is_file() for path in paths):
        raise UsageError("the output is one of the inputs", path=output, hint="write to another file")
    if target.is_dir():
        raise OutputError("the output is a folder", path=output, hint="name a file in it")
    if not target.parent.is_dir():
        raise OutputError("the folder does not exist", path=output, hint="create it, or write elsewhere")
    if not os.access(target if _is_special(target) else target.parent, os.W_OK):
        raise OutputError("not permitted to write there", path=output, hint="choose another place")


def write_whole(output: str, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside the target and put it in place; what was there stays until then.

    Raises:
        OutputError: the file could not be written; nothing is left behind.
    """
    target = Path(os.path.realpath(output))
    try:
        if _is_special(target):
            write(target)
            return
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part")
        os.close(handle)
        draft = Path(name)
        try:
            write(draft)
            draft.chmod(_mode_for(target))
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"could not be written: {reason}", path=output, hint="choose another place") from error


def print_whole(text: str) -> None:
    """Print a result in one go; a reader that has gone away is no error.

    Raises:
        OutputError: standard output is full or closed.
    """
    stream = sys.stdout
    try:
        if hasattr(stream, "buffer"):
            stream.flush()
            stream.buffer.write(text.encode(stream.encoding or "utf-8", "replace"))
            stream.buffer.flush()
        else:
            stream.write(text)
            stream.flush()
    except BrokenPipeError:
        silence_stdout()
    except (OSError, ValueError) as error:
        silence_stdout()
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputError(f"standard output could not be written: {reason}", hint="write to a file with -o") from error


def silence_stdout() -> None:
    """Point standard output to nowhere, so that closing it at the end raises nothing either."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return


def _is_special(target: Path) -> bool:
    """A device or a pipe is written directly; it cannot be replaced."""
    try:
        mode = target.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _mode_for(target: Path) -> int:
    """Keep the permissions of what is replaced; a new file gets those of the umask."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
