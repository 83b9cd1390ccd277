"""resume-discontinuity: something that should go on across a resume does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from triage.findings._contract import Context, FindingRule, Found
from triage.model import Evidence
from triage.signals import SignalTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LR_SAME: Final = 1.02
"""The learning rate of one step in two attempts may differ by rounding, not by 2 % [choice]."""
JUMP: Final = {"lr": 1.5, "u_over_lr": 3.0, "loss_scale": 3.9}
"""Ratios across a resume that are no continuation: an lr step of 1.5 x (science 7.3), an update of 3 x at one lr
(a full optimizer reset gives 4.4 x, science 4.2), two doublings of the loss scale."""
AROUND: Final = 5
"""Logged points before and after the mark whose medians are compared [choice]."""


def find(context: Context) -> Iterable[Found]:
    """Every resume mark at which lr, update size or loss scale does not go on where the earlier attempt was."""
    import numpy as np

    signals = context.signals
    for mark in np.flatnonzero(np.diff(signals.segment)) + 1:
        step = int(signals.step[mark])
        evidence = [
            e for name, limit in JUMP.items() if (e := _jump(signals, name, int(mark), limit, step)) is not None
        ]
        same = _same_step(signals, int(mark))
        if same is not None:
            evidence.insert(0, same)
        if evidence:
            yield Found(step, tuple(evidence))


def _same_step(signals: SignalTable, mark: int) -> Evidence | None:
    """The learning rate of a step that both attempts trained, where it differs."""
    import numpy as np

    if "lr" not in signals.columns:
        return None
    before = (np.arange(len(signals.step)) < mark) & signals.logged["lr"]
    known = dict(zip(signals.step[before].tolist(), signals.columns["lr"][before].tolist(), strict=True))
    segment = signals.segment == signals.segment[mark]
    for row in np.flatnonzero(segment & signals.logged["lr"])[:AROUND]:
        old, new = known.get(int(signals.step[row])), float(signals.columns["lr"][row])
        if old is not None and old > 0 and new > 0 and max(old / new, new / old) >= LR_SAME:
            return Evidence("lr-differs-at-same-step", "lr", new, old, LR_SAME, int(signals.step[row]))
    return None


def _jump(signals: SignalTable, name: str, mark: int, limit: float, step: int) -> Evidence | None:
    """The ratio across the mark, where it is no continuation."""
    import numpy as np

    if name not in signals.columns:
        return None
    rows, values = signals.points(name)
    keep = np.isfinite(values) & (values > 0)
    rows, values = rows[keep], values[keep]
    before = _at_resume(signals, rows, values, mark)
    after = values[(rows >= mark) & (signals.segment[rows] == signals.segment[mark])][:AROUND]
    if not len(before) or not len(after):
        return None
    old, new = float(np.median(before)), float(np.median(after[:2])) if name == "u_over_lr" else float(after[0])
    if max(old / new, new / old) < limit:
        return None
    return Evidence("jump-at-resume", name, new, old, limit, step)


def _at_resume(
    signals: SignalTable, rows: NDArray[np.intp], values: NDArray[np.float64], mark: int
) -> NDArray[np.float64]:
    """Values of earlier attempts just before the step at which training was taken up again."""
    earlier: NDArray[np.float64] = values[(rows < mark) & (signals.step[rows] <= signals.step[mark])][-AROUND:]
    return earlier


RULES = (FindingRule("resume-discontinuity", "warning", (), find),)
