"""Numbers of the course that an incident took: who led it, how the schedule went, how fast it grew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from triage.model import Diagnosis
from triage.signals import SignalTable
from triage.signals.companions import departure_of
from triage.signals.precursors import stretch_start

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Measured = dict[tuple[str, str], float]

ROUTER: Final = re.compile(r"aux_loss|load_balanc|router|expert_load|dropped_tokens")
"""Columns that speak of the routing of a mixture of experts, under the names of the common trainers."""
NEAR: Final = 8
"""Logged points up to the onset in which a schedule that starts again explains it (science 7.3)."""
HELD: Final = 3
"""Points at a learning rate of exactly 0 that are a pause of the schedule and not one odd value [choice]."""
AS_HIGH: Final = 0.9
"""A learning rate of nine tenths is as high for the purpose [choice]."""
SAME: Final = 0.02
"""Learning rates within 2 % are the same but for rounding (findings, resume-discontinuity)."""
GROWN: Final = 10.0
"""The gradient must grow tenfold before it can show whether the update follows it."""
FOLLOWS: Final = 0.25
"""Nats by which update over gradient may move meanwhile: under Adam it falls by far more (science 4.1)."""


def course(signals: SignalTable, d: Diagnosis) -> Measured:
    """All of it for one incident; linear in rows."""
    return _led(signals, d) | _schedule(signals, d) | _scale(signals, d) | _growth(signals, d)


def _led(signals: SignalTable, d: Diagnosis) -> Measured:
    """Steps by which a companion had left its band before the onset, two points in band bridged as for the onset."""
    starts = {name: stretch_start(signals, z, d.row_onset) for name, z in signals.companions.items()}
    leads = {name: float(d.onset_step - int(signals.step[row])) for name, row in starts.items() if row < d.row_onset}
    router = [
        stretch_start(signals, departure_of(signals.columns[name], signals.logged[name]), d.row_onset)
        for name in signals.columns
        if ROUTER.search(name.lower()) and signals.logged[name].sum() >= 2
    ]
    if router:
        leads["router"] = float(d.onset_step - int(signals.step[min(router)]))
    return {(name, "bridged_lead"): lead for name, lead in leads.items()}


def _schedule(signals: SignalTable, d: Diagnosis) -> Measured:
    """A learning rate held at 0 that starts again just before the onset; whether it is the one before the resume."""
    import numpy as np

    if "lr" not in signals.columns:
        return {("lr", "absent"): 1.0}
    out: Measured = {}
    rows, lr = signals.points("lr")
    upto = lr[rows <= d.row_onset]
    zero = np.flatnonzero(upto == 0.0)
    started = len(zero) and (upto[: zero[0]] > 0).any() and upto[-1] > 0
    if started and len(upto) - 1 - zero[-1] <= NEAR and (upto[zero[-1] - HELD + 1 : zero[-1] + 1] == 0.0).all():
        out["lr", "started_from_zero"] = 1.0
    if d.status == "recovered" and len(upto) and upto[-1] > 0:
        after = lr[rows >= d.row_end]
        out["lr", "points_at_it_after"] = float((after >= AS_HIGH * upto[-1]).sum())
    before = lr[(signals.segment[rows] < d.segment) & (lr > 0)]
    if d.segment > 0 and len(before) and len(upto):
        out["lr", "as_before_resume"] = float(abs(upto[-1] / before[-1] - 1) <= SAME)
    return out


def _scale(signals: SignalTable, d: Diagnosis) -> Measured:
    """Steps since the loss scale last stood at its highest in this attempt: how long it has been sinking."""
    import numpy as np

    if "loss_scale" not in signals.columns:
        return {}
    rows, scale = signals.points("loss_scale")
    own = (signals.segment[rows] == d.segment) & (rows <= d.row_onset) & np.isfinite(scale)
    rows, scale = rows[own], scale[own]
    if not len(rows) or not scale[-1] < scale.max():
        return {}
    top = int(np.flatnonzero(scale == scale.max())[-1])
    return {("loss_scale", "sinking_steps"): float(d.onset_step - int(signals.step[rows[top]]))}


def _growth(signals: SignalTable, d: Diagnosis) -> Measured:
    """How often in a row the judged signal doubled from the onset on, and whether the update followed the gradient."""
    import numpy as np

    rows, values = signals.points(d.signal)
    ahead = values[(rows >= d.row_onset) & (rows < d.row_end)]
    if d.baseline is None or not d.baseline > 0 or not len(ahead):
        return {}
    course = np.concatenate([[d.baseline], ahead])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        doubled = np.isfinite(course[1:]) & (course[1:] >= 2 * course[:-1])
    out = {("incident", "doublings"): float(len(doubled) if doubled.all() else np.argmin(doubled))}
    follows = _update_follows(signals, d)
    if follows is not None:
        out["update_ratio", "follows_grad"] = float(follows)
    return out


def _update_follows(signals: SignalTable, d: Diagnosis) -> bool | None:
    """Does the update stay proportional to a gradient that grows tenfold, as it does without Adam? None = not shown."""
    import numpy as np

    if not {"update_ratio", "grad_norm"} <= signals.columns.keys():
        return None
    inside = slice(max(0, d.row_onset - NEAR), d.row_end)
    update, grad = signals.columns["update_ratio"][inside], signals.columns["grad_norm"][inside]
    both = np.isfinite(update) & np.isfinite(grad) & (update > 0) & (grad > 0)
    update, grad = np.log(update[both]), np.log(grad[both])
    if len(grad) < HELD or grad.max() - grad[0] < np.log(GROWN):
        return None
    upto = slice(0, int(np.argmax(grad)) + 1)
    ratio = update[upto] - grad[upto]
    return bool(ratio.max() - ratio.min() <= FOLLOWS)
