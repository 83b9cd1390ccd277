"""Non-finite gradient norms that stay: the run is sick although the logged loss is still finite."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from triage.detectors._contract import Detector
from triage.model import Event, Evidence
from triage.options import Options
from triage.signals import SignalTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STAYS: Final = 5
"""Logged points in a row, up to the end, that make a non-finite gradient more than a skipped step: a scale search of
fp16 halves from 2^16 to a working scale within a few rows (science 5, 8)."""

WATCHED: Final = ("grad_norm",)


def detect(signals: SignalTable, options: Options) -> list[Event]:
    """One event per watched column whose values are non-finite up to the end of a segment.

    In a log without a loss every non-finite value counts: nothing else can tell.
    """
    del options
    events: list[Event] = []
    for name in WATCHED:
        if name not in signals.columns:
            continue
        rows, values = signals.points(name)
        for segment in _segments(signals.segment[rows]):
            event = _tail(name, rows[segment], values[segment], signals)
            if event is not None:
                events.append(event)
            elif not signals.judged:
                events += _guarded(name, rows[segment], values[segment], signals)
    return events


def _guarded(name: str, rows: NDArray[np.intp], values: NDArray[np.float64], signals: SignalTable) -> list[Event]:
    """Stretches of non-finite values that were skipped by the trainer, or after which finite ones came."""
    import numpy as np

    bad = ~np.isfinite(values)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], bad.astype(int), [0]])))
    events = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        skipped = signals.columns.get("is_skipped")
        guarded = skipped is not None and bool((np.nan_to_num(skipped[rows[start:stop]]) > 0).all())
        back = int(rows[stop]) if stop < len(rows) else int(rows[stop - 1]) if guarded else None
        events.append(_event(name, rows, values, (int(start), int(stop)), back, signals))
    return events


def _segments(segment: NDArray[np.int64]) -> list[slice]:
    """Slices of equal segment numbers."""
    import numpy as np

    edges = [0, *(int(i) + 1 for i in np.flatnonzero(np.diff(segment))), len(segment)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _tail(name: str, rows: NDArray[np.intp], values: NDArray[np.float64], signals: SignalTable) -> Event | None:
    """The unbroken non-finite tail of one segment; a column that was never finite counts.

    Under a loss scaler a few overflows are routine, so the tail must be long enough. Without one, every gradient was
    applied: a single non-finite one at the end leaves weights that are not finite either.
    """
    import numpy as np

    finite = np.flatnonzero(np.isfinite(values))
    start = int(finite[-1]) + 1 if len(finite) else 0
    length = len(values) - start
    least = min(STAYS, max(2, len(values))) if _has_scaler(signals) else 1
    if length < max(least, 1) or (length == len(values) == 1):
        return None
    return _event(name, rows, values, (start, len(values)), None, signals)


def _has_scaler(signals: SignalTable) -> bool:
    """May steps with an overflow be skipped: is there a loss scale, or are skipped steps logged?"""
    import numpy as np

    scale, skipped = signals.columns.get("loss_scale"), signals.columns.get("is_skipped")
    return (scale is not None and bool((np.nan_to_num(scale) > 1).any())) or skipped is not None


def _event(
    name: str,
    rows: NDArray[np.intp],
    values: NDArray[np.float64],
    span: tuple[int, int],
    recovered: int | None,
    signals: SignalTable,
) -> Event:
    """One stretch of non-finite values, from the first point of `span` to before its second."""
    start, stop = span
    step = int(signals.step[rows[start]])
    found = Evidence("nonfinite-value", name, float(values[start]), None, None, step)
    stays = Evidence("nonfinite-stays", name, float(stop - start), None, float(STAYS), step)
    return Event(
        signal=name,
        detector="nonfinite",
        tier="nonfinite",
        onset=int(rows[start]),
        trigger=int(rows[start]),
        peak=int(rows[start]),
        end=int(rows[stop - 1]) + 1,
        recovered=recovered,
        healthy=int(rows[start - 1]) if start else None,
        width=stop - start,
        censored=recovered is None and stop - start < STAYS,
        is_open=recovered is None,
        n_nonfinite=stop - start,
        peak_value=float(values[start]),
        level=None,
        excess=float("inf"),
        z=float("inf"),
        confidence="high",
        evidence=(found,) if recovered is not None else (found, stays),
    )


DETECTOR = Detector("nonfinite", (("grad_norm",),), detect)
