"""A source → stretches of whole lines of text, with the number of the line that each begins with.

Separate from `_jsonl_lines.py` because a line of a console may never end: a bar that is redrawn for a week is one
line of many gigabytes, which can be cut at any carriage return.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from triage.model import Notice
from triage.options import Limits
from triage.readers._contract import Source
from triage.readers._source import text_stream

STRETCH_BYTES: Final = 4 << 20
"""At 4 MiB the fixed costs of a stretch vanish, and its pieces take some 30 MiB."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Text between two line ends or redraws.

    Attributes:
        text: UTF-8 bytes, line ends and redraws still in them.
        first: number of the line that it begins on, from 1.
        is_last: the source ends here.
        size: bytes of text read so far.
        notices: what was left out on the way here.
    """

    text: bytes
    first: int
    is_last: bool
    size: int
    notices: tuple[Notice, ...]


def stretches(source: Source, limits: Limits) -> Iterator[Stretch]:
    """Yield a source in stretches of about STRETCH_BYTES; memory is bounded by that and by `limits.line_bytes`.

    What is longer than `limits.line_bytes` without a line end or a redraw is left out and counted as `long-lines`.
    """
    counts: Counter[str] = Counter()
    first, size, carry, replaced, is_skipping = 1, 0, b"", 0, False
    text_source = text_stream(source)
    with text_source.stream as stream:
        while True:
            chunk = _fill(stream, min(STRETCH_BYTES, limits.line_bytes))
            size += len(chunk)
            is_last = not chunk
            if is_skipping:
                end = min((place for sign in (b"\n", b"\r") if (place := chunk.find(sign)) >= 0), default=-1)
                if end < 0 and not is_last:
                    continue
                chunk, is_skipping = chunk[max(0, end) :], False
            text = carry + chunk
            cut = len(text) if is_last else max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
            text, carry = text[:cut], text[cut:]
            if len(carry) > limits.line_bytes:
                counts["long-lines"] += 1
                carry, is_skipping = b"", True
            if text or is_last:
                counts["encoding-replaced"] += text_source.replaced() - replaced
                replaced = text_source.replaced()
                notices = tuple(Notice(name, count) for name, count in sorted(counts.items()) if count)
                counts.clear()
                yield Stretch(text, first, is_last, size, notices)
                first += text.count(b"\n")
            if is_last:
                return


def _fill(stream: BinaryIO, size: int) -> bytes:
    """Read `size` bytes, fewer only at the end: some decompressors hand out small pieces."""
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
