"""A byte stream → stretches of whole lines of UTF-8, with the line number that each begins with.

Separate because what a line is (line ends, zero bytes, a line without end) has nothing to do with JSON.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from triage.model import Notice
from triage.options import Limits
from triage.readers._bytes import count_byte
from triage.readers._contract import Source
from triage.readers._source import text_stream

BLOCK_BYTES: Final = 16 << 20
"""One stretch: at 16 MiB the fixed costs of a block vanish and the memory of a read stays flat (science 11)."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines with their line feeds; only the last line of the source may lack it.

    Attributes:
        text: UTF-8, without byte order mark and zero bytes, no carriage return before a line feed.
        first: number of the first line, from 1.
        count: how many lines.
        is_last: the source ends here.
        size: bytes of text that were read so far.
        notices: what was left out on the way here.
    """

    text: bytes
    first: int
    count: int
    is_last: bool
    size: int
    notices: tuple[Notice, ...] = ()


def read_lines(source: Source, limits: Limits, block: int = BLOCK_BYTES) -> Iterator[Lines]:
    """Yield the source in stretches of about `block` bytes; memory is bounded by `block` and the longest line.

    A line longer than `limits.line_bytes` (and one stretch) is skipped and counted as `long-lines`; zero bytes, as they
    stand after a loss of power, are taken out and counted as `zero-bytes`.
    """
    counts: Counter[str] = Counter()
    first, size, carry, replaced, is_skipping = 1, 0, b"", 0, False
    where_long: int | None = None
    source_text = text_stream(source)
    with source_text.stream as stream:
        while True:
            text = _fill(stream, min(block, limits.line_bytes))
            size += len(text)
            is_last = not text
            if b"\0" in text:
                counts["zero-bytes"] += text.count(0)
                text = text.replace(b"\0", b"")
            if is_skipping:
                _, end, text = text.partition(b"\n")
                if not end and not is_last:
                    continue
                is_skipping, first = False, first + 1
            cut = len(text) if is_last else text.rfind(b"\n") + 1
            if not cut and not is_last:
                carry += text
                text = b""
            else:
                text, carry = b"".join([carry, memoryview(text)[:cut]]), text[cut:]
            n_ends = count_byte(text, "\n")
            if len(carry) > limits.line_bytes:
                where_long = where_long or first + n_ends
                counts["long-lines"] += 1
                carry, is_skipping = b"", True
            if b"\r" in text:
                text = text.replace(b"\r\n", b"\n")
            if text or is_last:
                counts["encoding-replaced"] += source_text.replaced() - replaced
                replaced = source_text.replaced()
                n_lines = n_ends + bool(text and not text.endswith(b"\n"))
                yield Lines(text, first, n_lines, is_last, size, _notices(counts, where_long))
                first += n_ends
                counts, where_long = Counter(), None
            if is_last:
                return


def _fill(stream: BinaryIO, size: int) -> bytes:
    """Read `size` bytes, fewer only at the end: some decompressors hand out small pieces."""
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _notices(counts: Counter[str], where_long: int | None) -> tuple[Notice, ...]:
    where = {"long-lines": None if where_long is None else f"line {where_long}"}
    return tuple(Notice(name, count, where.get(name)) for name, count in sorted(counts.items()) if count)
