"""The forward baseline: against a plain reference, never looking ahead, and every number of a forecast."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.signals.baseline import (
    CALIBRATION_MIN,
    EARLY_ROWS,
    MIN_ROWS,
    Accepted,
    Forecast,
    autocorrelation,
    effective,
    forecast,
    window_length,
)

MAD = 1.4826


def accepted(x: np.ndarray, window: int | None = None) -> Accepted:
    """The state after these rows, each forecast in its turn and taken."""
    state = Accepted.empty(window)
    first = x[:MIN_ROWS]
    state.append(first, *(np.zeros(len(first)),) * 3)
    state.seed()
    for value in x[MIN_ROWS:]:
        f = ahead(state, np.array([value]), window)
        low = np.maximum(np.minimum(f.predict, f.base) - value, 0.0) / f.scale
        state.append(np.array([value]), value - f.predict, value - f.base, low)
    return state


def ahead(state: Accepted, x: np.ndarray, window: int | None = None, *, is_log: bool = True) -> Forecast:
    return forecast(state, x, window, is_log=is_log, rounding=0.0, factor=1.0)


def series(n: int, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(n)
    return np.log(1.8 + 9 * (1 + np.arange(n) / 8.0) ** -0.6) + 0.02 * noise


def plain_early(past: np.ndarray, width: int) -> tuple[float, float]:
    """The rows of one window: slope of the halves' medians, median of what is left, its MAD."""
    w = past[-width:]
    t = np.arange(-len(w), 0, dtype=float)
    half = width // 2
    newer, older = w[-(width - half) :], w[: -(width - half)]
    slope = (np.median(newer) - np.median(older)) / (0.5 * (half + len(older))) if len(older) > half // 4 else 0.0
    levelled = w - slope * t
    centre = float(np.median(levelled))
    return centre, MAD * float(np.median(np.abs(levelled - centre)))


def plain_late(past: np.ndarray, residual: np.ndarray, width: int) -> tuple[float, float]:
    """Median and slope of one window, noise of its one-step-ahead residuals."""
    w = past[-width:]
    half = width // 2
    slope = (np.median(w[-half:]) - np.median(w[-2 * half : -half])) / half
    return float(np.median(w) + slope * (width + 1) / 2), MAD * float(np.median(np.abs(residual[-width:])))


@pytest.mark.parametrize("count", [20, 25, 31, 32, 33, 60, 200])
def test_the_early_prediction_is_that_of_its_own_window(count):
    x = series(count + 40)
    f = ahead(accepted(x[:count]), x[count:])
    for k in (0, 1, 7, 39):
        centre, scale = plain_early(x[: count + k], 32)
        assert f.predict[k] == pytest.approx(centre, abs=1e-12)
        assert f.scale[k] == pytest.approx(max(scale, 0.002), abs=1e-12)


@pytest.mark.parametrize("window", [None, 16, 50])
def test_the_late_prediction_is_that_of_its_own_window(window):
    x = series(EARLY_ROWS + 60)
    state = accepted(x[:EARLY_ROWS], window)
    residual = state.residual.copy()
    f = ahead(state, x[EARLY_ROWS:], window)
    for k in (0, 1, 13, 59):
        past = np.concatenate([residual, x[EARLY_ROWS : EARLY_ROWS + k] - f.predict[:k]])
        centre, scale = plain_late(x[: EARLY_ROWS + k], past, window or 128)
        assert f.predict[k] == pytest.approx(centre, abs=1e-12)
        assert f.scale[k] == pytest.approx(max(scale, 0.002), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(MIN_ROWS, 400), st.integers(1, 60), st.integers(0, 60), st.integers(0, 5))
def test_the_forecast_of_a_prefix_is_the_prefix_of_the_forecast(count, first, rest, seed):
    x = series(count + first + rest, seed)
    state = accepted(x[:count])
    whole, part = ahead(state, x[count:]), ahead(state, x[count : count + first])
    for field in dataclasses.fields(Forecast):
        np.testing.assert_allclose(
            getattr(whole, field.name)[:first], getattr(part, field.name), rtol=0, atol=1e-12, err_msg=field.name
        )


def test_no_forecast_depends_on_its_own_row():
    x = series(200)
    state = accepted(x[:150])
    f, other = ahead(state, x[150:160]), ahead(state, np.append(x[150:159], 99.0))
    for field in dataclasses.fields(Forecast):
        assert getattr(f, field.name)[9] == getattr(other, field.name)[9], field.name


def test_the_base_is_the_larger_of_trend_and_the_last_eight():
    falling = accepted(np.linspace(3, 1, 150))
    rising = accepted(np.linspace(1, 3, 150))
    down, up = ahead(falling, np.array([1.0])), ahead(rising, np.array([3.0]))
    assert down.base[0] == pytest.approx(np.median(falling.x[-8:]))
    assert down.predict[0] < down.base[0]
    assert up.base[0] == pytest.approx(up.predict[0])
    assert up.predict[0] > np.median(rising.x[-8:])


def test_the_record_is_the_largest_excess_of_the_last_hundred():
    state = accepted(series(150))
    excess = np.nan_to_num(state.excess[-100:])
    assert ahead(state, np.zeros(1)).record[0] == pytest.approx(max(0.0, excess.max()))
    low = dataclasses.replace(state, excess=np.full(150, -1.0))
    assert ahead(low, np.zeros(1)).record[0] == 0.0
    old = dataclasses.replace(state, excess=np.where(np.arange(150) == 49, 5.0, 0.1))
    assert ahead(old, np.zeros(1)).record[0] == pytest.approx(0.1)


def test_the_highest_is_of_the_last_sixteen():
    x = series(60)
    x[43], x[44] = 9.0, 8.0
    assert ahead(accepted(x), np.zeros(1)).highest[0] == 8.0


@pytest.mark.parametrize(("count", "expected"), [(CALIBRATION_MIN - 1, 6.0), (CALIBRATION_MIN, 13.0)])
def test_the_opening_threshold_is_calibrated_from_a_hundred_rows_on(count, expected):
    state = accepted(series(count))
    state.down = np.where(np.arange(count) == 50, 10.0, 0.0)
    f = ahead(state, np.zeros(1))
    assert f.z_open[0] == pytest.approx(expected * math.sqrt(1 + 16 / count))
    assert f.widen[0] == pytest.approx(math.sqrt(1 + 16 / count))


def test_sensitivity_scales_every_threshold():
    state = accepted(series(150))
    low = forecast(state, np.zeros(1), None, is_log=True, rounding=0.0, factor=1.5)
    assert low.widen[0] == pytest.approx(1.5 * ahead(state, np.zeros(1)).widen[0])
    assert low.z_open[0] == pytest.approx(1.5 * ahead(state, np.zeros(1)).z_open[0])


def test_the_noise_has_a_floor_of_a_fifth_of_a_per_cent_and_of_the_rounding():
    flat = accepted(np.full(100, 1.0))
    assert ahead(flat, np.ones(1)).scale[0] == 0.002
    assert forecast(flat, np.ones(1), None, is_log=True, rounding=0.05, factor=1.0).scale[0] == 0.05
    assert forecast(flat, np.ones(1), None, is_log=False, rounding=0.0, factor=1.0).scale[0] == pytest.approx(0.002)
    assert forecast(flat, np.ones(1), None, is_log=False, rounding=0.3, factor=1.0).scale[0] == pytest.approx(0.3)
    zero = accepted(np.zeros(100))
    assert forecast(zero, np.zeros(1), None, is_log=False, rounding=0.0, factor=1.0).scale[0] == 1e-12


def test_the_unit_of_effect_is_a_nat_or_five_noises_of_first_differences():
    x = np.where(np.arange(200) % 2 == 0, 1.0, 1.3)
    state = accepted(x)
    assert ahead(state, np.ones(1)).unit[0] == 1.0
    assert ahead(state, np.ones(1), is_log=False).unit[0] == pytest.approx(5 * MAD * 0.3)


@pytest.mark.parametrize(
    ("count", "window", "expected"), [(0, None, 32), (299, None, 32), (300, None, 128), (0, 50, 50), (5000, 50, 50)]
)
def test_window_length(count, window, expected):
    assert window_length(count, window) == expected


def test_the_state_forgets_what_no_statistic_needs():
    state = Accepted.empty(None)
    zeros = np.zeros(5000)
    state.append(np.arange(5000.0), zeros, zeros, zeros)
    assert len(state.x) == len(state.down) == state.keep == 1256
    assert state.count == 5000
    assert state.x[-1] == 4999.0


def test_rows_can_be_taken_back():
    state = accepted(series(60))
    last = state.x[-3]
    state.drop_last(0)
    assert state.count == 60
    state.drop_last(2)
    assert (state.count, len(state.x), state.x[-1]) == (58, 58, last)
    state.drop_last(100)
    assert (state.count, len(state.x)) == (0, 0)


def test_the_first_rows_get_their_residuals_from_one_line():
    state = Accepted.empty(None)
    line = 5 - 0.1 * np.arange(20.0)
    state.append(line, *(np.zeros(20),) * 3)
    state.seed()
    np.testing.assert_allclose(state.residual, 0.0, atol=1e-12)
    assert np.isnan(state.excess).all()
    assert np.isnan(state.down).all()


def test_seeding_nothing_is_allowed():
    state = Accepted.empty(None)
    state.seed()
    assert state.count == 0


@pytest.mark.parametrize(("rho", "least", "most"), [(0.0, 0.0, 0.2), (0.7, 0.6, 0.8), (0.99, 0.89, 0.9)])
def test_autocorrelation(rho, least, most):
    e = np.random.default_rng(1).standard_normal(2000)
    for i in range(1, len(e)):
        e[i] = rho * e[i - 1] + math.sqrt(1 - rho * rho) * e[i]
    assert least <= autocorrelation(e) <= most


def test_autocorrelation_of_too_little_of_nothing_and_of_an_outlier():
    assert autocorrelation(np.arange(7.0)) == 0.0
    assert autocorrelation(np.array([1.0, np.nan] * 7)) == 0.0
    assert autocorrelation(np.zeros(50)) == 0.0
    assert autocorrelation(np.array([1.0, -1.0] * 20)) == 0.0
    e = np.random.default_rng(2).standard_normal(200)
    assert autocorrelation(np.concatenate([e, [1e6, 1e6]])) < 0.4


def test_the_noise_of_a_level_grows_with_the_correlation():
    white = np.random.default_rng(3).standard_normal(4000)
    assert effective(2.0, np.array([1.0, -1.0] * 20)) == 2.0
    rho = autocorrelation(np.cumsum(white))
    assert effective(2.0, np.cumsum(white)) == pytest.approx(2.0 * math.sqrt((1 + rho) / (1 - rho)))
