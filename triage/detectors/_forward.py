"""The forward pass over one signal: calm stretches at once, events row by row, explicit state between blocks.

Kept apart from the detectors because the loss, an evaluation loss and a metric named by the user all walk this way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from triage.detectors._attempts import Path, rebuilt, takes_up
from triage.detectors._recovery import Frozen, Outcome, deadline, follow
from triage.detectors._tiers import BAND_Z, DOUBLED, POINT_TIERS, Stretch, level_candidates, level_holds
from triage.signals.baseline import (
    EARLY_ROWS,
    MAD_TO_SD,
    MIN_ROWS,
    Z_OPEN,
    Accepted,
    effective,
    forecast,
    window_length,
)
from triage.signals.space import RAW_UNIT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from triage.signals.space import Space

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

CALM, EVENT = 0, 1
BRIDGE: Final = 2
"""Rows in band that the walk back to the onset may pass over (definitions 4.1)."""
EARLY_REFERENCE: Final = 5
"""The early rule compares with the larger of the first loss and the median of the last 5 (definitions 3)."""
EARLY_ALONE: Final = math.log(4)
"""Below 20 rows a single row opens only at 4 x the reference; 2 x needs the next row as well (definitions 3)."""
EARLY_NOISE_ROWS: Final = 8
EARLY_TWICE_NOISE, EARLY_ALONE_NOISE = 4.0, 6.0
"""Noises of first differences that a doubling, and a quadrupling, must exceed [choice: rare as z of 6 on a level]."""
EARLY_SCALE: Final = 0.05
"""Least noise assumed below 20 rows, nats: the lower end of small-batch noise (science 5)."""
RETURN_ROWS: Final = 64
"""A rise within 64 rows of the end of the repeated steps may be the return from memorised data [half a window]."""
RETURN_CHECK: Final = 8
"""... if the next 8 rows stay within the band that held before the resume [choice: the rows of the rise gate]."""
FIRST_CHUNK: Final = 256
LAST_CHUNK: Final = 1 << 14
"""Rows that are forecast at once, doubled while nothing opens [choice: few are done again after an event]."""


@dataclass(frozen=True, slots=True)
class Excursion:
    """One interval out of band, in positions of the signal's logged points."""

    onset: int
    trigger: int
    tier: str
    frozen: Frozen
    outcome: Outcome


@dataclass(slots=True)
class Trace:
    """What was decided at every logged point; arrays (n,), NaN where there was no forecast."""

    predict: Array
    base: Array
    scale: Array
    z_open: Array
    record: Array
    unit: Array
    z: Array
    accepted: Mask
    excursions: list[Excursion] = field(default_factory=list)

    @staticmethod
    def empty(n: int) -> Trace:
        """Nothing decided yet."""
        import numpy as np

        predict, base, scale, z_open, record, unit, z = np.full((7, n), np.nan)
        return Trace(predict, base, scale, z_open, record, unit, z, np.zeros(n, dtype=bool))


@dataclass(frozen=True, slots=True)
class Track:
    """The points of one signal as the pass needs them; arrays (n,) of logged points.

    Attributes:
        x: judged numbers, NaN where the value is not finite.
        space: how they were made.
        second: another signal left its band near the point.
        starts: first point of every segment, in order; the first is 0.
        restarts: points at which the logging interval changes lastingly: the window starts over.
        has_levels: a lasting change of level is an event; not so for one player of an adversarial pair.
        repeats: for every segment the first point past the steps that an earlier segment had trained.
        step: (n,) step of every point; None = no segment repeats steps.
    """

    x: Array
    space: Space
    second: Mask
    starts: tuple[int, ...]
    restarts: frozenset[int] = frozenset()
    repeats: tuple[int, ...] = ()
    has_levels: bool = True
    step: NDArray[np.int64] | None = None


def walk(track: Track, *, window: int | None, factor: float) -> Trace:
    """Every excursion of one signal, and the trace of decisions. Linear in points outside events."""
    import numpy as np

    n = len(track.x)
    trace = Trace.empty(n)
    state = Accepted.empty(window)
    first = float(track.x[np.isfinite(track.x)][0]) if np.isfinite(track.x).any() else math.nan
    bounds = [*track.starts[1:], n]
    limit = deadline(n)
    repeats = track.repeats or track.starts
    path = Path.empty(n)
    for start, stop, new in zip(track.starts, bounds, repeats, strict=True):
        position = start
        before = _freeze(track, state, window, factor)  # the level at which the last attempt ended
        if start:
            state = _resumed(track, trace, path, state, (start, stop), before.level, window)
        barrier = start  # the walk back stops here
        chunk = FIRST_CHUNK
        while position < stop:
            if position in track.restarts and state.count:
                state = Accepted.empty(window)
                path.begin_era(position)
            until = min([stop, *(r for r in track.restarts if r > position)])
            if state.count < MIN_ROWS:
                opened = _early(track, state, trace, position, until, first)
            else:
                early = EARLY_ROWS - state.count  # rows that the early window is for
                ahead = min(until, position + (min(chunk, early) if early > 0 else chunk))
                opened = _calm(track, state, trace, position, ahead, window, factor)
                chunk = min(2 * chunk, LAST_CHUNK)
            if opened is None:
                position = _next(trace, position, until)
                continue
            chunk = FIRST_CHUNK
            onset, trigger, tier = opened
            onset = max(barrier, _walk_back(trace, onset, barrier, window_length(state.count, window)))
            state.drop_last(int(trace.accepted[onset:trigger].sum()))
            trace.accepted[onset:trigger] = False
            if new > start and onset <= new + RETURN_ROWS and _is_return(track.x[onset:stop], before):
                state = Accepted.empty(window)  # memorised data had held the loss down
                path.begin_era(onset)
                position = barrier = onset
                new = start  # noqa: PLW2901 - once per segment
                continue
            frozen = _freeze(track, state, window, factor)
            outcome = follow(track.x[:stop], onset, trigger, frozen, limit)
            trace.excursions.append(Excursion(onset, trigger, tier, frozen, outcome))
            position = barrier = outcome.resume
            if outcome.recovered is None:
                state = Accepted.empty(window)
                path.begin_era(position)
        if track.step is not None:
            path.extend(start, stop, trace.accepted, track.step)
    return trace


def _resumed(
    track: Track, trace: Trace, path: Path, state: Accepted, bounds: tuple[int, int], ended: float, window: int | None
) -> Accepted:
    """The baseline of a segment: as it stood at the step that is taken up, or at the end of the last attempt."""
    if track.step is None:
        return state
    start, stop = bounds
    left, dropped = path.cut(int(track.step[start]))
    if not takes_up(track.x, dropped, track.x[start:stop], ended):
        return state
    if len(left):
        path.current = int(path.era[left[-1]])
    else:
        path.begin_era(start)
    return rebuilt(track.x, (trace.predict, trace.base, trace.scale), left, window)


def _is_return(ahead: Array, before: Frozen) -> bool:
    """Do the next rows only return to the level that held before the resume (science 2, repeated data)?"""
    near = ahead[:RETURN_CHECK]  # NaN, here or as the level, is no return
    return bool((near <= before.level + Z_OPEN * before.scale).all())


def _next(trace: Trace, position: int, until: int) -> int:
    """First point that has not been looked at."""
    import numpy as np

    ahead = np.flatnonzero(~trace.accepted[position:until])
    return position + int(ahead[0]) if len(ahead) else until


def _early(
    track: Track, state: Accepted, trace: Trace, position: int, until: int, first: float
) -> tuple[int, int, str] | None:
    """Below MIN_ROWS accepted rows: non-finite values, and doublings that the next row confirms."""
    import numpy as np

    while position < until and state.count < MIN_ROWS:
        x = float(track.x[position])
        if math.isnan(x):
            return position, position, "nonfinite"
        if state.count:
            reference = max(first, float(np.median(state.x[-EARLY_REFERENCE:])))
            twice, alone = _early_steps(track.space, state, reference)
            ahead = track.x[position + 1 : position + 2]
            confirmed = len(ahead) == 1 and not ahead[0] - reference < twice  # a non-finite next row confirms
            if x - reference >= alone or (confirmed and x - reference >= twice):
                return position, position, "early"
        state.append(*(np.array([v]) for v in (x, 0.0, 0.0, 0.0)))
        trace.accepted[position] = True
        position += 1
    if state.count >= MIN_ROWS:
        state.seed()
    return None


def _early_steps(space: Space, state: Accepted, reference: float) -> tuple[float, float]:
    """Rises over the reference that count as twice and four times of it.

    Once eight rows show the noise of first differences, the rises must also be 4 and 6 times that: a log that begins
    late in a noisy run doubles from row to row in health. In raw space a loss around zero has no multiples: there the
    rise must also be 2 (and 4) units of 5 x the noise of first differences, and nothing opens before five rows have
    shown what that noise is.
    """
    import numpy as np

    steps = np.diff(state.x)
    if space.is_log:
        spread = float(np.median(np.abs(steps - np.median(steps)))) if state.count >= EARLY_NOISE_ROWS else 0.0
        noise = MAD_TO_SD * spread
        return max(DOUBLED, EARLY_TWICE_NOISE * noise), max(EARLY_ALONE, EARLY_ALONE_NOISE * noise)
    if state.count < EARLY_REFERENCE:
        return math.inf, math.inf
    unit = RAW_UNIT * MAD_TO_SD * float(np.median(np.abs(steps)))
    size = max(abs(reference), 1e-12)
    return max(size, 2 * unit), max(3 * size, 4 * unit)


def _calm(
    track: Track, state: Accepted, trace: Trace, position: int, until: int, window: int | None, factor: float
) -> tuple[int, int, str] | None:
    """Accept rows up to the first that opens an event; returns (onset, trigger, tier) or None."""
    import numpy as np

    finite = np.isfinite(track.x[position:until])
    stop = position + (int(np.argmin(finite)) if not finite.all() else len(finite))
    broken = stop < until
    if stop == position:
        return position, position, "nonfinite"
    x = track.x[position:stop]
    rounding = track.space.rounding(float(np.median(state.x[-8:])))
    expected = forecast(state, x, window, is_log=track.space.is_log, rounding=rounding, factor=factor)
    z = (x - expected.base) / expected.scale
    stretch = Stretch(
        x, expected, z, (x - expected.base) / expected.unit, track.second[position:stop], track.space.is_log
    )
    opened = _first_opening(state, stretch, has_levels=track.has_levels)
    taken = len(x) if opened is None else opened[0]
    _accept(state, trace, position, stretch, taken)
    shown = slice(position, min(stop, position + taken + 1))
    for name in ("predict", "base", "scale", "z_open", "record", "unit"):
        getattr(trace, name)[shown] = getattr(expected, name)[: taken + 1]
    trace.z[shown] = z[: taken + 1]
    if opened is not None:
        return position + opened[1], position + opened[0], opened[2]
    return (stop, stop, "nonfinite") if broken else None


def _first_opening(state: Accepted, stretch: Stretch, *, has_levels: bool) -> tuple[int, int, str] | None:
    """(trigger row, onset row, tier) of the first row of the stretch that opens an event."""
    import numpy as np

    best: tuple[int, int, str] | None = None
    for tier in POINT_TIERS:
        hits = np.flatnonzero(tier.opens(stretch))
        if len(hits) and (best is None or hits[0] < best[0]):
            best = (int(hits[0]), int(hits[0]), tier.id)
    for row, k in level_candidates(state, stretch) if has_levels else ():
        if best is not None and row >= best[0]:
            break
        if level_holds(state, stretch, row, k):
            return row, row - k + 1, "level"
    return best


def _accept(state: Accepted, trace: Trace, position: int, stretch: Stretch, rows: int) -> None:
    """Take the first `rows` rows of the stretch into the baseline."""
    import numpy as np

    expected = stretch.expected
    x = stretch.x[:rows]
    low = np.minimum(expected.predict, expected.base)[:rows]
    state.append(
        x,
        x - expected.predict[:rows],
        x - expected.base[:rows],
        np.maximum(low - x, 0.0) / expected.scale[:rows],
    )
    trace.accepted[position : position + rows] = True


def _walk_back(trace: Trace, onset: int, barrier: int, window: int) -> int:
    """Earlier rows with z >= 3 belong to the event; up to BRIDGE rows in band are passed over."""
    earliest, gap, row = onset, 0, onset - 1
    while row >= max(barrier, onset - window) and gap <= BRIDGE:
        if trace.z[row] >= BAND_Z:
            earliest, gap = row, 0
        else:
            gap += 1
        row -= 1
    return earliest


def _freeze(track: Track, state: Accepted, window: int | None, factor: float) -> Frozen:
    """The level, slope and noise that the accepted rows leave off with."""
    import numpy as np

    space = track.space
    if state.count >= MIN_ROWS:
        rounding = space.rounding(float(np.median(state.x[-8:])))
        probe = state.x[-1:]
        f = forecast(state, probe, window, is_log=space.is_log, rounding=rounding, factor=factor)
        width = window_length(state.count, window)
        n = min(len(state.x), width)
        half = n // 2
        slope = (float(np.median(state.x[-half:])) - float(np.median(state.x[-n:-half]))) / (n / 2)
        scale = float(f.scale[0])
        return Frozen(
            level=float(f.base[0]),
            slope=max(0.0, slope),
            scale=scale,
            noise=effective(scale, state.residual[-width:]),
            unit=float(f.unit[0]),
            z_open=float(f.z_open[0]),
            record=float(f.record[0]),
            rows=state.count,
        )
    if state.count:
        level = max(float(np.median(state.x[-EARLY_REFERENCE:])), float(np.median(state.x)))  # five rows may lie low
        steps = np.abs(np.diff(state.x))
        noise = 1.4826 * float(np.median(steps)) if len(steps) else 0.0
        least = EARLY_SCALE if space.is_log else EARLY_SCALE * max(abs(level), 1e-12)
        scale = max(noise, least, space.rounding(level))
        return Frozen(level, 0.0, scale, scale, 1.0 if space.is_log else 5 * scale, 6.0, 0.0, state.count)
    return Frozen(math.nan, 0.0, EARLY_SCALE, EARLY_SCALE, 1.0, 6.0, 0.0, 0)
