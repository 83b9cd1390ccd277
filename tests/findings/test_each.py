"""For every finding one run that has it, and one that misses it by one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.helpers.runs import AT, Make, N, evals, flat, healthy, lift, only, put, spike, twice
from tests.helpers.synth import curve, noise, run
from tests.texts.test_texts import FINDINGS
from triage.model import Finding, RunTable
from triage.options import Options
from triage.pipeline import judge

T = np.arange(N)


def zeros(norm: float) -> RunTable:
    c = only(healthy(), "loss", "grad_norm")
    return run(put(put(c, "loss", slice(AT, N), 0.0), "grad_norm", slice(AT, N), norm))


def skipped(rows: int) -> RunTable:
    return run({**only(healthy(), "loss"), "is_skipped": (N - rows <= T) * 1.0})


def halved(rows: list[int]) -> RunTable:
    return run({**only(healthy(), "loss"), "loss_scale": 65536.0 / 2.0 ** (T[:, None] >= rows).sum(axis=1) / 2**8})


def floored(rows: int, norm: float = 0.2) -> RunTable:
    scale = np.where(N - rows <= T, 1.0, 4096.0)
    return run({**only(healthy(), "loss"), "loss_scale": scale, "grad_norm": np.where(N - rows <= T, norm, 0.2)})


def ranks(still: int) -> RunTable:
    losses = {f"loss@rank{k}": flat(seed=k + 1) for k in range(4)}
    losses["loss@rank2"][N - still :] = 1.9
    return run({"loss": np.mean(list(losses.values()), axis=0), **losses})


def spread(factor: float) -> RunTable:
    losses = {f"loss@rank{k}": flat(seed=k + 1) for k in range(4)}
    losses["loss@rank2"][N - 30 :] += factor * 0.04
    return run({"loss": flat(seed=9), **losses})


def exploded(rows: int, by: float = 20.0) -> RunTable:
    return run(lift(only(healthy(), "loss", "grad_norm"), N - rows, by, "grad_norm"))


def turned(height: float) -> RunTable:
    hill = np.where((T >= 100) & (T < 260), height * np.sin(np.pi * (T - 100) / 160), 0)
    return run({"loss": flat() * np.exp(hill)})


def stuck(fall: float, start: int = 0) -> RunTable:
    loss = 10.82 * np.exp(-fall * T / N) + noise("gauss", N, 0.02, 1)
    return run({"loss": loss}, step=start + T, config={"vocab_size": 50257})


def evaluated(values: list[float], fall: float = 0.5) -> RunTable:
    return run({"loss": flat() * np.exp(-fall * T / N), "eval_loss": evals(values)})


def continued(lr: float) -> RunTable:
    second = {**healthy(200), "lr": np.full(200, lr)}
    return twice(healthy(300), second, 300)


def memorised(by: float) -> RunTable:
    return twice(only(healthy(300), "loss"), {"loss": by * flat(200, seed=4)}, 200)


def spikes(rows: list[int]) -> RunTable:
    c = {"loss": flat(1600)}
    c["loss"][rows] *= 1.4
    return run(c)


def clipped(share: float, n: int = N) -> RunTable:
    return run({**healthy(n), "clip_coef": np.where(np.arange(n) % 100 < 100 * share, 0.5, 1.0)})


def over_norm(limit: float) -> RunTable:
    return run(healthy(), config={"max_grad_norm": limit})


def metric(rows: list[int], name: str = "val/accuracy_top5") -> RunTable:
    return run({**healthy(), name: put({"m": np.linspace(0.1, 0.6, N)}, "m", rows, np.nan)["m"]})


def multiplied(k: float, steps: int = 4) -> RunTable:
    loss = k * 10.82 * (1 + T / 40.0) ** -0.3
    return run({"loss": loss}, config={"gradient_accumulation_steps": steps, "vocab_size": 50257})


def beside_eval(first: float) -> RunTable:
    loss = 8.0 * (1 + T / 40.0) ** -0.3
    return run({"loss": loss, "eval_loss": evals([first, first])}, config={"gradient_accumulation_steps": 4})


def heavy(kind: str) -> RunTable:
    return run({"loss": curve(4000, 0.02, kind, seed=0)})


Case = tuple[str, Make, Make, str]
CASES: list[Case] = [
    # finding, has it, misses it, severity
    ("hidden-nan", lambda: zeros(np.nan), lambda: zeros(1e-9), "error"),
    ("every-step-skipped", lambda: skipped(8), lambda: skipped(7), "error"),
    (
        "loss-scale-collapse",
        lambda: halved([200, 230, 260, 290]),
        lambda: halved([200, 240, 280, 330]),
        "error",
    ),
    ("loss-scale-floor", lambda: floored(5, np.inf), lambda: floored(4, np.inf), "error"),
    ("loss-scale-floor", lambda: floored(5), lambda: floored(N), "warning"),
    ("rank-disagreement", lambda: ranks(20), lambda: ranks(19), "error"),
    ("rank-disagreement", lambda: spread(25.0), lambda: spread(5.0), "error"),
    ("grad-norm-explosion", lambda: exploded(40), lambda: exploded(28), "error"),
    ("grad-norm-explosion", lambda: exploded(40, 13.0), lambda: exploded(40, 8.0), "error"),
    ("slow-drift", lambda: turned(0.2), lambda: turned(0.08), "warning"),
    ("flat-loss", lambda: stuck(0.01), lambda: stuck(0.12), "error"),
    ("flat-loss", lambda: stuck(0.01), lambda: stuck(0.01, start=5000), "error"),
    ("smooth-but-not-learning", lambda: evaluated([2.5] * 5), lambda: evaluated([2.5] * 4), "warning"),
    ("smooth-but-not-learning", lambda: evaluated([2.5] * 5), lambda: evaluated([2.5] * 4 + [2.44]), "warning"),
    ("smooth-but-not-learning", lambda: evaluated([2.5] * 5), lambda: evaluated([2.5] * 5, fall=0.1), "warning"),
    ("eval-cliff", lambda: evaluated([2.0, 2.0, 3.1, 3.1]), lambda: evaluated([2.0, 2.0, 2.9, 2.9]), "warning"),
    (
        "eval-cliff",
        lambda: evaluated([2.0, 2.0, 3.1, 2.6, 2.6]),
        lambda: evaluated([2.0, 2.0, 3.1, 2.1, 2.1]),
        "warning",
    ),
    (
        "overfitting",
        lambda: evaluated([2.2, 2.0, 2.1, 2.2, 2.3]),
        lambda: evaluated([2.3, 2.2, 2.0, 2.1, 2.2]),
        "warning",
    ),
    ("resume-discontinuity", lambda: continued(1e-4), lambda: continued(2.9e-4), "warning"),
    ("resume-discontinuity", lambda: memorised(0.9), lambda: memorised(0.97), "warning"),
    ("periodic-spikes", lambda: spikes([300, 600, 900, 1200]), lambda: spikes([300, 600, 900]), "info"),
    ("periodic-spikes", lambda: spikes([300, 600, 900, 1200]), lambda: spikes([300, 600, 1000, 1200]), "info"),
    ("always-clipped", lambda: clipped(0.9, 500), lambda: clipped(0.89, 500), "warning"),
    ("always-clipped", lambda: clipped(1.0, 100), lambda: clipped(1.0, 99), "warning"),
    ("always-clipped", lambda: over_norm(0.1), lambda: over_norm(0.2), "warning"),
    ("nonfinite-metric", lambda: metric([AT]), lambda: metric([]), "warning"),
    ("accumulation-scaling", lambda: multiplied(4.0), lambda: multiplied(4.0, 8), "warning"),
    ("accumulation-scaling", lambda: multiplied(4.0), lambda: multiplied(4.0, 1), "warning"),
    ("accumulation-scaling", lambda: beside_eval(2.0), lambda: beside_eval(4.0), "warning"),
    ("heavy-tailed-noise", lambda: heavy("t3"), lambda: heavy("gauss"), "info"),
]


def found(make: Callable[[], RunTable], name: str) -> list[Finding]:
    return [f for f in judge(make(), Options()).findings if f.id == name]


def test_every_finding_has_a_case():
    assert {name for name, *_ in CASES} == FINDINGS


@pytest.mark.parametrize(("name", "has", "_misses", "severity"), CASES)
def test_it_is_found(name, has, _misses, severity):
    findings = found(has, name)
    assert [f.severity for f in findings] == [severity]
    assert findings[0].evidence


@pytest.mark.parametrize(("name", "_has", "misses", "_severity"), CASES)
def test_a_near_miss_is_not(name, _has, misses, _severity):
    assert found(misses, name) == []


# ── what the tables above cannot show ────────────────────────────────────────────────────────────────────────────────


def test_errors_come_before_warnings_before_remarks():
    c: dict[str, Any] = {**healthy(), "clip_coef": np.full(N, 0.5), "is_skipped": (T >= N - 9) * 1.0}
    severities = [f.severity for f in judge(run(c), Options()).findings]
    assert severities == ["error", "warning"]


def test_a_collapse_is_a_warning_while_the_loss_falls():
    c = {
        "loss": flat() * np.exp(-0.5 * T / N),
        "loss_scale": 64.0 / 2.0 ** (T[:, None] >= [300, 320, 340, 360]).sum(axis=1),
    }
    assert [f.severity for f in found(lambda: run(c), "loss-scale-collapse")] == ["warning"]


def test_a_collapse_that_settled_at_a_working_level_is_a_warning():
    scale = 65536.0 / 2.0 ** (T[:, None] >= [200, 210, 220, 230]).sum(axis=1)
    settled = {**only(healthy(), "loss"), "loss_scale": scale}
    still_falling = {**settled, "loss_scale": np.where(T >= 340, 2048.0, scale)}
    assert [f.severity for f in found(lambda: run(settled), "loss-scale-collapse")] == ["warning"]
    assert [f.severity for f in found(lambda: run(still_falling), "loss-scale-collapse")] == ["error"]


def test_a_slowly_sinking_scale_collapses_after_six_halvings():
    def sinking(halvings: int) -> RunTable:
        n = 2000
        at = 200 + 250 * np.arange(halvings)
        return run({"loss": flat(n), "loss_scale": 4096.0 / 2.0 ** (np.arange(n)[:, None] >= at).sum(axis=1)})

    assert [f.evidence[0].id for f in found(lambda: sinking(6), "loss-scale-collapse")] == ["scale-sank"]
    assert found(lambda: sinking(5), "loss-scale-collapse") == []


def test_the_scale_search_at_the_start_is_no_collapse_but_an_excerpt_has_none():
    early = {**only(healthy(), "loss"), "loss_scale": 65536.0 / 2.0 ** (T[:, None] >= [2, 4, 6, 8, 10]).sum(axis=1)}
    assert found(lambda: run(early), "loss-scale-collapse") == []
    assert len(found(lambda: run(early, step=T + 9000), "loss-scale-collapse")) == 1


def test_the_norm_may_be_logged_times_the_scale():
    scale = np.where(T < 100, 1024.0, np.where(T < N - 60, 2048.0, 32768.0))
    c = only(healthy(), "loss", "grad_norm")
    assert (
        found(lambda: run({**c, "grad_norm": c["grad_norm"] * scale, "loss_scale": scale}), "grad-norm-explosion") == []
    )
    assert len(found(lambda: run({**c, "grad_norm": c["grad_norm"] * scale}), "grad-norm-explosion")) == 1


def test_a_norm_that_grows_over_the_whole_run_is_no_explosion():
    c = {"loss": flat(), "grad_norm": 0.2 * np.geomspace(1, 40, N)}
    assert found(lambda: run(c), "grad-norm-explosion") == []


@pytest.mark.parametrize("name", ["grad_norm", "param_norm", "grad_norm@rank3"])
def test_metrics_that_are_watched_elsewhere_are_no_nonfinite_metric(name):
    assert found(lambda: metric([AT], name), "nonfinite-metric") == []


def test_a_metric_that_is_lost_in_an_incident_belongs_to_it():
    c = {**healthy(), "val/accuracy_top5": np.linspace(0.1, 0.6, N)}
    both = put(put(c, "loss", slice(AT, N), np.nan), "val/accuracy_top5", slice(AT, N), np.nan)
    assert found(lambda: run(both), "nonfinite-metric") == []


def test_the_rise_back_from_memorised_data_is_no_drift():
    first, second = {"loss": flat(600)}, {"loss": flat(600, seed=4)}
    low = put(second, "loss", slice(0, 300), 1.6 * np.exp(noise("gauss", 300, 0.01, 6)))
    assert found(lambda: twice(first, low, 400), "slow-drift") == []


def test_overfitting_is_told_from_a_cliff_and_from_a_loss_that_rises_as_well():
    assert found(lambda: evaluated([2.2, 2.0, 3.3, 3.3, 3.3]), "overfitting") == []
    assert found(lambda: evaluated([2.2, 2.0, 2.1, 2.2, 2.3], fall=-0.5), "overfitting") == []


def test_noise_of_the_evaluations_is_taken_without_their_trend():
    steady = [2.4, 2.2, 2.0, 1.8, 1.6, 1.67, 1.75, 1.8]
    noisy = [2.4, 2.0, 2.2, 1.7, 1.9, 1.6, 1.65, 1.66, 1.67]
    assert len(found(lambda: evaluated(steady), "overfitting")) == 1
    assert found(lambda: evaluated(noisy), "overfitting") == []


def test_a_rise_that_a_diagnosis_covers_is_no_drift():
    assert found(lambda: run(spike(only(healthy(), "loss"), AT, 60, 1.5)), "slow-drift") == []
