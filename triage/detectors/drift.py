"""Slow rises: every row within its noise, the level not. The forward baseline follows such a rise and cannot see it.

Block medians of the accepted level are compared with the best level so far; a rise that lasts to the end of the log is
an event that did not turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from triage.detectors._contract import Detector
from triage.detectors._points import points_of
from triage.model import Event, Evidence
from triage.options import Options
from triage.signals import SignalTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCKS: Final = 32
"""The log is cut into so many blocks, of 8 points or more; medians of blocks carry the level."""
BLOCK_LEAST: Final = 8
RISE: Final = 0.10
"""A level 10 % above the best is a rise that a person sees (as the strong tier)."""
QUIET_RISE: Final = 0.02
QUIET_SE: Final = 10.0
"""Where the noise is small, 2 % is enough if it is ten standard errors of a block median."""
LASTING: Final = 4
"""Blocks above the best level, the last included, each of them: a rise that has lasted an eighth of the log."""


def detect(signals: SignalTable, options: Options) -> list[Event]:
    """One event per judged signal whose level rises to the end of the log."""
    del options
    events = []
    for judged in signals.judged:
        points = points_of(signals, judged.name, judged.direction)
        event = _event(judged.name, points.rows, points.values, points.track.x, signals)
        if event is not None and points.space.is_log:
            events.append(event)
    return events


def _event(
    name: str, rows: NDArray[np.intp], values: NDArray[np.float64], x: NDArray[np.float64], signals: SignalTable
) -> Event | None:
    import numpy as np

    keep = np.isfinite(x)
    rows, values, x = rows[keep], values[keep], x[keep]
    n = len(x)
    size = max(BLOCK_LEAST, n // BLOCKS)
    count = n // size
    if count < 2 * LASTING:
        return None
    start = n - count * size
    blocks = x[start:].reshape(count, size)
    level = np.median(blocks, axis=1)
    noise = 1.4826 * np.median(np.abs(np.diff(x))) / np.sqrt(2)
    spread = 1.2533 * max(noise, float(np.median(np.abs(blocks - level[:, None]))) * 1.4826) / np.sqrt(size)
    best = int(np.argmin(level))
    rise = level - level[best]
    needed = max(QUIET_SE * spread, QUIET_RISE)
    after = rise[best + 1 :]
    if len(after) < LASTING or not (after[-LASTING:] >= needed).all() or after[-1] < 0.7 * after.max():
        return None
    steady = np.median(after[len(after) // 2 :]) > np.median(after[: max(1, len(after) // 2)])
    if not steady or after[-LASTING:].mean() < RISE:
        return None
    onset_block = best + 1 + int(np.argmax(after >= min(needed, after[-1]))) if (after >= needed).any() else best + 1
    onset = start + onset_block * size
    peak = start + (best + 1 + int(np.argmax(after))) * size + size // 2
    return Event(
        signal=name,
        detector="drift",
        tier="drift",
        onset=int(rows[onset]),
        trigger=int(rows[min(n - 1, onset + size)]),
        peak=int(rows[peak]),
        end=int(rows[-1]) + 1,
        recovered=None,
        healthy=int(rows[onset - 1]),
        width=n - onset,
        censored=False,
        is_open=True,
        n_nonfinite=0,
        peak_value=float(values[peak]),
        level=float(np.exp(level[best])),
        excess=float(after.max()),
        z=float(after.max() / max(spread, 1e-12)),
        confidence="medium",
        evidence=(
            Evidence("slow-rise", name, float(np.exp(level[-1])), float(np.exp(level[best])), None, int(signals.step[rows[onset]])),
        ),
    )


DETECTOR = Detector("drift", (("loss", "eval_loss"),), detect)
