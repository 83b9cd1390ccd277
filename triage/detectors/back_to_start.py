"""Back to the start: the end of the log lies where training began, after it had been well below (science 10)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from triage.detectors._contract import Detector
from triage.detectors._points import points_of
from triage.detectors._tail import Rise, tail_event
from triage.model import Event, Evidence
from triage.options import Options
from triage.signals import SignalTable
from triage.signals.attempts import canonical

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOW: Final = 0.7
"""The loss had been below 0.7 x the first loss (definitions 4.6)."""
BACK_LEAST, BACK_MOST = 0.9, 1.5
"""... and its tail lies within 0.9 to 1.5 x the first loss (definitions 4.6)."""
LOW_SE: Final = 6.0
"""... by six standard errors of a median of five, so that a noisy log has not been low by chance."""
TAIL_SHARE: Final = 0.05
TAIL_LEAST, TAIL_MOST = 5, 64
"""The tail is the last twentieth, 5 to 64 points [choice: five points outvote a lone spike at the end]."""


def detect(signals: SignalTable, options: Options) -> list[Event]:
    """One event per judged signal whose tail is back at the start."""
    del options
    events = []
    for judged in () if signals.is_adversarial else signals.judged:
        points = points_of(signals, judged.name, judged.direction)
        if not points.space.is_log or judged.direction != "up":
            continue
        event = _event(judged.name, points.rows, points.values, signals)
        if event is not None:
            events.append(event)
    return events


def _event(name: str, rows: NDArray[np.intp], values: NDArray[np.float64], signals: SignalTable) -> Event | None:
    import numpy as np

    keep = np.isfinite(values) & canonical(signals.step[rows])
    rows, values = rows[keep], values[keep]
    n = len(values)
    size = int(min(TAIL_MOST, max(TAIL_LEAST, TAIL_SHARE * n)))
    if n < 4 * TAIL_LEAST:
        return None
    first, tail = float(values[0]), float(np.median(values[-size:]))
    smooth = _trailing_median(values, TAIL_LEAST)
    low = np.flatnonzero(smooth[TAIL_LEAST - 1 :] < LOW * first) + TAIL_LEAST - 1
    if not len(low) or not BACK_LEAST * first <= tail <= BACK_MOST * first:
        return None
    noise = 1.4826 * float(np.median(np.abs(np.diff(np.log(values))))) / math.sqrt(2)
    if math.log(tail / float(smooth[low].min())) < LOW_SE * 1.2533 * noise / math.sqrt(TAIL_LEAST):
        return None  # the lowest of many medians of five noisy points is low by chance
    half = math.sqrt(float(smooth[low[-1]]) * tail)  # half way up, in nats
    under = np.flatnonzero(_trailing_median(values, 3)[: n - size // 2] < half)
    onset = int(under[-1]) + 1
    while values[onset - 1] > half:  # a median of 3 lags by one row
        onset -= 1
    peak = onset + int(np.argmax(values[onset:]))
    rise = Rise(
        onset=onset,
        sure=onset + size,
        peak=peak,
        level=float(np.median(values[max(0, onset - size) : onset])),
        excess=float(np.log(values[peak] / values[onset - 1])),
        z=0.0,
        confidence="high",
    )
    step = int(signals.step[rows[onset]])
    return tail_event(
        name, DETECTOR.id, rows, values, rise, Evidence("back-to-start", name, tail, first, BACK_LEAST * first, step)
    )


def _trailing_median(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Median of the last `size` values at each row: one low point is not having been low."""
    import bottleneck as bn

    out: NDArray[np.float64] = bn.move_median(values, min(size, len(values)), min_count=1)
    return out


DETECTOR = Detector("back-to-start", (("loss", "eval_loss"),), detect)
