"""Excursions as events: numbers, confidence, the noise that is folded, and every decision at one row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.helpers.runs import AT, N, evals, flat, healthy, lift, put, sparse, spike, twice
from tests.helpers.synth import curve, noise, run
from triage.detectors import excursion as module
from triage.detectors._forward import Excursion, Trace, walk
from triage.detectors._points import points_of
from triage.detectors._recovery import Frozen, Outcome
from triage.detectors.excursion import decisions, detect, heavy_tail, is_smoothed
from triage.model import Decision, Event, RunTable
from triage.options import Options
from triage.signals import build


def events(made: RunTable, **options) -> list[Event]:
    chosen = Options(**options)
    return detect(build(made, chosen), chosen)


def event(made: RunTable, **options) -> Event:
    (found,) = events(made, **options)
    return found


# ── the event ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_numbers_of_an_event_are_rows_and_raw_values():
    loss = sparse(2000, dict(zip(range(0, 2000, 5), flat(), strict=True)))
    for k in (250, 251):
        loss[5 * k] *= 3
    e = event(run({"loss": loss, "lr": np.full(2000, 1e-3)}))
    assert (e.onset, e.trigger, e.end, e.recovered, e.healthy) == (1250, 1250, 1256, 1260, 1245)
    assert (e.width, e.n_groups, e.n_nonfinite, e.is_open, e.censored) == (2, 1, 0, False, False)
    assert e.peak_value == pytest.approx(6.0, rel=0.05)
    assert e.level == pytest.approx(2.0, rel=0.02)
    assert e.excess == pytest.approx(math.log(3), rel=0.05)
    assert (e.detector, e.tier, e.signal, e.confidence) == ("excursion", "hard", "loss", "high")
    assert [(x.id, x.signal) for x in e.evidence] == [("excess-over-baseline", "loss"), ("robust-z", "loss")]


def test_a_non_finite_event_has_the_value_as_evidence():
    e = event(run(put({"loss": flat()}, "loss", AT, np.inf)))
    assert [x.id for x in e.evidence] == ["nonfinite-value"]
    assert math.isinf(e.evidence[0].observed or 0)
    assert (e.tier, e.n_nonfinite, math.isinf(e.z), math.isinf(e.excess)) == ("nonfinite", 1, True, True)


def test_before_anything_finite_there_is_no_level_and_nothing_healthy():
    e = event(run(put({"loss": flat()}, "loss", 0, np.nan)))
    assert (e.level, e.healthy, e.confidence) == (None, None, "low")


def test_in_raw_space_excess_is_in_units_of_effect():
    e = event(run(spike({"loss": flat() - 2.0 + 0.001}, by=1.0) | put({"loss": flat() - 2.0}, "loss", AT, 3.0)))
    assert e.excess > 10
    assert e.peak_value == 3.0


def test_events_of_several_signals_come_in_the_order_of_their_onsets():
    a = evals([2.0] * 20 + [2.0, 9.0] + [2.0] * 18)
    b = evals([2.0] * 10 + [2.0, 9.0] + [2.0] * 28)
    found = events(run({"eval_loss": a, "val/b_loss": b}))
    assert [e.signal for e in found] == ["val/b_loss", "eval_loss"]


def test_the_last_healthy_point_lies_on_the_path_to_the_onset():
    second = spike({"loss": flat(seed=4)}, 0, 1, 3)
    found = events(twice({"loss": flat(300)}, second, 200))
    assert [(e.onset, e.healthy) for e in found] == [(300, 199)]


@pytest.mark.parametrize("direction", ["up", "down"])
def test_down_is_bad_where_it_is_asked_for(direction):
    made = run(spike({"reward": flat()}, by=0.2, name="reward"))
    assert len(events(made, signal="reward", direction=direction)) == (1 if direction == "down" else 0)


def test_the_window_of_the_user_holds():
    calm = np.concatenate([flat(60), flat(60, level=2.3, seed=2), flat(60, level=2.3, seed=3)])
    assert [e.onset for e in events(run({"loss": calm}), window=16)] != []
    assert all(e.onset >= 60 for e in events(run({"loss": calm}), window=16))


# ── confidence ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("made", "confidence"),
    [
        (run(spike({"loss": flat()})), "high"),  # hard
        (run(spike({"loss": flat()}, by=1.3)), "medium"),  # strong, alone
        (run(spike(spike(healthy(), by=1.08), by=30, name="grad_norm")), "high"),  # joint
        (run(lift({"loss": flat(300)})), "low"),  # the log ends first
        (run(spike({"loss": flat(40)}, 10, 3, 5)), "low"),  # few rows before
        (run(put({"loss": flat()}, "loss", AT, np.nan)), "high"),
        (run({"loss": np.full(30, np.nan)}), "medium"),
        (run(put({"loss": flat()}, "loss", 1, np.nan)), "high"),  # one row before is enough for a NaN
    ],
)
def test_confidence(made, confidence):
    assert event(made).confidence == confidence


def excursion(
    tier: str = "hard", *, noise: float = 1.0, width: int = 10, rows: int = 500, is_cut: bool = False, z: float = 9.0
) -> Excursion:
    frozen = Frozen(0.0, 0.0, 1.0, noise, 1.0, 6.0, 0.0, rows)
    outcome = Outcome(0, z, 1.0, width, width, width, is_cut, 0, 1, 0, width)
    return Excursion(0, 0, tier, frozen, outcome)


@pytest.mark.parametrize(
    ("made", "confidence"),
    [
        (excursion("hard"), "high"),
        (excursion("joint"), "high"),
        (excursion("strong"), "medium"),
        (excursion("level"), "medium"),
        (excursion("hard", rows=20), "high"),
        (excursion("hard", rows=19), "low"),
        (excursion("hard", is_cut=True), "low"),
        (excursion("hard", noise=3.8), "low"),
    ],
)
def test_confidence_of_an_interval(made, confidence):
    assert module._confidence(made) == confidence


@pytest.mark.parametrize(
    ("rho", "width", "expected"),
    [(0.87, 4, True), (0.869, 4, False), (0.9, 3, False), (0.9, 4, True), (0.0, 50, False)],
)
def test_neighbours_that_hang_together_look_smoothed(rho, width, expected):
    made = excursion(noise=math.sqrt((1 + rho) / (1 - rho)), width=width)
    assert is_smoothed(made) is expected


def test_a_smoothed_series_says_so():
    loss = 2.0 * np.exp(noise("gauss", 2000, 0.05, 3, rho=0.95))
    loss[1200:1300] *= np.exp(1.2 * np.sin(np.pi * np.arange(100) / 100))
    e = events(run({"loss": loss}))[0]
    assert e.evidence[-1].id == "looks-smoothed"
    assert 0.87 <= (e.evidence[-1].observed or 0.0) <= 0.9
    assert e.confidence == "low"


# ── noise that is folded ─────────────────────────────────────────────────────────────────────────────────────────────


def folded(up: dict[int, float], down: dict[int, float], n: int = 1500) -> list[str]:
    """Tiers of the events of a calm run in which some rows stand so many noises above or below the level."""
    values = 2.0 * np.exp(np.where(np.arange(n) % 2 == 0, 0.02, -0.02))
    for row, z in {**up, **{row: -z for row, z in down.items()}}.items():
        values[row] = 2.0 * math.exp(0.0297 * z)
    return [e.tier for e in events(run({"loss": values}))]


def test_lone_points_that_are_matched_downward_are_noise():
    assert folded({1200: 10.0}, {}) == ["strong"]
    assert folded({1200: 10.0}, {100: 10.5}) == ["heavy-tail"]
    assert folded({1200: 10.0}, {1400: 10.5}) == ["heavy-tail"], "the whole log tells, later rows as well"


def test_not_if_they_are_twice_as_large_as_anything_downward():
    assert folded({1200: 10.0, 1300: 25.0}, {1400: 10.5}) == ["heavy-tail", "hard"]


def test_a_third_as_many_downward_are_enough_and_fewer_are_not():
    up = dict.fromkeys(range(200, 1000, 200), 10.0)  # four
    assert set(folded(up, {1400: 12.0, 1450: 12.0})) == {"heavy-tail"}
    assert set(folded(up, {1400: 10.5})) == {"strong"}
    three = dict.fromkeys(range(200, 800, 200), 10.0)
    assert set(folded(three, {1400: 10.5})) == {"heavy-tail"}


def test_what_falls_in_the_first_hundred_rows_falls_by_design():
    assert folded({1200: 10.0}, {99: 10.5}) == ["strong"]


def heavy(*excursions: Excursion, down: float = 9.0, second: bool = False) -> set[int]:
    """Which of these excursions are folded, with one point of so many noises downward."""
    c = {"loss": flat(600)}
    points = points_of(build(run(c), Options()), "loss", "up")
    trace = walk(points.track, window=None, factor=1.0)
    points.track.x[400], trace.predict[400], trace.scale[400] = 0.0, down, 1.0
    trace.excursions[:] = list(excursions)
    points.track.second[:] = second
    return set(heavy_tail(points, trace))


@pytest.mark.parametrize(
    ("made", "is_folded"),
    [
        (excursion("strong", width=1), True),
        (excursion("hard", width=1), True),
        (excursion("record", width=2), True),
        (excursion("strong", width=3), False),
        (excursion("level", width=1), False),
        (excursion("joint", width=1), False),
    ],
)
def test_only_lone_points_are_folded(made, is_folded):
    assert heavy(made) == ({0} if is_folded else set())


def test_a_second_signal_keeps_a_point():
    assert heavy(excursion("strong", width=1), second=True) == set()


def test_an_equal_outlier_downward_is_enough_and_a_smaller_one_is_not():
    assert heavy(excursion("strong", width=1), down=9.0) == {0}
    assert heavy(excursion("strong", width=1), down=8.99) == set()


def test_exactly_twice_the_largest_downward_is_no_noise():
    assert heavy(excursion("strong", width=1), excursion("strong", width=1, z=17.99)) == {0, 1}
    assert heavy(excursion("strong", width=1), excursion("strong", width=1, z=18.0)) == {0}


def test_nothing_to_fold():
    assert heavy() == set()


def test_gaussian_noise_folds_nothing():
    assert [e.tier for e in events(run(spike({"loss": curve(2000)}, 1500)))] == ["hard"]


# ── every decision at one row ────────────────────────────────────────────────────────────────────────────────────────


def at(row: int, made: RunTable | None = None) -> Decision:
    made = made or run(spike({"loss": flat()}, width=3))
    (decision,) = decisions(build(made, Options()), row, Options())
    return decision


def test_a_calm_row():
    d = at(200)
    assert (d.state, d.accepted, d.tier_results) == ("calm", True, {})
    assert d.value == pytest.approx(2.0, rel=0.05)
    assert d.prediction == pytest.approx(2.0, rel=0.02)
    assert d.scale is not None
    assert d.z is not None
    assert d.excess == pytest.approx(d.z * d.scale, rel=1e-6)
    assert d.z_open == pytest.approx(6 * math.sqrt(1 + 16 / 200), rel=0.2)


def test_a_row_before_there_is_a_baseline():
    d = at(5)
    assert (d.prediction, d.scale, d.z, d.excess, d.z_open, d.record) == (None,) * 6
    assert (d.state, d.accepted) == ("calm", True)


def test_the_row_that_opened():
    d = at(AT)
    assert (d.state, d.accepted, d.tier_results) == ("in event", False, {"hard": True})
    assert d.z is not None
    assert d.z > 50


def test_a_row_inside_is_measured_against_the_frozen_baseline():
    first, second = at(AT), at(AT + 1)
    assert (second.state, second.tier_results) == ("in event", {})
    assert second.prediction == first.prediction
    assert second.excess == pytest.approx(math.log((second.value or 0) / (second.prediction or 1)), rel=1e-6)


def test_a_row_on_the_way_back():
    c = spike({"loss": flat()}, width=1)
    c["loss"][AT + 1 : AT + 9] *= 1.02
    table = run(c)
    states = [at(row, table).state for row in range(AT, AT + 12)]
    assert states[:2] == ["in event", "recovering"]
    assert states[-1] == "calm"
    assert at(AT + 3).state == "calm", "an event that was over at once is behind"


def test_a_non_finite_row():
    d = at(AT, run(put({"loss": flat()}, "loss", AT, np.nan)))
    assert (d.z, d.excess) == (math.inf, math.inf)
    assert math.isnan(d.value or 0.0)
    assert d.tier_results == {"nonfinite": True}


def test_a_non_finite_row_before_anything_else():
    d = at(0, run(put({"loss": flat()}, "loss", 0, np.nan)))
    assert (d.z, d.prediction, d.state) == (None, None, "in event")


def test_a_row_without_a_value_has_no_decision():
    made = run({"loss": sparse(N, {3: 2.0}), "lr": np.full(N, 1e-3)})
    signals = build(made, Options())
    assert decisions(signals, 2, Options()) == ()
    assert decisions(signals, 4, Options()) == ()
    assert len(decisions(signals, 3, Options())) == 1


def test_sensitivity_moves_the_threshold():
    made = build(run({"loss": flat()}), Options())
    normal, low = decisions(made, 200, Options())[0], decisions(made, 200, Options(sensitivity="low"))[0]
    assert low.z_open == pytest.approx(1.5 * (normal.z_open or 0))


def test_the_trace_is_that_of_the_walk():
    assert isinstance(
        walk(points_of(build(run({"loss": flat()}), Options()), "loss", "up").track, window=None, factor=1.0), Trace
    )
