"""The order in which incidents are shown: worst first.

Separate because `analyze` and `spikes --worst` must agree on it. It sorts what the report says and judges nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from triage.model import CLASSES, Diagnosis

SHOWN_FULLY: Final = 3
"""Incidents shown with picture and evidence where `--max-incidents` was not given; about two screens."""

_STATUSES: Final = ("superseded", "accepted", "recovered", "unresolved")
"""Least severe first."""


def worst_first(diagnoses: Sequence[Diagnosis]) -> list[tuple[int, Diagnosis]]:
    """Number the incidents in the order of the report, from 1, and sort the worst to the front."""
    return sorted(enumerate(diagnoses, 1), key=lambda pair: _severity(pair[1]), reverse=True)


def _severity(found: Diagnosis) -> tuple[float, ...]:
    return (
        _STATUSES.index(found.status),
        CLASSES.index(found.event_class),
        _magnitude(found),
        found.n_points,
        -found.row_onset,
    )


def _magnitude(found: Diagnosis) -> float:
    """How large the peak is: non-finite outranks finite, then its distance to the baseline."""
    if not math.isfinite(found.peak_value):
        return math.inf
    if found.baseline is None or not math.isfinite(found.baseline):
        return 0.0
    if found.baseline > 0 and found.peak_value > 0:
        return abs(math.log(found.peak_value) - math.log(found.baseline))
    return abs(found.peak_value / 2 - found.baseline / 2)
