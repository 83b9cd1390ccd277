"""The step of everything on a console: of rows that tell it, of those that stand beside a bar, and of messages.

Separate because this works on plain arrays, one entry a line, and remembers across blocks only what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    Array = np.ndarray[Any, Any]

UNKNOWN: Final = -(2**62)
"""Stands for "no step" in the arrays of this module; no counter goes there."""


@dataclass(slots=True)
class Context:
    """What the end of a block says about the beginning of the next.

    Attributes:
        step: last step that a line told.
        bar: last state of a bar that counts training steps: (n, total).
        main_total: what the training bar counts up to.
        main_n: last state of that bar.
        is_ahead: rows are printed before the bar moves on: the first came before any bar.
        epoch: last epoch that a heading told.
        epoch_base: number of the first epoch; None = not seen yet.
        has_steps: a row has told its own step.
    """

    step: int = UNKNOWN
    bar: tuple[int, int] | None = None
    main_total: int | None = None
    main_n: int = UNKNOWN
    is_ahead: bool = False
    epoch: int = UNKNOWN
    epoch_base: int | None = None
    has_steps: bool = False


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a block that say something, in order; every array has one entry a line.

    Attributes:
        roles: "step", "epoch", "inner", "length", "total", "n" → numbers, UNKNOWN where the line has none.
        is_row: a row of training values.
        is_eval: a row of values on held-out data, or a summary.
        is_bar: a state of a bar that counts training steps.
        is_message: a message.
        is_next: a message (or row) about the step after the last one.
        is_once: a message of which one a step is enough, however many workers print it.
        uses_bar: a row whose step is that of the bar before it.
        wants_behind: a row whose step is that of the bar behind it.
        has_loss: a row with a training loss.
        is_aside: a row of a grammar in which no line tells a step: more about the step before it.
        is_state: a state of the running means of an epoch, which has no step of its own.
    """

    roles: Mapping[str, Array]
    is_row: Array
    is_eval: Array
    is_bar: Array
    is_message: Array
    is_next: Array
    is_once: Array
    uses_bar: Array
    wants_behind: Array
    has_loss: Array
    is_aside: Array
    is_state: Array


def steps_of(lines: Lines, context: Context) -> tuple[Array, Array]:
    """Find the step of every line, UNKNOWN where there is none, and say which lines told it themselves.

    Moves `context` on to the end of the block.
    """
    import numpy as np

    own = _own(lines, context)
    told = (own != UNKNOWN) & (lines.is_row | lines.is_eval | lines.is_message) & ~lines.is_bar
    context.has_steps = context.has_steps or bool(told.any())
    _beside_bars(lines, own, context)
    anchors = (own != UNKNOWN) & (~lines.is_bar | lines.has_loss | (not context.has_steps))
    steps = np.where(own != UNKNOWN, own, UNKNOWN)
    before, after = _neighbours(own, anchors, context.step)
    # Values on held-out data and other additions belong to the step before them, or to the first one.
    more = lines.is_aside | (lines.is_row & ~lines.uses_bar & ~lines.has_loss)
    loose = (own == UNKNOWN) & (lines.is_eval | more) & ~lines.is_bar
    steps[loose] = np.where(before[loose] != UNKNOWN, before[loose], after[loose])
    forward = loose & lines.is_next & (after != UNKNOWN)
    steps[forward] = after[forward]
    known = steps[anchors]
    _messages(lines, steps, before, after, is_every_step=bool((np.diff(known) == 1).any()))
    if len(known):
        context.step = int(known[-1])
    return steps, own != UNKNOWN


def epochs_of(lines: Lines, is_heading: Array, context: Context) -> Array:
    """The epoch that the last heading before each line tells; UNKNOWN before the first. Moves `context` on."""
    import numpy as np

    epoch = lines.roles["epoch"]
    told = is_heading & (epoch != UNKNOWN)
    last = np.maximum.accumulate(np.where(told, np.arange(len(epoch)), -1))
    filled = np.where(last >= 0, epoch[np.maximum(last, 0)], context.epoch)
    if len(filled):
        context.epoch = int(filled[-1])
    return filled


def _own(lines: Lines, context: Context) -> Array:
    """What a line tells by itself: its step, or its place in an epoch of known length."""
    import numpy as np

    roles = lines.roles
    step, epoch, inner, length = roles["step"], roles["epoch"], roles["inner"], roles["length"]
    if context.epoch_base is None:
        seen = epoch[(epoch != UNKNOWN) & ((inner != UNKNOWN) | (roles["n"] != UNKNOWN))]
        if len(seen):
            context.epoch_base = 0 if int(seen[0]) == 0 else 1
    base = context.epoch_base or 0
    own = np.where(step != UNKNOWN, step, UNKNOWN)
    placed = (own == UNKNOWN) & (inner != UNKNOWN) & ~lines.is_state
    whole = placed & (length != UNKNOWN) & (epoch != UNKNOWN)
    own[placed] = inner[placed]
    own[whole] = np.maximum(epoch[whole] - base, 0) * length[whole] + inner[whole]
    bars = (own == UNKNOWN) & lines.is_bar
    own[bars] = roles["n"][bars]
    by_epoch = bars & (epoch != UNKNOWN)
    own[by_epoch] += np.maximum(epoch[by_epoch] - base, 0) * roles["total"][by_epoch]
    return own


def _beside_bars(lines: Lines, own: Array, context: Context) -> None:
    """Give rows that are printed around a bar the step that it shows.

    A row of training values stands between two states of its bar; the one behind it is redrawn at once and up to
    date. A row of evaluation follows the bar of the evaluation: it gets the last state of the bar that the training
    rows use.
    """
    import numpy as np

    n, total = lines.roles["n"], lines.roles["total"]
    if not lines.uses_bar.any():
        for last in np.flatnonzero(lines.is_bar)[-1:].tolist():
            context.bar = (int(n[last]), int(total[last]))
        for last in np.flatnonzero(lines.is_bar & (total == (context.main_total or UNKNOWN)))[-1:].tolist():
            context.main_n = int(n[last])
        return
    for i in map(int, np.flatnonzero(lines.is_bar | lines.uses_bar)):
        if lines.is_bar[i]:
            context.bar = (int(n[i]), int(total[i]))
            if context.main_total == context.bar[1]:
                context.main_n = context.bar[0]
            continue
        if own[i] != UNKNOWN:
            continue
        behind = (int(n[i + 1]), int(total[i + 1])) if i + 1 < len(own) and lines.is_bar[i + 1] else None
        if lines.has_loss[i] or context.main_total is None:
            beside = _beside(
                context, behind, wants_behind=bool(lines.wants_behind[i]), has_loss=bool(lines.has_loss[i])
            )
            if beside is not None:
                own[i] = context.main_n = beside[0]
                total[i] = context.main_total = beside[1]
        else:
            own[i] = context.main_n


def _beside(
    context: Context, behind: tuple[int, int] | None, *, wants_behind: bool, has_loss: bool
) -> tuple[int, int] | None:
    """The bar that tells the step of a row; None without one."""
    before = context.bar
    if before is None:
        context.is_ahead = context.is_ahead or has_loss
        return behind
    if behind is None or behind[0] < before[0]:
        return before
    if behind[1] != before[1]:
        # Of an evaluation's bar and the training's, the longer one is the training's.
        return behind if not has_loss and behind[1] > before[1] else before
    return behind if wants_behind or context.is_ahead else before


def _neighbours(own: Array, anchors: Array, carried: int) -> tuple[Array, Array]:
    """The step before and after each line; UNKNOWN without one."""
    import numpy as np

    count = len(own)
    if not count:
        return own, own
    places = np.arange(count)
    last = np.maximum.accumulate(np.where(anchors, places, -1))
    behind = np.concatenate(([-1], last[:-1]))
    before = np.where(behind >= 0, own[np.maximum(behind, 0)], carried)
    following = np.minimum.accumulate(np.where(anchors, places, count)[::-1])[::-1]
    ahead = np.concatenate((following[1:], [count]))
    after = np.where(ahead < count, own[np.minimum(ahead, count - 1)], UNKNOWN)
    return before, after


def _messages(lines: Lines, steps: Array, before: Array, after: Array, *, is_every_step: bool) -> None:
    """Number messages that tell no step.

    Between two known steps the first is about the step after the one before, the next one later, and none beyond the
    one after. Before the first known step they are counted from 1, since a loss scale is searched for at the
    beginning of a run; where every step is logged they end at the first one.
    """
    import numpy as np

    loose = np.flatnonzero(lines.is_message & (steps == UNKNOWN))
    if not len(loose):
        return
    forward = lines.is_next[loose]
    steps[loose[~forward]] = before[loose[~forward]]
    moving = loose[forward]
    if not len(moving):
        return
    # How many have gone before since the same known step.
    group = np.concatenate(
        ([True], (before[moving][1:] != before[moving][:-1]) | (after[moving][1:] != after[moving][:-1]))
    )
    start = np.maximum.accumulate(np.where(group, np.arange(len(moving)), 0))
    ordinal = np.arange(len(moving)) - start + 1
    ordinal = np.where(lines.is_once[moving], 1, ordinal)
    base, limit = before[moving], after[moving]
    placed = base + ordinal
    placed = np.where((limit != UNKNOWN) & (limit > base), np.minimum(placed, limit), placed)
    first = base == UNKNOWN
    if first.any():
        count = int(first.sum())
        ends = limit[first]
        counted = ordinal[first]
        is_far = (ends > count) & (not is_every_step)
        back = np.maximum(ends - count + counted, 0)
        placed[first] = np.where(ends == UNKNOWN, UNKNOWN, np.where(is_far, counted, back))
    steps[moving] = placed
