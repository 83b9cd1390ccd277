"""Causes in the data: a bad or long batch, a shift, the epoch boundary, data repeated after a resume."""

from typing import Final

from triage.causes._contract import CauseRule, Check

SPIKES = frozenset({"single-step", "consecutive", "non-recovering"})

GRAD_JUMPS: Final = Check("grad-jumped-with-loss", "grad_norm", "ratio_at_onset", ">=", 3.0)
"""A bad batch moves the gradient 13 to 137 x in the same step, quiet ones at most 1.6 x (science 4.1)."""
GRAD_QUIET: Final = Check("grad-quiet-before", "grad_norm", "quiet_before", "==", 1)
UPDATE_QUIET: Final = Check("update-quiet-before", "update_ratio", "quiet_before", "==", 1)
ABRUPT: Final = Check("abrupt-onset", "incident", "is_abrupt", "==", 1)
LR_SMOOTH: Final = Check("lr-smooth", "lr", "jump_ratio", "<", 1.5)
LR_JUMPED: Final = Check("lr-jumped", "lr", "jump_ratio", ">=", 1.5)
LR_FELL: Final = Check("lr-jumped", "lr", "jump_ratio", "<=", 0.67)
AFTER_RESUME: Final = Check("resume-just-before", "run", "resume_within_20", "==", 1)
FINITE: Final = Check("loss-stayed-finite", "incident", "is_nonfinite", "==", 0)
LONG_SEQUENCE: Final = Check("seq-len-outlier", "seq_len", "ratio_at_onset", ">=", 1.5)
MANY_TOKENS: Final = Check("tokens-outlier", "tokens", "ratio_at_onset", ">=", 1.5)
"""Half as much again as the level: an unusual batch (checklist single-step)."""
LONG_HISTORY: Final = Check("history-before", "loss", "points_before", ">=", 32)
"""A window of points: before that the weights still move fast, and any row may jump (science 8)."""
UPDATE_LED: Final = Check("update-led", "update_ratio", "lead_steps", ">=", 1)
GRAD_LED: Final = Check("grad-led", "grad_norm", "lead_steps", ">=", 1)
SCALE_HALVED: Final = Check("scale-halved", "loss_scale", "halvings_100", ">=", 4)
SKIPPED: Final = Check("steps-skipped", "is_skipped", "skipped_share", ">", 0)
STAYS: Final = Check("stays-high", "incident", "is_open", "==", 1)
SETTLED: Final = Check("recovered", "incident", "is_open", "==", 0)
EVALS_WORSE: Final = Check("worse-evaluations", "eval_loss", "worse_evals", ">=", 3)
YOUNG: Final = Check("early-in-the-log", "incident", "onset_point", "<=", 40)
"""In the first tens of rows weights move fast and any of them may jump (science 8: the first 50 to 100 steps)."""
U_JUMPED: Final = Check("update-outran-grad", "u_over_lr", "excess_over_grad", ">=", 1.5)
"""A bad batch never moves the update by more than the gradient: 1 x under SGD, less under Adam (science 4.1)."""

RULES: Final = (
    CauseRule(
        "data/long-sequence",
        SPIKES,
        requires=((ABRUPT,), (LONG_SEQUENCE, MANY_TOKENS)),
        raises=(GRAD_JUMPS, GRAD_QUIET),
        lowers=(LR_JUMPED, AFTER_RESUME, UPDATE_LED),
        keys=("grad_norm",),
    ),
    CauseRule(
        "data/bad-batch",
        SPIKES,
        requires=((ABRUPT,), (GRAD_QUIET,), (GRAD_JUMPS,), (LONG_HISTORY,), (FINITE,)),
        raises=(UPDATE_QUIET, Check("few-points", "incident", "is_short", "==", 1), SETTLED),
        lowers=(LR_JUMPED, AFTER_RESUME, UPDATE_LED, GRAD_LED, SCALE_HALVED, STAYS, EVALS_WORSE, YOUNG, U_JUMPED),
        keys=("grad_norm", "update_ratio", "lr"),
        orders=True,
    ),
    CauseRule(
        "data/bad-batch",
        SPIKES,
        requires=((ABRUPT,), (GRAD_QUIET, UPDATE_QUIET), (LONG_HISTORY,), (FINITE,)),
        lowers=(LR_JUMPED, AFTER_RESUME, UPDATE_LED, SCALE_HALVED, STAYS, EVALS_WORSE, U_JUMPED),
        keys=("grad_norm", "update_ratio", "lr"),
        orders=True,
        base=0.42,  # only the loss moved: a hard but legal sample as well
        top=0.5,
    ),
    CauseRule(
        "data/distribution-shift",
        frozenset({"non-recovering", "consecutive", "slow-drift"}),
        requires=(
            (Check("loss-level-shifted", "loss", "plateau_excess", ">=", 0.05),),
            (Check("grad-mild", "grad_norm", "ratio_at_onset", "<", 10.0),),
            (Check("finite-throughout", "loss", "nonfinite_after", "==", 0),),
            (LR_SMOOTH,),
            (Check("wide", "incident", "points", ">", 3),),
        ),
        raises=(UPDATE_QUIET, GRAD_QUIET),
        lowers=(
            AFTER_RESUME,
            LR_JUMPED,
            SCALE_HALVED,
            U_JUMPED,
            Check("weights-shrank", "param_norm", "across_ratio", "<", 0.8),
            Check("grad-led", "grad_norm", "lead_steps", ">=", 1),
        ),
        keys=("grad_norm", "lr", "loss_by_source"),
        base=0.42,
    ),
    CauseRule(
        "data/epoch-boundary",
        frozenset({"consecutive", "non-recovering", "periodic-spikes"}),
        requires=(
            (
                Check("locked-to-epoch", "loss", "is_epoch_locked", "==", 1),
                Check("even-gaps", "loss", "is_periodic", "==", 1),
                Check("even-gaps", "incident", "is_periodic", "==", 1),
            ),
        ),
        raises=(
            Check("locked-to-epoch", "loss", "is_epoch_locked", "==", 1),
            Check("even-gaps", "loss", "is_periodic", "==", 1),
        ),
        lowers=(LR_JUMPED,),
    ),
    CauseRule(
        "data/repeated-after-resume",
        frozenset({"resume-discontinuity", "single-step", "consecutive", "non-recovering"}),
        requires=(
            (AFTER_RESUME, Check("loss-lower-after-resume", "loss", "resume_ratio", "<", 1.0)),
            (Check("loss-lower-after-resume", "loss", "resume_ratio", "<=", 0.95),),
        ),
        raises=(Check("lr-continuous", "lr", "resume_ratio", ">=", 0.98),),
        lowers=(Check("lr-not-continuous", "lr", "resume_ratio", ">=", 1.5), GRAD_JUMPS),
        base=0.45,
    ),
)
