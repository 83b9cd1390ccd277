"""Where a number first stopped being finite: forward, backward, the first update, or late in the run."""

from typing import Final

from triage.causes._contract import CauseRule, Check

FIRST = frozenset({"first-step-nan", "hidden-nan"})
FORWARD: Final = Check("first-loss-nonfinite", "incident", "is_first_nonfinite", "==", 1)
AT_FIRST: Final = Check("first-point", "incident", "nonfinite_point", "==", 0)
AT_SECOND: Final = Check("second-point", "incident", "nonfinite_point", "==", 1)
LOSS_BAD: Final = Check("loss-nonfinite", "incident", "loss_finite_at_first_nonfinite", "==", 0)
LOSS_FINE: Final = Check("loss-finite-there", "incident", "loss_finite_at_first_nonfinite", "==", 1)
GRAD_FIRST: Final = Check("grad-nonfinite-first", "grad_norm", "nonfinite_first", "==", 1)
HISTORY: Final = Check("finite-history", "incident", "finite_points_before", ">=", 3)
SUDDEN: Final = Check("no-finite-run-up", "incident", "finite_points_in_incident", "<=", 1)
NONFINITE: Final = Check("nonfinite", "incident", "is_nonfinite", "==", 1)
GRAD_QUIET: Final = Check("grad-quiet-before", "grad_norm", "quiet_before", "==", 1)
LR_JUMPED: Final = Check("lr-jumped", "lr", "jump_ratio", ">=", 1.5)
LR_TINY: Final = Check("lr-tiny", "lr", "value_at_onset", "<=", 1e-6)
SCALE_HALVED: Final = Check("scale-halved", "loss_scale", "halvings_100", ">=", 4)
IN_WARMUP: Final = Check("lr-in-warmup", "lr", "in_warmup", "==", 1)
FIRST_UPDATE: Final = Check("first-update", "incident", "updates_before", "==", 1)

RULES: Final = (
    CauseRule(
        "numeric/first-forward",
        FIRST,
        requires=((AT_FIRST,), (LOSS_BAD,)),
        raises=(FORWARD, Check("nonfinite-from-the-start", "incident", "nonfinite_point", "==", 0)),
        base=0.5,
    ),
    CauseRule(
        "numeric/first-backward",
        FIRST,
        requires=((AT_FIRST, AT_SECOND), (LOSS_FINE,), (GRAD_FIRST,)),
        base=0.5,
        top=0.6,
    ),
    CauseRule(
        "numeric/first-update",
        FIRST | {"non-recovering"},
        requires=((AT_SECOND, FIRST_UPDATE), (LOSS_BAD, LOSS_FINE)),
        raises=(FIRST_UPDATE,),
        base=0.5,
        top=0.6,
    ),
    CauseRule(
        "numeric/late-nan",
        frozenset({"single-step", "consecutive", "non-recovering"}),
        requires=((NONFINITE,), (HISTORY,), (SUDDEN,)),
        raises=(GRAD_QUIET,),
        lowers=(LR_JUMPED, SCALE_HALVED, IN_WARMUP),
        keys=("grad_norm",),
        base=0.5,
    ),
)
