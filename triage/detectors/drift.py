"""Slow rises: every row within its noise, the level not. The forward baseline follows such a rise and cannot see it.

Block medians of the accepted level are compared with the best level so far; a rise that lasts to the end of the log is
an event that did not turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from triage.detectors._contract import Detector
from triage.detectors._points import points_of
from triage.detectors._tail import Rise, tail_event
from triage.model import Event, Evidence
from triage.options import Options
from triage.signals import SignalTable
from triage.signals.attempts import canonical
from triage.signals.baseline import MAD_TO_SD, effective

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCKS: Final = 32
"""The log is cut into so many blocks, of 8 points or more; medians of blocks carry the level [choice]."""
BLOCK_LEAST: Final = 8
RISE: Final = 0.02
RISE_SE: Final = 10.0
"""A rise of 2 % (a public run crept up by 3 % before its output layer was found to drift) that is ten standard errors
of a block median, those corrected for autocorrelation: the best of 32 blocks is low by some two of them by chance."""
WANDER: Final = 6.0
"""... and six times what the level wanders from block to block, so that a slowly changing data mix is no drift."""
MEDIAN_SE: Final = 1.2533
"""Standard error of a median over that of a mean, sqrt(pi / 2) [theory]."""
BEYOND_START: Final = 1.5
"""Upper end of what counts as back at the start (definitions 4.6)."""
LASTING: Final = 4
"""Blocks above the best level, the last included, each of them: an eighth of the log [choice]."""


def detect(signals: SignalTable, options: Options) -> list[Event]:
    """One event per judged signal whose level rises to the end of the log."""
    del options
    events = []
    for judged in () if signals.is_adversarial else signals.judged:
        points = points_of(signals, judged.name, judged.direction)
        if not points.space.is_log:
            continue
        event = _event(judged.name, points.rows, points.values, points.track.x, signals)
        if event is not None:
            events.append(event)
    return events


def _event(
    name: str, rows: NDArray[np.intp], values: NDArray[np.float64], x: NDArray[np.float64], signals: SignalTable
) -> Event | None:
    import numpy as np

    keep = np.isfinite(x) & canonical(signals.step[rows])
    rows, values, x = rows[keep], values[keep], x[keep]
    n = len(x)
    size = max(BLOCK_LEAST, n // BLOCKS)
    count = n // size
    if count < 2 * LASTING:
        return None
    start = n - count * size
    blocks = x[start:].reshape(count, size)
    level = np.median(blocks, axis=1)
    residual = (blocks - level[:, None]).ravel()
    noise = MAD_TO_SD * float(np.median(np.abs(residual)))
    spread = MEDIAN_SE * effective(noise, residual) / np.sqrt(size)
    best = int(np.argmin(level))
    rise = level - level[best]
    steps = np.diff(level)
    wander = MAD_TO_SD * float(np.median(np.abs(steps - np.median(steps))))
    needed = max(RISE_SE * spread, WANDER * wander, RISE)
    after = rise[best + 1 :]
    if len(after) < LASTING or not (after[-LASTING:] >= needed).all() or after[-1] < 0.7 * after.max():
        return None
    steady = np.median(after[len(after) // 2 :]) > np.median(after[: max(1, len(after) // 2)])
    if not steady:
        return None
    if is_moving_target(level, best, float(values[0])):
        return None
    onset = _leaves(x, start + best * size, float(level[best]), float(noise), size)
    peak = start + (best + 1 + int(np.argmax(after))) * size + size // 2
    highest = float(after.max())
    found = Rise(
        onset=onset,
        sure=onset + size,
        peak=max(onset, peak),
        level=float(np.exp(level[best])),
        excess=highest,
        z=highest / max(spread, 1e-12),
        confidence="medium",
    )
    step = int(signals.step[rows[onset]])
    proof = Evidence("slow-rise", name, float(np.exp(level[-1])), float(np.exp(level[best])), None, step)
    return tail_event(name, DETECTOR.id, rows, values, found, proof)


def is_moving_target(level: NDArray[np.float64], best: int, first: float) -> bool:
    """Does the objective itself grow, as the value targets of reinforcement learning do?

    A diverging model ends at chance level, near its first loss, or blows up ever faster. A level that climbs past
    1.5 x the first loss without an excursion, and ever more slowly (in nats), is neither.
    """
    import numpy as np

    after = level[best:]
    middle = after[len(after) // 2]
    return bool(after[-1] > np.log(BEYOND_START * first) and after[-1] - middle < middle - after[0])


def _leaves(x: NDArray[np.float64], best: int, level: float, noise: float, size: int) -> int:
    """First row after the best block from which on the trailing median never returns to the best level."""
    import bottleneck as bn
    import numpy as np

    smooth = bn.move_median(x, size, min_count=1)
    low = np.flatnonzero(smooth[best:] <= level + noise / np.sqrt(size) * 3.0)
    return min(len(x) - 1, best + (int(low[-1]) if len(low) else 0) + 1)


DETECTOR = Detector("drift", (("loss", "eval_loss"),), detect)
