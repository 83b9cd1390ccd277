"""The records of a TensorBoard event file: framing and checksums, nothing of what they hold.

Separate because framing is the TFRecord format, which knows nothing about events. Repeated to the end of the file:

    u64 length | u32 masked CRC-32C of those 8 bytes | data[length] | u32 masked CRC-32C of the data     (little-endian)

There is no index and no resynchronisation mark, so where a length cannot be trusted nothing behind it can be found.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from triage.model import Notice

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

CHUNK: Final = 2 << 20
"""Bytes read at a time: some 40,000 scalars, so that the fixed costs of a chunk vanish and its arrays stay small."""

PAD: Final = 8
"""Zero bytes put behind a chunk, so that its last record can be looked at in whole words."""

HEADER: Final = 12
FOOTER: Final = 4

SCANNED_LENGTH_BYTES: Final = 3
"""Records below 2^24 bytes are found by scanning for the zero bytes of their length; longer ones one by one."""

COMMON_LENGTH: Final = 1 << 10
"""Records shorter than this come in many of one length, and are cut out of the chunk together."""

_MASK_DELTA: Final = 0xA282EAD8
"""TensorFlow stores checksums rotated by 15 bits plus this, so that a checksum of checksums stays meaningful."""


@dataclass(frozen=True, slots=True)
class Records:
    """Whole records whose checksums are right.

    Attributes:
        data: the bytes they lie in, PAD zero bytes appended.
        starts: (records,) Int64 position of the first byte of each record's data.
        lengths: (records,) Int64.
    """

    data: bytes
    starts: Array
    lengths: Array


@dataclass(slots=True)
class Damage:
    """What could not be read of one file; filled while reading.

    Attributes:
        size: bytes read.
        records: whole records with right checksums.
        torn: bytes of an unfinished record at the end.
        lost: bytes behind a length with a wrong checksum, itself included.
        lost_at: where that length stands; None = nowhere.
        wrong: records whose data have a wrong checksum.
        wrong_at: where the first of them begins.
        oversize: records longer than the limit.
        oversize_at: where the first of them begins.
    """

    size: int = 0
    records: int = 0
    torn: int = 0
    lost: int = 0
    lost_at: int | None = None
    wrong: int = 0
    wrong_at: int | None = None
    oversize: int = 0
    oversize_at: int | None = None

    def notices(self, limit: int) -> tuple[Notice, ...]:
        """What was lost, as notices; `limit` is the longest record that is read."""
        found = []
        if self.torn:
            found.append(Notice("torn-tail", self.torn, detail={"bytes": self.torn}))
        if self.lost:
            found.append(Notice("bad-record-length", self.lost, f"byte {self.lost_at}", {"bytes": self.lost}))
        if self.wrong:
            found.append(Notice("bad-record-checksum", self.wrong, f"byte {self.wrong_at}"))
        if self.oversize:
            found.append(Notice("records-over-limit", self.oversize, f"byte {self.oversize_at}", {"limit": limit}))
        return tuple(found)


def mask(crc: int) -> int:
    """The form in which a CRC-32C is stored."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def first_length(head: bytes) -> int | None:
    """The length of the record at the very beginning, if its checksum is right; None otherwise."""
    return _length_at(head, 0) if len(head) >= HEADER else None


def read_records(stream: BinaryIO, longest: int, damage: Damage) -> Iterator[Records]:
    """Yield the whole, undamaged records chunk by chunk, up to the end, a cut, or a length that cannot be trusted.

    Args:
        stream: the file from its start.
        longest: bytes of the longest record that is read; a longer one is skipped and counted.
        damage: filled in as reading goes on.
    """
    rest, wanted = b"", CHUNK
    while piece := stream.read(wanted):
        damage.size += len(piece)
        data = b"".join((rest, piece, bytes(PAD)))
        end = len(data) - PAD
        begin = damage.size - end
        starts, lengths, done, is_broken = _walk(data, end)
        right = _have_right_checksum(data, starts, lengths)
        if not right.all():
            first = begin + int(starts[~right][0]) - HEADER
            damage.wrong += int((~right).sum())
            damage.wrong_at = first if damage.wrong_at is None else damage.wrong_at
            starts, lengths = starts[right], lengths[right]
        damage.records += len(starts)
        if len(starts):
            yield Records(data, starts, lengths)
        rest, wanted = data[done:end], CHUNK
        if is_broken:
            damage.lost_at = begin + done
            damage.lost = len(rest) + _drain(stream, damage)
            return
        if len(rest) < HEADER:
            continue
        missing = (_length_at(rest, 0) or 0) + HEADER + FOOTER - len(rest)
        if len(rest) + missing > longest:
            rest = _skip(stream, missing, damage, begin + done, len(rest))
        else:
            wanted = max(CHUNK, missing)
    damage.torn += len(rest)


def _drain(stream: BinaryIO, damage: Damage) -> int:
    count = 0
    while piece := stream.read(CHUNK):
        count += len(piece)
    damage.size += count
    return count


def _skip(stream: BinaryIO, missing: int, damage: Damage, begin: int, held: int) -> bytes:
    """Pass over the rest of a record that is too long; what is cut counts as torn."""
    left = missing
    while left and (piece := stream.read(min(CHUNK, left))):
        left -= len(piece)
        damage.size += len(piece)
    if left:
        damage.torn = held + missing - left
    else:
        damage.oversize += 1
        damage.oversize_at = begin if damage.oversize_at is None else damage.oversize_at
    return b""


def _length_at(data: bytes, position: int) -> int | None:
    from crc32c import crc32c

    length, stored = struct.unpack_from("<QI", data, position)
    return int(length) if mask(crc32c(data[position : position + 8])) == stored else None


def _walk(data: bytes, end: int) -> tuple[Array, Array, int, bool]:
    """Follow the chain of lengths from position 0.

    Returns:
        Starts and lengths of the whole records' data, the position behind the last of them, and whether the length
        there has a wrong checksum.

    Every place that looks like a header is found at once; the records are then those that form an unbroken chain, which
    is what reading them one by one would give. Only where the chain breaks is a header read by itself.
    """
    import numpy as np

    heads, lengths = _headers(data, end)
    following = heads + lengths + (HEADER + FOOTER)
    # Runs of heads in which each is followed by the next.
    breaks = np.flatnonzero(following[:-1] != heads[1:])
    pieces: list[tuple[Array, Array]] = []
    position = 0
    is_broken = False
    while position + HEADER <= end:
        at = int(np.searchsorted(heads, position))
        if at < len(heads) and heads[at] == position:
            stop = int(np.searchsorted(breaks, at))
            last = int(breaks[stop]) + 1 if stop < len(breaks) else len(heads)
            last = at + int(np.searchsorted(following[at:last], end, side="right"))
            if last == at:
                break  # the rest of this record is not here
            pieces.append((heads[at:last], lengths[at:last]))
            position = int(following[last - 1])
            continue
        length = _length_at(data, position)
        if length is None:
            is_broken = True
            break
        if position + HEADER + length + FOOTER > end:
            break
        pieces.append((np.array([position]), np.array([length])))
        position += HEADER + length + FOOTER
    if not pieces:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), position, is_broken
    starts = np.concatenate([piece[0] for piece in pieces]) + HEADER
    return starts, np.concatenate([piece[1] for piece in pieces]), position, is_broken


def _headers(data: bytes, end: int) -> tuple[Array, Array]:
    """All places with the header of a record of 1 to 2^24 - 1 bytes whose length has a right checksum, and the lengths.

    Such a length ends in a run of at least five zero bytes, so that four of them begin at an even place.
    """
    import numpy as np

    octets = np.frombuffer(data, np.uint8)
    zero = octets[: end & ~1].view("<u2") == 0
    runs = zero[:-1] & zero[1:]
    runs[1:] &= ~runs[:-1]  # only where a run begins
    begins = 2 * np.flatnonzero(runs)
    begins = begins[(begins > 1) & (begins + HEADER <= end)]
    # The highest byte of the length that is not zero: its first, second or third.
    last = begins - 1 - (octets[begins - 1] == 0)
    found = []
    for size in range(1, SCANNED_LENGTH_BYTES + 1):
        heads = np.maximum(last - (size - 1), 0)
        lengths = _words(data, "<u8")[heads]
        crc = _length_checksum(lengths, size)
        right = (last >= size - 1) & (lengths < 1 << 8 * size) & (_masked(crc) == _words(data, "<u4")[heads + 8])
        found.append((heads[right], lengths[right].astype(np.int64)))
        last = last[~right]
    heads, lengths = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(heads, kind="stable")
    return heads[order], lengths[order]


def _length_checksum(lengths: Array, size: int) -> Array:
    """The CRC-32C of lengths below 2^(8 × size), as eight bytes each."""
    import numpy as np

    crc = np.full(len(lengths), _length_tables()[0][0], np.uint32)
    for place in range(size):
        crc ^= _length_tables()[1][place][(lengths >> np.uint64(8 * place) & np.uint64(0xFF)).astype(np.intp)]
    return crc


@cache
def _length_tables() -> tuple[Array, tuple[Array, ...]]:
    """The CRC-32C of length 0, and what each low byte of a length adds to it; CRCs of one input length are linear."""
    import numpy as np
    from crc32c import crc32c

    nothing = crc32c(bytes(8))

    def table(place: int) -> Array:
        lengths = (value << 8 * place for value in range(256))
        return np.array([crc32c(length.to_bytes(8, "little")) ^ nothing for length in lengths], dtype=np.uint32)

    return np.array([nothing], np.uint32), tuple(map(table, range(SCANNED_LENGTH_BYTES)))


def _have_right_checksum(data: bytes, starts: Array, lengths: Array) -> Array:
    """(records,) is the checksum of the data right?"""
    import numpy as np
    from crc32c import crc32c

    crc = np.empty(len(starts), np.uint32)
    short = np.minimum(lengths, COMMON_LENGTH).astype(np.uint16)
    order = np.argsort(short, kind="stable")
    sizes = np.bincount(short)
    ends = np.cumsum(sizes)
    for length in np.flatnonzero(sizes).tolist():
        members = order[ends[length] - sizes[length] : ends[length]]
        if 0 < length < COMMON_LENGTH:
            # Cut out by one call: half the cost of the checksum itself is to make its bytes.
            whole = np.ndarray((len(data) - length + 1,), f"V{length}", data, 0, (1,))
            payloads = iter(whole[starts[members]].tolist())
        else:
            begins = starts[members]
            payloads = map(data.__getitem__, map(slice, begins.tolist(), (begins + lengths[members]).tolist()))
        crc[members] = np.fromiter(map(crc32c, payloads), np.uint32, len(members))
    right: Array = _masked(crc) == _words(data, "<u4")[starts + lengths]
    return right


def _masked(crc: Array) -> Array:
    import numpy as np

    rotated = (crc >> np.uint32(15)) | (crc << np.uint32(17))
    masked: Array = rotated + np.uint32(_MASK_DELTA)
    return masked


def _words(data: bytes, kind: str) -> Array:
    """A view of the bytes as a number at every position."""
    import numpy as np

    size = np.dtype(kind).itemsize
    return np.ndarray((max(0, len(data) - size + 1),), kind, data, 0, (1,))
