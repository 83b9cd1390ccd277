"""The record log of a `.wandb` file: blocks and checked pieces → whole records, and what could not be read, counted.

Separate from the reader because this is about bytes: nothing here knows what a record holds. The layout was found by
experiment with files of client 0.15 to 0.31; it is the log format of LevelDB with two differences (marked *).

    file    := ":W&B" 0xBEE1 (u16) 0 (u8), then blocks of 32 KiB; the header counts as part of the first block *
    block   := piece*, then up to 6 zero bytes where no further head fits
    piece   := crc u32, length u16, kind u8, bytes[length]        all little-endian; a piece never leaves its block
    crc     := plain CRC-32 of kind and bytes *
    record  := FULL | FIRST MIDDLE* LAST
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from triage.model import Notice

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

IDENT: Final = b":W&B"
MAGIC: Final = b"\xe1\xbe"
HEADER: Final = IDENT + MAGIC + b"\0"

BLOCK: Final = 32 << 10
HEAD: Final = 7
"""Bytes before the payload of a piece."""

FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4

BATCH: Final = 128 * BLOCK
"""Bytes read at a time: 4 MiB. With fewer the fixed cost of a call shows, with more the arrays leave the processor's
cache (84 MB took 0.9 s with 16 blocks, 0.55 s with 128, and 0.65 s with 256 at a third more memory)."""

PADDING: Final = 320
"""Zero bytes behind a buffer, so that a scanner may look past the end of a broken record and find out afterwards."""


@dataclass(frozen=True, slots=True)
class Records:
    """Whole records of one stretch of the file, in its order.

    Attributes:
        buffer: bytes (uint8), with PADDING zero bytes at its end.
        start, end: (records,) where each record lies in the buffer (int64).
    """

    buffer: Array
    start: Array
    end: Array


@dataclass(slots=True)
class LogTally:
    """What was read and what was not; grows while a log is read and is complete at its end.

    Attributes:
        total: bytes of the file.
        pieces: pieces that were skipped: wrong checksum, impossible head, or the rest of their record is missing.
        skipped: bytes of those pieces, and of stretches in which no piece could be found.
        first: where in the file the first of them lies; None = there is none.
        oversize: records longer than the limit, left out.
        torn: bytes after the last whole piece that are the beginning of one, or of a record (or zeros).
    """

    total: int = 0
    pieces: int = 0
    skipped: int = 0
    first: int | None = None
    oversize: int = 0
    torn: int = 0

    def skip(self, at: int, count: int, pieces: int = 1) -> None:
        """Count pieces that lie at a place of the file and cannot be used."""
        self.pieces += pieces
        self.skipped += count
        self.first = at if self.first is None else min(self.first, at)

    def notices(self) -> tuple[Notice, ...]:
        """What was skipped, and the tail."""
        found = []
        if self.pieces:
            found.append(Notice("corrupt-records", self.pieces, f"byte {self.first}", {"bytes": self.skipped}))
        if self.oversize:
            found.append(Notice("oversize-records", self.oversize))
        if self.torn:
            found.append(Notice("torn-tail", self.torn, f"byte {self.total - self.torn}"))
        return tuple(found)


@dataclass(slots=True)
class _Chain:
    """The pieces so far of a record that is cut into several."""

    parts: list[bytes] = field(default_factory=list)
    at: int = 0
    size: int = 0
    """Bytes of the parts."""

    def clear(self) -> None:
        self.parts.clear()
        self.size = 0


def read_log(stream: BinaryIO, tally: LogTally, longest: int) -> Iterator[Records]:
    """Yield the records of a log whose header has been checked already, from the start of the file.

    Args:
        stream: the bytes of the file from its first on.
        tally: filled in while reading.
        longest: most bytes of a record; a longer one is left out and counted.
    """
    chain = _Chain()
    base = 0
    tail: list[_Span] = []
    while data := _read_whole(stream, BATCH):
        tally.total = base + len(data)
        found = _find_pieces(data, base, tally)
        if len(found.start):
            # What looked like the end of the file was a hole in it.
            for begin, stop in tail:
                tally.skip(begin, stop - begin)
            tail = []
        tail += found.tail
        yield _assemble(data, base, found, chain, tally, longest)
        base += len(data)
    open_at = [begin for begin, _ in tail] + ([chain.at] if chain.parts else [])
    if open_at:
        tally.torn = tally.total - min(open_at)


def _read_whole(stream: BinaryIO, count: int) -> bytes:
    parts = []
    while count and (part := stream.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


_Span = tuple[int, int]
"""A stretch of bytes: its first, and the one behind its last."""


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Pieces of a batch in order: head position, payload length, kind, checksum right; and what follows the last."""

    start: Array
    length: Array
    kind: Array
    is_whole: Array
    tail: list[_Span]


def _find_pieces(data: bytes, base: int, tally: LogTally) -> _Pieces:
    """Walk through all blocks of a batch side by side: every block begins with a piece of its own."""
    import numpy as np

    size = len(data)
    buffer = np.frombuffer(data, dtype=np.uint8)
    at = np.arange(0, size, BLOCK)
    end = np.minimum(at + BLOCK, size)
    if base == 0:
        at[0] = len(HEADER)
    starts, lengths, kinds = [], [], []
    zeros: list[_Span] = []
    tail: list[_Span] = []
    while True:
        fits = at + HEAD <= end
        # Fewer than 7 bytes: padding at the end of a block, half a head where the file is cut within one.
        left = zip(at[~fits].tolist(), end[~fits].tolist(), strict=True)
        tail += [(base + begin, base + stop) for begin, stop in left if begin < stop and stop % BLOCK]
        at, end = at[fits], end[fits]
        if not len(at):
            break
        length = buffer[at + 4].astype(np.int64) | (buffer[at + 5].astype(np.int64) << 8)
        kind = buffer[at + 6]
        after = at + HEAD + length
        good = (kind >= FULL) & (kind <= LAST) & (after <= end)
        for index in np.flatnonzero(~good).tolist():
            _explain(data, base, (int(at[index]), int(end[index])), zeros, tail, tally)
        starts.append(at[good])
        lengths.append(length[good])
        kinds.append(kind[good])
        at, end = after[good], end[good]
    start, length, kind = (np.concatenate([*parts, np.empty(0, np.int64)]) for parts in (starts, lengths, kinds))
    order = np.argsort(start, kind="stable")
    start, length, kind = start[order], length[order], kind[order]
    last = int(start[-1] + HEAD + length[-1]) if len(start) else 0
    for begin, stop in zeros:
        # Zeros at the end of the file are a tail that never reached the disk; in its middle they are a hole.
        if begin >= last:
            tail.append((base + begin, base + stop))
        else:
            tally.skip(base + begin, stop - begin)
    return _Pieces(start, length, kind, _checked(data, buffer, start, length), tail)


def _explain(data: bytes, base: int, rest: _Span, zeros: list[_Span], tail: list[_Span], tally: LogTally) -> None:
    """Say what the rest of a block is whose head is none: zeros, a piece that the end of the file cuts, or damage."""
    begin, stop = rest
    if not any(data[begin:stop]):
        zeros.append(rest)
    elif FULL <= data[begin + 6] <= LAST and stop == len(data) and stop % BLOCK:
        tail.append((base + begin, base + stop))
    else:
        tally.skip(base + begin, stop - begin)


def _checked(data: bytes, buffer: Array, start: Array, length: Array) -> Array:
    """Compare the checksums: (pieces,) true where right."""
    import numpy as np

    stored = np.zeros(len(start), dtype=np.uint32)
    for byte in range(4):
        stored |= buffer[start + byte].astype(np.uint32) << np.uint32(8 * byte)
    crc32 = zlib.crc32
    ranges = zip((start + 6).tolist(), (start + HEAD + length).tolist(), strict=True)
    # Most pieces are short: copying one costs less than making a view of it.
    crcs = np.fromiter((crc32(data[a:b]) for a, b in ranges), dtype=np.uint32, count=len(start))
    found: np.ndarray[Any, Any] = stored == crcs
    return found


def _assemble(data: bytes, base: int, found: _Pieces, chain: _Chain, tally: LogTally, longest: int) -> Records:
    """Put pieces together to records; what is open at the end stays in `chain`."""
    import numpy as np

    is_simple = (found.kind == FULL) & found.is_whole
    joined: list[tuple[int, bytes]] = []
    expected = 0
    for index in np.flatnonzero(~is_simple).tolist():
        begin, length, kind = int(found.start[index]), int(found.length[index]), int(found.kind[index])
        if chain.parts and (index != expected or kind in (FULL, FIRST) or not found.is_whole[index]):
            _drop(chain, tally)
        if not found.is_whole[index] or (kind in (MIDDLE, LAST) and not chain.parts):
            tally.skip(base + begin, HEAD + length)
            continue
        if kind == FIRST:
            chain.at = base + begin
        chain.size += length
        # Past the limit only the number of pieces is kept.
        chain.parts.append(data[begin + HEAD : begin + HEAD + length] if chain.size <= longest else b"")
        expected = index + 1
        if kind == LAST:
            if chain.size <= longest:
                joined.append((index, b"".join(chain.parts)))
            else:
                tally.oversize += 1
            chain.clear()
    if chain.parts and expected != len(found.start):
        _drop(chain, tally)

    simple = np.flatnonzero(is_simple)
    sizes = np.array([len(record) for _, record in joined], dtype=np.int64)
    stops = len(data) + np.cumsum(sizes)
    places = np.concatenate([simple, np.array([index for index, _ in joined], dtype=np.int64)])
    order = np.argsort(places, kind="stable")
    start = np.concatenate([found.start[simple] + HEAD, stops - sizes])[order]
    end = np.concatenate([found.start[simple] + HEAD + found.length[simple], stops])[order]
    buffer = np.frombuffer(b"".join([data, *(record for _, record in joined), bytes(PADDING)]), dtype=np.uint8)
    return Records(buffer, start, end)


def _drop(chain: _Chain, tally: LogTally) -> None:
    tally.skip(chain.at, HEAD * len(chain.parts) + chain.size, len(chain.parts))
    chain.clear()
