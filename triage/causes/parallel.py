"""Causes between workers: ranks that disagree, results that do not repeat."""

from typing import Final

from triage.causes._contract import CauseRule, Check

RULES: Final = (
    CauseRule(
        "parallel/rank-disagreement",
        frozenset({"rank-disagreement", "single-step", "consecutive", "non-recovering"}),
        requires=(
            (
                Check("ranks-disagree", "rank", "disagrees", "==", 1),
                Check("ranks-disagree", "run", "rank-disagreement", "==", 1),
            ),
        ),
        raises=(Check("rank-is-constant", "finding", "rank-is-constant", ">", -1e300),),
        base=0.55,
    ),
    CauseRule(
        "parallel/nondeterminism",
        frozenset({"single-step", "consecutive", "non-recovering"}),
        requires=((Check("other-attempt-passed", "run", "repeats_in_other_segment", "==", 0),),),
        raises=(Check("grad-quiet-before", "grad_norm", "quiet_before", "==", 1),),
        base=0.35,
        top=0.5,
    ),
)
