"""Causes in the number format: fp16 overflow, a collapsing loss scale, a low-precision kernel."""

from typing import Final

from triage.causes._contract import CauseRule, Check

ABOUT = frozenset(
    {
        "single-step",
        "consecutive",
        "non-recovering",
        "first-step-nan",
        "loss-scale-collapse",
        "loss-scale-floor",
        "every-step-skipped",
        "hidden-nan",
    }
)

HALVED: Final = Check("scale-halved", "loss_scale", "halvings_100", ">=", 4)
SANK: Final = Check("scale-sank", "loss_scale", "lost_doublings", ">=", 4)
SANK_LONG: Final = Check("scale-sank-long", "loss_scale", "sinking_steps", ">=", 500)
"""A trend down for 500 steps or more before the loss moved (science 7.3; 2,300 in a published run)."""
FLOOR: Final = Check("scale-floor", "loss_scale", "at_floor", "==", 1)
COLLAPSED: Final = Check("scale-halved", "run", "loss-scale-collapse", "==", 1)
SKIPPED: Final = Check("steps-skipped", "is_skipped", "skipped_share", ">", 0)
FP16: Final = Check("fp16-in-use", "run", "is_fp16", "==", 1)
GRAD_INF: Final = Check("grad-nonfinite-first", "grad_norm", "nonfinite_first", "==", 1)
GRAD_BAD: Final = Check("grad-nonfinite", "grad_norm", "is_nonfinite_at_onset", "==", 1)
HALVED_ONCE: Final = Check("scale-halved-once", "loss_scale", "halvings_100", ">=", 1)
FIRST_LOSS_BAD: Final = Check("first-loss-nonfinite", "incident", "is_first_nonfinite", "==", 1)
"""A forward pass that was never finite is no matter of the scaler; the scale then falls as a consequence."""

RULES: Final = (
    CauseRule(
        "precision/loss-scale-collapse",
        ABOUT,
        requires=((HALVED, SANK, FLOOR, COLLAPSED),),
        raises=(FLOOR, SKIPPED, GRAD_BAD, SANK_LONG),
        lowers=(FIRST_LOSS_BAD,),
        keys=("loss_scale",),
    ),
    CauseRule(
        "precision/fp16-overflow",
        ABOUT,
        requires=((FP16,), (GRAD_INF, GRAD_BAD, SKIPPED, HALVED_ONCE)),
        raises=(HALVED_ONCE, SKIPPED, GRAD_BAD),
        lowers=(FIRST_LOSS_BAD,),
        keys=("loss_scale", "grad_norm"),
        base=0.45,
    ),
    CauseRule(
        "precision/low-precision-kernel",
        frozenset({"non-recovering", "first-step-nan", "hidden-nan"}),
        requires=(
            (Check("low-precision", "run", "is_low_precision", "==", 1),),
            (Check("nonfinite", "incident", "is_nonfinite", "==", 1),),
            (Check("grad-quiet-before", "grad_norm", "quiet_before", "==", 1),),
        ),
        lowers=(FP16,),
        base=0.4,
        top=0.5,  # only a replay with another kernel can tell
    ),
)
