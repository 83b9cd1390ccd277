"""The restart plan: from which step, with which checkpoint, what to skip, what to change first, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.model import Diagnosis, Restart
from triage.signals import SignalTable

LR_FACTOR: Final = (0.1, 0.33)
"""A tenth to a third of the learning rate after a restart (science 7.4)."""
SKIP_LEAST, SKIP_MOST = 200, 500
"""Batches that others skipped around a spike (PaLM, science 7.4)."""
DATA: Final = "data/"
LR_JUMP: Final = "lr/schedule-jump"
NO_LR: Final = ("resume/", "precision/", "numeric/", "objective/", "parallel/", "hardware/", "data/")
"""Causes that a lower learning rate does not touch."""

CHANGE_FIRST: Final = {
    "data/": "change-inspect-batch",
    "lr/": "change-halve-lr",
    LR_JUMP: "change-undo-lr-jump",
    "grad/": "change-clip",
    "optimizer/weight-decay": "change-lower-weight-decay",
    "optimizer/": "change-lower-beta2",
    "resume/lr-schedule-lost": "change-restore-scheduler",
    "resume/optimizer-state-lost": "change-restore-optimizer",
    "resume/scaler-state-lost": "change-restore-scaler",
    "precision/": "change-precision",
    "numeric/": "change-find-operation",
    "objective/": "change-check-labels",
    "model/": "change-check-weights",
    "parallel/": "change-check-reduction",
    "hardware/": "change-rerun-elsewhere",
    "eval/": "change-mix-old-data",
}
"""First thing to change by the leading cause; the longest matching prefix holds. One variable only."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A saved state: its step and its name."""

    step: int
    name: str


def plan(signals: SignalTable, d: Diagnosis, checkpoints: Sequence[Checkpoint]) -> Restart | None:
    """How to go on after an unresolved incident; None where nothing has to be restarted.

    A checkpoint is safe if it was saved at or before the last healthy step, which lies before any first precursor; what
    was saved later may hold damaged weights or optimizer state.
    """
    if d.status not in ("unresolved", "superseded"):
        return None
    healthy = d.last_healthy_step
    safe = [c for c in checkpoints if healthy is not None and c.step <= healthy]
    poisoned = [c for c in checkpoints if healthy is None or c.step > healthy]
    if d.status == "superseded":  # what was saved after the bad stretch comes from the attempt that passed it
        poisoned = [c for c in poisoned if c.step <= d.end_step]
    best = max(safe, key=lambda c: c.step, default=None)
    cause = d.causes[0].id if d.causes else ""
    from_step = best.step if best is not None else healthy
    lost = max(0, d.end_step - healthy) if healthy is not None else None
    return Restart(
        from_step=from_step,
        checkpoint=best.name if best is not None else None,
        poisoned_checkpoints=tuple(c.name for c in sorted(poisoned, key=lambda c: c.step)),
        skip_steps=_skip(d, cause),
        lr_factor=_lr_factor(d, cause),
        restore=_restore(signals, from_step),
        change_first=_change(cause, d),
        replay=_replay(d),
        reasons=tuple(_reasons(d, checkpoints, best)),
        lost_steps=lost,
        lost_seconds=_seconds(signals, d),
    )


def _lr_factor(d: Diagnosis, cause: str) -> tuple[float, float] | None:
    """By what to multiply the learning rate of the incident: back to before its jump where it jumped, else less."""
    if cause.startswith(NO_LR) or d.event_class == "first-step-nan":
        return None
    if cause == LR_JUMP:
        jumps = [e.observed for e in d.causes[0].evidence if e.id == "lr-jumped" and e.observed is not None]
        if jumps and 1 < jumps[0] < math.inf:
            return 1 / jumps[0], 1 / jumps[0]
    return LR_FACTOR


def _skip(d: Diagnosis, cause: str) -> tuple[int, int] | None:
    """Batches to leave out once, where the data may be to blame: from the last healthy step over the bad stretch."""
    if d.event_class == "first-step-nan" or (cause and not cause.startswith(DATA)):
        return None
    first = (d.last_healthy_step if d.last_healthy_step is not None else d.onset_step) + 1
    width = min(SKIP_MOST, max(SKIP_LEAST, d.end_step - d.onset_step + 1))
    return first, first + width - 1


def _restore(signals: SignalTable, from_step: int | None) -> tuple[str, ...]:
    """State that must come back together."""
    if from_step is None:
        return ()
    scaler = ("scaler",) if "loss_scale" in signals.columns else ()
    return ("weights", "optimizer", "scheduler", *scaler, "data-position", "random-state")


def _change(cause: str, d: Diagnosis) -> str:
    """The one variable to change first."""
    fitting = [prefix for prefix in CHANGE_FIRST if cause.startswith(prefix)] if cause else []
    if fitting:
        return CHANGE_FIRST[max(fitting, key=len)]
    return "change-find-operation" if d.event_class == "first-step-nan" else "change-halve-lr"


def _replay(d: Diagnosis) -> tuple[int, ...]:
    """Steps of the 2 x 2 replay: the suspect batch, and an ordinary one before it."""
    ordinary = d.last_healthy_step
    return (d.onset_step,) if ordinary is None or ordinary == d.onset_step else (d.onset_step, ordinary)


def _reasons(d: Diagnosis, checkpoints: Sequence[Checkpoint], best: Checkpoint | None) -> list[str]:
    """Ids of the sentences that say why the plan is as it is."""
    reasons = []
    if d.last_healthy_step is None:
        reasons.append("no-healthy-step")
    elif d.first_mover is not None and d.first_mover.signal != d.signal and d.first_mover.lead_steps:
        reasons.append("before-first-precursor")
    else:
        reasons.append("before-onset")
    if not checkpoints:
        reasons.append("checkpoints-unknown")
    elif best is None:
        reasons.append("no-safe-checkpoint")
    if d.first_nonfinite is not None:
        reasons.append("state-may-be-poisoned")
    if d.censored:
        reasons.append("log-ended-early")
    return reasons


def _seconds(signals: SignalTable, d: Diagnosis) -> float | None:
    """Wall-clock time between the last healthy step and the end of the incident; None where it is not logged."""
    import numpy as np

    frame = signals.table.frame
    if "time" not in frame.columns or d.row_healthy is None:
        return None
    times = frame["time"].to_numpy()
    start, end = float(times[d.row_healthy]), float(times[min(len(times), d.row_end) - 1])
    return end - start if np.isfinite(start) and np.isfinite(end) and end >= start else None
