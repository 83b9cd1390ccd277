"""The contract of a reader: what it is given, what it must yield, and how it says that a file is its own.

Separate from the readers so that each of them is one file that imports only this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from triage.model import Block
from triage.options import Limits

HEAD_BYTES: Final = 64 << 10
"""How much of a source a sniffer sees; decided on this prefix alone, so that sniffing a huge file is cheap."""

Wanted = Callable[[str], bool]
"""Column selection: given a source name, is this column needed? Readers may deliver more than was asked for."""


def everything(_name: str) -> bool:
    """The column selection that takes all columns."""
    return True


@dataclass(frozen=True, slots=True)
class Source:
    """Bytes to read, compression already taken off.

    Attributes:
        path: as shown to a person; "-" for standard input.
        name: file name without a compression suffix; "" for standard input.
        head: the first HEAD_BYTES of the unpacked bytes.
        size: bytes on disk, packed; None for a stream.
        local: the plain file on disk, where a library wants a path; None for compressed files and streams.
        open: gives the unpacked bytes from the start; a stream can be opened once only. Reading raises UnreadableError
            past the limits of `Limits` (decompression bomb) and returns short, with `torn()` true, where a compressed
            file is cut.
        torn: how many packed bytes at the end could not be unpacked (known after reading to the end); 0 = none.
        together: (folder, source) of all files of the run, this one among them, for formats that write one run into
            several files at once; folders are relative to that of the run. () = this file is all there is.
    """

    path: str
    name: str
    head: bytes
    size: int | None
    local: Path | None
    open: Callable[[], BinaryIO]
    torn: Callable[[], int]
    together: tuple[tuple[str, Source], ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """One log format.

    Attributes:
        name: kebab-case format name as printed ("jsonl", "csv", "hf-trainer-state").
        sniff: is this source of my format? Decides by `head`, the name only as a second witness. Must not raise.
        read: yields blocks in source order. Raises UnreadableError only where nothing at all can be read; whatever
            else goes wrong is a Notice in a block. Never drops a row, cell or byte without one.
    """

    name: str
    sniff: Callable[[Source], bool]
    read: Callable[[Source, Limits, Wanted], Iterator[Block]]
