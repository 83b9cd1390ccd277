"""Causes seen in the evaluation: overfitting, forgetting, a changed evaluation."""

from typing import Final

from triage.causes._contract import CauseRule, Check

WORSE: Final = Check("worse-evaluations", "eval_loss", "worse_evals", ">=", 3)
TRAIN_FELL: Final = Check("train-still-falls", "loss", "late_change", "<=", 0.0)
JUMPED: Final = Check("eval-jumped", "eval_loss", "largest_jump", ">=", 1.5)
EVAL_HAD_IMPROVED: Final = Check("eval-had-improved", "finding", "best-over-first", "<=", 0.9)
EVAL_NEVER_IMPROVED: Final = Check("eval-never-improved", "finding", "best-over-first", ">", 0.98)
"""An evaluation that never got better does not tell overfitting from labels that mean nothing."""
TOGETHER: Final = Check("evaluations-jumped-together", "evaluations", "jumped_together", "==", 1)
"""Several sets at one step: what they share changed, not what the model knows."""
OTHER_IMPROVES: Final = Check("other-evaluation-improves", "evaluations", "other_improves", "==", 1)

RULES: Final = (
    CauseRule(
        "eval/overfit",
        frozenset({"overfitting"}),
        requires=((WORSE, Check("worse-evaluations", "finding", "worse-evaluations", ">=", 3)),),
        raises=(TRAIN_FELL, EVAL_HAD_IMPROVED),
        lowers=(OTHER_IMPROVES, EVAL_NEVER_IMPROVED),
        base=0.5,
    ),
    CauseRule(
        "eval/forgetting",
        frozenset({"eval-cliff", "overfitting"}),
        requires=((OTHER_IMPROVES,),),
        raises=(OTHER_IMPROVES, JUMPED),
    ),
    CauseRule(
        "eval/forgetting",
        frozenset({"eval-cliff"}),
        requires=((JUMPED, Check("eval-cliff", "finding", "eval-cliff", ">", 0)),),
        raises=(TRAIN_FELL,),
        lowers=(TOGETHER,),
        base=0.45,
        top=0.6,
    ),
    CauseRule(
        "eval/forgetting",
        frozenset({"single-step", "consecutive", "non-recovering"}),
        requires=(
            (WORSE, JUMPED),
            (Check("loss-recovered", "incident", "is_open", "==", 0),),
            (Check("wide", "incident", "points", ">", 3),),
            (Check("lr-smooth", "lr", "jump_ratio", "<", 1.5),),
        ),
        keys=("eval_loss", "lr"),
        base=0.6,
        top=0.64,  # a change of task and a bad batch look alike but for the evaluation
    ),
    CauseRule(
        "eval/pipeline-change",
        frozenset({"eval-cliff"}),
        requires=((JUMPED, Check("eval-cliff", "finding", "eval-cliff", ">", 0)),),
        raises=(TOGETHER,),
        base=0.4,
        top=0.6,
    ),
)
