"""Causes in the learning rate: too high, too short a warm-up, a jump of the schedule, a batch size that it ignores."""

from typing import Final

from triage.causes._contract import CauseRule, Check

ANY = frozenset({"single-step", "consecutive", "non-recovering", "first-step-nan", "slow-drift", "grad-norm-explosion"})
TROUBLE = frozenset({"consecutive", "non-recovering", "first-step-nan", "grad-norm-explosion"})

AT_PEAK: Final = Check("lr-at-peak-or-warmup", "lr", "at_peak_or_warmup", "==", 1)
IN_WARMUP: Final = Check("lr-in-warmup", "lr", "in_warmup", "==", 1)
JUMPED_UP: Final = Check("lr-jumped", "lr", "jump_ratio", ">=", 1.5)
"""A step of 1.5 x or more within eight rows before the onset (science 7.3)."""
JUMPED_LATE: Final = Check("lr-jumped", "lr", "jump_past_warmup", ">=", 1.5)
SMOOTH: Final = Check("lr-smooth", "lr", "jump_ratio", "<", 1.5)
PAST_WARMUP: Final = Check("past-warmup", "lr", "in_warmup", "==", 0)
HISTORY: Final = Check("history-before", "incident", "onset_point", ">=", 20)
WITHIN_THREE: Final = Check("within-three-warmups", "lr", "over_warmup", "<=", 3.0)
"""The first three warm-up lengths are the unstable stretch (science 4.3, cause 2)."""
SLOW: Final = Check("slow-onset", "incident", "is_abrupt", "==", 0)
GRAD_BEFORE: Final = Check("grad-high-before", "grad_norm", "quiet_before", "==", 0)
UPDATE_FOLLOWS: Final = Check("update-rose-with-lr", "update_ratio", "across_ratio", ">=", 1.5)
UPDATE_LARGE: Final = Check("update-too-large", "update_ratio", "value_at_onset", ">=", 1e-2)
"""More than 1 % of the weights in one step (science 5)."""
LR_TINY: Final = Check("lr-tiny", "lr", "value_at_onset", "<=", 1e-6)
"""At 1e-6 or less no learning rate blows up a model [choice: a tenth of the usual least rate of fine-tuning]."""
AFTER_RESUME: Final = Check("resume-just-before", "run", "resume_within_20", "==", 1)
EARLY: Final = Check("early-in-the-log", "incident", "onset_point", "<=", 60)
GREW: Final = Check("grew-over-points", "incident", "finite_points_in_incident", ">=", 2)
FINITE: Final = Check("loss-stayed-finite", "incident", "is_nonfinite", "==", 0)
LONE: Final = Check("lone-point", "incident", "is_short", "==", 1)
SCALE_HALVED: Final = Check("scale-halved", "loss_scale", "halvings_100", ">=", 4)
WEIGHTS_SHRANK: Final = Check("weights-shrank", "param_norm", "across_ratio", "<", 0.7)
FIRST_LOSS_BAD: Final = Check("first-loss-nonfinite", "incident", "is_first_nonfinite", "==", 1)
SURVIVED: Final = Check("peak-lr-survived", "lr", "points_at_it_after", ">=", 300)
"""Ten windows of the early baseline at that learning rate, in health: then it was not too high [choice]."""
KEEPS_DOUBLING: Final = Check("keeps-doubling", "incident", "doublings", ">=", 5)
"""Five doublings in a row, a factor of 32: growth by a constant factor each step (science 7.3)."""
FOLLOWS_GRAD: Final = Check("update-follows-grad", "update_ratio", "follows_grad", "==", 1)
GRAD_UP: Final = Check("grad-rose", "grad_norm", "most_ratio", ">=", 3.0)

RULES: Final = (
    CauseRule(
        "lr/schedule-jump",
        ANY,
        requires=((JUMPED_UP,), (PAST_WARMUP,), (HISTORY,)),
        raises=(
            UPDATE_FOLLOWS,
            Check("u-over-lr-flat", "u_over_lr", "ratio_at_onset", "<=", 1.3),
            Check("lr-moved-first", "lr", "lead_steps", ">=", 0),
        ),
        lowers=(Check("u-over-lr-jumped", "u_over_lr", "ratio_at_onset", ">=", 3.0),),
        base=0.55,  # the jump itself is measured, not inferred
    ),
    CauseRule(
        "lr/too-high",
        TROUBLE,
        requires=((IN_WARMUP, WITHIN_THREE, EARLY, SLOW), (GREW, FINITE), (AT_PEAK, EARLY)),
        raises=(UPDATE_LARGE, GRAD_UP, GRAD_BEFORE),
        lowers=(LR_TINY, LONE, AFTER_RESUME, JUMPED_LATE, SCALE_HALVED, WEIGHTS_SHRANK, FIRST_LOSS_BAD, SURVIVED),
        keys=("lr", "grad_norm"),
        base=0.45,
        top=0.6,  # that half the lr would have held is for an experiment to show
    ),
    CauseRule(
        "lr/too-high",  # gradient descent beyond 2 over the curvature: loss and update grow by one factor each step
        TROUBLE,
        requires=((KEEPS_DOUBLING,), (FOLLOWS_GRAD,)),
        lowers=(LR_TINY, JUMPED_LATE, FIRST_LOSS_BAD),
        keys=("grad_norm",),
        base=0.55,
        top=0.6,
    ),
    CauseRule(
        "lr/short-warmup",
        TROUBLE | {"single-step"},
        requires=((IN_WARMUP, WITHIN_THREE),),
        raises=(UPDATE_LARGE, GRAD_UP),
        lowers=(LR_TINY, AFTER_RESUME, SCALE_HALVED, FIRST_LOSS_BAD),
        keys=("lr", "grad_norm"),
        base=0.4,
        top=0.55,
    ),
    CauseRule(
        "lr/too-high",
        frozenset({"single-step"}),
        requires=((EARLY,), (UPDATE_LARGE,)),
        lowers=(LR_TINY, SCALE_HALVED),
        keys=("lr", "grad_norm"),
        base=0.4,
        top=0.5,
    ),
    CauseRule(
        "lr/batch-size-mismatch",
        ANY,
        requires=(
            (
                Check("batch-size-changed", "batch_size", "ratio_at_onset", ">=", 1.5),
                Check("batch-size-changed", "batch_size", "ratio_at_onset", "<=", 0.67),
                Check("batch-size-changed", "batch_size", "resume_ratio", "<=", 0.67),
                Check("batch-size-changed", "batch_size", "resume_ratio", ">=", 1.5),
            ),
            (SMOOTH,),
        ),
        raises=(GRAD_UP,),
        keys=("lr",),
    ),
)
