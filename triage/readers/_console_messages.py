"""What messages say, as cells of the table.

Separate because of the rule that stands here: a message fills a column only where the log does not fill it itself, or
where it is one more fact about a row of the same step. And because silence speaks too: in a log that announces
skipped steps, a row without such a message in front of it was not skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from triage.readers._console_lines import Batch, Numbers
from triage.readers._console_names import is_evaluation, is_gradient, is_loss
from triage.readers._console_steps import UNKNOWN

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

Cells = tuple[str, "Array", "Array"]
"""Column, positions of lines, numbers."""

_MAIN_LOSSES: Final = (
    "loss",
    "lm loss",
    "lm_loss",
    "total_loss",
    "Loss",
    "train_loss",
    "train loss",
    "reduced_train_loss",
)


def message_cells(batch: Batch, steps: Array, regular: Counter[str], aliases: Mapping[str, str]) -> Iterator[Cells]:
    """Yield what the messages of a block put into the table.

    Args:
        batch: the lines.
        steps: (lines,) the step of each, UNKNOWN without one.
        regular: columns that rows fill by themselves.
        aliases: column → canonical, as the grammars declare it.
    """
    import numpy as np

    if not batch.lines.is_message.any():
        return
    families = {family_of(name, aliases): name for name in regular if not is_evaluation(name)}
    families["loss"] = main_loss(regular, aliases)
    rows = np.unique(steps[batch.lines.is_row & (steps != UNKNOWN) & ~batch.lines.is_bar])
    for found, span, numbers in zip(batch.found, batch.spans, batch.numbers, strict=True):
        message = found.reading.message
        if message is None:
            continue
        beside = np.isin(steps[span], rows)
        for name, (values, there) in _said(
            numbers, message.marks, len(span), has_scale="loss_scale" in families
        ).items():
            family = family_of(name, aliases)
            is_filled = family in families and regular[families[family]] > 0
            # Beside a row of the same step it is one more fact; only the scale is printed by the row itself.
            wanted = beside if family != "loss_scale" else ~beside
            fits = there & wanted if is_filled else there
            if fits.any():
                yield families[family] if is_filled or family == "loss" else name, span[fits], values[fits]
        for name in message.nan:
            column = families.get(family_of(name, aliases), name)
            yield column, span, np.full(len(span), np.nan)


def _said(numbers: Numbers, marks: Mapping[str, float], count: int, *, has_scale: bool) -> Numbers:
    """What a message says: its numbers and what it stands for.

    Of an old and a new loss scale the old one held at this step. Where the rows print the scale as well, they print it
    after the change, and so does the message.
    """
    import numpy as np

    said = {name: cells for name, cells in numbers.items() if name not in ("next_loss_scale", "at")}
    if has_scale and "next_loss_scale" in numbers:
        said["loss_scale"] = numbers["next_loss_scale"]
    whole = np.ones(count, dtype=bool)
    return said | {name: (np.full(count, mark), whole) for name, mark in marks.items()}


def kept_steps(batch: Batch, steps: Array, last: int) -> tuple[Array, Array]:
    """Say of the rows of a log that announces skipped steps: 0 = kept, 1 = all steps since the row before were skipped.

    Args:
        batch: the lines.
        steps: (lines,) the step of each.
        last: step of the last row of the block before.

    Returns:
        Positions of rows and their values; rows of a step that a message is about are left out.
    """
    import numpy as np

    lines = batch.lines
    skips = batch.where(lambda f: f.reading.message is not None and "is_skipped" in f.reading.message.marks)
    rows = np.flatnonzero(lines.is_row & ~lines.is_state & (steps != UNKNOWN) & (~lines.is_bar | lines.has_loss))
    rows = rows[~np.isin(steps[rows], steps[skips])]
    if not len(rows):
        return rows, rows.astype(float)
    before = np.concatenate(([last], steps[rows[:-1]]))
    count = np.diff(np.cumsum(skips)[rows], prepend=0)
    gap = np.where((before != UNKNOWN) & (before < steps[rows]), steps[rows] - before, steps[rows])
    return rows, (count >= np.maximum(gap, 1)).astype(float)


def main_loss(regular: Mapping[str, int], aliases: Mapping[str, str]) -> str:
    """Name of the loss that a message speaks of: the one that the rows of this log have."""
    losses = [name for name in regular if is_loss(name) and not is_evaluation(name)]
    named = [name for name in losses if aliases.get(name) == "loss"]
    for name in (*named, *_MAIN_LOSSES):
        if name in losses:
            return name
    return "loss"


def family_of(name: str, aliases: Mapping[str, str]) -> str:
    """What a column is about, so that "loss scale" and "loss_scale" are not two things."""
    if name in aliases:
        return aliases[name]
    lower = name.lower()
    if "scale" in lower:
        return "loss_scale" if "lg_" not in lower else name
    if "skip" in lower:
        return "is_skipped" if "so_far" not in lower else name
    if is_gradient(name) or lower == "norm":
        return "grad_norm"
    return "loss" if is_loss(name) and lower.endswith("loss") and name in _MAIN_LOSSES else name
