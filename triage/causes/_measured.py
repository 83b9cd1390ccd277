"""Numbers of the incident itself that causes look at, beside those of `triage.facts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from triage.model import Diagnosis, Finding
from triage.signals import SignalTable
from triage.signals.table import is_eval_loss, updates_before

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AROUND: Final = 32
"""Logged points before and after the onset whose medians are compared [choice: the early window]."""

TOGETHER: Final = 1.25
"""Half of the jump that makes a cliff, in another evaluation at the same place (findings, eval-cliff)."""
IMPROVED: Final = 0.05
"""An evaluation loss 5 % below its first value has improved [choice]."""
WHOLE: Final = 0.1
WHOLE_GRAD: Final = 0.25
"""A loss that jumped to within 10 % of a whole multiple, a gradient within 25 % of the same: the multiple is exact in
the code, the medians around it are not."""


def of_diagnosis(signals: SignalTable, d: Diagnosis) -> dict[tuple[str, str], float]:
    """Shape of the incident: its points, its place in the log, and what turned non-finite first."""
    import numpy as np

    rows, values = signals.points(d.signal)
    own = rows[signals.segment[rows] == d.segment]
    at = int(np.searchsorted(own, d.row_onset))
    out = {
        "points": float(d.n_points),
        "excursions": float(d.n_excursions),
        "is_open": float(d.status != "recovered"),
        "is_abrupt": float(d.onset_abrupt),
        "onset_point": float(at),
        "stride": _stride(signals.step[own]),
        "is_nonfinite": float(d.first_nonfinite is not None),
        "is_short": float(d.n_points <= 3),
    }
    if d.first_nonfinite is not None:
        updates = updates_before(signals, d.segment, d.first_nonfinite.step)
        if updates is not None:
            out["updates_before"] = updates
        loss = signals.columns.get("loss")
        at_step = np.flatnonzero((signals.step == d.first_nonfinite.step) & (signals.segment == d.segment))
        row = int(at_step[0]) if len(at_step) else d.row_onset
        out["nonfinite_point"] = float(np.searchsorted(own, row))
        out["is_first_nonfinite"] = _is_first_nonfinite(signals, "loss" if loss is not None else d.signal, d.segment)
        if loss is not None and signals.logged["loss"][row]:
            out["loss_finite_at_first_nonfinite"] = float(np.isfinite(loss[row]))
        before = values[np.isin(rows, own)][:at]
        out["finite_points_before"] = float(np.isfinite(before).sum())
        finite = np.isfinite(values[np.searchsorted(rows, d.row_onset) :])
        first_bad = int(np.argmin(finite)) if not finite.all() else len(finite)
        out["finite_points_in_incident"] = float(first_bad)
    if any(e.id == "periodic" for e in d.evidence):
        out["is_periodic"] = 1.0
    peak, level = d.peak_value, d.baseline
    if level is not None and np.isfinite(peak) and level > 0:
        out["peak_ratio"] = float(peak / level)
    trends = _trends(signals, d.row_onset, d.row_end)
    multiple = trends.get(("loss", "across_ratio"), 0.0)
    whole = round(multiple)
    if whole >= 2 and abs(multiple / whole - 1) <= WHOLE:
        out["whole_multiple"] = float(whole)
        grad = trends.get(("grad_norm", "across_ratio"))
        if grad is not None:
            trends["grad_norm", "same_multiple"] = float(abs(grad / whole - 1) <= WHOLE_GRAD)
    if d.segment > 0:
        trends["run", "has_resume"] = 1.0
    return {("incident", name): value for name, value in out.items()} | trends


def _is_first_nonfinite(signals: SignalTable, name: str, segment: int) -> float:
    """1 where the first value that an attempt logged of a column is not finite."""
    import numpy as np

    rows, values = signals.points(name)
    ours = values[signals.segment[rows] == segment]
    return float(len(ours) > 0 and not np.isfinite(ours[0]))


def _stride(step: NDArray[np.int64]) -> float:
    import numpy as np

    gaps = np.diff(step)
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else 1.0


def _trends(signals: SignalTable, onset: int, end: int) -> dict[tuple[str, str], float]:
    """How norms and counts moved up to, and across, the onset."""
    import numpy as np

    out: dict[tuple[str, str], float] = {}
    for name in ("param_norm", "head_norm", "max_attn_logit", "lr", "update_ratio", "grad_norm", "loss"):
        if name not in signals.columns:
            continue
        rows, values = signals.points(name)
        keep = np.isfinite(values) & (values > 0)
        rows, values = rows[keep], values[keep]
        before, after = values[rows < onset], values[(rows >= onset) & (rows < max(end, onset + AROUND))]
        if len(before) >= 8:
            quarter = max(4, len(before) // 4)
            out[name, "trend_before"] = float(np.median(before[-quarter:]) / np.median(before[:quarter]))
        if len(before) and len(after):
            level = float(np.median(before[-AROUND:]))
            out[name, "across_ratio"] = float(np.median(after[-AROUND:]) / level)
            out[name, "least_ratio"] = float(after.min() / level)
            out[name, "most_ratio"] = float(after.max() / level)
    if "label_tokens" in signals.columns:
        value = signals.columns["label_tokens"][onset]
        if np.isfinite(value):
            out["label_tokens", "at_onset"] = float(value)
    return out


def of_finding(signals: SignalTable, finding: Finding) -> dict[tuple[str, str], float]:
    """Where the finding begins, and its own numbers under its evidence ids."""
    import numpy as np

    step = finding.step if finding.step is not None else int(signals.step[0])
    row = int(np.argmax(signals.step >= step))
    out = {("finding", e.id): e.observed for e in finding.evidence if e.observed is not None}
    out |= _other_evaluations(signals, finding)
    return out | {("incident", "stride"): _stride(signals.step)} | _trends(signals, max(row, 1), len(signals.step))


def _other_evaluations(signals: SignalTable, finding: Finding) -> dict[tuple[str, str], float]:
    """Does another evaluation loss get better while the one of the finding gets worse, or did it jump with it?"""
    import numpy as np

    own = {e.signal for e in finding.evidence}
    out: dict[tuple[str, str], float] = {}
    for name in signals.columns:
        if not is_eval_loss(name) or name in own:
            continue
        rows, values = signals.points(name)
        keep = np.isfinite(values)
        rows, values = rows[keep], values[keep]
        if len(values) >= 3 and values[-1] < (1 - IMPROVED) * values[0]:
            out["evaluations", "other_improves"] = 1.0
        late = signals.step[rows] >= (finding.step or 0)
        if finding.step is not None and late.any() and not late.all():
            out["evaluations", "jumped_together"] = float(values[late][0] >= TOGETHER * values[~late][-1])
    return out


def compared(measured: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Numbers that compare others: did the update grow by more than the gradient that made it? Who led after all?"""
    import math

    out: dict[tuple[str, str], float] = {}
    update, grad = measured.get(("u_over_lr", "ratio_at_onset")), measured.get(("grad_norm", "ratio_at_onset"))
    if update is not None and grad is not None and grad > 0:
        out["u_over_lr", "excess_over_grad"] = update / max(grad, 1.0)
    for (name, statistic), lead in measured.items():
        was_out = measured.get((name, "quiet_before")) == 0  # the two ways of judging "before" must agree
        if statistic == "bridged_lead" and was_out and measured.get((name, "lead_steps"), 0.0) < lead:
            out[name, "lead_steps"] = lead
    share, configured = measured.get(("clip_coef", "clip_share")), measured.get(("clip_coef", "is_configured"))
    if share is not None and configured != 1:  # where clipping is on, a quiet stretch without it shows nothing
        out["clip_coef", "never_clipped"] = float(share == 0)
    if ("lr", "started_from_zero") in measured:  # a ratio over 0
        out["lr", "jump_ratio"] = math.inf
    jump = out.get(("lr", "jump_ratio"), measured.get(("lr", "jump_ratio")))
    if measured.get(("lr", "in_warmup")) == 0 and jump is not None:
        out["lr", "jump_past_warmup"] = jump
    return out


COME_LATER: Final = frozenset({"loss-scale-collapse"})
"""Findings that explain an incident only if they began before it: a blow-up makes the scale fall as well."""


def flags(findings: Sequence[Finding], *, until: int | None = None) -> dict[tuple[str, str], float]:
    """Which findings the run has, 1 each; of those that may be a consequence, the ones begun up to the step `until`."""
    return {
        ("run", f.id): 1.0
        for f in findings
        if until is None or f.step is None or f.step <= until or f.id not in COME_LATER
    }
