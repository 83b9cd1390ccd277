"""Excursions of the judged signal: spikes, bursts, level shifts, blow-ups and non-finite values."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from triage.detectors._contract import Detector
from triage.detectors._forward import Excursion, Trace, walk
from triage.detectors._points import SENSITIVITY, Points, points_of
from triage.detectors._recovery import Frozen
from triage.model import Confidence, Decision, Event, Evidence
from triage.options import Options
from triage.signals import SignalTable
from triage.signals.baseline import CALIBRATION_MIN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEAVY_TAIL: Final = "heavy-tail"
"""Tier of points that are noise; the classifier passes them over, the finding `heavy-tailed-noise` counts them."""
LONE_TIERS: Final = frozenset({"hard", "strong", "record"})
"""Tiers that open on one row of one signal."""
LONE_POINTS: Final = 2
"""Points out of band of a lone excursion: one, and a neighbour, which heavy tails put there once in fifty [choice]."""
SMOOTHED: Final = 0.87
"""Autocorrelation of residuals from which on a series looks smoothed: 0.9 (science 8), which is measured as 0.87
to 0.9 against a trend that follows the series (eight simulated runs)."""
SMOOTHED_POINTS: Final = 3
DOWN_SHARE: Final = 3
DOWN_FACTOR: Final = 2.0
"""Noise, if it is less than twice the largest outlier downward: the record rule's factor, for the same reason."""


def detect(signals: SignalTable, options: Options) -> list[Event]:
    """Events of every judged signal, in order of their rows."""
    import numpy as np

    events: list[Event] = []
    for judged in signals.judged:
        points = points_of(signals, judged.name, judged.direction)
        trace = walk(points.track, window=options.window, factor=SENSITIVITY[options.sensitivity])
        folded = heavy_tail(points, trace)
        accepted = np.flatnonzero(trace.accepted)
        step = signals.step[points.rows]
        for position, excursion in enumerate(trace.excursions):
            healthy = _last_before(accepted, step, excursion.onset)
            healthy = None if healthy is None else int(points.rows[healthy])
            event = _event(judged.name, points, excursion, healthy, signals)
            events.append(replace(event, tier=HEAVY_TAIL) if position in folded else event)
    return sorted(events, key=lambda e: e.onset)


def _last_before(accepted: NDArray[np.intp], step: NDArray[np.int64], onset: int) -> int | None:
    """The last accepted point before the onset, in the log and by its step: a dead branch is no way back."""
    import numpy as np

    end = int(np.searchsorted(accepted, onset))
    while end and step[accepted[end - 1]] >= step[onset]:
        end -= 1
    return int(accepted[end - 1]) if end else None


def decisions(signals: SignalTable, row: int, options: Options) -> tuple[Decision, ...]:
    """What was decided at one row, for every judged signal that was logged there, and from which numbers."""
    import numpy as np

    out = []
    for judged in signals.judged:
        points = points_of(signals, judged.name, judged.direction)
        at = int(np.searchsorted(points.rows, row))
        if at >= len(points.rows) or points.rows[at] != row:
            continue
        factor = SENSITIVITY[options.sensitivity]
        trace = walk(points.track, window=options.window, factor=factor)
        out.append(_decision(judged.name, points, trace, at))
    return tuple(out)


def _decision(name: str, points: Points, trace: Trace, at: int) -> Decision:
    """One logged point under the glass; inside an event the numbers are those of the frozen baseline."""
    x = float(points.track.x[at])
    inside = next((e for e in trace.excursions if e.onset <= at < e.outcome.resume), None)
    if inside is not None:
        frozen = inside.frozen
        base, scale, unit, z_open, record = frozen.level, frozen.scale, frozen.unit, frozen.z_open, frozen.record
        recovering = inside.outcome.end <= at
    else:
        base, scale, z_open, record = (float(a[at]) for a in (trace.base, trace.scale, trace.z_open, trace.record))
        unit, recovering = float(trace.unit[at]), False
    known = math.isfinite(base)
    excess = x - base if known else math.nan
    return Decision(
        signal=name,
        value=float(points.values[at]),
        prediction=points.space.to_raw(base) if known else None,
        scale=scale if known else None,
        z=(excess / scale if math.isfinite(x) else math.inf) if known else None,
        excess=(excess / unit if math.isfinite(x) else math.inf) if known else None,
        z_open=z_open if known else None,
        record=record if known else None,
        tier_results={inside.tier: True} if inside is not None and at == inside.trigger else {},
        state=("recovering" if recovering else "in event") if inside is not None else "calm",
        accepted=bool(trace.accepted[at]),
    )


def heavy_tail(points: Points, trace: Trace) -> frozenset[int]:
    """Numbers of the excursions that are this run's ordinary noise: lone points, matched by outliers downward.

    Loss cannot spike downward, so the lower tail of the whole log measures how heavy the noise is: lone points without
    a second signal, at least a third as many downward ones as large as the least of them (science 3.3), and none
    of those taken for noise twice as large as the largest downward one.
    """
    import numpy as np

    lone = {
        i: e.outcome.z
        for i, e in enumerate(trace.excursions)
        if e.tier in LONE_TIERS
        and e.outcome.width <= LONE_POINTS
        and e.outcome.recovered is not None
        and math.isfinite(e.outcome.z)
        if not points.track.second[e.trigger]
    }
    if not lone:
        return frozenset()
    down = ((trace.predict - points.track.x) / trace.scale)[CALIBRATION_MIN:]  # before, the loss falls by design
    down = down[np.isfinite(down)]
    matched = int((down >= min(lone.values())).sum())
    if not matched or matched * DOWN_SHARE < len(lone):
        return frozenset()
    return frozenset(i for i, z in lone.items() if z < DOWN_FACTOR * float(down.max()))


def _event(name: str, points: Points, excursion: Excursion, healthy: int | None, signals: SignalTable) -> Event:
    """One excursion in rows of the signal table, with its numbers as evidence."""
    rows, outcome, frozen = points.rows, excursion.outcome, excursion.frozen
    peak_value = float(points.values[outcome.peak])
    known = not math.isnan(frozen.level)
    level = points.space.to_raw(frozen.level) if known else None
    step = int(signals.step[rows[outcome.peak]])
    if math.isfinite(outcome.z):
        evidence = [
            Evidence("excess-over-baseline", name, peak_value, level, None, step),
            Evidence("robust-z", name, outcome.z, None, frozen.z_open, step),
        ]
    else:
        evidence = [Evidence("nonfinite-value", name, peak_value, level, None, step)]
    if is_smoothed(excursion):
        evidence.append(Evidence("looks-smoothed", name, _correlation(frozen), None, SMOOTHED, step))
    return Event(
        signal=name,
        detector="excursion",
        tier=excursion.tier,
        onset=int(rows[excursion.onset]),
        trigger=int(rows[excursion.trigger]),
        peak=int(rows[outcome.peak]),
        end=int(rows[outcome.end - 1]) + 1,
        recovered=int(rows[outcome.recovered]) if outcome.recovered is not None else None,
        healthy=healthy,
        width=outcome.width,
        censored=outcome.is_cut,
        is_open=outcome.recovered is None,
        n_nonfinite=outcome.nonfinite,
        peak_value=peak_value,
        level=level,
        excess=outcome.excess / frozen.unit,
        z=outcome.z,
        confidence=_confidence(excursion),
        evidence=tuple(evidence),
        n_groups=outcome.groups,
        needed=outcome.needed,
    )


def _confidence(excursion: Excursion) -> Confidence:
    """How sure the interval is: few points behind it, a cut confirmation, or a lone strong point."""
    outcome, frozen = excursion.outcome, excursion.frozen
    if math.isinf(outcome.z):
        if frozen.rows >= 1:
            return "high"
        return "medium" if outcome.recovered is None else "low"  # NaN first, and then a healthy run
    if outcome.is_cut or frozen.rows < 20 or is_smoothed(excursion):
        return "low"
    return "high" if excursion.tier in ("hard", "joint") else "medium"


def is_smoothed(excursion: Excursion) -> bool:
    """Do neighbouring values hang together as those of a smoothed export do?

    Then z and the exact onset mean less (science 8). A jump that is gone within three points shows by itself that
    nothing was smoothed over it; full-batch training is that smooth.
    """
    return _correlation(excursion.frozen) >= SMOOTHED and excursion.outcome.width > SMOOTHED_POINTS


def _correlation(frozen: Frozen) -> float:
    """Lag-1 autocorrelation behind the noise of a level (signals.baseline.effective), rounded as that is clipped."""
    ratio = (frozen.noise / frozen.scale) ** 2
    return round((ratio - 1) / (ratio + 1), 6)


DETECTOR = Detector("excursion", (("loss", "eval_loss"),), detect)
