"""The event files of one run, read side by side and merged in the order of time.

Separate from the reading of one file because a run may have several writers at once (training and validation, one per
key of `add_scalars`) and several files of one writer after another (a restart). Files of one folder that share tags
follow each other; all else is laid into one another by the time of writing, which never reorders a file in itself.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.readers._contract import Source
from triage.readers._records import Columns
from triage.readers._tfevents_fast import Templates, read_fast
from triage.readers._tfevents_frames import Damage, read_records
from triage.readers._tfevents_proto import Facts, Scalars, Series, read_plain
from triage.readers._tfevents_rows import column_name

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

REFUSED: Final = -1
"""Number of a column that is not read."""


@dataclass(slots=True)
class EventFile:
    """One event file of a run while it is read.

    Attributes:
        source: its bytes.
        folder: the folder that it lies in.
        rename: what its tags are called in the run.
        damage, facts: filled while reading.
        tags: scalar tags in its head.
        has_series: one of them has several values there.
        begin, end: time of its first record, and the latest time in its head; 0 where that cannot be read.
    """

    source: Source
    folder: str
    rename: Callable[[str], str] = str
    damage: Damage = field(default_factory=Damage)
    facts: Facts = field(default_factory=Facts)
    tags: frozenset[bytes] = frozenset()
    has_series: bool = False
    begin: float = 0.0
    end: float = 0.0


@dataclass(slots=True)
class Names:
    """The columns of a run, numbered in order of appearance.

    Attributes:
        columns: which names are taken.
        names: by number.
        numbers: name to number; REFUSED for names that are not taken.
    """

    columns: Columns
    names: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str, cells: int) -> int:
        """The number of a column that holds so many more cells; REFUSED where it is not read."""
        if not self.columns.takes(name, cells):
            return REFUSED
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]


def event_file(folder: str, source: Source, longest: int) -> EventFile:
    """Look at the head of an event file: when it begins and which tags it has."""
    file, facts = EventFile(source, folder), Facts()
    for records in read_records(io.BytesIO(source.head), longest, Damage()):
        scalars = read_plain(records, facts)
        times = _times(scalars).tolist() + ([] if facts.first_wall is None else [facts.first_wall])
        file.begin, file.end = min(times, default=0.0), max(times, default=0.0)
        file.has_series = len(scalars.series) > len(set(scalars.series.tolist()))
    file.tags = frozenset(series.tag for series in facts.series)
    return file


def side_by_side(files: Sequence[EventFile]) -> list[list[EventFile]]:
    """Sort the files of a run into workers: several processes that log the same tags into one folder at the same time.

    Returns:
        One list of files for each worker; everything that only one process writes is with the first.
    """
    workers: list[list[EventFile]] = [[]]
    for chain in chains(files):
        # A worker beside others logs what they log, in the same folder; anything else is another part of the run.
        rank = next(
            (r for r, worker in enumerate(workers) if not any(_rivals(chain[0], other) for other in worker)), -1
        )
        if rank < 0:
            workers.append([])
        workers[rank] += chain
    return workers


def _rivals(file: EventFile, other: EventFile) -> bool:
    return file.folder == other.folder and bool(file.tags & other.tags)


def merged(files: Sequence[EventFile], names: Names, longest: int) -> Iterator[Scalars]:
    """Yield the scalars of all files in one order; `series` are numbers of `names`.

    Memory: one chunk of each file that is open at the same time.
    """
    streams = [(chain[0].begin, _stretches(chain, names, longest)) for chain in chains(files)]
    if len(streams) == 1:
        yield from streams[0][1]
        return
    yield from _by_time(streams)


def chains(files: Sequence[EventFile]) -> list[list[EventFile]]:
    """Files that follow one another: of one folder, with a tag in common (or none to tell by), and not at one time."""
    made: list[list[EventFile]] = []
    for file in sorted(files, key=lambda file: file.begin):
        chain = next((chain for chain in made if _follows(file, chain)), None)
        if chain is None:
            made.append([file])
        else:
            chain.append(file)
    return made


def _follows(file: EventFile, chain: Sequence[EventFile]) -> bool:
    known = frozenset().union(*(earlier.tags for earlier in chain))
    if file.folder != chain[0].folder or (known and file.tags and not known & file.tags):
        return False
    return file.begin >= chain[-1].end or not file.tags


def _stretches(chain: Sequence[EventFile], names: Names, longest: int) -> Iterator[Scalars]:
    for file in chain:
        templates = Templates()
        with file.source.open() as stream:
            for records in read_records(stream, longest, file.damage):
                scalars = _in_columns(read_fast(records, file.facts, templates), file, names)
                if len(scalars.step):
                    yield scalars


def _in_columns(scalars: Scalars, file: EventFile, names: Names) -> Scalars:
    """Exchange the numbers of series for those of columns; leave out what is not read."""
    import numpy as np

    series = list(file.facts.series)
    counts = np.bincount(scalars.series, minlength=len(series))
    first = np.full(len(series), len(scalars.series))
    # Of several assignments to one place the last one stays: written backwards, that is the first value.
    first[scalars.series[::-1]] = np.arange(len(scalars.series))[::-1]
    numbers = np.full(len(series), REFUSED, dtype=np.int32)
    for index in np.argsort(first, kind="stable").tolist():
        if not counts[index]:
            continue
        if _is_foreign(series[index], file.facts):
            file.facts.skipped["tensor"] += int(counts[index])
            continue
        numbers[index] = names.number(file.rename(column_name(series[index].tag)), int(counts[index]))
    columns = numbers[scalars.series]
    taken = columns != REFUSED
    if taken.all():
        return Scalars(scalars.wall, scalars.step, columns, scalars.value)
    return Scalars(scalars.wall[taken], scalars.step[taken], columns[taken], scalars.value[taken])


def _is_foreign(series: Series, facts: Facts) -> bool:
    """Say whether the values of a series belong to another plugin than that of scalars, as an earlier event said."""
    return series.is_bare_tensor and series.tag in facts.foreign


def _by_time(streams: Sequence[tuple[float, Iterator[Scalars]]]) -> Iterator[Scalars]:
    """Merge streams by time; a stream is begun only when the others have come to its first value."""
    import numpy as np

    waiting = sorted(streams, key=lambda stream: stream[0])
    lanes: list[_Lane] = []
    while lanes or waiting:
        if not lanes:
            lanes += _opened(waiting.pop(0)[1])
            continue
        horizon = min(float(lane.key[-1]) for lane in lanes)
        if waiting and waiting[0][0] <= horizon:
            lanes += _opened(waiting.pop(0)[1])
            continue
        pieces = [lane.take(horizon) for lane in lanes]
        keys = np.concatenate([key for key, _ in pieces])
        order = np.argsort(keys, kind="stable")
        yield Scalars(
            np.concatenate([scalars.wall for _, scalars in pieces])[order],
            np.concatenate([scalars.step for _, scalars in pieces])[order],
            np.concatenate([scalars.series for _, scalars in pieces])[order],
            np.concatenate([scalars.value for _, scalars in pieces])[order],
        )
        lanes = [lane for lane in lanes if lane.refill()]


@dataclass(slots=True)
class _Lane:
    """One stream while it is merged: what is there of it, and as its key the latest time so far, which never falls."""

    rest: Iterator[Scalars]
    scalars: Scalars
    key: Array

    def take(self, horizon: float) -> tuple[Array, Scalars]:
        import numpy as np

        count = int(np.searchsorted(self.key, horizon, side="right"))
        key, taken = self.key[:count], _part(self.scalars, slice(0, count))
        self.key, self.scalars = self.key[count:], _part(self.scalars, slice(count, None))
        return key, taken

    def refill(self) -> bool:
        """Say whether there is something left, after fetching it."""
        import numpy as np

        while not len(self.key):
            following = next(self.rest, None)
            if following is None:
                return False
            self.scalars, self.key = following, np.maximum.accumulate(_times(following))
        return True


def _opened(stream: Iterator[Scalars]) -> list[_Lane]:
    import numpy as np

    nothing = Scalars(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))
    lane = _Lane(stream, nothing, np.zeros(0))
    return [lane] if lane.refill() else []


def _times(scalars: Scalars) -> Array:
    """Wall times to sort by; a NaN, which no clock gives, counts as long ago."""
    import numpy as np

    times: Array = np.nan_to_num(scalars.wall, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return times


def _part(scalars: Scalars, which: slice) -> Scalars:
    return Scalars(scalars.wall[which], scalars.step[which], scalars.series[which], scalars.value[which])
