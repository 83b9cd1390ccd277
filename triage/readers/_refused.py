"""Files and folders that triage recognises but does not read: each is refused with what it is and what to do.

A row goes as soon as a reader for its format is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from triage.errors import UnreadableError
from triage.model import Block
from triage.options import Limits
from triage.readers._contract import Reader, Source, Wanted


@dataclass(frozen=True, slots=True)
class FolderMark:
    """A folder that is a log as a whole.

    Attributes:
        name: kebab-case format name.
        is_it: by the folder's own name and the names in it.
        message, hint: what it is, and what to do.
    """

    name: str
    is_it: Callable[[str, frozenset[str]], bool]
    message: str
    hint: str


FOLDERS: Final = (
    FolderMark(
        "aim",
        lambda name, inside: name == ".aim" or inside >= {"meta", "seqs", "run_metadata.sqlite"},
        "is an Aim repository, which only Aim itself can open",
        "export it: `Repo(path).query_metrics().dataframe()` to CSV or Parquet",
    ),
)
"""Folders that are refused as a whole."""

_SIGNATURES: Final[tuple[tuple[str, Callable[[Source], bool], str, str], ...]] = (
    (
        "feather-v1",
        lambda source: source.head.startswith(b"FEA1"),
        "is a Feather file of the first version",
        "write it again as Parquet or Arrow IPC",
    ),
    (
        "hdf5",
        lambda source: source.head.startswith(b"\x89HDF"),
        "is an HDF5 file: weights or arrays, no log",
        "give the log that was written beside it",
    ),
    (
        "zip",
        lambda source: source.head.startswith(b"PK\x03\x04"),
        "is a zip archive (checkpoints are too)",
        "unpack it and give the log in it",
    ),
    (
        "tar",
        lambda source: source.head[257:262] == b"ustar",
        "is a tar archive",
        "unpack it and give the folder",
    ),
    (
        "pickle",
        lambda source: source.head[:1] == b"\x80" and source.head[1:2] in b"\x02\x03\x04\x05" and len(source.head) > 2,
        "is a pickle, which triage does not open: it can run code",
        "write the numbers as JSON lines or CSV",
    ),
)
"""Format, how it is told, what it is, what to do."""


def _refusing(name: str, sniff: Callable[[Source], bool], message: str, hint: str) -> Reader:
    def read(source: Source, _limits: Limits, _wanted: Wanted) -> Iterator[Block]:
        raise UnreadableError(message, path=source.path, hint=hint)

    return Reader(name, sniff, read)


REFUSED: Final = tuple(_refusing(*row) for row in _SIGNATURES)
"""Refusing readers for binary formats; they are asked first, since their signatures are sure."""
