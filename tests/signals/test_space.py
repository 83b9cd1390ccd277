"""The space a signal is judged in, and how coarsely it was written."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.signals.space import Space, choose, quantum_of

NOISE = np.random.default_rng(0).standard_normal(400)
LOSS = 2 * np.exp(0.01 * NOISE)


@pytest.mark.parametrize(
    ("values", "is_log"),
    [
        ([1.0, 2.0], True),
        ([1.0, 1e-300], True),
        ([1.0, 0.0], False),
        ([1.0, -1e-9], False),
        ([1.0, math.nan, math.inf], True),
        ([1.0, -math.inf], True),
        ([math.nan, math.inf], False),
        ([], False),
    ],
)
def test_log_where_every_finite_value_is_positive(values, is_log):
    assert choose(np.array(values), "up").is_log is is_log


def test_the_direction_is_the_sign():
    assert choose(LOSS, "up").sign == 1.0
    assert choose(LOSS, "down").sign == -1.0


@pytest.mark.parametrize("is_log", [True, False])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_there_and_back(is_log, sign):
    space = Space(is_log, sign, 0.0)
    x = space.to_x(np.array([0.5, 3.0]))
    assert [space.to_raw(float(v)) for v in x] == pytest.approx([0.5, 3.0])


def test_what_is_not_finite_or_has_no_logarithm_becomes_nan():
    values = np.array([1.0, np.nan, np.inf, -np.inf, 0.0, -1.0])
    assert np.isnan(Space(True, 1.0, 0.0).to_x(values)).tolist() == [False, True, True, True, True, True]
    assert np.isnan(Space(False, 1.0, 0.0).to_x(values)).tolist() == [False, True, True, True, False, False]


def test_a_huge_logarithm_does_not_overflow():
    assert math.isfinite(Space(True, 1.0, 0.0).to_raw(1e6))


def test_rounding_is_half_a_step_in_units_of_the_space():
    assert Space(True, 1.0, 0.01).rounding(math.log(2.0)) == pytest.approx(0.0025)
    assert Space(False, 1.0, 0.01).rounding(2.0) == pytest.approx(0.005)
    assert Space(True, -1.0, 0.01).rounding(-math.log(2.0)) == pytest.approx(0.0025)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (LOSS, 0.0),
        (np.round(LOSS, 4), 1e-4),
        (np.round(LOSS, 3), 1e-3),
        (np.round(LOSS, 2), 1e-2),
        (np.round(LOSS / 0.0078125) * 0.0078125, 0.0078125),
        (np.full(50, 2.0), 0.0),
        (np.array([]), 0.0),
        (np.array([2.5]), 0.0),
    ],
)
def test_quantum(values, expected):
    assert quantum_of(values) == pytest.approx(expected, rel=1e-6)


def test_few_rounded_values_are_told_by_their_decimals():
    assert quantum_of(np.linspace(1, 2, 11).round(2)) == 0.01
    assert quantum_of(np.linspace(1, 2, 9).round(2)) == 0.0


def test_integers_that_are_large_have_no_decimals():
    assert quantum_of(np.arange(20) * 1e9 + 0.5e9) == 0.0


@given(st.floats(1e-3, 1e3), st.integers(2, 4))
def test_values_of_a_grid_have_at_least_its_step(level, places):
    values = np.round(level * np.exp(0.3 * NOISE), places)
    quantum = quantum_of(values)
    assert quantum == 0.0 or quantum >= 10.0**-places * (1 - 1e-6)
