"""From a run to the table of signals: values, masks, what is judged, and which rows were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.runs import N, flat, healthy, put, sparse, twice
from tests.helpers.synth import run
from triage.options import Options
from triage.signals import build
from triage.signals.table import is_eval_loss


def names(c: dict, **options) -> list[tuple[str, str]]:
    return [(j.name, j.direction) for j in build(run(c), Options(**options)).judged]


def test_null_and_nan_stay_apart():
    loss = sparse(5, {0: 2.0, 2: np.nan, 3: np.inf})
    signals = build(run({"loss": loss}), Options())
    assert signals.logged["loss"].tolist() == [True, False, True, True, False]
    rows, values = signals.points("loss")
    assert rows.tolist() == [0, 2, 3]
    assert np.isnan(values[1])
    assert np.isinf(values[2])


def test_hidden_losses_become_nan():
    signals = build(run({"loss": np.array([2.0, 0.0]), "grad_norm": np.array([0.2, np.nan])}), Options())
    assert signals.hidden.tolist() == [1]
    assert np.isnan(signals.columns["loss"][1])


def test_steps_and_segments_come_along():
    signals = build(twice({"loss": flat(30)}, {"loss": flat(20)}, 25), Options())
    assert signals.step.tolist() == [*range(30), *range(25, 45)]
    assert signals.segment.tolist() == [0] * 30 + [1] * 20


@pytest.mark.parametrize(
    ("options", "first", "last", "rows"),
    [
        ({}, 0, 44, 50),
        ({"segment": "last"}, 25, 44, 20),
        ({"from_step": 40}, 40, 44, 5),
        ({"to_step": 26}, 0, 26, 29),
        ({"from_step": 26, "to_step": 27}, 26, 27, 4),
    ],
)
def test_only_the_steps_that_were_asked_for(options, first, last, rows):
    signals = build(twice({"loss": flat(30)}, {"loss": flat(20)}, 25), Options(**options))
    assert (signals.step.min(), signals.step.max(), len(signals.step)) == (first, last, rows)


EVALS = sparse(N, {100: 2.0, 200: 1.9})


def test_the_training_loss_is_judged():
    assert names({**healthy(), "eval_loss": EVALS}) == [("loss", "up")]


def test_without_it_every_evaluation_loss():
    c = {"grad_norm": flat(), "eval_loss": EVALS, "val/other_loss": EVALS, "test/acc": EVALS}
    assert names(c) == [("eval_loss", "up"), ("val/other_loss", "up")]


def test_one_evaluation_is_nothing_to_judge():
    assert names({"eval_loss": sparse(N, {100: 2.0})}) == []


def test_the_signal_that_was_asked_for():
    c = {**healthy(), "reward": flat()}
    assert names(c, signal="reward", direction="down") == [("reward", "down")]
    assert names(c, signal="missing") == []


def test_a_loss_that_was_never_logged_is_not_judged():
    assert names({"loss": sparse(N, {}), "grad_norm": flat()}) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("eval_loss", True),
        ("loss", False),
        ("eval_accuracy", False),
        ("validation/ctc_loss", True),
        ("val/loss", True),
        ("dev_nll", True),
        ("test/CrossEntropy", True),
        ("train/loss", False),
        ("val/accuracy", False),
    ],
)
def test_is_eval_loss(name, expected):
    assert is_eval_loss(name) is expected


def test_the_values_of_the_run_are_not_touched():
    c = put({"loss": flat(40), "grad_norm": flat(40)}, "loss", slice(20, 40), 0.0)
    table = run(put(c, "grad_norm", slice(20, 40), np.nan))
    build(table, Options())
    assert table.frame["loss"][25] == 0.0
