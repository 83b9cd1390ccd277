"""Which files are parts or copies of one run, told by their names alone.

A visible table: a new kind of many files to a run is one row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from triage.readers._source import bare_name
from triage.readers._walk import natural


@dataclass(frozen=True, slots=True)
class GroupRule:
    """Files that belong together.

    Attributes:
        name: for reading this table.
        pattern: full match on the path with `/` between its parts, the endings of packers taken off. Files with equal
            text outside the groups `rank` and `part` are one run.
        once: ending that is a copy of the part without it, where both are there.
        is_tree: folders below one that holds such files belong to its run, and so do those named after a data split;
            the reader is given all files at once (`Source.together`).
    """

    name: str
    pattern: re.Pattern[str]
    once: str = ""
    is_tree: bool = False


_WORKER: Final = r"(?:rank|worker|proc|process)[_-]?"

RULES: Final = (
    GroupRule("one file a rank", re.compile(rf"(?:.*/)?[^/]*?{_WORKER}(?P<rank>\d+)[^/]*", re.IGNORECASE)),
    GroupRule("one folder a rank", re.compile(rf"(?:.*/)?{_WORKER}(?P<rank>\d+)/[^/]+", re.IGNORECASE)),
    GroupRule("TensorBoard downloads", re.compile(r"(?:.*/)?run-.*?-tag-(?P<part>.+)"), once=".json"),
    GroupRule("DeepSpeed's CSV monitor", re.compile(r"(?:.*/)?Train_Samples_(?P<part>\w+\.csv)")),
    GroupRule("event files", re.compile(r"(?:.*/)?(?P<part>[^/]*tfevents[^/]*)"), is_tree=True),
    GroupRule(
        "a W&B run and its resumed parts",
        re.compile(r"(?:.*/)?(?P<part>(?:offline-)?run-\d{8}_\d{6})-[^/]+/run-[^/]+\.wandb"),
    ),
)

SAME_RUN_FOLDERS: Final = re.compile(
    r"runs|tb|tensorboard|tb_logs|csv|csv_logs|logs?|lightning_logs|version_\d+|vis_data|events?|wandb|files|train|training|"
    r"val|valid|validation|eval|test|checkpoint-\d+|(?:offline-)?run-\d{8}_\d{6}-.*|\d{8}_\d{6}|"
    r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*",
    re.IGNORECASE,
)
"""Names of folders that a framework makes inside the folder of a run: what lies in them is of that run."""

SPLIT_FOLDER: Final = re.compile(r"train(?:ing)?|val|valid|validation|eval|evaluation|test|dev", re.IGNORECASE)
"""Names of folders in which a writer keeps the series of one split of the data."""

CHECKPOINT_STATE: Final = re.compile(r"(?P<run>(?:.*/)?)checkpoint-(?P<step>\d+)/trainer_state\.json")
"""Hugging Face copies the whole history into every checkpoint: the newest copy holds all others."""

_EVAL: Final = r"(?:val|valid|validation|eval|evaluation|test|dev)"
EVAL_FILE: Final = re.compile(rf"(?:.*[._-])?{_EVAL}(?:[._-].*)?", re.IGNORECASE)
EVAL_FOLDER: Final = re.compile(_EVAL, re.IGNORECASE)
"""Names that say evaluation: a file's in any part of it, a folder's as a whole."""


@dataclass(frozen=True, slots=True)
class Group:
    """Files of one run, in order.

    Attributes:
        paths: the files.
        ranks: the worker of each; None where the name does not tell.
        top: the folder above them all, where a reader wants them at once; None otherwise.
    """

    paths: tuple[Path, ...]
    ranks: tuple[int | None, ...]
    top: Path | None = None


def group(paths: Iterable[Path]) -> list[Group]:
    """Group files into runs by name; a file without company is a run of its own. The order is kept."""
    groups: dict[tuple[str, ...], list[tuple[Path, int | None]]] = {}
    trees: dict[str, list[Path]] = {}
    rules: dict[tuple[str, ...], GroupRule] = {}
    for path in newest_states(paths):
        shown = bare_name(path.as_posix())
        rule, found = next(((r, m) for r in RULES if (m := r.pattern.fullmatch(shown))), (None, None))
        key: tuple[str, ...] = ("", str(path))
        rank = None
        if rule is not None and found is not None:
            is_rank = "rank" in rule.pattern.groupindex
            begin, end = found.span("rank" if is_rank else "part")
            rank = int(found["rank"]) if is_rank else None
            # The part of a download ends in .csv or .json, of which one is enough.
            key = (rule.name, shown[:begin], "" if rule.once else shown[end:])
            if rule.is_tree:
                trees.setdefault(rule.name, []).append(path)
                key = (rule.name,)
            rules[key] = rule
        groups.setdefault(key, []).append((path, rank))
    made: list[Group] = []
    for key, members in groups.items():
        rule = rules.get(key)
        if rule is not None and rule.is_tree:
            made += _trees(trees[rule.name])
        elif members[0][1] is not None and not _are_workers([rank for _, rank in members if rank is not None]):
            made += [Group((path,), (None,)) for path, _ in members]
        else:
            made.append(_group(members, rule.once if rule else ""))
    return made


def _trees(paths: Sequence[Path]) -> list[Group]:
    """Files whose folders lie below one another, or are named after a split of the data, are one run."""
    folders = {path.parent for path in paths}
    tops: dict[Path, list[Path]] = {}
    for path in paths:
        top = path.parent
        above = [folder for folder in top.parents if folder in folders]
        top = above[-1] if above else top
        if SPLIT_FOLDER.fullmatch(top.name):
            top = top.parent
        tops.setdefault(top, []).append(path)
    return [Group(tuple(sorted(files, key=natural)), (None,) * len(files), top) for top, files in tops.items()]


def _are_workers(numbers: Sequence[int]) -> bool:
    """Say whether numbers in file names are those of workers: without gaps. The ranks of LoRA runs double instead."""
    distinct = set(numbers)
    return len(distinct) == len(numbers) > 1 and max(distinct) - min(distinct) == len(distinct) - 1


def newest_states(paths: Iterable[Path]) -> list[Path]:
    """Leave out the trainer states of all checkpoints of a run but the newest."""
    kept: list[Path] = []
    newest: dict[str, tuple[int, int]] = {}
    for path in paths:
        found = CHECKPOINT_STATE.fullmatch(path.as_posix())
        if found is None:
            kept.append(path)
            continue
        step = int(found["step"])
        before = newest.get(found["run"])
        if before is None:
            newest[found["run"]] = (step, len(kept))
            kept.append(path)
        elif step > before[0]:
            newest[found["run"]] = (step, before[1])
            kept[before[1]] = path
    return kept


def run_folder(path: Path, root: Path) -> Path:
    """The folder of the run that a file belongs to: out of the folders that frameworks make, not above `root`."""
    folder = path.parent
    while folder != root and root in folder.parents and SAME_RUN_FOLDERS.fullmatch(folder.name):
        folder = folder.parent
    return folder


def is_eval_file(path: Path) -> bool:
    """Say whether the name of a file, or of its folder, says evaluation."""
    return bool(EVAL_FILE.fullmatch(bare_name(path.name)) or EVAL_FOLDER.fullmatch(path.parent.name))


def _group(members: Sequence[tuple[Path, int | None]], once: str) -> Group:
    if once:
        whole = {path.with_suffix("") for path, _ in members if path.suffix.lower() != once}
        members = [(p, r) for p, r in members if p.suffix.lower() != once or p.with_suffix("") not in whole]
    ordered = sorted(members, key=lambda member: (member[1] or 0, natural(member[0])))
    return Group(tuple(path for path, _ in ordered), tuple(rank for _, rank in ordered))
