"""flat-loss: the loss stays at the level of guessing from the start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from triage.findings._contract import BLOCKS, Context, FindingRule, Found
from triage.findings._levels import blocks, chance_levels
from triage.model import Evidence

LEAST_POINTS: Final = 50
NEAR: Final = 0.06
"""A level within 6 % of ln V is at chance: first losses from scratch lie within 10 % (science 5); an optimizer
that only shakes the weights lifts the loss a little above it."""
START: Final = 0.10
"""The first loss must be at chance too, within the 10 % of science 5: a plateau reached later is another case."""
SHARE: Final = 0.5
"""For at least half of the log, the end included (definitions 7)."""
PROGRESS: Final = 0.05
"""A run whose best level is 5 % below its first has learned something [choice]."""


def find(context: Context) -> Iterable[Found]:
    """The run began at chance and half of it or more, the end included, is still there."""
    import numpy as np

    signals = context.signals
    rows, values = signals.points("loss")
    finite = values[np.isfinite(values)]
    if len(finite) < LEAST_POINTS or not (finite > 0).all():
        return
    step = signals.step[rows]
    stride = int(np.median(np.diff(step))) if len(step) > 1 else 1
    if step[0] > max(1, stride):
        return  # the log does not begin at the start: its first loss says nothing about chance
    level = blocks(values, BLOCKS)
    first = float(np.median(finite[:3]))
    for chance in chance_levels(signals):
        near = np.abs(level / chance - 1) <= NEAR
        stays = bool(near[-len(near) // 4 :].all()) and float(near.mean()) >= SHARE
        learned = level.min() <= (1 - PROGRESS) * first  # and lost it again: an event, not a flat loss
        if abs(first / chance - 1) <= START and stays and not learned:
            at = float(np.median(level[-len(level) // 4 :]))
            yield Found(int(step[0]), (Evidence("level-at-chance", "loss", at, chance, NEAR, int(step[-1])),))
            return


RULES = (FindingRule("flat-loss", "error", ("loss",), find),)
