"""Statistics of the shape of the loss and of the evaluations: plateau, growth, period, turn of the validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from triage.facts._stretch import Column, Stretch, level_before
from triage.schema import BY_NAME

if TYPE_CHECKING:
    from triage.facts._stretch import Floats, Positions
    from triage.model import RunTable

TAIL_POINTS: Final = 32
"""Points at the end that make the level where a loss has arrived."""

GROWTH_LEAST: Final = 6
"""Fewer finite points than this after the onset cannot show growth: three thirds of two."""

PERIODS_LEAST: Final = 4
EVEN_GAPS: Final = 0.1
PHASE_BIN, PHASE_SHARE = 0.05, 0.75
"""Four excursions make a period: gaps with a coefficient of variation below 0.1, or three quarters of the onsets in one
bin of 5 % of the epoch (science 3.5)."""

LATE_LEAST: Final = 4
LATE_SHARE: Final = 10
"""Late change compares a tenth of the values at the middle with the last tenth."""

WORSE_BY: Final = 0.01
"""An evaluation is worse if it lies 1 % off the best before it (science 7.3)."""

BESIDE: Final = 5
"""Training values before the first evaluation that its loss is compared with."""

EVALUATIONS: Final = ("eval_loss", "eval_perplexity", "eval_accuracy")


def shape(stretch: Stretch, table: RunTable) -> dict[tuple[str, str], float]:
    """The statistics of the loss around the onset."""
    loss = stretch.columns.get("loss")
    numbers = {} if loss is None else _after_onset(stretch, loss) | _period(stretch, loss, table)
    return {("loss", name): value for name, value in numbers.items()}


def whole_run(columns: Mapping[str, Column]) -> dict[tuple[str, str], float]:
    """The statistics of loss and evaluations that belong to the run and not to an onset."""
    out: dict[tuple[str, str], float] = {}
    loss, evaluation = columns.get("loss"), columns.get("eval_loss")
    if loss is not None:
        numbers = _hidden(loss, columns.get("grad_norm"))
        numbers |= {} if evaluation is None else _beside_evaluation(loss, evaluation)
        out |= {("loss", name): value for name, value in numbers.items()}
    for name in ("loss", "eval_loss"):
        change = _late_change(columns.get(name))
        if change is not None:
            out[name, "late_change"] = change
    for name in EVALUATIONS:
        column = columns.get(name)
        numbers = {} if column is None else _evaluations(column)
        out |= {(name, statistic): value for statistic, value in numbers.items()}
    return out


def _after_onset(stretch: Stretch, loss: Column) -> dict[str, float]:
    import numpy as np

    out = {"points_before": float(len(loss.finite(stretch.before)))}
    logged = loss.logged(stretch.rest)
    if len(logged):
        out["nonfinite_after"] = float(1 - len(loss.finite(logged)) / len(logged))
    level = level_before(loss, stretch.recent)
    rest = loss.values[loss.finite(stretch.rest)]
    if level is not None and level.value and len(rest):
        out["plateau_excess"] = float((np.median(rest[-TAIL_POINTS:]) - level.value) / abs(level.value))
    during = loss.values[loss.finite(stretch.during)]
    if len(during) >= GROWTH_LEAST:
        first, middle, last = (float(np.median(part)) for part in np.array_split(during, 3))
        noise = 0.0 if level is None else abs(level.value) * (np.expm1(level.noise) if level.is_log else 0.0)
        out["is_growing"] = float(last > middle + noise >= first + noise)
    return out


def _hidden(loss: Column, gradient: Column | None) -> dict[str, float]:
    """Is there a loss of exactly 0 beside a gradient that is not finite?"""
    import numpy as np

    if gradient is None:
        return {}
    both = loss.is_logged & gradient.is_logged
    return {"is_zero_beside_nan": float((both & (loss.values == 0) & ~np.isfinite(gradient.values)).any())}


def _period(stretch: Stretch, loss: Column, table: RunTable) -> dict[str, float]:
    """Whether the excursions of the incident keep a period, or one place of the epoch."""
    import numpy as np

    level = level_before(loss, stretch.recent)
    rows = loss.logged(stretch.during)
    if level is None or not len(rows):
        return {}
    is_out = level.departs(loss.values[rows], "up")
    starts = rows[is_out & ~np.concatenate([[False], is_out[:-1]])]
    if len(starts) < PERIODS_LEAST:
        return {}
    gaps = np.diff(stretch.step[starts])
    out = {"is_periodic": float(np.std(gaps) / np.mean(gaps) < EVEN_GAPS)}
    phases = _phases(table, starts)
    if phases is not None:
        out["is_epoch_locked"] = float(_share_in_one_bin(phases) >= PHASE_SHARE)
    return out


def _phases(table: RunTable, rows: Positions) -> Floats | None:
    """Place of the rows within their epochs, 0 to 1; None where the epoch is not logged as a fraction."""
    import numpy as np

    if "epoch" not in table.frame.columns:
        return None
    epoch = table.frame["epoch"].cast(float).fill_null(np.nan).to_numpy()
    known = epoch[np.isfinite(epoch)]
    if not len(known) or (known == np.round(known)).all():
        return None
    phases: Floats = epoch[rows] % 1.0
    return phases if np.isfinite(phases).all() else None


def _share_in_one_bin(phases: Floats) -> float:
    """The largest share of phases in one bin of 5 % of the circle, wherever the bin lies."""
    distance = (phases[None, :] - phases[:, None]) % 1.0
    return float((distance <= PHASE_BIN).mean(axis=1).max())


def _beside_evaluation(loss: Column, evaluation: Column) -> dict[str, float]:
    import numpy as np

    everywhere = np.arange(len(loss.values))
    first = evaluation.finite(everywhere)[:1]
    beside = loss.finite(everywhere[: first[0] + 1])[-BESIDE:] if len(first) else first
    if not len(beside) or evaluation.values[first[0]] <= 0:
        return {}
    return {"over_eval_ratio": float(np.median(loss.values[beside]) / evaluation.values[first[0]])}


def _late_change(column: Column | None) -> float | None:
    """Change over the second half of the run, as a fraction of the value in the middle."""
    import numpy as np

    if column is None:
        return None
    values = column.values[column.finite(np.arange(len(column.values)))]
    n = len(values)
    if n < LATE_LEAST:
        return None
    size = max(1, n // LATE_SHARE)
    middle = float(np.median(values[n // 2 - size // 2 : n // 2 - size // 2 + size]))
    return float((np.median(values[-size:]) - middle) / abs(middle)) if middle else None


def _evaluations(column: Column) -> dict[str, float]:
    """Evaluations in a row, at the end, that lie off the best before them; and the largest jump for those that fall."""
    import numpy as np

    values = column.values[column.finite(np.arange(len(column.values)))]
    if len(values) < 2:
        return {}
    falls_better = BY_NAME[column.name].worse == "up"
    signed = values if falls_better else -values
    best = np.minimum.accumulate(signed)[:-1]
    is_worse = signed[1:] > best + WORSE_BY * np.abs(best)
    better = np.flatnonzero(~is_worse)
    out = {"worse_evals": float(len(is_worse) - 1 - better[-1] if len(better) else len(is_worse))}
    if falls_better and (values > 0).all():
        out["largest_jump"] = float((values[1:] / values[:-1]).max())
    return out
