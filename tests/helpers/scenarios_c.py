"""Rows 25 to 37 of the scenario table: sources, dead and overfitted runs, blow-ups, ranks, sparse and rounded logs."""

from __future__ import annotations

import numpy as np

from tests.helpers.scenario import base, bump, resumed, scenario
from tests.helpers.synth import curve, decay, grad, noise, run
from triage.model import RunTable


@scenario(
    25,
    "one source shifts",
    "non-recovering",
    causes=("data/distribution-shift",),
    never_causes=("model/attention-logit-growth",),
    onset=(998, 1004),
)
def shift() -> RunTable:
    c = base()
    after = np.arange(2000) >= 1000
    a = curve(2000, 0.01, seed=11) * np.where(after, np.exp(0.5), 1)
    b = curve(2000, 0.01, seed=12)
    c["loss"] = 0.34 * a + 0.66 * b  # the mean moves by 0.2
    c["grad_norm"] *= np.where(after, 1.2, 1)
    return run({**c, "loss/source_a": a, "loss/source_b": b})


@scenario(
    26,
    "loss times accumulation steps",
    "none",
    causes=("objective/accumulation-scaling",),
    never_causes=("model/bad-init-or-checkpoint",),
    findings=("accumulation-scaling",),
)
def accumulation() -> RunTable:
    n = 2000
    loss = 4 * (3.0 + 7.825 * (1 + np.arange(n) / 40.0) ** -0.6) * np.exp(noise("gauss", n, 0.01, 1))
    loss[0] = 43.3
    return run({"loss": loss}, config={"gradient_accumulation_steps": 4, "vocab_size": 50257})


@scenario(27, "dead run", "none", causes=("run/dead",), findings=("flat-loss",), verdicts=("unresolved",))
def dead() -> RunTable:
    n = 2000
    return run({"loss": 10.82 + noise("gauss", n, 0.02, 1), "lr": np.zeros(n)})


@scenario(
    28,
    "staircase and rising validation",
    "none",
    causes=("eval/overfit",),
    never_causes=("data/epoch-boundary",),
    findings=("overfitting",),
)
def overfit() -> RunTable:
    n = 1000
    epoch = np.arange(n) // 200
    train = 2.0 * 0.75**epoch * np.exp(noise("gauss", n, 0.01, 3))
    val = np.full(n, None, dtype=object)
    val[99::100] = [2.1, 1.9, 1.8, 1.72, 1.68, 1.66, 1.65, 1.75, 1.9, 2.1]
    return run({"loss": train, "eval_loss": val})


@scenario(
    29,
    "SGD far too hot",
    "non-recovering",
    causes=("lr/too-high",),
    never_causes=("data/bad-batch",),
    onset=(899, 901),
)
def sgd() -> RunTable:
    n = 1100
    loss, g = curve(n, 0.01), grad(n)
    nats = np.log([25.0, 800.0, 3e5])
    grow = np.zeros(n)
    grow[900:903] = nats
    grow[903:] = nats[-1] + (700 - nats[-1]) / 112 * np.arange(1, n - 902)
    is_over = np.arange(n) > 900 + 115
    with np.errstate(over="ignore"):
        loss = np.where(is_over, np.inf, loss * np.exp(grow))
        g = np.where(is_over, np.inf, g * np.exp(grow / 2))
    return run({"loss": loss, "grad_norm": g, "update_ratio": 1e-2 * g})


@scenario(
    30,
    "one rank is constant",
    "none",
    causes=("parallel/rank-disagreement",),
    never_causes=("lr/*",),
    findings=("rank-disagreement",),
)
def ranks() -> RunTable:
    n = 1500
    losses = [curve(n, 0.02, seed=k + 20) for k in range(8)]
    norms = [grad(n, seed=k + 40) for k in range(8)]
    losses[3][500:] = 0.0
    norms[3][500:] = 0.0
    return run(
        {
            "loss": np.mean(losses, axis=0),
            "grad_norm": np.mean(norms, axis=0),
            **{f"loss@rank{k}": loss for k, loss in enumerate(losses)},
            **{f"grad_norm@rank{k}": norm for k, norm in enumerate(norms)},
        }
    )


@scenario(31, "smoothed series", "none|consecutive", never_classes=("single-step",), confidence=("low",))
def smoothed() -> RunTable:
    n = 2000
    e = noise("gauss", n, 0.05, 3, rho=0.95)
    loss = decay(n) * np.exp(e + bump(n, 1200, 0.6, 20, 120))
    return run({"loss": loss})


@scenario(
    32,
    "logged every tenth step",
    "single-step",
    causes=("data/bad-batch", "data/long-sequence"),
    verdicts=("recovered",),
    onset=(1200, 1200),
    is_modest=True,
)
def every_tenth() -> RunTable:
    n = 200
    step = np.arange(n) * 10
    loss = decay(2000)[::10] * np.exp(noise("gauss", n, 0.01, 3))
    loss[120] *= 1.3
    return run({"loss": loss, "grad_norm": grad(n), "lr": np.full(n, 3e-4)}, step=step)


SLOW_RETURN = {
    "causes": ("grad/*", "lr/too-high", "model/attention-logit-growth"),
    "never_causes": ("data/bad-batch",),
}


def _slow_return(n: int, interval: int) -> RunTable:
    """104B: one row of warning by the gradient, then back within noise 2,000 steps after the peak."""
    at = n // 2
    loss = 3.06 * np.exp(noise("gauss", n, 0.006, 3))
    g = 0.2 * np.exp(noise("gauss", n, 0.1, 4))
    excess = np.log(7.712 / 3.06) * np.exp(-np.arange(n - at) * interval / 350.0)
    loss[at:] *= np.exp(excess)
    loss[at - 2 : at + 1] = [3.063, 3.114, 7.712]
    g[at - 1 : at + 2] = [4.0, 3.9, 2.0]
    scale = np.full(n, 16384.0)
    return run({"loss": loss, "grad_norm": g * scale, "loss_scale": scale}, step=np.arange(n) * interval)


@scenario(
    33,
    "104B, two thousand steps to return, every tenth logged",
    "consecutive",
    verdicts=("recovered",),
    **SLOW_RETURN,
)
def slow_return() -> RunTable:
    return _slow_return(800, 10)


@scenario(33, "104B, every step logged", "non-recovering", censored=False, **SLOW_RETURN)
def slow_return_whole() -> RunTable:
    return _slow_return(6000, 1)


@scenario(33, "104B, cut at 1,000 steps", "non-recovering", **SLOW_RETURN)
def slow_return_cut() -> RunTable:
    return _slow_return(2000, 1)


@scenario(
    34,
    "troughs rise",
    "non-recovering",
    causes=("lr/too-high", "model/attention-logit-growth", "grad/led-instability"),
    verdicts=("unresolved",),
)
def troughs() -> RunTable:
    n = 1500
    loss = 2.05 * np.exp(noise("gauss", n, 0.005, 3))
    g = grad(n)
    for at, level in ((400, 2.1), (700, 2.2), (1000, 2.35)):
        loss[at:] = level * np.exp(noise("gauss", n - at, 0.005, at))
        loss[at : at + 20] *= np.exp(0.5 * np.exp(-np.arange(20) / 5.0))
        g[at - 1 : at + 9] *= 8
    return run({"loss": loss, "grad_norm": g})


@scenario(35, "bf16-rounded loss", "none", verdicts=("healthy",))
def rounded() -> RunTable:
    n = 2000
    loss = np.round((1.66 + noise("gauss", n, 0.008, 3)) / 0.0078125) * 0.0078125
    return run({"loss": loss})


@scenario(
    36,
    "optimizer reset, skipped plateau",
    "consecutive",
    causes=("resume/optimizer-state-lost", "lr/schedule-jump"),
    with_causes=("resume/optimizer-state-lost", "lr/schedule-jump"),
    never_causes=("precision/loss-scale-collapse",),
    never_classes=("non-recovering",),
    verdicts=("recovered",),
    onset=(500, 500),
)
def reset() -> RunTable:
    n = 800
    loss = 2.666 * np.exp(noise("gauss", n, 0.004, 3))
    g = np.exp(noise("gauss", n, 0.1, 4)) * 400_000
    scale = np.full(n, 1048576.0)
    lr = np.full(n, 6e-5)
    lr[241:500] = 0.0  # the moments are refilled for 259 steps, then the schedule goes on
    loss[499:507] = [2.665, 2.667, 4.374, 4.366, 4.391, 4.405, 4.398, 4.096]
    loss[507:561] = 2.7 * np.exp(0.4 * np.exp(-np.arange(54) / 10.0))
    g[501:507] = 464441.887
    scale[502:507] = [524288, 262144, 131072, 65536, 32768]
    scale[507:] = 32768
    return resumed({"loss": loss, "grad_norm": g, "loss_scale": scale, "lr": lr}, 241)


@scenario(
    37,
    "batch-1 fine-tune, one hard sample",
    "none|single-step",
    never_causes=("grad/no-clipping", "optimizer/stale-second-moment"),
    verdicts=("healthy", "recovered"),
    is_modest=True,
)
def hard_sample() -> RunTable:
    n = 800
    loss = 1.2 * np.exp(noise("gauss", n, 0.2, 3))
    g = 2.0 * np.exp(noise("gauss", n, 0.3, 4))
    loss[500] = 1.2 * np.exp(1.2)
    g[500] *= 3
    return run({"loss": loss, "grad_norm": g})
