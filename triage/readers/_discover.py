"""From what a person typed to the runs that are to be read: files, folders, patterns, standard input.

Separate from reading: nothing here looks at more than the head of a file.
"""

from __future__ import annotations

import glob
import io
import itertools
import os
import select
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from triage.errors import UnreadableError
from triage.model import Notice
from triage.options import Options
from triage.readers._contract import Reader, Source
from triage.readers._groups import Group, group, is_eval_file, run_folder
from triage.readers._mlflow_store import folder_source
from triage.readers._source import open_path, open_stream, unreadable
from triage.readers._walk import Walk, files_below, natural

SILENCE_S: Final = 10.0
"""How long standard input may stay silent where no path was given, before it is taken for an idle pipe; `-` waits."""

Sniff = Callable[[Source], Reader | None]


@dataclass(frozen=True, slots=True)
class FilePart:
    """One file of a run.

    Attributes:
        shown: as a person is told.
        open: makes the source.
        rank: the worker that wrote it, where its name tells.
        is_eval: its name says evaluation.
        reader: which reader takes it, where that is known already.
    """

    shown: str
    open: Callable[[], Source]
    rank: int | None = None
    is_eval: bool = False
    reader: Reader | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be a run.

    Attributes:
        name: short name, not yet unique.
        parts: its files in order.
        folder: the folder of the run, where it was found by searching; candidates of one folder may be copies of one
            run. "" where it was named outright.
        notices: what was decided while searching.
    """

    name: str
    parts: tuple[FilePart, ...]
    folder: str = ""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a search.

    Attributes:
        candidates: to be read, in order.
        faults: what is known to be unreadable: (folder of the run or "", the error).
        is_search: something was found rather than named, so that it should be told what was picked.
    """

    candidates: tuple[Candidate, ...]
    faults: tuple[tuple[str, UnreadableError], ...]
    is_search: bool


def discover(paths: Sequence[str], options: Options, stdin: BinaryIO | None, sniff: Sniff) -> Found:
    """Find the runs at `paths`; without paths at standard input, or else in the current directory.

    Args:
        paths: files, folders, patterns, or "-".
        options: limits, and `join`.
        stdin: the bytes behind "-"; None = the process's own.
        sniff: which reader takes a source; None where none does.
    """
    if not paths:
        if stdin is not None and may_be_input(stdin):
            return _from_stdin(stdin, options, is_patient=False)
        paths = ["."]
    candidates: list[Candidate] = []
    faults: list[tuple[str, UnreadableError]] = []
    named: list[Path] = []
    is_search = False
    for text in dict.fromkeys(paths):
        if text == "-":
            found = _from_stdin(stdin if stdin is not None else _own_stdin(), options, is_patient=True)
            candidates += found.candidates
            faults += found.faults
            continue
        for path in _expand(text, options.limits.files):
            if _is_folder(path):
                is_search = True
                below, wrong = _search(path, options, sniff)
                candidates += below
                faults += wrong
            else:
                named.append(path)
    for files in group(_once(named)):
        name = files.paths[0].name if len(files.paths) == 1 else _group_name(files.paths)
        candidates.append(Candidate(name, _parts(files, options)))
    return Found(tuple(candidates), tuple(faults), is_search)


def may_be_input(stream: BinaryIO) -> bool:
    """Say whether standard input carries something: a pipe, a socket or a file, and no terminal or null device."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return hasattr(stream, "getvalue")  # bytes in memory
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)


def _own_stdin() -> BinaryIO:
    return getattr(sys.stdin, "buffer", None) or _closed()


def _closed() -> BinaryIO:
    """What stands for a standard input that the process was started without."""
    stream = io.BytesIO()
    stream.close()
    return stream


def _from_stdin(stream: BinaryIO, options: Options, *, is_patient: bool) -> Found:
    try:
        _refuse_idle(stream, is_patient=is_patient)
        source = open_stream(stream, options.limits)
    except UnreadableError as fault:
        return Found((), (("", fault),), is_search=False)
    return Found((Candidate("stdin", (FilePart("-", lambda: source),)),), (), is_search=False)


def _refuse_idle(stream: BinaryIO, *, is_patient: bool) -> None:
    """Refuse a stream from which nothing will come; raises UnreadableError."""
    if stream.closed:
        raise UnreadableError("standard input is closed", path="-", hint="give a path")
    if not hasattr(stream, "getvalue") and stream.isatty():
        raise UnreadableError("standard input is the terminal", path="-", hint="give a path, or pipe a log in")
    if not is_patient and not _speaks(stream):
        raise UnreadableError(
            "nothing came on standard input", path="-", hint="give a path, or `-` to wait for standard input"
        )


def _speaks(stream: BinaryIO) -> bool:
    """Wait for the first byte, or the end, of a stream that may be an idle pipe."""
    try:
        handle = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return True
    return bool(select.select([handle], [], [], SILENCE_S)[0])


def _expand(text: str, most: int) -> list[Path]:
    """The paths of a pattern in natural order; the path itself where it is none, or where it exists as it stands."""
    if not glob.has_magic(text) or os.path.lexists(text):
        return [Path(text)]
    # A pattern may be absolute, which Path.glob refuses.
    found = list(itertools.islice(glob.iglob(text, recursive=True), most))  # noqa: PTH207
    return sorted((Path(name) for name in found), key=natural) or [Path(text)]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False  # opening it will say why


def _once(paths: Iterable[Path]) -> list[Path]:
    """Every file once, however it is spelled."""
    return list({os.path.realpath(path) if "\0" not in str(path) else str(path): path for path in paths}.values())


def _parts(files: Group, options: Options, root: Path | None = None) -> tuple[FilePart, ...]:
    if files.top is not None and len(files.paths) > 1:
        return (_together(files.paths, files.top, options),)
    return tuple(_part(p, r, options, root) for p, r in zip(files.paths, files.ranks, strict=True))


def _part(path: Path, rank: int | None, options: Options, root: Path | None) -> FilePart:
    shown = str(path)
    is_eval = options.join and is_eval_file(_below(path, root))
    return FilePart(shown, lambda: open_path(path, options.limits, shown), rank, is_eval)


def _together(paths: Sequence[Path], top: Path, options: Options) -> FilePart:
    """All files of a run as one source, for a reader that wants them at once; shown as their folder."""

    def start() -> Source:
        sources = tuple((_folder_below(path, top), open_path(path, options.limits)) for path in paths)
        return replace(sources[0][1], path=str(top), together=sources)

    return FilePart(str(top), start)


def _folder_below(path: Path, top: Path) -> str:
    folder = path.parent.relative_to(top).as_posix()
    return "" if folder == "." else folder


def _below(path: Path, root: Path | None) -> Path:
    return path if root is None else path.relative_to(root)


def _search(root: Path, options: Options, sniff: Sniff) -> tuple[list[Candidate], list[tuple[str, UnreadableError]]]:
    """Find the runs below a folder: every file that a reader takes, grouped by name."""
    walk = Walk()
    taken: dict[Path, Reader] = {}
    faults: list[tuple[str, UnreadableError]] = []
    for path in files_below(root, options.limits.files, walk):
        try:
            # An empty file is one that a run has just made, or never wrote to: no log yet.
            if path.stat().st_size and (reader := sniff(open_path(path, options.limits))) is not None:
                taken[path] = reader
        except UnreadableError as fault:
            faults.append(("", fault))
        except OSError as fault:
            faults.append(("", unreadable(fault, str(path))))
    notices: list[Notice] = []
    if walk.is_cut:
        notices.append(Notice("files-over-limit", 1, str(root), {"limit": options.limits.files}))
    if walk.outside:
        notices.append(Notice("links-not-followed", walk.outside, str(root)))
    candidates = []
    company = Counter(path.parent for path in taken)
    for files in group(taken):
        first = files.paths[0]
        is_alone = company[first.parent] == sum(path.parent == first.parent for path in files.paths)
        name = _name_below(files.top or (first.parent if is_alone or len(files.paths) > 1 else first), root)
        folder = str(run_folder(first, root))
        parts = tuple(replace(p, reader=taken[first]) for p in _parts(files, options, root))
        candidates.append(Candidate(name, parts, folder, tuple(notices)))
        notices = []
    for path in walk.runs:
        part = FilePart(str(path), partial(folder_source, path))
        candidates.append(Candidate(_name_below(path, root), (part,), str(path)))
    faults += [
        (str(run_folder(folder, root)), UnreadableError(mark.message, path=str(folder), hint=mark.hint))
        for folder, mark in walk.marked
    ]
    faults += [("", unreadable(PermissionError(), str(folder))) for folder in walk.not_permitted]
    if not candidates and not faults:
        hint = "name the log itself" if walk.looked else "give the folder that the run writes to"
        faults.append(("", UnreadableError(f"no log in it ({walk.looked} files looked at)", path=str(root), hint=hint)))
    return candidates, faults


def _name_below(path: Path, root: Path) -> str:
    below = path.relative_to(root).as_posix()
    return (root.resolve().name or str(root)) if below == "." else below


def _group_name(paths: Sequence[Path]) -> str:
    """What the names of the files of one run have in common."""
    first = paths[0].name
    common = next(
        (first[:end] for end in range(len(first), 0, -1) if all(p.name.startswith(first[:end]) for p in paths)), ""
    )
    return common.rstrip("-_.0123456789") or paths[0].parent.name or first
