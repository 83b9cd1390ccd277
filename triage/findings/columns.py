"""Findings of single columns: non-finite metrics, ranks that disagree, a loss times accumulation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from triage.findings._contract import Context, FindingRule, Found
from triage.findings._levels import ACCUMULATION_KEYS, VOCABULARY_KEYS, setting
from triage.model import Evidence
from triage.signals import SignalTable

WATCHED_ELSEWHERE: Final = frozenset(
    {"loss", "grad_norm", "update_norm", "update_ratio", "u_over_lr", "param_norm", "time", "epoch"}
)
"""Columns whose non-finite values belong to an incident or to the loss scaler, not to this finding."""
RANK_LOSS: Final = "loss@rank"
MOST_COLUMNS: Final = 5
RANK_SPREAD: Final = 10.0
RANK_POINTS: Final = 20
"""Ranks disagree where their spread is ten times its own median for 20 points (science 7.3)."""
INTEGER: Final = 0.05
"""A ratio within 5 % of the accumulation count; first losses lie within 10 % of ln V (science 4.3, cause 21)."""


def nonfinite(context: Context) -> Iterable[Found]:
    """Columns other than loss and gradient that hold NaN or infinity."""
    import numpy as np

    signals = context.signals
    judged = {j.name for j in signals.judged}
    bad: list[tuple[int, Evidence]] = []
    for name, values in signals.columns.items():
        is_of_rank = "@rank" in name and not name.startswith(RANK_LOSS)  # a gradient that the loss scaler skips
        if name in WATCHED_ELSEWHERE or name in judged or is_of_rank:
            continue
        rows = np.flatnonzero(signals.logged[name] & ~np.isfinite(values))
        if len(rows):
            step = int(signals.step[rows[0]])
            bad.append(
                (
                    step,
                    Evidence("nonfinite-cells", name, float(len(rows)), float(signals.logged[name].sum()), None, step),
                )
            )
    bad.sort(key=lambda pair: pair[0])
    explained = [d for d in context.diagnoses if d.first_nonfinite is not None]
    bad = [(s, e) for s, e in bad if not any(d.onset_step <= s <= d.end_step for d in explained)]
    if bad:
        yield Found(bad[0][0], tuple(e for _, e in bad[:MOST_COLUMNS]))


def ranks(context: Context) -> Iterable[Found]:
    """One rank's loss ends non-finite or stands still while others go on, or the spread jumps tenfold and stays."""
    import numpy as np

    signals = context.signals
    names = [n for n in signals.columns if n.startswith(RANK_LOSS)]
    if not names:
        return
    ended = _ended_nonfinite(signals, names)
    if ended:
        yield Found(min(e.step for e in ended if e.step is not None), ended)
        return
    losses = np.stack(
        [signals.columns[n] for n in names] + ([signals.columns["loss"]] if "loss" in signals.columns else [])
    )
    losses = losses[:, np.isfinite(losses).all(axis=0)]
    if losses.shape[1] < 2 * RANK_POINTS:
        return
    tail = losses[:, -RANK_POINTS:]
    still = tail.max(axis=1) == tail.min(axis=1)
    if still.any() and not still.all():
        name = ([*names, "loss"])[int(np.argmax(still))]
        change = np.flatnonzero(np.diff(signals.columns[name]) != 0)
        row = int(change[-1]) + 1 if len(change) else 0
        step = int(signals.step[row])
        yield Found(
            step,
            (
                Evidence(
                    "rank-is-constant", name, float(tail[int(np.argmax(still))][-1]), float(np.median(tail)), None, step
                ),
            ),
        )
        return
    spread = losses.max(axis=0) - losses.min(axis=0)
    normal = float(np.median(spread))
    if normal > 0 and (spread[-RANK_POINTS:] >= RANK_SPREAD * normal).all():
        step = int(signals.step[-RANK_POINTS])
        yield Found(
            step, (Evidence("rank-spread", "loss", float(np.median(spread[-RANK_POINTS:])), normal, RANK_SPREAD, step),)
        )


def _ended_nonfinite(signals: SignalTable, names: Sequence[str]) -> tuple[Evidence, ...]:
    """Ranks whose last loss is not finite, with the step from which on, where that of the main rank is finite."""
    import numpy as np

    _, main = signals.points("loss") if "loss" in signals.columns else (None, np.empty(0))
    if not len(main) or not math.isfinite(main[-1]):
        return ()
    found = []
    for name in names:
        rows, values = signals.points(name)
        finite = np.flatnonzero(np.isfinite(values))
        start = int(finite[-1]) + 1 if len(finite) else 0
        if start < len(values):
            step = int(signals.step[rows[start]])
            found.append(Evidence("nonfinite-cells", name, float(len(values) - start), float(len(values)), None, step))
    return tuple(sorted(found, key=lambda e: e.step or 0)[:MOST_COLUMNS])


def accumulation(context: Context) -> Iterable[Found]:
    """The first loss is a multiple of chance, or of the first evaluation, by just the number of accumulation steps."""
    import numpy as np

    signals = context.signals
    count = setting(signals, ACCUMULATION_KEYS)
    if count is None or count < 2:
        return
    _, values = signals.points("loss")
    finite = values[np.isfinite(values)]
    if not len(finite):
        return
    first = float(finite[0])
    vocabulary = setting(signals, VOCABULARY_KEYS)
    references = [("chance", math.log(vocabulary))] if vocabulary is not None and vocabulary > 1 else []
    if "eval_loss" in signals.columns and signals.logged["eval_loss"].any():
        references.append(("evaluation", float(signals.points("eval_loss")[1][0])))
    for _, reference in references:
        ratio = first / reference if reference else math.nan
        if abs(ratio / count - 1) <= 2 * INTEGER:
            yield Found(
                int(signals.step[0]),
                (Evidence("loss-over-reference", "loss", ratio, reference, count, int(signals.step[0])),),
            )
            return


RULES = (
    FindingRule("nonfinite-metric", "warning", (), nonfinite),
    FindingRule("rank-disagreement", "error", (), ranks),
    FindingRule("accumulation-scaling", "warning", ("loss",), accumulation),
)
