"""TensorBoard event files: what the writers of PyTorch, TensorFlow, Keras, tensorboardX and their kin leave behind.

Nothing is sampled and nothing is purged: a file that says "I resumed at step 30" is told as such; both attempts stay.

    stream of bytes ─ _tfevents_frames ─► records ─ _tfevents_fast, _tfevents_proto ─► scalars of one file
        ─ _tfevents_writers ─► scalars of the run ─ _tfevents_axis ─► in order of steps ─ _tfevents_rows ─► blocks
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UnreadableError
from triage.model import Block, Notice
from triage.options import Limits
from triage.readers._contract import Reader, Source, Wanted
from triage.readers._records import Columns
from triage.readers._tfevents_axis import Track, finish, named, place, track
from triage.readers._tfevents_frames import HEADER, first_length
from triage.readers._tfevents_logdir import IGNORED, Head, rename_for, runs_of
from triage.readers._tfevents_rows import STEP, column_name, frames
from triage.readers._tfevents_writers import EventFile, Names, event_file, merged, side_by_side

if TYPE_CHECKING:
    import polars as pl

MARK: Final = b"brain.Event:"
"""In the first record of every event file, followed by the version of the format."""

NAME: Final = "tfevents"
"""In the name of every event file."""

ALIASES: Final = {"eval/epoch_loss": "eval_loss"}
"""Keras logs its evaluations twice: once an epoch, which is all of them, and over the batches, which is only some."""


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
    """Yield a block for every 2 MiB or so, and for each run a last one without rows that says what was left out.

    Rows have `step`, `wall_time` and a column for every tag that was logged at that step. Files that were found with
    this one (`Source.together`) are read too, as parts of its run or as runs of their own. Files with nothing but a
    header yield no rows, which is no error.
    """
    together = source.together or (("", source),)
    files = [event_file(folder, part, limits.line_bytes) for folder, part in together]
    runs, ignored = _runs(files)
    for folder, members in runs.items():
        name = folder if len(runs) > 1 and folder else None
        yield from _read_run(members, name, ignored, limits, wanted)
        ignored = ()
    if all(not file.damage.records and file.damage.lost_at == 0 for members in runs.values() for file in members):
        raise UnreadableError(
            "is named like an event file, but does not begin with a record",
            path=source.path,
            hint="copy the file again; if it was cut at the front, nothing in it can be found",
        )


def _runs(files: Sequence[EventFile]) -> tuple[dict[str, list[EventFile]], tuple[Notice, ...]]:
    """The files of each run by the folder of the run, and what belongs to none."""
    heads: dict[str, Head] = {}
    for file in files:
        before = heads.get(file.folder, Head(frozenset(), has_series=False))
        tags = frozenset(column_name(tag) for tag in file.tags)
        heads[file.folder] = Head(before.tags | tags, before.has_series or file.has_series)
    run_of = runs_of(heads)
    runs: dict[str, list[EventFile]] = {}
    ignored = []
    for file in files:
        run = run_of[file.folder]
        if run is IGNORED:
            ignored.append(file.source.path)
            continue
        file.rename = rename_for(file.folder[len(run) :].lstrip("/"))
        runs.setdefault(run, []).append(file)
    return runs, (Notice("hparams-run-ignored", len(ignored), ignored[0]),) if ignored else ()


def _read_run(
    files: Sequence[EventFile], name: str | None, notices: tuple[Notice, ...], limits: Limits, wanted: Wanted
) -> Iterator[Block]:
    import polars as pl

    names = Names(Columns(wanted, limits.columns))
    workers = side_by_side(files)
    for rank, members in enumerate(workers):
        run = track(names.names)
        for frame in _frames(members, run, names, limits):
            whole = frame.with_columns(pl.lit(rank, pl.Int64).alias("rank")) if len(workers) > 1 else frame
            yield Block(whole, name, meta=_meta(files))
        notices += run.notices()
    notices += (*_losses(files, limits.line_bytes), *_left_out(files), *names.columns.notices())
    yield Block(pl.DataFrame(), name, notices, _meta(files))


def _frames(files: Sequence[EventFile], run: Track, names: Names, limits: Limits) -> Iterator[pl.DataFrame]:
    for scalars in merged(files, names, limits.line_bytes):
        for placed in place(run, scalars):
            yield from frames(placed, names.names)
    for placed in finish(run):
        yield from frames(placed, names.names)


def _meta(files: Sequence[EventFile]) -> dict[str, Any]:
    writers = {file.facts.writer: None for file in files if file.facts.writer}
    events = [
        {"step": step, "kind": "resume", "text": f"the writer resumed and begins again at step {step}"}
        for file in files
        for _, step in file.facts.starts
        if step
    ]
    return {
        "format": "tensorboard",
        "step_column": STEP,
        "aliases": ALIASES,
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
