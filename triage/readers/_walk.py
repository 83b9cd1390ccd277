"""The files below a folder, bounded and in a stable order.

Separate from `_discover.py` because a walk has rules of its own: links, loops, hidden folders, and an end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from triage.readers._refused import FOLDERS, FolderMark

SKIPPED_FOLDERS: Final = frozenset(
    {"__pycache__", "node_modules", "site-packages", "venv", "env", "dist-packages", "artifacts", "media", "code"}
)
"""Folders that never hold a log but many files; hidden ones (`.git`) are skipped by their dot."""

SKIPPED_ENDINGS: Final = frozenset(
    ".py .pyc .so .pt .pth .bin .safetensors .ckpt .npy .npz .h5 .hdf5 .pkl .pickle .onnx .gguf .model .msgpack .png .jpg "
    ".jpeg .gif .svg .webp .mp4 .wav .flac .mp3 .pdf .html .htm .css .js .ts .md .rst .yaml .yml .toml .ini .cfg .sh .zip .tar "
    ".tgz .7z .whl .lock .ipynb .c .cc .cpp .h .cu .o .a .rs .go .java .tex .bib .idx .distcp .tmp .swp .index .meta".split()
)
"""Endings of files that are no logs: not even opened in a search, whatever is named outright is."""

SKIPPED_FILES: Final = frozenset(
    "config.json generation_config.json tokenizer.json tokenizer_config.json special_tokens_map.json vocab.json merges.txt "
    "added_tokens.json preprocessor_config.json adapter_config.json model.safetensors.index.json package.json ds_config.json "
    "pytorch_model.bin.index.json wandb-metadata.json wandb-summary.json requirements.txt training_args.json readme.txt "
    "license.txt cmakelists.txt chat_template.json hparams.json args.json".split()
)
"""Names of files that are no logs although their form could be one."""


ENTRIES_PER_FILE: Final = 50
"""Names seen for each file that may be opened, at most: a folder of images is left before it has been listed for minutes."""


@dataclass(slots=True)
class Walk:
    """What a walk met; filled while it goes.

    Attributes:
        looked: files that were offered.
        outside: links that lead out of the folder, not followed.
        is_cut: the limit was reached, so that files were left unseen.
        not_permitted: folders that could not be opened.
        marked: folders that are refused as a whole.
    """

    looked: int = 0
    outside: int = 0
    is_cut: bool = False
    not_permitted: list[Path] = field(default_factory=list)
    marked: list[tuple[Path, FolderMark]] = field(default_factory=list)


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
            key = os.stat(folder)
            if (key.st_dev, key.st_ino) in seen:
                continue
            seen.add((key.st_dev, key.st_ino))
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: natural(entry.name))
        except OSError:
            walk.not_permitted.append(folder)
            continue
        mark = next((m for m in FOLDERS if m.is_it(folder.name, frozenset(e.name for e in entries))), None)
        if mark is not None:
            walk.marked.append((folder, mark))
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
    return name == ".aim" or not (name.startswith(".") or name in SKIPPED_FOLDERS)


def _may_be_log(name: str) -> bool:
    lower = name.lower()
    if "tfevents" in lower:
        return True
    return not (lower.startswith(".") or lower in SKIPPED_FILES or os.path.splitext(lower)[1] in SKIPPED_ENDINGS)


def _leads_inside(path: Path, root: str) -> bool:
    target = os.path.realpath(path)
    return target == root or target.startswith(root.rstrip(os.sep) + os.sep)
