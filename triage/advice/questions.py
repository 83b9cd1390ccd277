"""The four sorting questions, as far as one log answers them; `compare` answers them from several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from triage.model import Answer, Diagnosis, Facts, Question

OUTLIER: Final = 1.5
"""A batch 1.5 x its usual size is an outlier (checklist single-step)."""
LOWER_LR: Final = 0.8
"""A later attempt with a fifth less lr tests the fourth question [choice]."""


def questions(diagnoses: Sequence[Diagnosis], facts: Sequence[Facts]) -> tuple[Question, ...]:
    """Answer them for the worst incident; nothing to sort where there is none.

    Args:
        diagnoses: of one run.
        facts: the numbers around each, in the same order.
    """
    if not diagnoses:
        return ()
    at = max(range(len(diagnoses)), key=lambda i: (diagnoses[i].status == "unresolved", diagnoses[i].n_points))
    numbers = facts[at].statistics
    repeats = numbers.get(("run", "repeats_in_other_segment"))
    lr = numbers.get(("lr", "passing_attempt_ratio"))
    helped: Answer = "yes" if lr is not None and lr <= LOWER_LR else "unknown"
    return (
        Question("reproducible", _answer(repeats), ("repeats-in-other-segment",) if repeats is not None else ()),
        _data(facts[at]),
        Question("precision", "unknown"),
        Question("optimizer", helped, ("later-attempt-lr",) if helped == "yes" else ()),
    )


def _answer(value: float | None) -> Answer:
    return "unknown" if value is None else "yes" if value else "no"


def _data(facts: Facts) -> Question:
    """Does it follow the data? Yes where the batch is an outlier; a log cannot show that it is not."""
    ratios = {
        name: facts.statistics[name, "ratio_at_onset"]
        for name in ("seq_len", "tokens", "label_tokens")
        if (name, "ratio_at_onset") in facts.statistics
    }
    outliers = tuple(f"{name}-outlier" for name, ratio in ratios.items() if ratio >= OUTLIER or ratio == 0)
    if outliers:
        return Question("data", "yes", outliers)
    return Question("data", "unknown")
