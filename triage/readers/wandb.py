"""Weights & Biases run files (`run-<id>.wandb`), as the client writes them before it sends them: every row, unsampled.

The file is a log of protobuf records. History records are the rows; header, run, config, metric and exit records say
what the run was; summaries, system statistics, files and artifacts repeat the rows or do not concern the training and
are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UnreadableError
from triage.model import Block
from triage.options import Limits
from triage.readers._contract import Reader, Source, Wanted
from triage.readers._flatten import cut_notices
from triage.readers._records import Columns
from triage.readers._wandb_facts import CONSOLE, WandbFacts
from triage.readers._wandb_log import HEADER, IDENT, LogTally, Records, read_log
from triage.readers._wandb_proto import KINDS, decode, kind_of
from triage.readers._wandb_rows import Assembly, decoded, frame_of_parts, scanned
from triage.readers._wandb_scan import envelopes

if TYPE_CHECKING:
    import polars as pl

SUFFIX: Final = ".wandb"

PASSED_OVER: Final = ("summary", "files", "stats", "artifact", "telemetry")
"""Kinds of records whose contents are not looked at: last values, files, machine load, versions."""


def sniff(source: Source) -> bool:
    """Is this a run file? By its header; one that is damaged, by its name."""
    return source.head.startswith(IDENT) or source.name.endswith(SUFFIX)


def read(source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    """Yield the history of one run, some 8 MiB of the file at a time, and what the file says about the run.

    The step is the item `_step`; the axis that `define_metric` declares is named in `meta["step_column"]`. A file that
    ends within a record is read up to there.

    Raises:
        UnreadableError: the header is not that of a run file, or of a later layout.
    """
    _check_header(source)
    facts = WandbFacts()
    tally = LogTally()
    assembly = Assembly(Columns(lambda name: facts.is_axis(name) or wanted(name), limits.columns), limits)
    with source.open() as stream:
        for records in read_log(stream, tally, limits.line_bytes):
            frame = _rows(records, facts, assembly)
            facts.count_axes(frame)
            if frame.height:
                cuts = (*assembly.columns.notices(), *cut_notices(assembly.cuts))
                assembly.cuts.clear()
                yield Block(frame, None, cuts, facts.meta())
    import polars as pl

    notices = (*tally.notices(), *facts.notices(source.path))
    yield Block(pl.DataFrame(), None, notices, {**facts.meta(), "bytes": tally.total})


READER: Final = Reader("wandb", sniff, read)


def _check_header(source: Source) -> None:
    head = source.head[: len(HEADER)]
    if head == HEADER:
        return
    if len(head) < len(HEADER) and HEADER.startswith(head):
        raise UnreadableError(
            "the file ends within its header",
            path=source.path,
            hint="the run has not written anything yet: wait for it",
        )
    if head[:6] == HEADER[:6]:
        raise UnreadableError(
            f"the run file has layout {head[6]}, and only 0 is known",
            path=source.path,
            hint="export the history of the run (scan_history) as CSV or JSON lines",
        )
    raise UnreadableError(
        "the file is named .wandb but does not begin as one",
        path=source.path,
        hint="copy it again; if the machine lost power while it was written, the run cannot be saved from it",
    )


def _rows(records: Records, facts: WandbFacts, assembly: Assembly) -> pl.DataFrame:
    """Sort the records of a batch by kind, learn from them, and make a frame of the history among them."""
    import numpy as np

    kinds = envelopes(records.buffer, records.start, records.end)
    facts.console += int(np.isin(kinds.kind, [KINDS[name] for name in CONSOLE]).sum())
    is_history = kinds.kind == KINDS["history"]
    is_done = np.isin(kinds.kind, [KINDS[name] for name in (*PASSED_OVER, *CONSOLE)])
    places = np.flatnonzero(is_history)
    # Axes are declared before the rows that use them, but perhaps in the same batch: those records come first.
    histories = _learn(records, np.flatnonzero(~is_history & ~is_done).tolist(), facts)
    plain, left = scanned(records.buffer, kinds.start[places], records.end[places], places, assembly)
    histories += _learn(records, places[left].tolist(), facts)
    histories.sort(key=lambda found: found[0])
    rest = decoded([history for _, history in histories], [place for place, _ in histories], assembly)
    return frame_of_parts([plain, rest], assembly)


def _learn(records: Records, places: list[int], facts: WandbFacts) -> list[tuple[int, Any]]:
    """Decode records one by one: facts are taken, histories returned with their places."""
    histories = []
    for place in places:
        record = decode(records.buffer[records.start[place] : records.end[place]].tobytes())
        if record is None:
            facts.undecodable += 1
        elif kind_of(record) == "history":
            histories.append((place, record.history))
        else:
            facts.take(record)
    return histories
