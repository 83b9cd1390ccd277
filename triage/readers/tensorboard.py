"""TensorBoard event files: what the writers of PyTorch, TensorFlow, Keras, tensorboardX and their kin leave behind.

Nothing is sampled and nothing is purged: a file that says "I resumed at step 30" is told as such; both attempts stay.

    stream of bytes ─ _tfevents_frames ─► records ─ _tfevents_fast, _tfevents_proto ─► scalars of one file
        ─ _tfevents_writers ─► scalars of the run ─ _tfevents_axis ─► in order of steps ─ _tfevents_rows ─► blocks
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from triage.errors import UnreadableError
from triage.model import Block, Notice
from triage.options import Limits
from triage.readers._contract import Reader, Source, Wanted
from triage.readers._records import Columns
from triage.readers._tfevents_axis import finish, named, place, track
from triage.readers._tfevents_frames import HEADER, first_length
from triage.readers._tfevents_logdir import rename_for
from triage.readers._tfevents_rows import STEP, frames
from triage.readers._tfevents_writers import EventFile, Names, event_file, merged

MARK: Final = b"brain.Event:"
"""In the first record of every event file, followed by the version of the format."""

NAME: Final = "tfevents"
"""In the name of every event file."""


def sniff(source: Source) -> bool:
    """Does it begin with a record, and is that one of events?

    Other data is stored in the same framing, so the mark of events or the name must be there. A file that has only the
    name, and no text in it, is taken too: it is cut or damaged, which is better said than left unexplained.
    """
    head = source.head
    is_named = NAME in source.name.lower()
    if first_length(head) is not None:
        return is_named or MARK in head[HEADER : HEADER + 64]
    return is_named and not any(head[4:8])


def read(source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    """Yield a block for every 4 MiB or so, and a last one without rows that says what was left out.

    Rows have `step`, `wall_time` and a column for every tag that was logged at that step. Files that belong to the same
    run (`Source.together`) are read with it. Files with nothing but a header yield no rows, which is no error.
    """
    import polars as pl

    together = source.together or (("", source),)
    longest = limits.line_bytes
    files = [event_file(part, folder, rename_for(folder), longest) for folder, part in together]
    names = Names(Columns(wanted, limits.columns))
    run = track(names.names)
    for scalars in merged(files, names, longest):
        for placed in place(run, scalars):
            for frame in frames(placed, names.names):
                yield Block(frame, meta=_meta(files))
    for placed in finish(run):
        for frame in frames(placed, names.names):
            yield Block(frame, meta=_meta(files))
    if all(not file.damage.records and file.damage.lost_at == 0 for file in files):
        raise UnreadableError(
            "is named like an event file, but does not begin with a record",
            path=source.path,
            hint="copy the file again; if it was cut at the front, nothing in it can be found",
        )
    notices = (*_losses(files, longest), *_left_out(files), *run.notices(), *names.columns.notices())
    yield Block(pl.DataFrame(), None, notices, _meta(files))


def _meta(files: Sequence[EventFile]) -> dict[str, Any]:
    writers = {file.facts.writer: None for file in files if file.facts.writer}
    events = [
        {"step": step, "kind": "restart", "text": f"the writer resumed and begins again at step {step}"}
        for file in files
        for _, step in file.facts.starts
        if step
    ]
    return {
        "format": "tensorboard",
        "step_column": STEP,
        "bytes": sum(file.damage.size for file in files),
        "dropped": sum(file.damage.wrong + file.damage.oversize + file.facts.undecodable for file in files),
        **({"writer": ", ".join(writers)} if writers else {}),
        **({"text_events": events} if events else {}),
    }


def _losses(files: Sequence[EventFile], longest: int) -> list[Notice]:
    """What was damaged, file by file where there are several."""
    found = []
    for file in files:
        notices = [*file.damage.notices(longest)]
        if file.facts.undecodable:
            notices.append(Notice("undecodable-records", file.facts.undecodable))
        if len(files) > 1:
            notices = [
                Notice(n.id, n.count, f"{file.source.path}, {n.where}" if n.where else file.source.path, n.detail)
                for n in notices
            ]
        found += notices
    return found


def _left_out(files: Sequence[EventFile]) -> list[Notice]:
    """What the files hold besides scalars, and where their writers resumed."""
    skipped: Counter[str] = sum((file.facts.skipped for file in files), Counter())
    starts = [step for file in files for _, step in file.facts.starts if step]
    found = []
    if skipped:
        found.append(Notice("summaries-skipped", skipped.total(), None, {"kinds": named(skipped)}))
    if starts:
        found.append(Notice("session-start", len(starts), None, {"steps": ", ".join(map(str, starts))}))
    return found


READER: Final = Reader("tensorboard", sniff, read)
