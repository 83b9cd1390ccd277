"""Rows 13 to 24 of the scenario table: mixed precision, first steps, periods, ramps and creeping losses."""

from __future__ import annotations

import numpy as np

from tests.helpers.scenario import base, scenario
from tests.helpers.synth import curve, decay, grad, noise, run
from triage.model import RunTable


@scenario(13, "two isolated overflows", "none", never_findings=("loss-scale-collapse",), verdicts=("healthy",))
def overflows() -> RunTable:
    c = base()
    scale = np.full(2000, 65536.0)
    for at in (700, 1500):
        c["grad_norm"][at] = np.inf
        scale[at + 1 : at + 400] /= 2
    c["loss_scale"] = scale
    return run(c)


@scenario(
    14,
    "loss scale collapses",
    "non-recovering",
    causes=("precision/loss-scale-collapse",),
    never_causes=("data/bad-batch",),
    findings=("loss-scale-collapse",),
)
def collapse() -> RunTable:
    c = base()
    scale = 65536.0 / 2 ** np.floor(np.arange(2000) / 300)
    for k, at in enumerate(range(1700, 1721, 4)):
        scale[at:] = 2048 / 2 ** (k + 1)
        c["grad_norm"][at] = np.inf
    c["loss_scale"] = scale
    c["loss"][1710:] *= np.exp(1.5 * (1 - np.exp(-np.arange(290) / 5.0)))
    return run(c)


@scenario(
    15,
    "scale search from 2^32",
    "none",
    never_causes=("precision/loss-scale-collapse",),
    never_classes=("first-step-nan",),
    never_findings=("loss-scale-collapse",),
    verdicts=("healthy",),
)
def search() -> RunTable:
    c = base()
    scale = np.full(2000, 2.0**15)
    skipped = np.zeros(2000)
    skipped[:34:2] = 1
    scale[:34] = 2.0**32 / 2 ** (np.arange(34) // 2)
    c["grad_norm"][:34:2] = np.inf
    return run({**c, "loss_scale": scale, "is_skipped": skipped})


@scenario(
    16, "gradient logged times loss scale", "none", never_findings=("grad-norm-explosion",), verdicts=("healthy",)
)
def scaled_grad() -> RunTable:
    c = base()
    scale = np.where(np.arange(2000) < 600, 2.0**15, np.where(np.arange(2000) < 1600, 2.0**16, 2.0**17))
    c["grad_norm"] *= scale
    return run({"loss": c["loss"], "grad_norm": c["grad_norm"], "loss_scale": scale})


FORWARD = ("numeric/first-forward", "precision/*", "objective/masked-labels")


@scenario(
    17,
    "zero loss beside NaN gradient",
    "first-step-nan",
    causes=FORWARD,
    findings=("hidden-nan",),
    verdicts=("unresolved",),
)
def hidden() -> RunTable:
    n = 60
    return run({"loss": np.zeros(n), "grad_norm": np.full(n, np.nan), "lr": np.full(n, 1e-5)})


@scenario(18, "first loss NaN", "first-step-nan", causes=FORWARD, never_causes=("lr/*",))
def first_nan() -> RunTable:
    return run({"loss": np.full(50, np.nan)})


@scenario(
    19,
    "NaN after the first update",
    "first-step-nan",
    causes=("numeric/first-update", "numeric/first-backward", "grad/*", "lr/too-high", "precision/fp16-overflow"),
    never_causes=("data/bad-batch",),
)
def first_update() -> RunTable:
    n = 50
    loss = np.full(n, np.nan)
    loss[0] = 10.9
    g = np.full(n, np.nan)
    g[0] = np.inf
    return run({"loss": loss, "grad_norm": g})


@scenario(
    20,
    "all labels masked once",
    "single-step",
    causes=("objective/masked-labels",),
    never_causes=("hardware/silent-corruption",),
    verdicts=("recovered",),
    onset=(800, 800),
)
def masked() -> RunTable:
    c = base()
    c["label_tokens"] = np.full(2000, 900.0)
    c["label_tokens"][800] = 0
    c["loss"][800] = np.nan
    return run(c)


@scenario(
    21,
    "spikes at every epoch",
    "consecutive",
    causes=("data/epoch-boundary",),
    never_causes=("lr/too-high",),
    findings=("periodic-spikes",),
    verdicts=("recovered",),
)
def periodic() -> RunTable:
    c = base()
    c["loss"][250::250] *= 1.25
    val = np.full(2000, None, dtype=object)
    val[249::250] = decay()[249::250] + 0.1
    return run({"loss": c["loss"], "epoch": np.arange(2000) / 250.0, "eval_loss": val})


@scenario(
    22,
    "gradient ramps to infinity",
    "non-recovering",
    causes=("grad/no-clipping",),
    never_causes=("data/bad-batch",),
    onset=(1000, 1010),
)
def ramp() -> RunTable:
    n = 1060
    loss, g = curve(n, 0.01), grad(n)
    g[1001:1010] = 0.2 * 2.0 ** np.arange(1, 10)
    g[1010:1040] = 0.2 * 512 * np.exp(np.arange(30) / 3.0)
    loss[1010:1040] *= 3
    g[1040:] = np.inf
    loss[1040:] = np.inf
    return run({"loss": loss, "grad_norm": g}, config={"max_grad_norm": 0.0})


@scenario(
    23,
    "too hot after warm-up",
    "non-recovering",
    causes=("lr/too-high", "lr/short-warmup"),
    with_causes=("grad/always-clipped",),
    never_causes=("data/bad-batch",),
    onset=(110, 170),
)
def hot() -> RunTable:
    n = 400
    t = np.arange(n)
    loss = curve(n, 0.01) * np.exp(np.where(t > 120, 0.003 * (t - 120), 0))
    g = 1.1 * np.exp(noise("gauss", n, 0.1, 1)) * np.exp(np.where(t > 120, np.minimum(1.6, 0.02 * (t - 120)), 0))
    lr = 1e-3 * np.minimum(1, (t + 1) / 100)
    update = 1e-2 * lr / 1e-3
    return run({"loss": loss, "grad_norm": g, "lr": lr, "clip_coef": np.minimum(1.0, 1.0 / g), "update_ratio": update})


@scenario(
    24,
    "creeping up while lr falls",
    "non-recovering",
    causes=("objective/logit-drift",),
    never_causes=("lr/too-high",),
)
def creep() -> RunTable:
    n = 2000
    t = np.arange(n)
    loss = 2.2 * np.exp(noise("gauss", n, 0.01, 3) + np.where(t > 500, 0.03 * (t - 500) / 1500, 0))
    return run({"loss": loss, "lr": np.linspace(3e-4, 1e-5, n), "head_norm": 100 * (1 + 0.6 * t / n)})
