"""tqdm bars of the Hugging Face Trainer's console: which step a printed row belongs to.

Separate because the console never says the step; only the bars around a row do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BAR: Final = re.compile(r"\d{1,3}%\|[^|]{0,400}\|\s*(?P<done>\d{1,18})/(?P<total>\d{1,18})\b")
"""`  8%|▊         | 5/60 [00:00<00:02, 18.92it/s]`"""

REMEMBERED: Final = 16
"""Bars with different totals that are kept: training, evaluation, and those of a few restarts."""

MAIN_SHARE: Final = 0.1
"""Share of the training rows beside which a bar must stand to be a training bar; a run in parts has several."""


@dataclass(frozen=True, slots=True)
class Around:
    """The bars around one row.

    Attributes:
        before: total → steps done, of the bars before it; the latest last.
        after: (done, total) of the bar drawn again right behind it; None if the row was not printed over a bar.
        is_training: the row was logged in a training step.
    """

    before: dict[int, int]
    after: tuple[int, int] | None
    is_training: bool


def steps_of(rows: Sequence[Around]) -> list[int | None]:
    """The step of each row; None where no training bar tells it.

    The bar of the training loop is the one that stands beside training rows; evaluation has a bar of its own. A row is
    printed by clearing the bar, and the bar is then drawn again as it really stands: it may have been drawn seldom
    before, so the one behind is more exact.
    """
    votes = Counter(total for row in rows if row.is_training and (total := _nearest(row)) is not None)
    least = MAIN_SHARE * sum(votes.values())
    main = {total for total, count in votes.items() if count >= least}
    return [_step(row, main) for row in rows]


def _nearest(row: Around) -> int | None:
    if row.after is not None:
        return row.after[1]
    return next(reversed(row.before), None)


def _step(row: Around, main: set[int]) -> int | None:
    before = next(((done, total) for total, done in reversed(row.before.items()) if total in main), None)
    after = row.after
    if after is None or after[1] not in main:
        return None if before is None else before[0]
    is_same_bar = before is None or before[1] != after[1] or before[0] <= after[0]
    return after[0] if before is None or is_same_bar else before[0]


def remember(bars: dict[int, int], done: int, total: int) -> None:
    """Note a bar as the latest of its total."""
    bars.pop(total, None)
    bars[total] = done
    if len(bars) > REMEMBERED:
        bars.pop(next(iter(bars)))
