"""The bare numbers that go into the texts: steps, lr and its fractions, warm-up, and how long a trial takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from triage.facts._config import number
from triage.facts._marks import resume_position, warmup_end
from triage.facts._stretch import Stretch

if TYPE_CHECKING:
    from triage.model import RunTable

ROLLBACK_STEPS: Final = 100
"""How far before the last healthy step the older checkpoint lies (the published rollback distance)."""

SKIP_LEAST, SKIP_MOST = 200, 500
"""Batches to skip around an incident (published practice)."""

PAST_ONSET: Final = 50
TRIAL_LEAST, TRIAL_MOST = 100, 2_000
"""A trial runs 50 steps past the onset, neither less than 100 nor more than 2,000 steps (the size of a pilot run)."""


def placeholders(stretch: Stretch, table: RunTable, last_healthy: int | None, *, has_onset: bool) -> dict[str, str]:
    """Values of the placeholders that are known.

    Args:
        stretch: the run cut at the onset.
        table: the run.
        last_healthy: step; None = none.
        has_onset: false for a finding about the whole run, whose onset is only where the log ends.
    """
    out: dict[str, float | None] = {}
    onset = int(stretch.step[stretch.onset])
    if has_onset:
        out["onset"] = onset
        out["before_onset"] = int(stretch.step[stretch.before[-1]]) if len(stretch.before) else None
    if last_healthy is not None:
        first = int(stretch.step.min())
        older = max(first, last_healthy - ROLLBACK_STEPS)
        end = int(stretch.step[stretch.last])
        trial = min(TRIAL_MOST, max(TRIAL_LEAST, onset - older + PAST_ONSET))
        out["last_healthy"] = last_healthy
        out["healthy_minus_100"] = older
        out["skip_from"] = last_healthy + 1
        out["skip_to"] = min(last_healthy + SKIP_MOST, max(last_healthy + SKIP_LEAST, end))
        out["replay_steps"] = trial
        out["replay_time"] = _minutes(stretch, table, trial)
    mark = resume_position(stretch)
    out["resume_step"] = None if mark is None else int(stretch.step[mark])
    return {
        name: _text(value)
        for name, value in (out | _settings(stretch, table, last_healthy)).items()
        if value is not None
    }


def _settings(stretch: Stretch, table: RunTable, last_healthy: int | None) -> dict[str, float | None]:
    """Rate and its fractions, warm-up and clipping. A jump of lr since the last healthy step is none to go on from."""
    import numpy as np

    out: dict[str, float | None] = {"clip": number(table.source.config, "clip")}
    warmup = number(table.source.config, "warmup")
    column = stretch.columns.get("lr")
    path = None if column is None else column.finite(np.concatenate([stretch.before, stretch.rest]))
    if column is not None and path is not None and len(path):
        until = path[path <= stretch.onset]
        lr = float(column.values[until[-1] if len(until) else path[0]])
        if warmup is None:
            end = warmup_end(column.values[path], stretch.step[path])
            warmup = None if end is None or end > stretch.step[path[-1]] else float(end)
        sound = until if last_healthy is None else until[stretch.step[until] <= last_healthy]
        is_warm = last_healthy is not None and last_healthy > (warmup or 0)
        low = min(lr, float(column.values[sound[-1]])) if is_warm and len(sound) else lr
        if lr > 0:
            out |= {"lr": lr, "half_lr": lr / 2, "quarter_lr": lr / 4}
        if low > 0:
            out |= {"third_lr": low / 3, "tenth_lr": low / 10}
    if warmup:
        out |= {"warmup_steps": warmup, "double_warmup": 2 * warmup}
    return out


def _minutes(stretch: Stretch, table: RunTable, n_steps: int) -> float | None:
    """Minutes that so many steps take at the median speed of the log, at least 1; None without times."""
    import numpy as np

    logged = stretch.columns.get("step_time")
    if logged is not None and len(at := logged.finite(np.arange(len(stretch.step)))):
        seconds = float(np.median(logged.values[at]))
    elif "time" in table.frame.columns:
        time = table.frame["time"].cast(float).fill_null(np.nan).to_numpy()
        at = np.flatnonzero(np.isfinite(time))
        steps, spent = np.diff(stretch.step[at]), np.diff(time[at])
        steady = (steps > 0) & (spent >= 0)
        if not steady.any():
            return None
        seconds = float(np.median(spent[steady] / steps[steady]))
    else:
        return None
    return max(1.0, float(np.ceil(seconds * n_steps / 60))) if np.isfinite(seconds) else None


def _text(value: float) -> str:
    """A bare number: whole numbers in full, others with three significant digits."""
    return str(int(value)) if value == int(value) else f"{value:.3g}"
