"""A source → the JSON values in it, whatever it is written in and wherever it ends.

Separate because every reader of whole documents begins with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triage.errors import UnreadableError
from triage.model import Notice
from triage.options import Limits
from triage.readers._contract import Source
from triage.readers._flatten import flatten
from triage.readers._json_text import Parsed, parse_all
from triage.readers._source import text_stream


@dataclass(frozen=True, slots=True)
class Document:
    """A document as read.

    Attributes:
        values: its JSON values; nearly always one.
        size: bytes of text.
        notices: what was replaced, taken out or torn off.
    """

    values: list[Any]
    size: int
    notices: tuple[Notice, ...]


def load(source: Source) -> Document:
    """Read a whole source as JSON; raises UnreadableError where not even its beginning is JSON."""
    import orjson

    decoded = text_stream(source)
    with decoded.stream as stream:
        pieces = []
        while piece := stream.read(1 << 20):
            pieces.append(piece)
    raw = b"".join(pieces)
    counts = {"encoding-replaced": decoded.replaced(), "zero-bytes": raw.count(0)}
    raw = raw.replace(b"\0", b"")
    try:
        parsed = Parsed([orjson.loads(raw)])
    except orjson.JSONDecodeError:
        parsed = parse_all(raw.decode("utf-8", "replace"))
    if not parsed.values:
        raise UnreadableError("looks like JSON but is not", path=source.path, hint="was it written to the end?")
    notices = [Notice(name, count) for name, count in counts.items() if count]
    if parsed.torn:
        notices.append(Notice("torn-tail", parsed.torn, detail={"bytes": parsed.torn}))
    if not parsed.is_closed:
        notices.append(Notice("unclosed-document"))
    return Document(parsed.values, len(raw), tuple(notices))


def config_of(config: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """What stands beside the rows, flattened; without blanks."""
    return {name: cell for name, cell in flatten(config, limits.depth, Counter()).items() if cell is not None}
