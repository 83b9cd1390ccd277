"""Thinned series for pictures: enough of each column that a saved report draws what a direct run draws.

Coarse over the whole run, every point around an incident, so that a single-step spike is never averaged away: a bucket
keeps the least and the largest value, and every non-finite step by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from triage.model import Diagnosis, Series
from triage.signals.table import SignalTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUCKETS: Final = 240
"""Buckets over one segment away from incidents: two per character of a 120-column terminal."""
AROUND: Final = 48
"""Logged points before the onset and after the end of an incident that are kept one by one."""
LONGEST: Final = 256
"""Points of a long incident that are kept one by one from its onset on."""
MOST_INCIDENTS: Final = 20
"""Incidents per column that get their own points; the worst come first in the report anyway."""
MOST_STEPS: Final = 2_000
"""Non-finite steps that are named per series; a run that is NaN for a million steps needs no list of them."""
DRAWN: Final = ("grad_norm", "update_ratio", "lr", "loss_scale", "eval_loss")
"""Columns that are kept beside the judged ones."""


def thin(signals: SignalTable, diagnoses: Iterable[Diagnosis]) -> tuple[Series, ...]:
    """Series of the judged columns and their companions, one per column and segment."""
    import numpy as np

    wanted = list(dict.fromkeys([*(j.name for j in signals.judged), *DRAWN, *(d.signal for d in diagnoses)]))
    told = sorted(diagnoses, key=lambda d: d.status != "unresolved")[:MOST_INCIDENTS]
    out: list[Series] = []
    for name in (n for n in wanted if n in signals.columns):
        rows, values = signals.points(name)
        segments = signals.segment[rows]
        for segment in np.unique(segments):
            own = segments == segment
            near = [(d.row_onset, d.row_end) for d in told if d.segment == segment]
            out.append(_series(name, int(segment), rows[own], values[own], signals.step, near))
    return tuple(out)


def _series(
    name: str,
    segment: int,
    rows: NDArray[np.intp],
    values: NDArray[np.float64],
    step: NDArray[np.int64],
    near: list[tuple[int, int]],
) -> Series:
    """One column of one segment in buckets: each starts where `starts` says and ends before the next."""
    import numpy as np

    n = len(rows)
    starts = np.zeros(n, dtype=bool)
    starts[:: max(1, n // BUCKETS)] = True
    for onset, end in near:
        a, b = np.searchsorted(rows, [onset, end])
        starts[max(0, a - AROUND) : min(b + AROUND, a + LONGEST)] = True
        if a + LONGEST < b:
            starts[max(0, b - AROUND) : b + AROUND] = True
    starts[0] = True
    edges = np.flatnonzero(starts)
    finite = np.isfinite(values)
    low = np.minimum.reduceat(np.where(finite, values, np.inf), edges)
    high = np.maximum.reduceat(np.where(finite, values, -np.inf), edges)
    steps = step[rows]
    return Series(
        column=name,
        step=tuple(int(s) for s in steps[edges]),
        min=tuple(float(v) if np.isfinite(v) else None for v in low),
        max=tuple(float(v) if np.isfinite(v) else None for v in high),
        nonfinite_steps=tuple(int(s) for s in steps[~finite][:MOST_STEPS]),
        segment=segment,
    )
