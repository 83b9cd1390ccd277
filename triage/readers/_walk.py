"""The files below a folder, bounded and in a stable order.

Separate from `_discover.py` because a walk has rules of its own: links, loops, hidden folders, and an end.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from triage.readers._mlflow_store import is_run_folder
from triage.readers._refused import FOLDERS, FolderMark

ENTRIES_PER_FILE: Final = 50
"""Most names seen for each file that may be opened: a folder of a million images must not hold the search up."""


@dataclass(slots=True)
class Walk:
    """What a walk met; filled while it goes.

    Attributes:
        looked: files that were offered.
        outside: links that lead out of the folder, not followed.
        is_cut: the limit was reached, so that files were left unseen.
        not_permitted: folders that could not be opened.
        marked: folders that are refused as a whole.
        runs: folders that are a run as a whole.
    """

    looked: int = 0
    outside: int = 0
    is_cut: bool = False
    not_permitted: list[Path] = field(default_factory=list)
    marked: list[tuple[Path, FolderMark]] = field(default_factory=list)
    runs: list[Path] = field(default_factory=list)


def natural(path: Path | str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that takes numbers as numbers: `checkpoint-9` before `checkpoint-10`."""
    pieces = re.split(r"(\d+)", str(path))
    return tuple((1, int(piece), "") if piece.isdigit() else (0, 0, piece) for piece in pieces)


def files_below(root: Path, most: int, walk: Walk) -> Iterator[Path]:
    """Yield the files below a folder that could be logs, folder by folder in natural order.

    Links are followed only inside the folder, and every folder and file is visited once, so that a loop ends.
    """
    inside = os.path.realpath(root)
    seen: set[tuple[int, int]] = set()
    waiting = [root]
    left = most * ENTRIES_PER_FILE
    while waiting:
        folder = waiting.pop()
        try:
            key = folder.stat()
            if (key.st_dev, key.st_ino) in seen:
                continue
            seen.add((key.st_dev, key.st_ino))
            with os.scandir(folder) as listing:
                # Links last, so that a file keeps the name that it really has.
                entries = sorted(listing, key=lambda entry: (entry.is_symlink(), natural(entry.name)))
        except OSError:
            walk.not_permitted.append(folder)
            continue
        mark = next((m for m in FOLDERS if m.is_it(folder.name, frozenset(e.name for e in entries))), None)
        if mark is not None:
            walk.marked.append((folder, mark))
            continue
        if is_run_folder(folder):
            walk.runs.append(folder)
            continue
        left -= len(entries)
        if left < 0:
            walk.is_cut = True
            return
        below: list[Path] = []
        for entry in entries:
            path = folder / entry.name
            if entry.is_symlink() and not _leads_inside(path, inside):
                walk.outside += 1
                continue
            try:
                if entry.is_dir():
                    if _is_searched(entry.name):
                        below.append(path)
                    continue
                key = entry.stat()
                if not entry.is_file() or not _may_be_log(entry.name) or (key.st_dev, key.st_ino) in seen:
                    continue
            except OSError:
                continue  # a link to nothing
            seen.add((key.st_dev, key.st_ino))
            if walk.looked >= most:
                walk.is_cut = True
                return
            walk.looked += 1
            yield path
        waiting.extend(reversed(below))


def _is_searched(name: str) -> bool:
    return name == ".aim" or not (name.startswith(".") or name in _skipped()["folders"])


def _may_be_log(name: str) -> bool:
    lower = name.lower()
    if "tfevents" in lower:
        return True
    skipped = _skipped()
    return not (lower.startswith(".") or lower in skipped["files"] or Path(lower).suffix in skipped["endings"])


@cache
def _skipped() -> dict[str, frozenset[str]]:
    """The names of `not_logs.toml`, by kind."""
    text = resources.files("triage.readers").joinpath("not_logs.toml").read_text(encoding="utf-8")
    return {kind: frozenset(names) for kind, names in tomllib.loads(text).items()}


def _leads_inside(path: Path, root: str) -> bool:
    target = os.path.realpath(path)
    return target == root or target.startswith(root.rstrip(os.sep) + os.sep)
