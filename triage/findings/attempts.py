"""resume-discontinuity: lr, update, loss scale or the loss itself do not go on across a resume."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from triage.findings._contract import Context, FindingRule, Found
from triage.model import Evidence
from triage.signals import SignalTable
from triage.signals.baseline import MAD_TO_SD

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LR_SAME: Final = 1.02
"""The learning rate of one step in two attempts may differ by rounding, not by 2 % [choice]."""
JUMP: Final = {"lr": 1.5, "u_over_lr": 3.0, "loss_scale": 3.9}
"""Ratios across a resume that are no continuation: an lr step of 1.5 x (science 7.3), an update of 3 x at one lr
(a full optimizer reset gives 4.4 x, science 4.2), two doublings of the loss scale."""
LOWER: Final = 0.05
LOWER_Z: Final = 6.0
"""A loss 5 % lower after the resume, and by six standard errors of two medians: data that was learned before
(science 2, repeated data; the cause rule has the same 5 %)."""
MEDIAN_SE: Final = 1.2533
"""Standard error of a median over that of a mean."""
LEVEL_POINTS: Final = 16
"""Losses whose median is a level."""
ENOUGH_ROWS: Final = 4096
"""Rows before a mark, at steps up to its own: they hold the compared points, however sparse these are [choice]."""
FORWARD_ROWS: Final = 4096
"""Rows behind a mark that hold them [choice: as before it]."""
MOST_ATTEMPTS: Final = 256
"""Earlier segments looked back over [choice: no job is restarted that often from behind one step]."""
AROUND: Final = 5
"""Logged points before and after the mark whose medians are compared [choice]."""


def find(context: Context) -> Iterable[Found]:
    """Every resume mark at which lr, update size or loss scale does not go on where the earlier attempt was."""
    import numpy as np

    starts = [0, *(int(row) + 1 for row in np.flatnonzero(np.diff(context.signals.segment))), len(context.signals.step)]
    for number in range(1, len(starts) - 1):
        signals, mark = _near(context.signals, starts, number)
        step = int(signals.step[mark])
        evidence = [e for name, limit in JUMP.items() if (e := _jump(signals, name, mark, limit, step)) is not None]
        evidence[:0] = [e for e in (_same_step(signals, mark), _lower(signals, mark, step)) if e is not None]
        if evidence:
            yield Found(step, tuple(evidence))


def _near(signals: SignalTable, starts: Sequence[int], number: int) -> tuple[SignalTable, int]:
    """The rows around the beginning of a segment that its checks can need, and the place of the mark among them.

    Back to the earlier attempts that trained the rows before it, forward to the end of the segment. A log of many
    resumes stays linear.
    """
    import numpy as np

    mark, first, found = starts[number], starts[number], 0
    for earlier in range(number - 1, max(-1, number - 1 - MOST_ATTEMPTS), -1):
        own = signals.step[starts[earlier] : starts[earlier + 1]]
        if own[0] <= signals.step[mark]:
            first = starts[earlier]
            found += int(np.searchsorted(own, signals.step[mark], side="right"))
        if found >= ENOUGH_ROWS:
            break
    stop = min(starts[number + 1], mark + FORWARD_ROWS)
    names = [name for name in (*JUMP, "loss") if name in signals.columns]
    near = replace(
        signals,
        step=signals.step[first:stop],
        segment=signals.segment[first:stop],
        columns={name: signals.columns[name][first:stop] for name in names},
        logged={name: signals.logged[name][first:stop] for name in names},
    )
    return near, mark - first


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


def _lower(signals: SignalTable, mark: int, step: int) -> Evidence | None:
    """The loss just after the mark, where it is lower than the earlier attempt at the same place, trend included."""
    import numpy as np

    if "loss" not in signals.columns:
        return None
    rows, values = signals.points("loss")
    keep = np.isfinite(values) & (values > 0)
    rows, values = rows[keep], np.log(values[keep])
    before = values[(rows < mark) & (signals.step[rows] <= signals.step[mark])][-2 * LEVEL_POINTS :]
    after = values[(rows >= mark) & (signals.segment[rows] == signals.segment[mark])][:LEVEL_POINTS]
    if len(before) < 2 * LEVEL_POINTS or len(after) < LEVEL_POINTS:
        return None
    older, newer = (float(np.median(half)) for half in np.split(before, 2))
    noise = MAD_TO_SD * float(np.median(np.abs(np.diff(before)))) / np.sqrt(2)
    expected = newer + min(0.0, newer - older)  # a loss that falls goes on falling
    limit = max(LOWER, LOWER_Z * noise * MEDIAN_SE * np.sqrt(2 / LEVEL_POINTS))
    if expected - float(np.median(after)) < limit:
        return None
    return Evidence("loss-lower-after-resume", "loss", float(np.exp(np.median(after) - newer)), None, None, step)


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
