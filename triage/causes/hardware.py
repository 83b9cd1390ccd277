"""Silent corruption: an outlier without a precursor that another attempt at the same step does not show."""

from typing import Final

from triage.causes._contract import CauseRule, Check

RULES: Final = (
    CauseRule(
        "hardware/silent-corruption",
        frozenset({"single-step"}),
        requires=(
            (Check("grad-quiet-before", "grad_norm", "quiet_before", "==", 1),),
            (Check("abrupt-onset", "incident", "is_abrupt", "==", 1),),
            (Check("other-attempt-passed", "run", "repeats_in_other_segment", "==", 0),),
        ),
        keys=("grad_norm", "update_ratio"),
        base=0.35,
        top=0.45,  # only a rerun on another device can tell
    ),
)
