"""Exit codes, and the exceptions that carry one.

    TriageError                what happened, where, what to do; carries an exit code
    ├── UsageError             2   bad arguments or configuration
    ├── UnreadableError        3   missing, empty, unknown format, not permitted, over a limit
    ├── UndeterminedError      4   read, but nothing in it can be judged
    └── OutputError            5   the result could not be written

Only these reach a user; anything else is an internal error (70).
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The published table of exit codes; it only grows."""

    OK = 0
    """Judged; nothing at or above `--fail-on`."""
    GATE = 1
    """Judged; at least one run at or above `--fail-on`."""
    USAGE = 2
    """Bad arguments or configuration."""
    UNREADABLE = 3
    """Could not read: missing, empty, unknown format, not permitted."""
    UNDETERMINED = 4
    """Read, but could not be judged."""
    OUTPUT = 5
    """The output could not be written."""
    INTERNAL = 70
    """A fault of triage itself."""
    INTERRUPTED = 130
    """Interrupted; what was written is whole."""


class TriageError(Exception):
    """A problem that a user can act on: what happened, where, and what to do about it."""

    exit_code: ExitCode = ExitCode.INTERNAL

    def __init__(self, message: str, *, path: str | None = None, hint: str | None = None) -> None:
        """Keep the message (what happened), the path (where) and the hint (what to do)."""
        super().__init__(message)
        self.message = message
        self.path = path
        self.hint = hint


class UsageError(TriageError):
    """Bad arguments or configuration."""

    exit_code = ExitCode.USAGE


class UnreadableError(TriageError):
    """A log that could not be read at all."""

    exit_code = ExitCode.UNREADABLE


class UndeterminedError(TriageError):
    """A log that was read but holds nothing that can be judged."""

    exit_code = ExitCode.UNDETERMINED


class OutputError(TriageError):
    """A result that could not be written."""

    exit_code = ExitCode.OUTPUT
