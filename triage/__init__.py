"""Says what went wrong in a training run, which factor ran away first and what to do next, from the log alone.

    import triage
    report = triage.analyze("logs/train.jsonl")
    for table in triage.read("logs/"):
        print(table.run_id, table.frame)

Everything heavy is imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from triage.options import Options

if TYPE_CHECKING:
    from triage.model import Report, RunTable

    __version__: str

__all__ = ["Options", "Report", "RunTable", "__version__", "analyze", "read"]

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def analyze(paths: Paths, options: Options | None = None, **settings: Any) -> Report:
    """Diagnose one or several runs.

    Args:
        paths: a file, a directory or a glob, or several of them; several paths are several runs.
        options: every setting at once; None = the defaults.
        settings: single settings by their name in `Options`, on top of `options`.

    Returns:
        The report. A path that could not be read stands in `report.errors`; it raises nothing.

    Raises:
        UsageError: a setting that makes no sense.
    """
    from triage import pipeline

    return pipeline.analyze(_listed(paths), _options(options, settings))


def read(paths: Paths, options: Options | None = None, **settings: Any) -> tuple[RunTable, ...]:
    """Read logs into one columnar table per run, without judging them.

    Args:
        paths: as in `analyze`.
        options: every setting at once; None = the defaults.
        settings: single settings by their name in `Options`, on top of `options`.

    Raises:
        UnreadableError: a path that is missing, empty, of an unknown format or not permitted.
        UsageError: a setting that makes no sense.
    """
    from triage.errors import UnreadableError
    from triage.readers import read_runs

    found = read_runs(_listed(paths), _options(options, settings))
    if found.errors:
        first = found.errors[0]
        raise UnreadableError(first.message, path=first.path, hint=first.hint)
    return tuple(found.runs)


def _listed(paths: Paths) -> tuple[str, ...]:
    if isinstance(paths, str | os.PathLike):
        return (os.fspath(paths),)
    return tuple(os.fspath(path) for path in paths)


def _options(options: Options | None, settings: dict[str, Any]) -> Options:
    import dataclasses

    return dataclasses.replace(options or Options(), **settings)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from triage._version import version

        return version()
    if name in ("Report", "RunTable"):
        from triage import model

        return getattr(model, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
