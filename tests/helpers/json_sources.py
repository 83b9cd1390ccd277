"""Sources made by hand, and what a reader makes of them."""

from __future__ import annotations

import io
from collections import Counter
from typing import TYPE_CHECKING

from triage.options import Limits
from triage.readers._contract import HEAD_BYTES, Reader, Source, everything

if TYPE_CHECKING:
    from collections.abc import Callable

    from triage.model import Block


def source_of(data: bytes | str, name: str = "log.jsonl") -> Source:
    raw = data.encode() if isinstance(data, str) else data
    return Source(name, name, raw[:HEAD_BYTES], len(raw), None, lambda: io.BytesIO(raw), lambda: 0)


def blocks_of(
    reader: Reader,
    data: bytes | str,
    name: str = "log.jsonl",
    limits: Limits | None = None,
    wanted: Callable[[str], bool] = everything,
) -> list[Block]:
    return list(reader.read(source_of(data, name), limits or Limits(), wanted))


def counts_of(blocks: list[Block]) -> dict[str, int]:
    """Notice id → count, added up over the blocks."""
    counts: Counter[str] = Counter()
    for block in blocks:
        for notice in block.notices:
            counts[notice.id] += notice.count
    return dict(counts)
