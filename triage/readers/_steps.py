"""The step of every row, and the segments between restarts.

Separate from `_table.py` because this works on plain arrays and knows nothing about columns. A counter can go back
for four reasons, and each is told by the rows themselves: a restart (a new segment), a counter that begins again with
each epoch (made continuous), rows that are merely late (put in their place), or a closing row without a step of its
own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from triage.model import Notice

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

LATE_ROWS: Final = 64
"""How far ahead is looked to tell late rows from a restart: evaluation rows of one earlier step come in one burst."""

LATE_TRAINING_ROWS: Final = 3
"""Most training rows in a burst that counts as out of order: threads swap neighbours, a restart repeats more."""

CLOSING_ROWS: Final = 3
"""Most rows with a loss behind the last step that are closing rows (a mean over the run, the best, the last): more of
them are training whose step was lost."""

EPOCH_SHARE: Final = 0.5
"""Share of the backward jumps that must come with a new epoch for the counter to be one that restarts with it; the
others are restarts of the job. A counter that does not restart has none: where it goes back, the epoch does too."""

MIN_EPOCHS: Final = 3
"""Equal stretches that make a constant epoch length where no epoch is logged."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where rows belong.

    Attributes:
        step: (rows,) Int64; never decreases within a segment once ordered by `order`.
        segment: (rows,) number of restarts before the row.
        order: (rows,) positions that bring the rows into order; None where they are in order.
        notices: what was repaired.
    """

    step: Array
    segment: Array
    order: Array | None
    notices: tuple[Notice, ...]


def fill(step: Array, has_step: Array, has_loss: Array) -> tuple[Array, Array, int]:
    """Give a step to rows between others that lack one.

    Args:
        step: (rows,) Int64; anything where `has_step` is false.
        has_step: (rows,) the row carries a step.
        has_loss: (rows,) the row carries a training loss.

    Returns:
        The steps; which rows are left without one (before the first step, and the closing rows after the last); and how
        many rows got one. A row with a loss gets a step of its own where the gap to the next one has room, every other
        the step before it; training that goes on behind the last step goes on at the usual distance.
    """
    import numpy as np

    known = np.flatnonzero(has_step)
    outside = np.ones(len(step), dtype=bool)
    if not len(known):
        return step, outside, 0
    outside[known[0] : known[-1] + 1] = False
    behind = np.flatnonzero(has_loss[known[-1] + 1 :]) + known[-1] + 1
    goes_on = len(behind) > CLOSING_ROWS
    if goes_on:
        outside[known[-1] + 1 :] = False
    missing = ~has_step & ~outside
    if not missing.any():
        return step, outside, 0
    last = np.maximum.accumulate(np.where(has_step, np.arange(len(step)), -1))
    filled = np.where(outside, step, step[np.maximum(last, 0)])
    if goes_on:
        number = np.searchsorted(behind, np.arange(known[-1] + 1, len(step)), side="right")
        filled[known[-1] + 1 :] = step[known[-1]] + number * _stride(step[known])
    for start in np.unique(last[missing & has_loss]):
        if start == known[-1]:
            continue  # nothing comes after it
        after = known[np.searchsorted(known, start) + 1]
        rows = np.flatnonzero(has_loss[start + 1 : after]) + start + 1
        room = step[after] - step[start]
        if has_loss[start] and room > len(rows):
            own = step[start] + (np.arange(1, len(rows) + 1) * room) // (len(rows) + 1)
            filled[rows] = own
            # Rows in between follow the training row before them.
            place = np.searchsorted(rows, np.arange(start + 1, after), side="right") - 1
            filled[start + 1 : after] = np.where(place >= 0, own[np.maximum(place, 0)], step[start])
    return filled, outside, int(missing.sum())


def place(step: Array, has_loss: Array, loss: Array | None, epoch: Array | None) -> Placed:
    """Find the segments of one stream of rows.

    Args:
        step: (rows,) Int64, one for every row.
        has_loss: (rows,) the row carries a training loss.
        loss: (rows,) the loss, NaN where there is none or it is not finite; None without a loss.
        epoch: (rows,) the epoch, NaN where it is not logged; None where it never is.
    """
    import numpy as np

    back = _back(step)
    if not len(back):
        return Placed(step, np.zeros(len(step), dtype=np.int32), None, ())
    if _restarts_with_epoch(step, has_loss, epoch) or _has_constant_epoch(step, back, loss):
        return _continuous(step, has_loss, epoch)
    return _segments(step, back, has_loss)


def _back(step: Array) -> Array:
    """Rows at which the counter has gone back."""
    import numpy as np

    return np.flatnonzero(step[1:] < step[:-1]) + 1


def _restarts_with_epoch(step: Array, has_loss: Array, epoch: Array | None) -> bool:
    """Say whether the counter of the training rows goes back where a new epoch begins."""
    import numpy as np

    if epoch is None:
        return False
    known = np.flatnonzero(~np.isnan(epoch))
    rows = np.flatnonzero(has_loss) if has_loss.any() else np.arange(len(step))
    jumps = _back(step[rows])
    if not len(known) or not len(jumps):
        return False
    # The epoch may be logged in a row before or after the one that goes back.
    before = epoch[known[np.maximum(np.searchsorted(known, rows[jumps - 1], side="right") - 1, 0)]]
    there = epoch[known[np.minimum(np.searchsorted(known, rows[jumps]), len(known) - 1)]]
    begins = step[rows[jumps]] <= step[rows[0]] + _stride(step[rows])
    return float(np.mean((there > before) & begins)) >= EPOCH_SHARE


def _has_constant_epoch(step: Array, back: Array, loss: Array | None) -> bool:
    """Say whether the counter runs over the same stretch again and again while the loss goes on.

    A job that crashes at the same step each time runs over the same stretch too, but its loss starts over.
    """
    import numpy as np

    if len(back) < MIN_EPOCHS - 1 or loss is None:
        return False
    if np.ptp(step[back]) or np.ptp(step[back - 1]) or step[back[0]] != step[0]:
        return False
    start = _typical(loss[:MIN_EPOCHS])
    goes_on = []
    for jump in back:
        before, after = _typical(loss[max(0, jump - MIN_EPOCHS) : jump]), _typical(loss[jump : jump + MIN_EPOCHS])
        if not any(np.isnan((start, before, after))):
            goes_on.append(abs(after - before) < abs(after - start))
    return bool(goes_on) and float(np.mean(goes_on)) > 0.5


def _typical(values: Array) -> float:
    import numpy as np

    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")


def _stride(step: Array) -> int:
    """The usual distance between rows; 1 where there is none."""
    import numpy as np

    gaps = np.diff(step)
    gaps = gaps[gaps > 0]
    return int(np.median(gaps)) if len(gaps) else 1


def _continuous(step: Array, has_loss: Array, epoch: Array | None) -> Placed:
    """Lay the epochs end to end; an epoch that begins again is a restart."""
    import numpy as np

    if epoch is not None:
        # An evaluation row counts its own batches: it belongs to the training row before it.
        trained = np.maximum.accumulate(np.where(has_loss, np.arange(len(step)), -1))
        owner = np.maximum(trained, 0)
        lags = ~has_loss & (trained >= 0) & (step < step[owner]) & (epoch == epoch[owner])
        step = np.where(lags, step[owner], step)
    back = _back(step)
    stride = _stride(step)
    offset = np.zeros(len(step), dtype=np.int64)
    segment = np.zeros(len(step), dtype=np.int32)
    begun: dict[float, int] = {} if epoch is None else {float(epoch[0]): 0}
    shift = 0
    restarts: list[int] = []
    for jump in map(int, back):
        number = float("nan") if epoch is None else float(epoch[jump])
        if number in begun:
            restarts.append(jump)
            segment[jump:] += 1
            shift = begun[number]
        else:
            shift += int(step[jump - 1]) + stride - int(step[jump])
            begun[number] = shift
        offset[jump:] = shift
    notices = [Notice("steps-restart-each-epoch", len(back) - len(restarts))]
    if restarts:
        notices.append(_segment_notice(len(restarts), step, np.array(restarts)))
    return Placed(step + offset, segment, None, tuple(notices))


def _segments(step: Array, back: Array, has_loss: Array) -> Placed:
    """Cut at every restart and put late rows into their place."""
    import numpy as np

    late = begin = done = 0
    reached = int(step[0])
    cuts: list[int] = []
    for jump in map(int, back):
        if jump < done:
            continue  # inside a burst that has been dealt with
        reached = max(reached, int(step[done:jump].max(initial=reached)))
        burst = _late_burst(step, has_loss, begin, jump, reached)
        late += burst
        done = jump + burst
        if not burst:
            cuts.append(jump)
            begin, reached = jump, int(step[jump])
    segment = np.zeros(len(step), dtype=np.int32)
    segment[cuts] = 1
    segment = np.cumsum(segment, dtype=np.int32)
    notices: list[Notice] = []
    order = None
    if cuts:
        notices.append(_segment_notice(len(cuts), step, np.array(cuts)))
    if late:
        notices.append(Notice("rows-out-of-order", late))
        order = np.lexsort((np.arange(len(step)), step, segment))
    return Placed(step, segment, order, tuple(notices))


def _late_burst(step: Array, has_loss: Array, begin: int, jump: int, reached: int) -> int:
    """How many rows from `jump` on are late rather than the beginning of a restart; 0 = it is a restart."""
    import numpy as np

    ahead = step[jump : jump + LATE_ROWS + 1]
    beyond = np.flatnonzero(ahead >= reached)
    count = int(beyond[0]) if len(beyond) else len(ahead)
    if count > LATE_ROWS:
        return 0
    if not has_loss[jump : jump + count].any():
        return count
    swapped = len(beyond) > 0 and count <= LATE_TRAINING_ROWS
    # A restart trains steps again; a swapped row brings one that is new.
    seen = np.isin(step[jump : jump + count], step[max(begin, jump - LATE_ROWS) : jump]).any()
    return count if swapped and not seen else 0


def _segment_notice(count: int, step: Array, cuts: Array) -> Notice:
    first = int(cuts[0])
    return Notice("new-segment", count, None, {"from": int(step[first - 1]), "to": int(step[first])})
