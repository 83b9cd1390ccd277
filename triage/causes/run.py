"""A dead run: nothing moves because nothing is updated."""

from typing import Final

from triage.causes._contract import CauseRule, Check

RULES: Final = (
    CauseRule(
        "run/dead",
        frozenset({"flat-loss"}),
        requires=(
            (
                Check("lr-zero", "lr", "peak_value", "==", 0),
                Check("update-zero", "update_ratio", "value_at_onset", "<=", 1e-6),
                Check("grad-zero", "grad_norm", "value_at_onset", "==", 0),
            ),
        ),
        raises=(
            Check("lr-zero", "lr", "peak_value", "==", 0),
            Check("update-zero", "update_ratio", "value_at_onset", "<=", 1e-6),
        ),
        base=0.55,
        top=0.8,
    ),
)
