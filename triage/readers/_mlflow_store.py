"""MLflow's store of files: the folder of one run, `<experiment>/<run>/`.

Separate from the database because nothing but the rows is the same:

    meta.yaml              status, times, name; one `key: value` a line
    metrics/<metric>       lines of `<milliseconds> <value> <step>`; a metric called train/loss lies in a subfolder
    params/<parameter>     the value as text
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from triage.errors import UnreadableError
from triage.model import Notice
from triage.options import Limits
from triage.readers._cells import number
from triage.readers._contract import Source
from triage.readers._mlflow_rows import RunFacts, Value

META: Final = "meta.yaml"
METRICS: Final = "metrics"
PARAMS: Final = "params"

STATUS: Final = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}
"""Numbers that the store writes for the states of a run."""

LONGEST_PARAM: Final = 8_000
"""Most characters of a parameter that are read; MLflow's own limit."""

_LINE: Final = re.compile(rb"(-?\d+) (\S+)(?: (-?\d+)(?: .*)?)?")
"""Milliseconds, value, step (files of old clients have none), and from client 3 on the data set it belongs to."""

_META_LINE: Final = re.compile(r"^(\w+): *(.*?)\s*$", re.MULTILINE)


def is_run_folder(path: Path) -> bool:
    """Is this the folder of one run?"""
    return (path / META).is_file() and (path / METRICS).is_dir()


def folder_source(path: Path, shown: str | None = None) -> Source:
    """A source for the folder of a run: no bytes, but a place to read from."""
    name = shown or str(path)

    def refuse() -> BinaryIO:
        _refuse(name)

    return Source(name, path.name, b"", None, path, refuse, lambda: 0)


def _refuse(shown: str) -> NoReturn:
    raise UnreadableError("is a folder", path=shown, hint="name a file in it")


def read_facts(folder: Path) -> RunFacts:
    """Read state, name and parameters of a run."""
    found = dict(_META_LINE.findall(_text_of(folder / META)))
    fields = {key: text.strip("'\"") for key, text in found.items()}
    start = fields.get("start_time", "")
    return RunFacts(
        run_id=fields.get("run_id") or fields.get("run_uuid") or folder.name,
        name=fields.get("run_name", ""),
        status=STATUS.get(fields.get("status", ""), fields.get("status", "")),
        started=int(start) / 1e3 if start.isdigit() else None,
        params={name: _text_of(path)[:LONGEST_PARAM] for name, path in _files_below(folder / PARAMS)},
        is_deleted=fields.get("lifecycle_stage") == "deleted",
    )


def read_values(folder: Path, limits: Limits) -> tuple[list[Value], int, tuple[Notice, ...]]:
    """Read all metrics of a run: values in the order of time, the bytes they took, and what could not be read."""
    values: list[Value] = []
    notices: list[Notice] = []
    size = 0
    for count, (metric, path) in enumerate(_files_below(folder / METRICS)):
        if count >= limits.files:
            notices.append(Notice("files-over-limit", 1, str(folder), {"limit": limits.files}))
            break
        try:
            written = path.read_bytes()
        except OSError as fault:
            notices.append(Notice("unread-file", 1, metric, {"reason": fault.strerror or str(fault)}))
            continue
        size += len(written)
        skipped, torn = _read_lines(metric, written, values)
        if skipped:
            notices.append(Notice("skipped-lines", skipped, metric))
        if torn:
            notices.append(Notice("torn-tail", torn, metric))
    # Stable: values of one millisecond stay in the order of their steps, and of their files.
    values.sort(key=lambda value: (value[2], value[3]))
    return values, size, tuple(notices)


def _read_lines(metric: str, written: bytes, values: list[Value]) -> tuple[int, int]:
    """Add the values of one file: (lines that hold none, bytes of an unfinished last line)."""
    lines = written.split(b"\n")
    last = lines.pop()
    skipped = 0
    for line in lines:
        value = _value_of(metric, line)
        if value is not None:
            values.append(value)
        elif line.strip():
            skipped += 1
    # A last line without its end is whole only if all of its parts are there, and even then a digit may be missing.
    return skipped, len(last)


def _value_of(metric: str, line: bytes) -> Value | None:
    found = _LINE.fullmatch(line.strip())
    if found is None:
        return None
    time, text, step = found.groups()
    try:
        value = number(text.decode("utf-8", "replace"))
    except ValueError:
        return None
    return metric, None if value is None else float(value), int(time), int(step or 0)


def _files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files below a folder by name, subfolders as parts of it; links are not followed."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(parent, name)
            if not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
