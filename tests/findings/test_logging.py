"""Notices about how the log colours its numbers: each where it holds, and not beside a near miss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.synth import curve, grad, noise, run
from triage.findings._logging import colours
from triage.model import RunTable
from triage.options import Options
from triage.signals import build

N = 400


def ids(table: RunTable) -> list[str]:
    return [notice.id for notice in colours(build(table, Options()))]


def written_by(writer: str, stride: int) -> RunTable:
    table = run({"loss": curve(N), "grad_norm": grad(N)}, step=np.arange(N) * stride)
    return replace(table, source=replace(table.source, writer=writer))


def test_a_healthy_run_is_coloured_by_nothing() -> None:
    assert ids(run({"loss": curve(N), "grad_norm": grad(N)})) == []


@pytest.mark.parametrize(
    ("writer", "stride", "told"),
    [
        ("transformers 4.57", 10, True),
        ("transformers 4.57", 1, False),
        ("detectron2", 5, True),
        ("torchtitan", 10, False),
    ],
)
def test_window_means(writer: str, stride: int, told: bool) -> None:
    assert ("loss-is-window-mean" in ids(written_by(writer, stride))) is told


@pytest.mark.parametrize(("rho", "told"), [(0.99, True), (0.5, False)])
def test_smoothing(rho: float, told: bool) -> None:
    smooth = np.convolve(
        noise("gauss", N + 20, 0.1, 3, rho=rho), np.ones(21) / 21 if told else [1.0] + [0.0] * 20, "valid"
    )
    assert ("series-smoothed" in ids(run({"loss": 2 * np.exp(smooth)}))) is told


@pytest.mark.parametrize(("limit", "told"), [(0.2, True), (0.4, False)])
def test_norms_after_clipping(limit: float, told: bool) -> None:
    table = run({"loss": curve(N), "grad_norm": np.minimum(grad(N), limit)})
    assert ("grad-norm-clipped" in ids(table)) is told


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"max_grad_norm": 0.1}, True),
        ({"max_grad_norm": 10.0}, False),
        ({"learning_rate": 1e-2}, True),
        ({"learning_rate": 3e-4}, False),
    ],
)
def test_settings_that_were_not_followed(config: dict[str, float], told: bool) -> None:
    columns = {"loss": curve(N), "grad_norm": grad(N), "clip_coef": np.ones(N), "lr": np.full(N, 3e-4)}
    assert ("config-contradicted" in ids(run(columns, config=config))) is told


def test_a_warm_up_that_is_still_under_way_contradicts_nothing() -> None:
    table = run({"loss": curve(N), "lr": 1e-6 * (1 + np.arange(N))}, config={"learning_rate": 1e-2})
    assert "config-contradicted" not in ids(table)
