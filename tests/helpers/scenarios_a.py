"""Rows 1 to 12 of the scenario table: health, bad batches, updates that lead, levels, schedules and resumes."""

from __future__ import annotations

import numpy as np

from tests.helpers.scenario import base, bump, resumed, scenario
from tests.helpers.synth import curve, noise, run
from triage.model import RunTable


@scenario(1, "clean decay", "none", verdicts=("healthy",))
def clean() -> RunTable:
    return run(base())


@scenario(2, "heavy-tailed noise", "none", findings=("heavy-tailed-noise",), never_causes=("*",))
def heavy() -> RunTable:
    return run(base(20_000, 0.02, kind="t4"))


def _bad_batch() -> dict[str, np.ndarray]:
    c = base()
    c["loss"][1200] *= 3
    c["grad_norm"][1200] *= 80
    c["tokens"] = np.full(2000, 4096.0)
    c["tokens"][1200] *= 4
    c["seq_len"] = 512 * np.exp(noise("gauss", 2000, 0.05, 4))
    c["seq_len"][1200] = 2048
    return c


@scenario(
    3,
    "one bad batch, clipped",
    "single-step",
    causes=("data/bad-batch", "data/long-sequence"),
    never_causes=("lr/*",),
    verdicts=("recovered",),
    onset=(1200, 1200),
)
def bad_batch() -> RunTable:
    c = _bad_batch()
    c["update_ratio"][1200] *= 2
    c["clip_coef"][1200] = 1 / 16
    return run(c, config={"max_grad_norm": 1.0})


@scenario(
    4,
    "echo of one unclipped batch",
    "consecutive",
    causes=("data/bad-batch", "data/long-sequence"),
    with_causes=("grad/no-clipping",),
    never_causes=("optimizer/stale-second-moment",),
    verdicts=("recovered",),
    onset=(1200, 1200),
)
def echo() -> RunTable:
    c = _bad_batch()
    del c["clip_coef"]
    c["loss"] *= np.exp(bump(2000, 1201, 1.0, 7, 49))
    c["grad_norm"] *= np.exp(bump(2000, 1201, 1.2, 7, 49))
    c["update_ratio"] *= np.where(np.arange(2000) >= 1200, 1 + 15 * np.exp(-(np.arange(2000) - 1200) / 8.0), 1)
    return run(c, config={"beta2": 0.999})


@scenario(
    5,
    "176B spike, gradient leads by four",
    "consecutive",
    causes=("grad/*", "model/attention-logit-growth"),
    never_classes=("single-step",),
    never_causes=("data/bad-batch",),
    verdicts=("recovered",),
    onset=(31215, 31217),
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
    return run({"loss": loss, "grad_norm": g, "lr": np.full(n, 6e-5)}, step=31000 + np.arange(n))


@scenario(
    6,
    "update doubles first",
    "consecutive",
    causes=("optimizer/stale-second-moment",),
    never_causes=("grad/no-clipping",),
    verdicts=("recovered",),
)
def stale() -> RunTable:
    c = base()
    c["update_ratio"][1195:1199] *= 2
    c["loss"] *= np.exp(bump(2000, 1200, np.log(1.6), 0, 60))
    c["grad_norm"] *= np.exp(bump(2000, 1201, np.log(10), 0, 50))
    return run(c, config={"beta2": 0.95})


def _plateau(n: int) -> RunTable:
    loss = 1.96 * np.exp(noise("gauss", n, 0.004, 3))
    loss[1200:1210] *= 2.02 / 1.96
    loss[1210:] *= 1.975 / 1.96
    update = 3e-3 * np.exp(noise("gauss", n, 0.02, 5))
    update[1197] *= 2
    return run({"loss": loss, "update_ratio": update})


SHIFTED = ("optimizer/stale-second-moment", "model/attention-logit-growth")


@scenario(
    7,
    "three per cent, never back",
    "non-recovering",
    causes=SHIFTED,
    censored=False,
    onset=(1196, 1201),
    is_modest=True,
)
def marin() -> RunTable:
    return _plateau(2000)


@scenario(
    8,
    "the same, log ends 40 steps later",
    "non-recovering",
    causes=SHIFTED,
    censored=True,
    confidence=("low",),
    is_modest=True,
)
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
    c["loss"][1001:] *= np.exp(0.8 * (1 - np.exp(-np.arange(999) / 3.0)))
    return run(c)


@scenario(
    10,
    "resume without optimizer state",
    "consecutive",
    causes=("resume/optimizer-state-lost",),
    never_causes=("lr/schedule-jump",),
    verdicts=("recovered",),
)
def resume_optimizer() -> RunTable:
    c = base()
    t = np.arange(2000) - 1000
    c["update_ratio"] *= np.where(t >= 0, 1 + 4 * np.exp(-np.maximum(t, 0) / 5.0), 1)
    c["loss"] *= np.where((t >= 0) & (t < 30), np.exp(0.2), 1)
    c["loss_scale"] = np.full(2000, 65536.0)
    return resumed(c, 1000)


@scenario(
    11,
    "resume restarts the warm-up",
    "non-recovering",
    causes=("resume/lr-schedule-lost",),
    never_causes=("data/bad-batch",),
    onset=(1245, 1260),
)
def resume_schedule() -> RunTable:
    n = 1500
    loss = curve(n, 0.01)
    t = np.arange(n) - 1000
    lr = np.where(t < 0, 1e-4, 3e-4 * np.clip(t / 300, 0, 1))
    loss *= np.where(t >= 250, np.exp(np.minimum(2.0, 0.05 * np.maximum(t - 249, 0))), 1)
    return resumed({"loss": loss, "lr": lr}, 1000)


@scenario(
    12,
    "repeated data after resume",
    "none",
    causes=("data/repeated-after-resume",),
    never_causes=("lr/too-high",),
    never_findings=("slow-drift",),
)
def repeated() -> RunTable:
    c = base()
    t = np.arange(2000) - 1000
    c["loss"] *= np.where((t >= 0) & (t < 200), np.exp(-0.15), 1)
    return resumed(c, 1000, 200)
