"""One JSON document: a list of rows, columns, several runs, an export. `_json_shapes.py` has the table of shapes.

The document is read as a whole (memory about eight times its size); a run that logs enough for this to matter writes
lines. A document that is cut at its end is closed after its last whole item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from triage.errors import UnreadableError
from triage.model import Block
from triage.options import Limits
from triage.readers._contract import HEAD_BYTES, Reader, Source, Wanted
from triage.readers._flatten import Cuts, cut_notices
from triage.readers._json_load import Document, config_of, load
from triage.readers._json_shapes import tables_of
from triage.readers._json_sniff import kind_of_json
from triage.readers._records import Columns, frame_of
from triage.readers._source import head_text

FORMAT: Final = "json"


def sniff(source: Source) -> bool:
    """Is the head the beginning of one document that can hold rows, and no trainer state?"""
    head = head_text(source)
    return '"log_history"' not in head and kind_of_json(head, is_whole=len(source.head) < HEAD_BYTES) == "document"


def read(source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    """Yield one block for every run of the document."""
    document = load(source)
    tables = tables_of(_merged(document), source.name)
    if not tables:
        raise UnreadableError(
            "is JSON, but nothing in it is a table of a run",
            path=source.path,
            hint="give a list of rows, an object of columns, or JSON lines",
        )
    notices = document.notices
    for table in tables:
        cuts: Cuts = Counter()
        columns = Columns(wanted, limits.columns)
        frame = frame_of(table.rows, columns, limits.depth, cuts)
        meta = {"format": FORMAT, "bytes": document.size, "config": config_of(table.config, limits), **table.meta}
        yield Block(frame, table.run, (*notices, *table.notices, *cut_notices(cuts), *columns.notices()), meta)
        notices = ()


def _merged(document: Document) -> Any:
    """The one value, or several values in a row as the list that they are."""
    return document.values[0] if len(document.values) == 1 else document.values


READER: Final = Reader(FORMAT, sniff, read)
