"""The step that values are rounded to: a jump is none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import triage
from triage.signals.space import quantum_of


def test_rounded_values_show_their_step() -> None:
    rng = np.random.default_rng(0)
    assert quantum_of(np.round(rng.normal(2.0, 0.3, 400), 1)) == pytest.approx(0.1)
    assert quantum_of(np.round(rng.normal(3.0, 1.0, 400))) == 1.0
    assert quantum_of(np.array([2.0, 2.1] * 200)) == pytest.approx(0.1)
    assert quantum_of(rng.normal(2.0, 0.3, 400)) == 0.0


@pytest.mark.parametrize("values", [[2.0] * 400 + [6.0] * 100, [2.0] * 400 + [60.0, 2000.0], [0.0] * 99 + [1.0]])
def test_a_jump_of_a_constant_series_is_no_step(values: list[float]) -> None:
    assert quantum_of(np.array(values)) <= 0.01


@pytest.mark.parametrize("jump", [[6.0] * 100, [60.0, 2000.0], [2000.0]])
def test_a_constant_loss_that_jumps_fails_the_gate(tmp_path: Path, jump: list[float]) -> None:
    log = tmp_path / "log.jsonl"
    losses = [2.0] * 400 + jump
    log.write_text("".join(json.dumps({"step": s, "loss": v}) + "\n" for s, v in enumerate(losses)), encoding="utf-8")
    report = triage.analyze(log)
    assert report.exit_code == 1
    assert report.runs[0].diagnoses[0].onset_step == 400
