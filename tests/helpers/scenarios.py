"""The 37 scenarios: shapes of runs with their expected class, first cause, and what must not be said of them.

Noise sd is in log space; default 2,000 steps. Each scenario returns the run and nothing computed by triage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.helpers.synth import curve, decay, grad, noise, run
from triage.model import RunTable


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the table: classes that are right ("none" = no incident), first causes, forbidden words."""

    number: int
    name: str
    make: Callable[[], RunTable]
    classes: tuple[str, ...]
    causes: tuple[str, ...] = ()
    never_causes: tuple[str, ...] = ()
    never_classes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    never_findings: tuple[str, ...] = ()
    censored: bool | None = None
    onset: tuple[int, int] | None = None


ALL: list[Scenario] = []


def scenario(
    number: int, name: str, classes: str, **more: object
) -> Callable[[Callable[[], RunTable]], Callable[[], RunTable]]:
    """Register a scenario."""

    def take(make: Callable[[], RunTable]) -> Callable[[], RunTable]:
        ALL.append(Scenario(number, name, make, tuple(classes.split("|")), **more))  # type: ignore[arg-type]
        return make

    return take


def base(n: int = 2000, sd: float = 0.01, seed: int = 0) -> dict[str, np.ndarray]:
    """A healthy run: loss, grad norm, lr (flat after a warm-up of 100), update ratio, clip coefficient."""
    lr = 3e-4 * np.minimum(1.0, (np.arange(n) + 1) / 100)
    update = 3e-3 * (lr / 3e-4) * np.exp(noise("gauss", n, 0.02, seed + 7))
    return {
        "loss": curve(n, sd, seed=seed),
        "grad_norm": grad(n, seed=seed + 3),
        "lr": lr,
        "update_ratio": update,
        "clip_coef": np.ones(n),
    }


def bump(n: int, at: int, height: float, width: int, total: int) -> np.ndarray:
    """A hump that starts at `at`, peaks `width` rows later and is gone after `total` rows; log units."""
    out = np.zeros(n)
    t = np.arange(total)
    out[at : at + total] = height * np.where(t <= width, (t + 1) / (width + 1), np.exp(-(t - width) / (total / 5)))
    return out


@scenario(1, "clean decay", "none")
def clean() -> RunTable:
    return run(base())


@scenario(2, "heavy-tailed noise", "none", findings=("heavy-tailed-noise",), never_causes=("*",))
def heavy() -> RunTable:
    n = 20_000
    return run({"loss": curve(n, 0.02, "t4", seed=0), "grad_norm": grad(n, seed=100)})


@scenario(
    3,
    "one bad batch, clipped",
    "single-step",
    causes=("data/bad-batch", "data/long-sequence"),
    never_causes=("lr/*",),
    onset=(1200, 1200),
)
def bad_batch() -> RunTable:
    c = base()
    c["loss"][1200] *= 3
    c["grad_norm"][1200] *= 80
    c["update_ratio"][1200] *= 2
    c["clip_coef"][1200] = 1 / 16
    c["tokens"] = np.full(2000, 4096.0)
    c["tokens"][1200] *= 4
    c["seq_len"] = 512 * np.exp(noise("gauss", 2000, 0.05, 4))
    c["seq_len"][1200] = 2048
    return run(c)


@scenario(
    4,
    "echo of one unclipped batch",
    "consecutive",
    causes=("data/bad-batch", "grad/no-clipping"),
    never_causes=("optimizer/stale-second-moment",),
)
def echo() -> RunTable:
    c = base()
    c.pop("clip_coef")
    c["loss"][1200] *= 8
    c["loss"] *= np.exp(bump(2000, 1202, 1.0, 8, 48))
    c["grad_norm"][1200] *= 100
    c["grad_norm"] *= np.exp(bump(2000, 1202, 1.2, 8, 40))
    c["update_ratio"] *= np.where(np.arange(2000) >= 1200, 1 + 15 * np.exp(-(np.arange(2000) - 1200) / 8.0), 1)
    return run(c, config={"beta2": 0.999})


@scenario(
    5,
    "176B spike, gradient leads by four",
    "consecutive",
    causes=("grad/*", "model/attention-logit-growth", "lr/too-high"),
    never_classes=("single-step",),
    never_causes=("data/bad-batch",),
    onset=(215, 217),
)
def bloom() -> RunTable:
    n = 400
    loss = 2.21 * np.exp(noise("gauss", n, 0.006, 2))
    g = 0.2 * np.exp(noise("gauss", n, 0.1, 3))
    loss[214:223] = [2.199, 2.220, 2.595, 2.242, 2.345, 5.098, 3.492, 3.213, 2.805]
    g[214:223] = [0.242, 0.947, 2.39, 15.9, 145, 960, 353, 379, 650]
    tail = np.arange(27)
    loss[223:250] = 2.216 * np.exp(0.2 * np.exp(-tail / 6.0) + noise("gauss", 27, 0.006, 8))
    g[223:250] = 0.267 * np.exp(4 * np.exp(-tail / 4.0))
    return run({"loss": loss, "grad_norm": g, "lr": np.full(n, 6e-5)})


@scenario(
    6,
    "update doubles first",
    "consecutive",
    causes=("optimizer/stale-second-moment",),
    never_causes=("grad/no-clipping",),
)
def stale() -> RunTable:
    c = base()
    c["update_ratio"][1195:1199] *= 2
    c["loss"] *= np.exp(bump(2000, 1200, np.log(1.6), 1, 60))
    c["grad_norm"] *= np.exp(bump(2000, 1201, np.log(10), 1, 50))
    return run(c, config={"beta2": 0.95})


def _plateau(n: int) -> RunTable:
    loss = 1.96 * np.exp(noise("gauss", n, 0.002, 3))
    loss[1200:1210] *= 2.02 / 1.96
    loss[1210:] *= 1.975 / 1.96
    update = 3e-3 * np.exp(noise("gauss", n, 0.02, 5))
    update[1197:1200] *= 2
    lr = np.full(n, 3e-4)
    return run({"loss": loss, "grad_norm": grad(n, seed=6), "lr": lr, "update_ratio": update})


@scenario(
    7,
    "three per cent, never back",
    "non-recovering",
    causes=("optimizer/stale-second-moment", "model/attention-logit-growth"),
    onset=(1196, 1201),
)
def marin() -> RunTable:
    return _plateau(2000)


@scenario(8, "the same, log ends 40 steps later", "non-recovering", censored=True)
def marin_cut() -> RunTable:
    return _plateau(1240)


@scenario(
    9,
    "lr jumps five times",
    "consecutive|non-recovering",
    causes=("lr/schedule-jump",),
    never_causes=("optimizer/stale-second-moment", "resume/optimizer-state-lost"),
)
def lr_jump() -> RunTable:
    c = base()
    c["lr"][1000:] *= 5
    c["update_ratio"][1000:] *= 5
    c["grad_norm"][1000:] *= 1.3
    c["loss"][1001:] *= np.exp(0.3 * (1 - np.exp(-np.arange(999) / 3.0)))
    return run(c)


def _resumed(c: dict[str, np.ndarray], at: int, back: int = 20) -> RunTable:
    """Insert a resume: the steps before `at` are trained again in a second segment."""
    n = len(c["loss"])
    step = np.concatenate([np.arange(at), np.arange(at - back, n - back)])
    segment = (np.arange(n) >= at).astype(int)
    return run(c, segment=segment, step=step)


@scenario(
    10,
    "resume without optimizer state",
    "consecutive",
    causes=("resume/optimizer-state-lost",),
    never_causes=("lr/schedule-jump",),
)
def resume_optimizer() -> RunTable:
    c = base()
    t = np.arange(2000) - 1000
    c["update_ratio"] *= np.where(t >= 0, 1 + 4 * np.exp(-np.maximum(t, 0) / 5.0), 1)
    c["loss"] *= np.where((t >= 0) & (t < 30), np.exp(0.2), 1)
    return _resumed(c, 1000, 1)


@scenario(
    11,
    "resume restarts the warm-up",
    "non-recovering",
    causes=("resume/lr-schedule-lost", "lr/*"),
    never_causes=("data/bad-batch",),
)
def resume_schedule() -> RunTable:
    n = 1500
    loss = curve(n, 0.01)
    t = np.arange(n) - 1000
    lr = np.where(t < 0, 1e-4, 3e-4 * np.clip(t / 300, 0, 1) + 1e-7)
    loss *= np.where(t >= 250, np.exp(np.minimum(2.0, 0.05 * np.maximum(t - 249, 0))), 1)
    return _resumed({"loss": loss, "lr": lr}, 1000, 1)


@scenario(
    12, "repeated data after resume", "none", causes=("data/repeated-after-resume",), never_causes=("lr/too-high",)
)
def repeated() -> RunTable:
    c = base()
    t = np.arange(2000) - 1000
    c["loss"] *= np.where((t >= 0) & (t < 200), np.exp(-0.15), 1)
    return _resumed(c, 1000, 200)


@scenario(13, "two isolated overflows", "none", never_findings=("loss-scale-collapse",))
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
    causes=("precision/loss-scale-collapse", "precision/fp16-overflow"),
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
)
def search() -> RunTable:
    c = base()
    scale = np.full(2000, 2.0**15)
    skipped = np.zeros(2000)
    skipped[:34:2] = 1
    scale[:34] = 2.0**32 / 2 ** (np.arange(34) // 2)
    c["grad_norm"][:34:2] = np.inf
    return run({**c, "loss_scale": scale, "is_skipped": skipped})


@scenario(16, "gradient logged times loss scale", "none", never_findings=("grad-norm-explosion",))
def scaled_grad() -> RunTable:
    c = base()
    scale = np.where(np.arange(2000) < 600, 2.0**15, np.where(np.arange(2000) < 1600, 2.0**16, 2.0**17))
    c["grad_norm"] *= scale
    return run({**c, "loss_scale": scale})


@scenario(17, "zero loss beside NaN gradient", "first-step-nan", findings=("hidden-nan",))
def hidden() -> RunTable:
    n = 60
    return run({"loss": np.zeros(n), "grad_norm": np.full(n, np.nan), "lr": np.full(n, 1e-5)})


@scenario(
    18,
    "first loss NaN",
    "first-step-nan",
    causes=("numeric/first-forward", "precision/*", "objective/masked-labels"),
    never_causes=("lr/*",),
)
def first_nan() -> RunTable:
    n = 50
    return run({"loss": np.full(n, np.nan), "grad_norm": np.full(n, np.nan), "lr": np.full(n, 1e-5)})


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
)
def periodic() -> RunTable:
    c = base()
    c["loss"][250::250] *= 1.25
    return run({"loss": c["loss"], "epoch": np.arange(2000) / 250.0})


@scenario(22, "gradient ramps to infinity", "non-recovering", causes=("grad/*",), never_causes=("data/bad-batch",))
def ramp() -> RunTable:
    n = 1040
    loss, g = curve(n, 0.01), grad(n)
    g[1000:1010] = 0.2 * 2.0 ** np.arange(1, 11)
    g[1010:] = np.inf
    loss[1010:] *= 3
    loss[1020:] = np.inf
    return run({"loss": loss, "grad_norm": g, "lr": np.full(n, 3e-4)})


@scenario(
    23,
    "too hot after warm-up",
    "non-recovering",
    causes=("lr/too-high", "lr/short-warmup"),
    never_causes=("data/bad-batch",),
)
def hot() -> RunTable:
    n = 400
    t = np.arange(n)
    loss = curve(n, 0.01) * np.exp(np.where(t > 120, 0.003 * (t - 120), 0))
    g = grad(n) * np.exp(np.where(t > 120, np.minimum(1.6, 0.02 * (t - 120)), 0)) * 5
    clip = np.minimum(1.0, 1.0 / g)
    lr = 1e-3 * np.minimum(1, (t + 1) / 100)
    return run({"loss": loss, "grad_norm": g, "lr": lr, "clip_coef": clip, "update_ratio": 1e-2 * lr / 1e-3})


@scenario(
    24, "creeping up while lr falls", "non-recovering", causes=("objective/logit-drift",), never_causes=("lr/too-high",)
)
def creep() -> RunTable:
    n = 2000
    t = np.arange(n)
    loss = 2.2 * np.exp(noise("gauss", n, 0.004, 3)) + np.where(t > 500, 0.07 * (t - 500) / 1500, 0)
    return run({"loss": loss, "lr": 3e-4 * (1 - t / 2100), "head_norm": 100 * (1 + 0.6 * t / n), "grad_norm": grad(n)})


@scenario(
    25,
    "one source shifts",
    "non-recovering|consecutive",
    causes=("data/distribution-shift",),
    never_causes=("model/attention-logit-growth",),
)
def shift() -> RunTable:
    c = base()
    after = np.arange(2000) >= 1000
    c["loss"] *= np.where(after, np.exp(0.11), 1)
    c["loss/source_a"] = c["loss"] * np.where(after, np.exp(0.14), 1)
    c["loss/source_b"] = curve(2000, 0.01, seed=12)
    c["grad_norm"] *= np.where(after, 1.2, 1)
    return run(c)


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
    return run(
        {"loss": loss, "grad_norm": grad(n, 4.0)},
        config={"gradient_accumulation_steps": 4, "vocab_size": 50257},
    )


@scenario(27, "dead run", "none", causes=("run/dead",), findings=("flat-loss",))
def dead() -> RunTable:
    n = 2000
    return run({"loss": 10.82 * np.exp(noise("gauss", n, 0.001, 1)), "lr": np.zeros(n)}, config={"vocab_size": 50257})


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
    val: list[float | None] = [None] * n
    for k, v in zip(range(99, n, 100), (2.1, 1.8, 1.7, 1.68, 1.75, 1.9, 2.1, 2.3, 2.5, 2.7), strict=True):
        val[k] = v
    return run({"loss": train, "eval_loss": np.array(val, dtype=object), "epoch": np.arange(n) / 200.0})


@scenario(29, "SGD far too hot", "non-recovering", causes=("lr/too-high",), never_causes=("data/bad-batch",))
def sgd() -> RunTable:
    n = 1100
    loss, g = curve(n, 0.01), grad(n)
    t = np.arange(n) - 900
    grow = np.where(t >= 0, np.clip(6.0 * np.maximum(t, 0), 0, 690), 0)
    with np.errstate(over="ignore"):
        loss = loss * np.exp(grow)
        g = g * np.exp(np.minimum(grow / 2, 690))
    loss[t > 115] = np.inf
    g[t > 115] = np.inf
    lr = np.full(n, 1.0)
    return run(
        {"loss": loss, "grad_norm": g, "lr": lr, "update_ratio": np.minimum(lr * g * 1e-2, 1e300)},
        config={"optimizer": "SGD"},
    )


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
    c = {f"loss@rank{k}": curve(n, 0.02, seed=k + 20) for k in range(8)}
    c["loss@rank3"][500:] = 0.0
    return run({"loss": curve(n, 0.02, seed=20), "grad_norm": grad(n), **c})


@scenario(31, "smoothed series", "none|consecutive", never_classes=("single-step",))
def smoothed() -> RunTable:
    n = 2000
    e = noise("gauss", n, 0.05, 3, rho=0.95)
    loss = decay(n) * np.exp(e + bump(n, 1200, 0.6, 20, 120))
    return run({"loss": loss})


@scenario(32, "logged every tenth step", "single-step", causes=("data/bad-batch", "data/long-sequence"))
def every_tenth() -> RunTable:
    n = 200
    step = np.arange(n) * 10
    loss = decay(2000)[::10] * np.exp(noise("gauss", n, 0.01, 3))
    loss[120] *= 1.3
    return run({"loss": loss, "grad_norm": grad(n), "lr": np.full(n, 3e-4)}, step=step)


@scenario(
    33,
    "104B, two thousand steps to return",
    "non-recovering|consecutive",
    causes=("grad/*", "lr/too-high", "model/attention-logit-growth"),
    never_causes=("data/bad-batch",),
)
def slow_return() -> RunTable:
    n = 600
    loss = 3.06 * np.exp(noise("gauss", n, 0.006, 3))
    g = 0.2 * np.exp(noise("gauss", n, 0.1, 4))
    loss[300:] = 3.06 * np.exp(np.log(7.712 / 3.06) * np.exp(-np.arange(300) / 60.0) + noise("gauss", 300, 0.006, 5))
    loss[299] = 3.114
    g[299:302] = [4.0, 3.9, 2.0]
    return run({"loss": loss, "grad_norm": g, "lr": np.full(n, 6e-5)}, step=np.arange(n) * 10)


@scenario(
    34, "troughs rise", "non-recovering|consecutive", causes=("lr/too-high", "model/attention-logit-growth", "grad/*")
)
def troughs() -> RunTable:
    n = 1500
    loss = 2.05 * np.exp(noise("gauss", n, 0.005, 3))
    for at, level in ((400, 2.1), (700, 2.2), (1000, 2.35)):
        loss[at:] = level * np.exp(noise("gauss", n - at, 0.005, at))
        loss[at : at + 20] *= np.exp(0.5 * np.exp(-np.arange(20) / 5.0))
    g = grad(n)
    for at in (399, 699, 999):
        g[at : at + 10] *= 8
    return run({"loss": loss, "grad_norm": g, "lr": np.full(n, 3e-4)})


@scenario(35, "bf16-rounded loss", "none")
def rounded() -> RunTable:
    n = 2000
    loss = np.round((1.66 + noise("gauss", n, 0.008, 3)) / 0.0078125) * 0.0078125
    return run({"loss": loss})


@scenario(
    36,
    "optimizer reset, skipped plateau",
    "consecutive",
    causes=("resume/optimizer-state-lost", "lr/schedule-jump"),
    never_causes=("precision/loss-scale-collapse",),
    never_classes=("non-recovering",),
)
def reset() -> RunTable:
    n = 500
    loss = 2.666 * np.exp(noise("gauss", n, 0.004, 3))
    g = np.exp(noise("gauss", n, 0.1, 4)) * 400_000
    scale = np.full(n, 1048576.0)
    lr = np.where(np.arange(n) < 300, 0.0, 6e-5)
    loss[300:308] = [4.374, 4.366, 4.391, 4.405, 4.398, 4.096, 3.9, 3.6]
    loss[308:360] = 2.7 * np.exp(0.28 * np.exp(-np.arange(52) / 10.0))
    g[300:306] = 464441.887
    scale[301:306] = [524288, 262144, 131072, 65536, 32768]
    scale[306:] = 32768
    return run({"loss": loss, "grad_norm": g, "loss_scale": scale, "lr": lr})


@scenario(
    37,
    "batch-1 fine-tune, one hard sample",
    "none|single-step",
    never_causes=("grad/no-clipping", "optimizer/stale-second-moment"),
)
def hard_sample() -> RunTable:
    n = 800
    loss = 1.2 * np.exp(noise("gauss", n, 0.2, 3))
    g = 2.0 * np.exp(noise("gauss", n, 0.3, 4))
    loss[500] = 1.2 * np.exp(1.2)
    g[500] *= 3
    return run({"loss": loss, "grad_norm": g})
