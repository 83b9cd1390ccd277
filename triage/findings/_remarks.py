"""Remarks: what looks like a fault of mixed precision and is none. Notices, never findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.findings._logging import colours
from triage.findings._scale import doublings, falls, is_grad_scaled
from triage.model import Finding, Notice
from triage.signals import SignalTable

COLLAPSES = frozenset({"loss-scale-collapse", "loss-scale-floor", "every-step-skipped"})
"""Findings beside which a halving is no isolated one."""

REGAINED = 1.0
"""Doublings that may be missing at the end: a scaler regains the last one after 1,000 to 2,000 steps (science 1)."""


def remarks(signals: SignalTable, findings: Sequence[Finding]) -> tuple[Notice, ...]:
    """What a person might take for a fault: the scale search, isolated overflows, a gradient logged times the scale."""
    return (*_scale(signals, findings), *_gradient(signals), *colours(signals))


def _scale(signals: SignalTable, findings: Sequence[Finding]) -> Iterator[Notice]:
    """The search for a working loss scale, and later halvings that led to nothing."""
    if "loss_scale" not in signals.columns or not signals.logged["loss_scale"].any():
        return
    rows, scale = doublings(signals)
    search, later = falls(signals)
    if len(search):
        first, last = int(search[0]), int(search[-1])
        lost = round(float(scale[first - 1] - scale[last]))
        detail = {"from": float(2.0 ** scale[first - 1]), "to": float(2.0 ** scale[last])}
        yield Notice("scale-search", lost, f"step {int(signals.step[rows[last]])}", detail)
    sank = len(later) > 0 and scale[later[0] - 1 :].max() - scale[later[-1] :].max() > REGAINED
    if len(later) and not sank and not any(f.id in COLLAPSES for f in findings):
        yield Notice("isolated-overflows", len(later), f"step {int(signals.step[rows[later[0]]])}")


def _gradient(signals: SignalTable) -> Iterator[Notice]:
    if is_grad_scaled(signals):
        yield Notice("grad-norm-scaled")
