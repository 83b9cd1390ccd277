"""Causes at a resume: optimizer, scheduler or scaler state that was not restored."""

from typing import Final

from triage.causes._contract import CauseRule, Check

ABOUT = frozenset({"single-step", "consecutive", "non-recovering", "first-step-nan", "resume-discontinuity"})

NEAR: Final = Check("resume-just-before", "run", "resume_within_20", "==", 1)
MARK: Final = Check("resume-mark", "run", "has_resume", "==", 1)
FINDING: Final = Check("resume-mark", "run", "resume-discontinuity", "==", 1)
U_JUMPED: Final = Check("u-over-lr-jumped", "u_over_lr", "resume_ratio", ">=", 2.0)
"""An emptied Adam state moves 4.4, 3.1, 2.5 ... x its steady level, back in 10 to 20 steps (science 4.2)."""
U_SPIKED: Final = Check("u-over-lr-jumped", "u_over_lr", "ratio_at_onset", ">=", 3.0)
U_BEFORE: Final = Check("u-over-lr-jumped", "u_over_lr", "peak_before_ratio", ">=", 3.0)
U_OUTRAN: Final = Check("update-outran-grad", "u_over_lr", "excess_over_grad", ">=", 1.5)
U_BACK: Final = Check("u-over-lr-decays", "u_over_lr", "after_ratio", "<=", 1.6)
GRAD_QUIET: Final = Check("grad-quiet-before", "grad_norm", "quiet_before", "==", 1)
GRAD_CALM: Final = Check("grad-calm-at-onset", "grad_norm", "ratio_at_onset", "<=", 2.0)
LR_CONTINUES: Final = Check("lr-smooth", "lr", "jump_ratio", "<", 1.5)
LR_DIFFERS: Final = (
    Check("lr-not-continuous", "lr", "resume_ratio", ">=", 1.2),
    Check("lr-not-continuous", "lr", "resume_ratio", "<=", 0.83),
    Check("lr-differs-at-same-step", "finding", "lr-differs-at-same-step", ">", 0),
)
"""A schedule moves by less than a fifth from one row to the next outside its warm-up [choice]."""
FROM_ZERO: Final = Check("lr-started-from-zero", "lr", "started_from_zero", "==", 1)
"""Steps at a learning rate of 0 fill the moments again after the state was lost (published 104B notes)."""
AS_BEFORE: Final = Check("lr-as-before-resume", "lr", "as_before_resume", "==", 1)
SCALE_DIFFERS: Final = (
    Check("scale-not-continuous", "loss_scale", "resume_ratio", ">=", 3.9),
    Check("scale-not-continuous", "loss_scale", "resume_ratio", "<=", 0.26),
)
"""Two doublings, less what exports round [choice]."""

RULES: Final = (
    CauseRule(
        "resume/lr-schedule-lost",
        ABOUT,
        requires=((NEAR, MARK, FINDING), LR_DIFFERS),
        raises=(NEAR, Check("update-rose-with-lr", "update_ratio", "across_ratio", ">=", 1.5)),
        lowers=(U_JUMPED, AS_BEFORE),
        keys=("lr",),
        base=0.55,
    ),
    CauseRule(
        "resume/optimizer-state-lost",
        ABOUT,
        requires=((NEAR, FINDING), (U_JUMPED,)),
        raises=(U_BACK, GRAD_QUIET, LR_CONTINUES),
        lowers=LR_DIFFERS[:2],
        keys=("update_ratio", "lr"),
        base=0.55,
    ),
    CauseRule(
        "resume/optimizer-state-lost",  # without an update size: the pause in which the moments were filled again
        frozenset({"single-step", "consecutive", "non-recovering"}),
        requires=((MARK,), (FROM_ZERO,), (GRAD_QUIET,)),
        keys=("lr", "grad_norm"),
    ),
    CauseRule(
        "resume/optimizer-state-lost",  # without a mark in the log: the update alone says so
        frozenset({"single-step", "consecutive", "non-recovering"}),
        requires=((U_SPIKED, U_BEFORE), (U_OUTRAN, GRAD_CALM), (LR_CONTINUES,)),
        raises=(GRAD_QUIET, U_BACK),
        lowers=(Check("grad-led", "grad_norm", "lead_steps", ">=", 1),),
        keys=("update_ratio", "lr", "grad_norm"),
        base=0.45,
        top=0.6,
    ),
    CauseRule(
        "resume/scaler-state-lost",
        ABOUT,
        requires=((NEAR, FINDING), SCALE_DIFFERS),
        raises=(Check("steps-skipped", "is_skipped", "skipped_share", ">", 0),),
        keys=("loss_scale",),
    ),
)
