"""Findings of the evaluation: overfitting, a cliff, and training that does not reach the evaluation."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from triage.findings._contract import Context, FindingRule, Found
from triage.model import Evidence
from triage.signals import SignalTable
from triage.signals.baseline import MAD_TO_SD
from triage.signals.table import is_eval_loss

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

WORSE: Final = 3
"""Evaluations in a row that are worse than the best (science 7.3)."""
WORSE_LEAST: Final = 0.01
WORSE_SE: Final = 3.0
"""... by more than 1 % and 3 standard errors (science 7.3)."""
CLIFF: Final = 1.5
"""From one evaluation to the next 1.5 x, and not back: a change that no noise of an evaluation set makes
(InternEvo's ratio for a training loss, science 1)."""
STAYS: Final = 1.25
"""... whose later evaluations stay at least half of that rise above the one before it [choice]."""
MOVED: Final = 0.2
STILL: Final = 0.02
STILL_EVALS: Final = 5
"""Training fell by a fifth while none of at least five evaluations is 2 % better than the first [choice]."""


def overfitting(context: Context) -> Iterable[Found]:
    """The evaluation loss has risen since its best, the training loss has not."""
    import numpy as np

    signals = context.signals
    for name in _evaluations(signals):
        rows, values = _finite(signals, name)
        if len(values) < WORSE + 1 or _is_flat_behind_a_cliff(values):
            continue  # no gradual rise, and a finding of its own
        best = int(np.argmin(values))
        after = values[best + 1 :]
        if len(after) < WORSE:
            continue
        noise = _noise(values)
        limit = values[best] + max(WORSE_LEAST * abs(values[best]), WORSE_SE * min(noise, abs(values[best]) * 0.05))
        rising = float(np.median(after[-WORSE:])) >= float(np.median(after))
        if not (after[-WORSE:] > limit).all() or not rising or _train_moved_up(signals, int(rows[best])):
            continue
        step = int(signals.step[rows[best]])
        yield Found(
            step,
            (
                Evidence(
                    "eval-above-best", name, float(values[-1]), float(values[best]), limit, int(signals.step[rows[-1]])
                ),
                Evidence("worse-evaluations", name, float(len(after)), None, WORSE, step),
                Evidence(
                    "best-over-first", name, float(values[best] / values[0]) if values[0] else None, None, None, step
                ),
            ),
        )


def _noise(values: Array) -> float:
    """Noise of single evaluations: from second differences, zero on a straight way; 0 below three values."""
    import numpy as np

    if len(values) < 3:
        return 0.0
    return MAD_TO_SD * float(np.median(np.abs(np.diff(values, n=2)))) / math.sqrt(6)


def cliff(context: Context) -> Iterable[Found]:
    """One evaluation is 1.5 x the one before it, and the later ones do not come back."""
    import numpy as np

    signals = context.signals
    for name in _evaluations(signals):
        rows, values = _finite(signals, name)
        if len(values) < 2 or not (values > 0).all():
            continue
        at = int(np.argmax(values[1:] / values[:-1])) + 1
        if not _is_cliff(values):
            continue
        step = int(signals.step[rows[at]])
        yield Found(step, (Evidence("eval-cliff", name, float(values[at]), float(values[at - 1]), CLIFF, step),))


def _is_cliff(values: Array) -> bool:
    """Is one evaluation 1.5 x the one before it, and the median of the later ones still well above that?"""
    import numpy as np

    at = int(np.argmax(values[1:] / values[:-1])) + 1
    before = float(values[at - 1])
    return bool(values[at] >= CLIFF * before and np.median(values[at:]) >= STAYS * before)


def _is_flat_behind_a_cliff(values: Array) -> bool:
    """Is a cliff all that happened, without a further rise after it?"""
    import numpy as np

    if not (values > 0).all() or not _is_cliff(values):
        return False
    at = int(np.argmax(values[1:] / values[:-1])) + 1
    return bool(values[-1] <= (1 + WORSE_LEAST) * values[at])


def not_learning(context: Context) -> Iterable[Found]:
    """The training loss falls by a fifth, no evaluation gets better."""
    import numpy as np

    signals = context.signals
    if "loss" not in signals.columns:
        return
    _, train = _finite(signals, "loss")
    if len(train) < 20 or not (train > 0).all():
        return
    size = max(3, len(train) // 10)
    fell = 1 - float(np.median(train[-size:])) / float(np.median(train[:size]))
    for name in _evaluations(signals):
        rows, values = _finite(signals, name)
        if len(values) < STILL_EVALS or not (values > 0).all() or fell < MOVED:
            continue
        better = 1 - float(values[1:].min()) / float(values[0])
        if better < STILL:
            step = int(signals.step[rows[0]])
            yield Found(
                step,
                (
                    Evidence("train-fell", "loss", fell, None, MOVED, step),
                    Evidence("eval-stands-still", name, better, float(values[0]), STILL, int(signals.step[rows[-1]])),
                ),
            )


def _evaluations(signals: SignalTable) -> list[str]:
    """Columns that are losses on held-out data, the canonical one first."""
    names = [n for n in signals.columns if is_eval_loss(n)]
    return sorted(names, key=lambda n: n != "eval_loss")[:4]


def _finite(signals: SignalTable, name: str) -> tuple[NDArray[np.intp], Array]:
    import numpy as np

    rows, values = signals.points(name)
    keep = np.isfinite(values)
    return rows[keep], values[keep]


def _train_moved_up(signals: SignalTable, row: int) -> bool:
    """Has the training loss risen as well since `row`? Then the evaluation follows it and is no finding of its own."""
    import numpy as np

    if "loss" not in signals.columns:
        return False
    rows, values = _finite(signals, "loss")
    before, tail = values[rows <= row][-10:], values[-10:]
    return bool(len(before) and len(tail) and np.median(tail) > 1.05 * np.median(before))


RULES = (
    FindingRule("overfitting", "warning", (), overfitting),
    FindingRule("eval-cliff", "warning", (), cliff),
    FindingRule("smooth-but-not-learning", "warning", (), not_learning),
)
