"""Which event files below a folder make one run, and what their tags are called in it.

Separate from reading because only folders and heads of files are looked at here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final

from triage.readers._columns import EVAL_NAME

TRAIN: Final = frozenset({"train", "training"})
EVAL: Final = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "dev", "heldout", "holdout"})
"""Folders (lower case) of the two writers that many programs keep side by side, with the same tags in both."""


def rename_for(folder: str) -> Callable[[str], str]:
    """What a tag of the writer in `folder` (below the folder of the run) is called in the run.

    Evaluation gets `eval/` in front, training keeps its names. `add_scalars` has a writer for every key, in a folder
    called after the tag and the key; there the key says which of both it is, or becomes part of the name.
    """
    last = PurePosixPath(folder).name

    def rename(tag: str) -> str:
        key = last
        for path, prefix in ((last, f"{tag.replace('/', '_')}_"), (folder, f"{tag}/")):
            if path.startswith(prefix) and len(path) > len(prefix):
                key = path[len(prefix) :]
                if key.lower() not in TRAIN | EVAL:
                    return f"{tag}/{key}"
        is_eval = key.lower() in EVAL and not EVAL_NAME.fullmatch(tag)
        return f"eval/{tag}" if is_eval else tag

    return rename
