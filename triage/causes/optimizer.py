"""Causes in the optimizer: a stale second moment, eps, weight decay, betas."""

from typing import Final

from triage.causes._contract import CauseRule, Check

SPIKES = frozenset({"single-step", "consecutive", "non-recovering"})

LR_SMOOTH: Final = Check("lr-smooth", "lr", "jump_ratio", "<", 1.5)
LR_JUMPED: Final = Check("lr-jumped", "lr", "jump_ratio", ">=", 1.5)
AFTER_RESUME: Final = Check("resume-just-before", "run", "resume_within_20", "==", 1)
GRAD_QUIET: Final = Check("grad-quiet-before", "grad_norm", "quiet_before", "==", 1)
UPDATE_LED: Final = Check("update-led", "update_ratio", "lead_steps", ">=", 1)
U_LED: Final = Check("u-over-lr-led", "u_over_lr", "lead_steps", ">=", 1)
GRAD_LED: Final = Check("grad-led", "grad_norm", "lead_steps", ">=", 1)
UPDATE_HIGH: Final = Check("update-high", "update_ratio", "peak_before_ratio", ">=", 1.5)
LR_ABSENT: Final = Check("lr-not-logged", "lr", "absent", "==", 1)
U_HIGH: Final = Check("u-over-lr-high", "u_over_lr", "peak_before_ratio", ">=", 1.5)
"""1.5 x is strong at beta2 <= 0.95, 2 x at 0.98 and above (science 5)."""
FP16: Final = Check("fp16-in-use", "run", "is_fp16", "==", 1)
WEIGHTS_SHRANK: Final = Check("weights-shrank", "param_norm", "across_ratio", "<=", 0.85)
"""A relative update that grows because the weights shrink says nothing about the second moment."""

RULES: Final = (
    CauseRule(
        "optimizer/stale-second-moment",
        SPIKES,
        requires=((UPDATE_LED, U_LED), (U_HIGH,), (LR_SMOOTH,)),
        raises=(GRAD_QUIET, Check("u-over-lr-doubled", "u_over_lr", "peak_before_ratio", ">=", 2.0)),
        lowers=(GRAD_LED, AFTER_RESUME, LR_JUMPED, WEIGHTS_SHRANK),
        keys=("update_ratio", "lr", "grad_norm"),
        orders=True,
    ),
    CauseRule(
        "optimizer/stale-second-moment",  # without lr the update stands for itself; the missing column caps the score
        SPIKES,
        requires=((UPDATE_LED,), (UPDATE_HIGH,), (LR_ABSENT,)),
        lowers=(GRAD_LED, AFTER_RESUME, WEIGHTS_SHRANK),
        keys=("lr", "grad_norm"),
        orders=True,
    ),
    CauseRule(
        "optimizer/weight-decay",
        SPIKES | {"slow-drift"},
        requires=(
            (WEIGHTS_SHRANK,),
            (LR_SMOOTH,),
            (Check("wide", "incident", "points", ">", 3),),
        ),
        raises=(
            Check("grad-calm", "grad_norm", "during_ratio", "<=", 3.0),
            Check("weights-still-shrinking", "param_norm", "least_ratio", "<=", 0.6),
        ),
        lowers=(LR_JUMPED, AFTER_RESUME),
        keys=("param_norm", "lr"),
        base=0.55,  # nothing but decay shrinks the weights while the loss rises
    ),
    CauseRule(
        "optimizer/eps",  # below the least fp16 number, so that a division by zero is left
        SPIKES | {"first-step-nan"},
        requires=((Check("eps-vanishes", "adam_eps", "setting", "<=", 1e-8),), (FP16,)),
        raises=(Check("first-update", "incident", "nonfinite_point", "==", 1),),
        keys=("update_ratio",),
        base=0.4,
        top=0.5,
    ),
    CauseRule(
        "optimizer/eps",  # of the size of the gradients, so that the update is no longer normalised
        SPIKES,
        requires=((Check("eps-large", "adam_eps", "setting", ">=", 1e-4),),),
        keys=("update_ratio",),
        base=0.4,
        top=0.5,
    ),
    CauseRule(
        "optimizer/betas",
        SPIKES,
        requires=(
            (
                Check("beta2-extreme", "adam_beta2", "setting", ">=", 0.9999),
                Check("beta2-extreme", "adam_beta2", "setting", "<=", 0.85),
                Check("beta1-extreme", "adam_beta1", "setting", ">=", 0.98),
            ),
        ),
        raises=(UPDATE_LED,),
        lowers=(LR_JUMPED, AFTER_RESUME),
        keys=("update_ratio",),
        base=0.4,
        top=0.55,
    ),
)
