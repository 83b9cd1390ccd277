"""Taking compression off a stream of bytes, bounded in size and with the cut tail counted.

Separate from `_source.py` because the rules for members, frames, padding and damage are those of the packers, not ours.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from triage.errors import UnreadableError
from triage.options import Limits

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK: Final = 64 << 10
"""Packed bytes read at a time."""

OUT: Final = 1 << 20
"""Most unpacked bytes that one call of a packer with a limit of its own gives."""

ZSTD_FEED: Final = 512
"""Packed bytes given to zstd at a time: its streaming object has no output limit, and a block of four bytes may hold
128 KiB, so this bounds one call to about 16 MiB."""

EXPANSION_FREE: Final = 64 << 20
"""Unpacked bytes before `Limits.expansion` counts: small files of zeros are no bombs."""

SIGNATURES: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
)
"""First bytes of a packed file, and the packer."""

LONGEST_SIGNATURE: Final = max(len(signature) for signature, _ in SIGNATURES)

SUFFIXES: Final = (".gz", ".gzip", ".zst", ".zstd", ".xz", ".bz2")
"""Endings taken off a file name before a reader sees it."""


@dataclass(slots=True)
class Tail:
    """What is known about the end of a packed stream once it has been read; filled while reading.

    Attributes:
        torn: packed bytes that could not be unpacked.
        reason: why, in the packer's words; "" where nothing is wrong.
    """

    torn: int = 0
    reason: str = ""


class ChunkStream(io.RawIOBase):
    """A readable stream over an iterator of byte strings, for wrapping in a BufferedReader."""

    def __init__(self, chunks: Iterator[bytes], close: Callable[[], None] | None = None) -> None:
        """Serve `chunks` in order; `close` is called once when the stream is closed."""
        super().__init__()
        self._chunks = chunks
        self._close = close
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Say yes, as io.RawIOBase asks."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill `buffer` from the chunks; 0 at the end."""
        target = memoryview(buffer).cast("B")
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        """Close what is underneath, once."""
        if not self.closed and self._close is not None:
            self._close()
        super().close()


def stream_of(chunks: Iterator[bytes], close: Callable[[], None] | None = None) -> BinaryIO:
    """Make a buffered binary stream of an iterator of byte strings."""
    return io.BufferedReader(ChunkStream(chunks, close), OUT)


def packer_of(head: bytes) -> str | None:
    """Name the packer whose signature the bytes begin with; None for plain bytes."""
    return next((name for signature, name in SIGNATURES if head.startswith(signature)), None)


def unpack(packed: Iterator[bytes], packer: str, limits: Limits, path: str, tail: Tail) -> Iterator[bytes]:
    """Yield the unpacked bytes of all members or frames, up to a cut or a fault.

    Args:
        packed: packed bytes in chunks of any size.
        packer: a name of `SIGNATURES`.
        limits: `decompressed_bytes` and `expansion`.
        path: for messages.
        tail: filled in when the end has been reached.

    Raises:
        UnreadableError: the stream unpacks to more than the limits allow.
    """
    counted = _Packed(packed)
    given = 0
    for piece in _members(counted, packer, tail):
        given += len(piece)
        if given > limits.decompressed_bytes:
            raise UnreadableError(
                f"unpacks to more than {limits.decompressed_bytes >> 20} MiB",
                path=path,
                hint="raise the limit for unpacked bytes, or unpack it yourself and give the plain file",
            )
        if given > EXPANSION_FREE and given > limits.expansion * counted.total:
            raise UnreadableError(
                f"unpacks to more than {limits.expansion} times its size, as a decompression bomb does",
                path=path,
                hint="unpack it yourself and give the plain file if you trust it",
            )
        yield piece


class _Packed:
    """The packed chunks, counted as they are taken."""

    __slots__ = ("_chunks", "last", "total")

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.last = 0
        self.total = 0

    def next(self) -> bytes:
        """Give the next chunk, b"" at the end."""
        chunk = next(self._chunks, b"")
        self.last = len(chunk) or self.last
        self.total += len(chunk)
        return chunk

    def drain(self) -> int:
        """Read to the end and count."""
        before = self.total
        while self.next():
            pass
        return self.total - before


def _members(packed: _Packed, packer: str, tail: Tail) -> Iterator[bytes]:
    """Unpack member after member; where one is damaged or cut, note it in `tail` and stop."""
    start, feed, faults = _packers()[packer]
    rest = packed.next()
    while rest:
        member = start()
        try:
            rest = yield from feed(member, rest, packed)
        except faults as fault:
            tail.reason = str(fault) or "damaged"
            tail.torn = packed.last + packed.drain()
            return
        if not member.eof:
            # The packers swallow a cut block whole and do not say how much of it they could use: at least one byte.
            tail.reason = "ends early"
            tail.torn = 1
            return
        rest = rest.lstrip(b"\0")
        while not rest and (chunk := packed.next()):
            rest = chunk.lstrip(b"\0")  # padding between and after members is legal
        if rest and packer_of(rest) != packer:
            if len(rest) < LONGEST_SIGNATURE:
                rest += packed.next()
            if packer_of(rest) != packer:
                tail.reason = "bytes that are not packed follow"
                tail.torn = len(rest) + packed.drain()
                return


Feed = Callable[[Any, bytes, _Packed], Generator[bytes, None, bytes]]
"""Feeds a member until it ends: yields unpacked bytes, returns the packed bytes after the member."""


def _packers() -> dict[str, tuple[Callable[[], Any], Feed, tuple[type[Exception], ...]]]:
    """How each packer starts a member, is fed, and fails; imported here so that plain files load none of them."""
    import bz2
    import lzma
    import zlib

    import zstandard

    return {
        "gzip": (lambda: zlib.decompressobj(wbits=31), _feed_zlib, (zlib.error,)),
        "bzip2": (bz2.BZ2Decompressor, _feed_limited, (OSError, ValueError)),
        "xz": (lzma.LZMADecompressor, _feed_limited, (lzma.LZMAError,)),
        "zstd": (lambda: zstandard.ZstdDecompressor().decompressobj(), _feed_zstd, (zstandard.ZstdError,)),
    }


def _feed_zlib(member: Any, rest: bytes, packed: _Packed) -> Generator[bytes, None, bytes]:
    while True:
        out = member.decompress(rest, OUT)
        if out:
            yield out
        if member.eof:
            return bytes(member.unused_data)
        rest = member.unconsumed_tail
        # A full piece may mean that more waits inside.
        if not rest and len(out) < OUT:
            rest = packed.next()
            if not rest:
                return b""


def _feed_limited(member: Any, rest: bytes, packed: _Packed) -> Generator[bytes, None, bytes]:
    while True:
        if out := member.decompress(rest, OUT):
            yield out
        if member.eof:
            return bytes(member.unused_data)
        rest = b""
        if member.needs_input:
            rest = packed.next()
            if not rest:
                return b""


def _feed_zstd(member: Any, rest: bytes, packed: _Packed) -> Generator[bytes, None, bytes]:
    while rest:
        for begin in range(0, len(rest), ZSTD_FEED):
            if out := member.decompress(rest[begin : begin + ZSTD_FEED]):
                yield out
            if member.eof:
                return bytes(member.unused_data) + rest[begin + ZSTD_FEED :]
        rest = packed.next()
    return b""
