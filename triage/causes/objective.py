"""Causes in the objective: masked labels, a wrong target, accumulation scaling, drift of the output logits."""

from typing import Final

from triage.causes._contract import CauseRule, Check

SPIKES = frozenset({"single-step", "consecutive", "non-recovering"})
NO_LABELS: Final = Check("no-label-tokens", "label_tokens", "at_onset", "==", 0)
NONFINITE: Final = Check("nonfinite", "incident", "is_nonfinite", "==", 1)
LR_SMOOTH: Final = Check("lr-smooth", "lr", "jump_ratio", "<", 1.5)

RULES: Final = (
    CauseRule(
        "objective/masked-labels",
        SPIKES | {"first-step-nan", "hidden-nan"},
        requires=((NO_LABELS,), (NONFINITE,)),
        raises=(NO_LABELS, Check("few-points", "incident", "is_short", "==", 1)),
        base=0.55,  # a batch without a label has no mean
    ),
    CauseRule(
        "objective/masked-labels",
        frozenset({"first-step-nan", "hidden-nan"}),
        requires=((Check("first-loss-nonfinite", "incident", "is_first_nonfinite", "==", 1),),),
        base=0.3,
        top=0.35,
    ),
    CauseRule(
        "objective/wrong-target",
        frozenset({"flat-loss", "smooth-but-not-learning"}),
        requires=(
            (
                Check("level-at-chance", "finding", "level-at-chance", ">", 0),
                Check("eval-stands-still", "finding", "eval-stands-still", "<", 0.02),
            ),
        ),
        raises=(Check("lr-not-zero", "lr", "peak_value", ">", 0),),
        lowers=(Check("lr-zero", "lr", "peak_value", "==", 0),),
        keys=("lr", "grad_norm"),
        base=0.45,
        top=0.6,
    ),
    CauseRule(
        "objective/accumulation-scaling",
        frozenset({"accumulation-scaling"}),
        requires=((Check("loss-over-reference", "finding", "loss-over-reference", ">=", 1.9),),),
        raises=(Check("loss-over-reference", "finding", "loss-over-reference", ">=", 1.9),),
        base=0.55,
    ),
    CauseRule(
        "objective/accumulation-scaling",
        frozenset({"non-recovering", "consecutive"}),
        requires=(
            (Check("loss-times-k", "incident", "whole_multiple", ">=", 2),),
            (Check("grad-times-k", "grad_norm", "same_multiple", "==", 1),),
            (LR_SMOOTH,),
        ),
        keys=("grad_norm", "lr"),
        base=0.4,
        top=0.6,
    ),
    CauseRule(
        "objective/logit-drift",
        frozenset({"non-recovering", "slow-drift"}),
        requires=(
            (Check("slow-onset", "incident", "is_abrupt", "==", 0),),
            (Check("lr-falling", "lr", "trend_before", "<", 1.0), Check("lr-falling", "lr", "across_ratio", "<", 0.95)),
            (
                Check("head-norm-grew", "head_norm", "across_ratio", ">=", 1.1),
                Check("grad-calm", "grad_norm", "during_ratio", "<=", 2.0),
            ),
        ),
        raises=(Check("head-norm-grew", "head_norm", "across_ratio", ">=", 1.1),),
        lowers=(Check("weights-shrank", "param_norm", "across_ratio", "<=", 0.85),),
        keys=("head_norm", "lr"),
        base=0.45,
    ),
)
