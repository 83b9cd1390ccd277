"""Detectors that look at the whole log: a slow rise, a return to the start, gradients that are lost for good."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.runs import flat, only, put, sparse, twice
from tests.helpers.synth import grad, noise, run
from triage.detectors import DETECTORS, back_to_start, drift, nonfinite
from triage.model import Event, RunTable
from triage.options import Options
from triage.signals import build


def seen(detector, made: RunTable, **options) -> list[Event]:
    chosen = Options(**options)
    return detector.detect(build(made, chosen), chosen)


def test_every_detector_says_what_it_needs():
    assert [d.id for d in DETECTORS] == ["excursion", "back-to-start", "drift", "nonfinite"]
    assert all(d.needs for d in DETECTORS)


# ── drift ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def rising(height: float, start: int = 300, n: int = 1024, sd: float = 0.005, until: int | None = None) -> np.ndarray:
    """A loss that falls to its best at `start` and rises by so many nats to the end (or to `until`)."""
    t = np.arange(n)
    fall = 0.3 * np.maximum(0, 1 - t / start)
    stop = until or n
    rise = height * np.clip((t - start) / (stop - start), 0, 1)
    return 2.0 * np.exp(fall + rise + noise("gauss", n, sd, 4))


def drifted(loss: np.ndarray, **options) -> list[Event]:
    return seen(drift, run({"loss": loss}), **options)


def test_a_rise_that_lasts_to_the_end():
    (e,) = drifted(rising(0.10))
    assert 280 <= e.onset <= 420
    assert (e.end, e.recovered, e.is_open, e.censored) == (1024, None, True, False)
    assert e.healthy == e.onset - 1
    assert e.level == pytest.approx(2.0, rel=0.02)
    assert e.excess == pytest.approx(0.10, abs=0.02)
    assert e.peak_value == pytest.approx(2.2, rel=0.03)
    assert (e.confidence, e.tier, [x.id for x in e.evidence]) == ("medium", "drift", ["slow-rise"])
    assert e.trigger > e.onset
    assert e.width == 1024 - e.onset


@pytest.mark.parametrize(("height", "found"), [(0.030, True), (0.018, False)])
def test_two_per_cent_at_least(height, found):
    assert bool(drifted(rising(height, sd=0.001))) is found


@pytest.mark.parametrize(("sd", "found"), [(0.01, True), (0.08, False)])
def test_ten_standard_errors_at_least(sd, found):
    assert bool(drifted(rising(0.06, sd=sd))) is found


def test_six_times_what_the_level_wanders():
    t = np.arange(1024)
    wandering = 0.05 * np.sin(t / 40.0)
    assert drifted(rising(0.12, sd=0.002)) != []
    assert drifted(rising(0.12, sd=0.002) * np.exp(wandering)) == []


def test_the_rise_must_last_for_four_blocks():
    assert drifted(rising(0.2, start=1024 - 96, sd=0.001)) == []
    assert drifted(rising(0.2, start=1024 - 250, sd=0.001)) != []


def test_exactly_four_blocks_are_enough():
    t = np.arange(1024)
    last = np.interp(t, [896, 1023], [0.2, 0.3]) * (t >= 896)
    assert drifted(2.0 * np.exp(0.3 * np.maximum(0, 1 - t / 896) + last)) != []
    late = np.interp(t, [928, 1023], [0.2, 0.3]) * (t >= 928)
    assert drifted(2.0 * np.exp(0.3 * np.maximum(0, 1 - t / 928) + late)) == []


def test_a_rise_that_turned_is_none():
    t = np.arange(1024)
    hill = 0.3 * np.exp(-(((t - 500) / 150.0) ** 2))
    assert drifted(rising(0.0, sd=0.002) * np.exp(hill)) == []


def test_a_level_that_sinks_again_does_not_rise_on():
    t = np.arange(1024)
    sinking = np.where(t > 300, 0.12 - 0.03 * (t - 300) / 724, 0)
    assert drifted(rising(0.0, sd=0.002) * np.exp(sinking)) == []
    assert drifted(rising(0.0, sd=0.002) * np.exp(np.where(t > 300, 0.12 + 0.03 * (t - 300) / 724, 0))) != []


def test_a_level_that_stands_exactly_still_does_not_rise():
    t = np.arange(1024)
    loss = np.where(t < 288, 2.5 - 0.5 * t / 288, 2.3)
    assert drifted(loss) == []
    assert drifted(np.where(t < 900, loss, 2.4)) == [], "half of the blocks and more are as before"
    assert drifted(np.where(t < 640, loss, 2.4)) != []


def test_exactly_the_least_rise_is_one(monkeypatch):
    level = 1.02
    stairs = np.concatenate([np.full(320, 1.0), np.full(384, 1.01), np.full(320, level)])
    monkeypatch.setattr(drift, "RISE", float(np.log(level)))
    (e,) = drifted(stairs)
    assert 320 <= e.onset < 352
    monkeypatch.setattr(drift, "RISE", float(np.nextafter(np.log(level), 1)))
    assert drifted(stairs) == []


@pytest.mark.parametrize(
    ("level", "first", "expected"),
    [
        ([0.0, 0.5, 0.9], 1.0, True),  # ever more slowly, and past 1.5 x the first loss
        ([0.0, 0.5, 1.0], 1.0, False),
        ([0.0, 0.5, 1.1], 1.0, False),
        ([0.0, 0.39, float(np.log(1.5))], 1.0, False),
        ([0.0, 0.39, float(np.log(1.51))], 1.0, True),
        ([5.0, 0.0, 0.5, 0.9], 1.0, True),  # from the best on
    ],
)
def test_a_moving_target(level, first, expected):
    values = np.array(level)
    assert drift.is_moving_target(values, int(np.argmin(values)), first) is expected


def test_a_level_that_came_down_by_a_third_has_turned():
    t = np.arange(1024)
    high = np.interp(t, [300, 600, 900, 940, 1024], [0.0, 0.10, 0.30, 0.20, 0.19])
    assert drifted(rising(0.0, sd=0.002) * np.exp(high)) == []
    higher = np.interp(t, [300, 600, 900, 940, 1024], [0.0, 0.10, 0.30, 0.24, 0.24])
    assert drifted(rising(0.0, sd=0.002) * np.exp(higher)) != []


def test_a_target_that_grows_ever_more_slowly_is_no_drift():
    t = np.arange(1024)
    target = np.exp(np.log(1 + 20 * t / 1024) + noise("gauss", 1024, 0.005, 4))
    assert drifted(target) == []
    faster = np.exp(np.log(21.0) * (t / 1024) ** 3 + noise("gauss", 1024, 0.005, 4))
    assert drifted(faster) != []


def test_few_points_are_no_course():
    stairs = np.repeat([2.2, 2.0, 2.05, 2.1, 2.15, 2.2, 2.25, 2.3], 8) * np.exp(noise("gauss", 64, 0.001, 4))
    assert drifted(stairs[1:]) == []
    assert drifted(stairs) != []


def test_non_finite_points_are_left_out():
    loss = rising(0.10)
    loss[[400, 500]] = [np.nan, np.inf]
    assert len(drifted(loss)) == 1


def test_in_raw_space_and_for_an_adversary_there_is_no_drift():
    assert drifted(rising(0.10) - 1.9) != []
    assert drifted(rising(0.10) - 2.05) == []
    c = {"loss": rising(0.10), "d_loss": flat(1024)}
    signals = build(run(c), Options())
    assert (drift.detect(signals, Options()) == []) is signals.is_adversarial


def test_the_course_is_that_of_the_canonical_path():
    dead = {"loss": np.concatenate([flat(400), 3.0 * flat(200, seed=3)])}
    live = {"loss": flat(600, seed=5)}
    assert seen(drift, twice(dead, live, 300)) == []


# ── back to the start ────────────────────────────────────────────────────────────────────────────────────────────────


def returned(low: float = 2.0, end: float = 10.0, n: int = 400, at: int = 300, sd: float = 0.01) -> list[Event]:
    """A run from 10 down to `low`, and from row `at` on at `end`."""
    t = np.arange(n)
    loss = np.where(t < at, low + (10 - low) * np.exp(-t / 20.0), end) * np.exp(noise("gauss", n, sd, 3))
    loss[0] = 10.0
    return seen(back_to_start, run({"loss": loss}))


def test_the_tail_lies_where_training_began():
    (e,) = returned()
    assert (e.onset, e.healthy, e.end, e.is_open, e.recovered) == (300, 299, 400, True, None)
    assert (e.tier, e.confidence, e.width) == ("back-to-start", "high", 100)
    assert e.level == pytest.approx(2.0, rel=0.05)
    assert e.excess == pytest.approx(np.log(5.0), rel=0.05)
    assert [(x.id, x.baseline) for x in e.evidence] == [("back-to-start", 10.0)]


@pytest.mark.parametrize(("end", "found"), [(9.1, True), (8.9, False), (14.8, True), (15.3, False)])
def test_within_nine_tenths_and_one_and_a_half(end, found):
    assert bool(returned(end=end, sd=0.001)) is found


@pytest.mark.parametrize(("low", "found"), [(6.9, True), (7.1, False)])
def test_after_having_been_below_seven_tenths(low, found):
    assert bool(returned(low=low, sd=0.001)) is found


@pytest.mark.parametrize(("sd", "found"), [(0.05, True), (0.5, False)])
def test_a_noisy_log_was_not_low_by_chance(sd, found):
    assert bool(returned(low=6.0, end=9.8, sd=sd)) is found


def test_exactly_nine_tenths_and_one_and_a_half_are_back():
    for end, found in ((9.0, True), (8.99, False), (15.0, True), (15.01, False)):
        assert bool(returned(end=end, sd=0.0)) is found


def test_exactly_seven_tenths_is_not_below():
    for low, found in ((7.0, False), (6.99, True)):
        loss = np.concatenate([[10.0], np.full(60, low), np.full(40, 10.0)])
        assert bool(seen(back_to_start, run({"loss": loss}))) is found


def test_the_onset_is_the_first_row_past_half_of_the_way():
    loss = np.concatenate([[8.0], np.full(60, 4.0), [6.0, 6.0], np.full(40, 9.0)])  # half way, in nats, is 6
    (e,) = seen(back_to_start, run({"loss": loss}))
    assert e.onset == 62
    loss[80] = 4.0  # one low row on the way is none
    (e,) = seen(back_to_start, run({"loss": loss}))
    assert e.onset == 62


def test_a_dead_branch_was_not_this_run():
    dead, live = {"loss": np.linspace(10, 2, 100)}, {"loss": np.linspace(9.9, 9.5, 40)}
    assert seen(back_to_start, twice(dead, live, 1)) == []
    assert len(seen(back_to_start, run({"loss": np.concatenate([dead["loss"], live["loss"]])}))) == 1


def test_one_low_point_is_not_having_been_low():
    loss = np.full(100, 10.0) * np.exp(noise("gauss", 100, 0.01, 3))
    loss[50] = 2.0
    assert seen(back_to_start, run({"loss": loss})) == []


def test_one_high_point_at_the_end_is_no_return():
    loss = np.concatenate([np.linspace(10, 2, 100), np.full(97, 2.0), [10.0, 10.0, 2.0]])
    assert seen(back_to_start, run({"loss": loss})) == []


def test_twenty_points_at_least():
    steep = np.concatenate([[10.0], np.full(10, 2.0), np.full(9, 10.0)])
    assert len(seen(back_to_start, run({"loss": steep}))) == 1
    assert seen(back_to_start, run({"loss": steep[:-1]})) == []


def test_the_onset_is_where_the_loss_left_for_good():
    t = np.arange(400)
    loss = np.where(t < 250, 2.0 + 8 * np.exp(-t / 20.0), 10.0)
    loss[200:203] = 9.0  # a spike that came back
    (e,) = seen(back_to_start, run({"loss": loss}))
    assert e.onset == 250


def test_non_finite_points_do_not_hide_the_return():
    t = np.arange(400)
    loss = np.where(t < 300, 2.0 + 8 * np.exp(-t / 20.0), 10.0)
    loss[[350, 390]] = np.nan
    (e,) = seen(back_to_start, run({"loss": loss}))
    assert (e.onset, e.n_nonfinite, e.peak_value) == (300, 0, 10.0)


def test_not_where_down_is_bad_nor_around_zero():
    t = np.arange(400)
    loss = np.where(t < 300, 2.0 + 8 * np.exp(-t / 20.0), 10.0)
    assert seen(back_to_start, run({"loss": loss}), signal="loss", direction="down") == []
    assert seen(back_to_start, run({"loss": loss - 2.5})) == []


# ── gradients that are lost for good ─────────────────────────────────────────────────────────────────────────────────


def lost(rows: int, n: int = 100, **more) -> list[Event]:
    norm = put({"g": grad(n)}, "g", slice(n - rows, n), np.inf)["g"]
    return seen(nonfinite, run({"loss": flat(n), "grad_norm": norm, **more}))


SCALER = {"loss_scale": np.full(100, 1024.0)}


@pytest.mark.parametrize(("rows", "found"), [(5, True), (4, False), (0, False)])
def test_under_a_scaler_five_points_to_the_end(rows, found):
    assert bool(lost(rows, **SCALER)) is found
    assert bool(lost(rows, is_skipped=np.zeros(100))) is found


@pytest.mark.parametrize(("rows", "found"), [(1, True), (0, False)])
def test_without_a_scaler_one_is_enough(rows, found):
    assert bool(lost(rows)) is found
    assert bool(lost(rows, loss_scale=np.ones(100))) is found, "a scale of 1 is none"
    assert bool(lost(rows, loss_scale=np.full(100, np.nan))) is found


def test_the_numbers_of_a_lost_gradient():
    (e,) = lost(10)
    assert (e.onset, e.healthy, e.end, e.width, e.n_nonfinite, e.is_open) == (90, 89, 100, 10, 10, True)
    assert [x.id for x in e.evidence] == ["nonfinite-value", "nonfinite-stays"]


@pytest.mark.parametrize(("n", "found"), [(1, False), (2, True), (3, True), (4, True)])
def test_a_short_column_that_was_never_finite_counts(n, found):
    assert bool(lost(n, n)) is found
    assert bool(lost(n, n, loss_scale=np.full(n, 1024.0))) is found


@pytest.mark.parametrize(("rows", "cut"), [(1, True), (4, True), (5, False), (10, False)])
def test_a_short_tail_is_cut_by_the_end_of_the_log(rows, cut):
    (e,) = lost(rows)
    assert (e.censored, e.is_open) == (cut, True)


def test_what_was_skipped_or_came_back_is_not_cut():
    norm = put({"g": grad(60)}, "g", [20], np.nan)["g"]
    (back,) = seen(nonfinite, run({"grad_norm": norm}))
    assert (back.censored, back.is_open, back.recovered) == (False, False, 21)


def test_finite_points_at_the_end_end_it():
    norm = put({"g": grad(100)}, "g", slice(80, 99), np.nan)["g"]
    assert seen(nonfinite, run({"loss": flat(100), "grad_norm": norm})) == []


def test_each_attempt_for_itself():
    first = put(
        only({"loss": flat(100), "grad_norm": grad(100)}, "loss", "grad_norm"), "grad_norm", slice(90, 100), np.nan
    )
    second = {"loss": flat(100, seed=4), "grad_norm": grad(100, seed=5)}
    (e,) = seen(nonfinite, twice(first, second, 50))
    assert (e.onset, e.end) == (90, 100)


def test_only_logged_points_count():
    norm = sparse(100, {**dict.fromkeys(range(0, 60, 10), 0.2), **dict.fromkeys(range(60, 100, 10), np.nan)})
    assert seen(nonfinite, run({"loss": flat(100), "grad_norm": norm, **SCALER})) == []


def test_without_a_gradient_there_is_nothing_to_see():
    assert seen(nonfinite, run({"loss": flat(100)})) == []


def alone(bad: list[int], skipped: list[int] | None = None, n: int = 60) -> list[tuple[int, int, bool]]:
    """Events of a log without a loss: (onset, width, open)."""
    c = {"grad_norm": put({"g": grad(n)}, "g", bad, np.nan)["g"]}
    if skipped is not None:
        c["is_skipped"] = np.isin(np.arange(n), skipped) * 1.0
    return [(e.onset, e.width, e.is_open) for e in seen(nonfinite, run(c))]


def test_without_a_loss_every_non_finite_gradient_counts():
    assert alone([20]) == [(20, 1, False)]
    assert alone([20, 21, 40]) == [(20, 2, False), (40, 1, False)]
    assert alone([58, 59]) == [(58, 2, True)]
    assert alone([58, 59], skipped=[58, 59]) == [(58, 2, False)]
    assert alone([58, 59], skipped=[58]) == [(58, 2, True)]
    assert alone([]) == []
