"""Causes in the gradient: no clipping, clipping at every step, and a gradient that leads for an open reason."""

from typing import Final

from triage.causes._contract import CauseRule, Check

TROUBLE = frozenset({"single-step", "consecutive", "non-recovering", "first-step-nan", "grad-norm-explosion"})

LED: Final = Check("grad-led", "grad_norm", "lead_steps", ">=", 1)
BEFORE: Final = Check("grad-high-before", "grad_norm", "quiet_before", "==", 0)
TENFOLD: Final = Check("grad-tenfold", "grad_norm", "most_ratio", ">=", 10.0)
"""Ten times the median between four steps before the onset and the onset (science 4.3, cause 4)."""
TENFOLD_BEFORE: Final = Check("grad-tenfold-before", "grad_norm", "peak_before_ratio", ">=", 3.0)
NOT_CLIPPED: Final = Check("clipping-off", "clip_coef", "is_configured", "==", 0)
NEVER_CLIPPED: Final = Check("never-clipped", "clip_coef", "never_clipped", "==", 1)
CLIPPED: Final = Check("clipping-on", "clip_coef", "is_configured", "==", 1)
LR_JUMPED: Final = Check("lr-jumped", "lr", "jump_ratio", ">=", 1.5)
AFTER_RESUME: Final = Check("resume-just-before", "run", "resume_within_20", "==", 1)
UPDATE_UP: Final = Check("update-rose", "update_ratio", "most_ratio", ">=", 3.0)
FIRST_LOSS_BAD: Final = Check("first-loss-nonfinite", "incident", "is_first_nonfinite", "==", 1)
SCALE_HALVED: Final = Check("scale-halved", "loss_scale", "halvings_100", ">=", 4)
SCALE_SANK: Final = Check("scale-sank", "loss_scale", "lost_doublings", ">=", 4)
"""Then a non-finite gradient before the onset is the scaler at work, not the gradient leading."""
WEIGHTS_SHRANK: Final = Check("weights-shrank", "param_norm", "across_ratio", "<", 0.7)
GRAD_FIRST: Final = Check("grad-nonfinite-first", "grad_norm", "nonfinite_first", "==", 1)

RULES: Final = (
    CauseRule(
        "grad/no-clipping",
        TROUBLE,
        requires=((TENFOLD,), (NOT_CLIPPED, NEVER_CLIPPED, Check("no-clip-logged", "clip_coef", "absent", "==", 1))),
        raises=(TENFOLD_BEFORE, UPDATE_UP, NOT_CLIPPED),
        lowers=(CLIPPED, LR_JUMPED, AFTER_RESUME, FIRST_LOSS_BAD, SCALE_HALVED, WEIGHTS_SHRANK),
        keys=("grad_norm", "clip_coef"),
        base=0.42,
        top=0.6,
    ),
    CauseRule(
        "grad/led-instability",
        TROUBLE,
        requires=((LED, TENFOLD_BEFORE),),
        raises=(TENFOLD_BEFORE, BEFORE),
        lowers=(LR_JUMPED, AFTER_RESUME, FIRST_LOSS_BAD, SCALE_HALVED, SCALE_SANK),
        keys=("grad_norm", "lr"),
        orders=True,
        base=0.45,
    ),
    CauseRule(
        "grad/always-clipped",
        frozenset({"consecutive", "non-recovering", "always-clipped"}),
        requires=(
            (
                Check("clip-share", "clip_coef", "clip_share", ">=", 0.5),
                Check("clip-share", "finding", "clip-share", ">=", 0.9),
            ),
        ),
        lowers=(LR_JUMPED, AFTER_RESUME),
        base=0.4,
        top=0.55,  # clipping hides the size; why the gradient is large stays open
    ),
)
