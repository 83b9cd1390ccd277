"""JSON lines: one object a line, whatever else stands between them.

Two paths, block by block. Lines of equal layout are read as a table (`_jsonl_layout.py`: as fast as a JSON parser
that checks nothing, and it proves each line or leaves it); what is left goes line by line through the tolerant path
(`_jsonl_rows.py`). Small sources go straight to the latter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from triage.errors import UnreadableError
from triage.model import Block
from triage.options import Limits
from triage.readers._contract import HEAD_BYTES, Reader, Source, Wanted
from triage.readers._flatten import Cuts, cut_notices
from triage.readers._json_sniff import kind_of_json
from triage.readers._jsonl_layout import read_layouts
from triage.readers._jsonl_lines import Lines, read_lines
from triage.readers._jsonl_rows import read_rows
from triage.readers._records import Columns, Part, columns_of, stack
from triage.readers._source import head_text

FAST_BYTES: Final = 256 << 10
"""Smallest block for the layout path: below it, its fixed costs (sampling, a table read) exceed the gain."""

WRITERS: Final[tuple[tuple[str, frozenset[str], str | None], ...]] = (
    # writer, columns that give it away, axis that it declares (science 9.1, 9.3)
    ("LLaMA-Factory", frozenset({"current_steps", "total_steps", "percentage"}), "current_steps"),
    ("mmengine", frozenset({"data_time", "iter", "step", "time"}), "iter"),
    ("detectron2", frozenset({"data_time", "iteration", "total_loss"}), "iteration"),
    ("fairseq", frozenset({"num_updates", "gnorm", "wps"}), "num_updates"),
    ("torchtitan", frozenset({"loss_metrics/global_avg_loss", "loss_metrics/global_max_loss"}), None),
)


def sniff(source: Source) -> bool:
    """Does the head hold objects in lines, and is it no single document?"""
    return kind_of_json(head_text(source), is_whole=len(source.head) < HEAD_BYTES) == "lines"


def read(source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    """Yield a block for every 16 MiB of lines, in order."""
    columns = Columns(wanted, limits.columns)
    n_rows = n_dropped = 0
    for lines in read_lines(source, limits):
        cuts: Cuts = Counter()
        parts, left = _split(lines, columns, limits.depth, cuts)
        is_open = lines.is_last and bool(lines.text) and not lines.text.endswith(b"\n")
        rows = read_rows(left, last_line=lines.first + lines.count - 1 if is_open else None)
        parts.append((rows.lines, columns_of(rows.records, columns, limits.depth, cuts)))
        n_rows += sum(len(places) for places, _ in parts)
        n_dropped += rows.skipped
        if lines.is_last and not n_rows:
            raise UnreadableError(
                "no JSON object in any line", path=source.path, hint="name the format, or give another file"
            )
        frame = stack(parts, cuts)
        notices = (*lines.notices, *rows.notices(), *cut_notices(cuts), *columns.notices())
        meta = {"format": "jsonl", "bytes": lines.size, "dropped": n_dropped, **_writer(columns.names)}
        if frame.height or notices:
            yield Block(frame, None, notices, meta)


def _split(lines: Lines, columns: Columns, depth: int, cuts: Cuts) -> tuple[list[Part], Iterable[tuple[int, bytes]]]:
    if len(lines.text) >= FAST_BYTES:
        return read_layouts(lines.text, range(lines.first, lines.first + lines.count), columns, depth, cuts)
    return [], enumerate(lines.text.split(b"\n"), lines.first)


def _writer(names: set[str]) -> dict[str, Any]:
    for writer, keys, axis in WRITERS:
        if keys <= names:
            return {"writer": writer} if axis is None else {"writer": writer, "step_column": axis}
    return {}


READER: Final = Reader("jsonl", sniff, read)
