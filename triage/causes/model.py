"""Causes in the model: attention logits, the router, initialisation or loaded weights."""

from typing import Final

from triage.causes._contract import CauseRule, Check

SPIKES = frozenset({"single-step", "consecutive", "non-recovering"})
LR_SMOOTH: Final = Check("lr-smooth", "lr", "jump_ratio", "<", 1.5)

RULES: Final = (
    CauseRule(
        "model/attention-logit-growth",
        SPIKES,
        requires=((Check("attn-logit-high", "max_attn_logit", "value_at_onset", ">=", 100.0),),),
        raises=(
            Check("attn-logit-grew", "max_attn_logit", "trend_before", ">=", 2.0),
            Check("attn-logit-alarm", "max_attn_logit", "value_at_onset", ">=", 1000.0),
        ),
        base=0.5,
    ),
    CauseRule(
        "model/router",
        SPIKES,
        requires=((Check("router-led", "router", "bridged_lead", ">=", 1),),),
        base=0.45,
        orders=True,
    ),
    CauseRule(
        "model/bad-init-or-checkpoint",
        SPIKES | {"first-step-nan", "grad-norm-explosion"},
        requires=(
            (
                Check("weights-replaced", "param_norm", "ratio_at_onset", ">=", 1.1),
                Check("weights-replaced", "param_norm", "ratio_at_onset", "<=", 0.9),
            ),
            (Check("abrupt-onset", "incident", "is_abrupt", "==", 1),),
            (LR_SMOOTH,),
            (Check("update-ordinary", "update_ratio", "most_ratio", "<=", 30.0),),
        ),
        lowers=(Check("weights-shrinking", "param_norm", "trend_before", "<=", 0.9),),
        keys=("param_norm",),
        base=0.5,
        top=0.6,
    ),
)
