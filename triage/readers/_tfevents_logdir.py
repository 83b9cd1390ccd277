"""Which of the event files below a folder make one run, and what their tags are called in it.

Separate from reading because only folders, and the tags in the heads of the files, are looked at here.

    the folder of a file                                       is
    called after a tag and a key (`loss_val`, `loss/val`)      one writer of `add_scalars`: of the run above it
    called after a split (`train`, `validation`)               of the run that it lies in
    a time (`1796062097.3276875`) below a run, no series in it what `add_hparams` leaves: no run at all
    any other                                                  a run
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from triage.readers._columns import EVAL_NAME

TRAIN: Final = frozenset({"train", "training"})
EVAL: Final = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "dev", "heldout", "holdout"})
"""Folders (lower case) of the two writers that many programs keep side by side, with the same tags in both."""

HPARAMS: Final = re.compile(r"\d{9,11}(\.\d+)?")
"""Folder that `add_hparams` makes: seconds since 1970."""

IGNORED: Final = None
"""The run of a file that belongs to none."""


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a folder with event files.

    Attributes:
        tags: scalar tags.
        has_series: some tag has more than one value.
    """

    tags: frozenset[str]
    has_series: bool


def runs_of(heads: Mapping[str, Head]) -> dict[str, str | None]:
    """Folder of event files -> folder of its run; both below the same top, "" = the top itself. IGNORED = of no run."""
    return {folder: _run_of(folder, heads) for folder in heads}


def _run_of(folder: str, heads: Mapping[str, Head]) -> str | None:
    head = heads.get(folder)
    above = [parent for parent in _parents(folder) if parent in heads]
    if head is None or not folder:
        return folder
    for parent in above:
        if head.tags and all(_key(tag, _below(folder, parent)) for tag in head.tags):
            return _run_of(parent, heads)
    if PurePosixPath(folder).name.lower() in TRAIN | EVAL:
        return _run_of(_parents(folder)[0], heads)
    if above and HPARAMS.fullmatch(PurePosixPath(folder).name) and not head.has_series:
        return IGNORED
    return folder


def rename_for(folder: str) -> Callable[[str], str]:
    """What a tag of the writer in `folder` (below the folder of the run) is called in the run.

    Evaluation gets `eval/` in front, training keeps its names. `add_scalars` has a writer for every key; there the key
    says which of both it is, or becomes part of the name.
    """
    last = PurePosixPath(folder).name

    def rename(tag: str) -> str:
        key = _key(tag, folder)
        if key and key.lower() not in TRAIN | EVAL:
            return f"{tag}/{key}"
        is_eval = (key or last).lower() in EVAL and not EVAL_NAME.fullmatch(tag)
        return f"eval/{tag}" if is_eval else tag

    return rename


def _key(tag: str, folder: str) -> str:
    """The key of the `add_scalars` writer that a folder is called after, for this tag; "" where it is not.

    torch writes `loss_val`, slashes of the tag made underscores; tensorboardX writes `loss/val`.
    """
    for prefix in (f"{tag.replace('/', '_')}_", f"{tag}/"):
        if folder.startswith(prefix):
            return folder[len(prefix) :]
    return ""


def _parents(folder: str) -> Sequence[str]:
    """The folders above, nearest first, down to the top ("")."""
    return ["" if str(parent) == "." else str(parent) for parent in PurePosixPath(folder).parents]


def _below(folder: str, parent: str) -> str:
    return folder[len(parent) + 1 :] if parent else folder
