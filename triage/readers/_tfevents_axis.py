"""Which step a scalar belongs to, and which stretch between restarts.

Separate from the decoding because this is about what writers mean: every tag of an event file brings its own steps,
tags lag behind each other, and some count epochs or samples. Only a tag that goes back on itself tells of a restart; a
tag that is merely behind the others is put beside the values of its step. Nothing is moved over a restart, and the
values of one tag keep their order.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.model import Notice
from triage.readers._tfevents_proto import Scalars

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

HELD: Final = 1 << 15
"""Values held back so that tags which lag can be put beside them: some thousand steps of a usual log."""

NAMED: Final = 5
"""Tags that a notice names."""

_MAIN, _BATCH, _EPOCH, _ITERATIONS, _OTHER = range(5)
AXES: Final[tuple[tuple[int, re.Pattern[str]], ...]] = (
    # Megatron-LM logs every scalar once more over the samples consumed.
    (_OTHER, re.compile(r".* vs\.? (samples|tokens)", re.IGNORECASE)),
    # Keras counts batches and epochs in one file (science 9.2): epoch_loss 0..7 beside batch_loss 8..128.
    (_BATCH, re.compile(r"(.*/)?batch_\w+")),
    (_EPOCH, re.compile(r"(.*/)?epoch_\w+")),
    # The same evaluations that it logs over epochs, over batches, and not all of them.
    (_ITERATIONS, re.compile(r"(.*/)?evaluation_\w+_vs_iterations")),
)
"""What the steps of a tag count, by its name; the training step where no row fits."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Scalars in the order of segment and step.

    Attributes:
        scalars: `series` are column numbers; `step` as decided here.
        segment: restarts before each of them.
        has_step: False = nobody gave a step; the order is that of writing.
        is_epoch: the steps count epochs, because nothing in the run counts anything else.
    """

    scalars: Scalars
    segment: Array
    has_step: bool
    is_epoch: bool = False


@dataclass(slots=True)
class Track:
    """What is remembered of a run between two stretches of it.

    Attributes:
        names: column names by number; grows outside.
        axis: what the steps of each column count.
        count: values of each column so far.
        moved: columns that had a step other than 0.
        last_step, last_segment: of each column's last value.
        segment: restarts so far.
        has_batches: there are columns that count batches.
        batch: the last step of one; 0 before there was one.
        epoch: last epoch of each column that counts epochs.
        main: last step given by any column that has steps.
        held: values not yet passed on.
        other_axis, on_batch: values by column name that count something else than steps.
        counted, filled: values without a step, which are counted, or get the step of the value before them.
        late: steps with values that were written behind those of later steps.
    """

    names: list[str]
    axis: Array
    count: Array
    moved: Array
    last_step: Array
    last_segment: Array
    segment: int = 0
    has_batches: bool = False
    batch: int = 0
    epoch: dict[int, int] = field(default_factory=dict)
    main: int = 0
    held: Placed | None = None
    other_axis: Counter[str] = field(default_factory=Counter)
    on_batch: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)
    filled: Counter[str] = field(default_factory=Counter)
    late: int = 0

    def notices(self) -> tuple[Notice, ...]:
        """What was decided about steps."""
        found = [
            Notice(id_, sum(counts.values()), None, {"tags": named(counts)})
            for id_, counts in (
                ("other-axis", self.other_axis),
                ("epochs-on-batch-axis", self.on_batch),
                ("no-global-step", self.counted),
                ("steps-filled-in", self.filled),
            )
            if counts
        ]
        if self.late:
            found.append(Notice("rows-out-of-order", self.late))
        return tuple(found)


def track(names: list[str]) -> Track:
    """A track of nothing yet; `names` may grow while it is used."""
    import numpy as np

    return Track(
        names,
        axis=np.zeros(0, np.uint8),
        count=np.zeros(0, np.int64),
        moved=np.zeros(0, np.bool_),
        last_step=np.zeros(0, np.int64),
        last_segment=np.zeros(0, np.int32),
    )


def named(counts: Counter[str]) -> str:
    """The first tags of a count, for a notice."""
    tags = list(counts)
    return ", ".join(tags[:NAMED]) + (f" and {len(tags) - NAMED} more" if len(tags) > NAMED else "")


def place(run: Track, scalars: Scalars) -> Iterator[Placed]:
    """Give a stretch of scalars (in the order of writing) their steps; yields what need not be held back."""
    import numpy as np

    _grow(run)
    kinds = run.axis[scalars.series]
    other = kinds == _OTHER
    if not run.has_batches and not (kinds == _BATCH).any() and (run.epoch or (kinds == _EPOCH).any()):
        other |= kinds == _ITERATIONS
    if other.any():
        _count(run, run.other_axis, scalars.series[other])
        scalars, kinds = _some(scalars, ~other), kinds[~other]
    if not len(scalars.step):
        return
    step = _on_batches(run, scalars, kinds)
    step, has_step = _without_steps(run, scalars.series, step)
    segment = _segments(run, scalars.series, step)
    scalars = Scalars(scalars.wall, step, scalars.series, scalars.value)
    if not has_step:
        yield from finish(run)
        yield Placed(scalars, segment, has_step)
        return
    is_epoch = bool((run.axis[run.count > 0] == _EPOCH).all())
    whole = _sorted(run, _joined(run.held, Placed(scalars, segment, has_step, is_epoch)))
    cut = len(whole.segment) - HELD
    steps = whole.scalars.step
    if cut > 0 and steps[0] != steps[-1]:
        # A row must not be cut in two.
        changes = np.flatnonzero(steps[1:] != steps[:-1]) + 1
        before = int(np.searchsorted(changes, cut, side="right"))
        cut = int(changes[before - 1]) if before else 0
    if cut > 0:
        yield _stretch(whole, slice(0, cut))
        whole = _stretch(whole, slice(cut, None))
    run.held = whole


def finish(run: Track) -> Iterator[Placed]:
    """Yield what is still held."""
    if run.held is not None:
        yield run.held
    run.held = None


def _grow(run: Track) -> None:
    import numpy as np

    new = run.names[len(run.axis) :]
    if not new:
        return
    kinds = [next((kind for kind, pattern in AXES if pattern.fullmatch(name)), _MAIN) for name in new]
    run.axis = np.append(run.axis, np.array(kinds, dtype=np.uint8))
    for name in ("count", "moved", "last_step", "last_segment"):
        old = getattr(run, name)
        setattr(run, name, np.append(old, np.zeros(len(new), dtype=old.dtype)))


def _on_batches(run: Track, scalars: Scalars, kinds: Array) -> Array:
    """Put values that count epochs at the batch that was logged last before them, where batches are logged too.

    A column that is only called so, and whose steps are no epoch numbers, is left alone.
    """
    import numpy as np

    step = scalars.step
    if not run.has_batches and not ((kinds == _BATCH) | (kinds == _EPOCH)).any():
        return step
    is_batch = kinds == _BATCH
    run.has_batches |= bool(is_batch.any())
    last = np.maximum.accumulate(np.where(is_batch, np.arange(len(step)), -1))
    base = np.where(last >= 0, step[last], run.batch)
    moved = step.copy()
    for number in np.unique(scalars.series[kinds == _EPOCH]).tolist():
        at = np.flatnonzero(scalars.series == number)
        own = step[at]
        counts = (np.diff(own, prepend=run.epoch.get(number, int(own[0]))) <= 1).all()
        run.epoch[number] = int(own[-1])
        if run.has_batches and counts and (own <= base[at]).all():
            moved[at] = base[at]
            run.on_batch[run.names[number]] += len(at)
    run.batch = int(base[-1])
    return moved


def _without_steps(run: Track, series: Array, step: Array) -> tuple[Array, bool]:
    """Give columns that never had a step that of the value before them; say whether there is any step at all.

    A writer that is given no step writes 0, which is also a legal first step: a column is without steps if it has
    several values and all of them stand at 0.
    """
    import numpy as np

    counts = np.bincount(series, minlength=len(run.names))
    run.count += counts
    run.moved |= np.bincount(series[step != 0], minlength=len(run.names)) > 0
    stepless = ~run.moved & (run.count > 1)
    if stepless.any() and (lacks := stepless[series]).any():
        if not run.moved.any():
            _count(run, run.counted, series)
            return step, False
        _count(run, run.filled, series[lacks])
        has = np.flatnonzero(~lacks)
        first = int(step[has[0]]) if len(has) and not run.main else run.main
        last = np.maximum.accumulate(np.where(lacks, -1, np.arange(len(step))))
        step = np.where(last >= 0, step[np.maximum(last, 0)], first)
    run.main = int(step[-1])
    return step, True


def _segments(run: Track, series: Array, step: Array) -> Array:
    """(values,) the number of restarts before each value; remembers the last step of every column.

    A restart begins with the rising stretch of the stream in which a column first falls below its own last step.
    """
    import numpy as np

    count = len(step)
    order = np.argsort(series.astype(np.uint16) if len(run.names) < 1 << 16 else series, kind="stable")
    by_series, by_step = series[order], step[order]
    is_first = np.ones(count, dtype=bool)
    is_first[1:] = by_series[1:] != by_series[:-1]
    seen = run.count > np.bincount(series, minlength=len(run.names))
    before = np.empty(count, dtype=np.int64)
    before[1:] = by_step[:-1]
    firsts = by_series[is_first]
    before[is_first] = np.where(seen[firsts], run.last_step[firsts], by_step[is_first])
    back = by_step < before
    marks = np.zeros(count, dtype=np.int32)
    if back.any():
        origin = np.where(is_first, -1, np.roll(order, 1))[back]
        for cut in _cuts(run, series, step, order[back], origin):
            marks[cut] = 1
    segment = (run.segment + np.cumsum(marks)).astype(np.int32)
    run.segment = int(segment[-1])
    ends = order[np.append(is_first[1:], True)]
    run.last_step[series[ends]], run.last_segment[series[ends]] = step[ends], segment[ends]
    return segment


def _cuts(run: Track, series: Array, step: Array, back: Array, origin: Array) -> list[int]:
    """Positions at which a new segment begins.

    Args:
        run: the track.
        series: (values,) columns of the stretch.
        step: (values,) their steps.
        back: values that are below the last step of their own column.
        origin: for each of them where that column's last value is; -1 = in an earlier stretch.
    """
    import numpy as np

    rising = np.zeros(len(step), dtype=np.int64)
    falls = np.flatnonzero(step[1:] < step[:-1]) + 1
    rising[falls] = falls
    rising = np.maximum.accumulate(rising)
    cuts: list[int] = []
    order = np.argsort(back)
    for at, before in zip(back[order].tolist(), origin[order].tolist(), strict=True):
        # The other columns of one restart fall back too; only one that had a value since the last cut tells of another.
        is_known = bool(cuts) if before < 0 else bool(cuts) and before < cuts[-1]
        if before < 0 and not cuts:
            is_known = int(run.last_segment[series[at]]) != run.segment
        if not is_known:
            cuts.append(int(rising[at]))
    return cuts


def _sorted(run: Track, placed: Placed) -> Placed:
    """Bring values into the order of segment and step, those of one step as they were written."""
    import numpy as np

    step, segment = placed.scalars.step, placed.segment
    is_late = (step[1:] < step[:-1]) & (segment[1:] == segment[:-1])
    if not is_late.any():
        return placed
    begins = np.append(np.flatnonzero(np.append(True, segment[1:] != segment[:-1])), len(step))
    for begin, end in itertools.pairwise(begins.tolist()):
        part = step[begin:end]
        run.late += len(np.unique(part[part < np.maximum.accumulate(part)]))
    order = np.lexsort((step, segment))
    return Placed(_some(placed.scalars, order), segment[order], placed.has_step, placed.is_epoch)


def _joined(held: Placed | None, new: Placed) -> Placed:
    import numpy as np

    if held is None:
        return new
    a, b = held.scalars, new.scalars
    scalars = Scalars(
        np.concatenate([a.wall, b.wall]),
        np.concatenate([a.step, b.step]),
        np.concatenate([a.series, b.series]),
        np.concatenate([a.value, b.value]),
    )
    segment = np.concatenate([held.segment, new.segment])
    return Placed(scalars, segment, new.has_step, new.is_epoch)


def _stretch(placed: Placed, which: slice) -> Placed:
    return Placed(_some(placed.scalars, which), placed.segment[which], placed.has_step, placed.is_epoch)


def _some(scalars: Scalars, which: Any) -> Scalars:
    return Scalars(scalars.wall[which], scalars.step[which], scalars.series[which], scalars.value[which])


def _count(run: Track, counts: Counter[str], series: Array) -> None:
    import numpy as np

    for number, count in enumerate(np.bincount(series).tolist()):
        if count:
            counts[run.names[number]] += count
