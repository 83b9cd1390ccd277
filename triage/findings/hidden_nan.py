"""hidden-nan: the logged loss is finite although the real one was not (Hugging Face's filter)."""

from __future__ import annotations

from collections.abc import Iterable

from triage.findings._contract import Context, FindingRule, Found
from triage.model import Evidence


def find(context: Context) -> Iterable[Found]:
    """The first hidden row, with how many there are."""
    signals = context.signals
    if not len(signals.hidden):
        return
    step = int(signals.step[signals.hidden[0]])
    evidence = [Evidence("hidden-zero", "loss", float(len(signals.hidden)), None, None, step)]
    if "grad_norm" in signals.columns and signals.logged["grad_norm"][signals.hidden[0]]:
        value = float(signals.columns["grad_norm"][signals.hidden[0]])
        evidence.append(Evidence("nonfinite-value", "grad_norm", value, None, None, step))
    yield Found(step, tuple(evidence))


RULES = (FindingRule("hidden-nan", "error", ("loss",), find),)
