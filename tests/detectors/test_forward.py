"""The walk over one signal: in rows or stretches, the way back to the onset, the first rows, the attempts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.runs import flat
from tests.helpers.synth import noise
from triage.detectors import _forward
from triage.detectors._forward import Excursion, Trace, Track, walk
from triage.detectors._recovery import Frozen
from triage.detectors._tiers import BAND_Z
from triage.signals.baseline import Accepted
from triage.signals.space import choose

N = 600


def track(values: np.ndarray, **more: Any) -> Track:
    space = choose(values, "up")
    second = more.pop("second", np.zeros(len(values), dtype=bool))
    return Track(space.to_x(values), space, second, more.pop("starts", (0,)), **more)


def trace(values: np.ndarray, *, window: int | None = None, factor: float = 1.0, **more: Any) -> Trace:
    return walk(track(values, **more), window=window, factor=factor)


def found(values: np.ndarray, **more: Any) -> list[tuple[str, int, int, int | None]]:
    """(tier, onset, trigger, recovered) of every excursion."""
    return [(e.tier, e.onset, e.trigger, e.outcome.recovered) for e in trace(values, **more).excursions]


def one(values: np.ndarray, **more: Any) -> Excursion:
    (excursion,) = trace(values, **more).excursions
    return excursion


def bumped(*bumps: tuple[int, int, float], n: int = N, sd: float = 0.01) -> np.ndarray:
    """A calm loss, multiplied in places: (row, rows, factor)."""
    values = flat(n, sd=sd)
    for at, rows, factor in bumps:
        values[at : at + rows] *= factor
    return values


# ── stretches and rows ───────────────────────────────────────────────────────────────────────────────────────────────


SHAPES = [
    bumped(),
    bumped((350, 1, 3.0)),
    bumped((350, 10, 1.5), (420, 1, 1.2)),
    bumped((450, 150, 1.3)),
    bumped((100, 4, 1.4), (290, 30, 1.5)),
    np.concatenate([flat(300), [math.nan] * 3, flat(300, seed=5)]),
    np.concatenate([[math.nan], flat(400)]),
    flat() - 2.0,  # around zero: raw space
]


@pytest.mark.parametrize("values", SHAPES)
@pytest.mark.parametrize("stretch", [1, 50])
def test_a_stretch_is_judged_as_its_rows_one_by_one(monkeypatch, values, stretch):
    whole = trace(values)
    monkeypatch.setattr(_forward, "FIRST_CHUNK", stretch)
    monkeypatch.setattr(_forward, "LAST_CHUNK", stretch)
    parts = trace(values)
    assert [(e.tier, e.onset, e.trigger, e.outcome) for e in parts.excursions] == [
        (e.tier, e.onset, e.trigger, e.outcome) for e in whole.excursions
    ]
    assert (parts.accepted == whole.accepted).all()
    for name in ("predict", "base", "scale", "z_open", "record", "unit", "z"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-12, err_msg=name)


@settings(max_examples=12, deadline=None)
@given(st.integers(150, 550), st.integers(1, 40), st.floats(1.3, 4.0), st.integers(60, 140))
def test_what_is_decided_never_depends_on_what_comes_later(at, rows, factor, cut):
    values = bumped((at, rows, factor))
    whole = trace(values)
    known = min(N, at + cut)
    part = trace(values[:known])
    for a, b in zip(part.excursions, whole.excursions, strict=False):
        assert (a.tier, a.onset, a.trigger, a.frozen) == (b.tier, b.onset, b.trigger, b.frozen)
    calm = min([known, *(e.onset for e in whole.excursions)])
    np.testing.assert_allclose(part.predict[:calm], whole.predict[:calm], rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.floats(1e-3, 1e3))
def test_the_unit_of_a_loss_does_not_matter(unit):
    values = bumped((350, 5, 2.0))
    assert found(values * unit) == found(values)


# ── what is decided of a calm run ────────────────────────────────────────────────────────────────────────────────────


def test_a_calm_run_is_accepted_throughout():
    calm = trace(flat())
    assert calm.excursions == []
    assert calm.accepted.all()
    assert np.isnan(calm.predict[:20]).all()
    assert np.isfinite(calm.predict[20:]).all()


def test_rows_of_an_event_are_not_accepted_and_the_baseline_stands_still():
    t = trace(bumped((350, 5, 2.0)))
    assert np.flatnonzero(~t.accepted).tolist() == [350, 351, 352, 353, 354]
    assert np.isfinite(t.base[350]), "the row that opened is shown"
    assert np.isnan(t.base[351:355]).all()
    assert t.predict[355] == pytest.approx(t.predict[350], abs=0.01)


def test_after_an_event_that_stayed_the_baseline_starts_over():
    t = trace(bumped((300, 700, 2.0), (300, 1, 1.5), n=1000))
    (e,) = t.excursions
    assert (e.outcome.recovered, e.outcome.is_cut) == (None, False)
    resume = e.outcome.resume
    assert resume == e.outcome.peak + 251
    assert np.isnan(t.predict[resume : resume + 20]).all()
    assert np.isfinite(t.predict[resume + 20])


# ── the way back ─────────────────────────────────────────────────────────────────────────────────────────────────────


def quiet(out: dict[int, float]) -> np.ndarray:
    """Alternating 1 % around 2: every z is known; some rows stand so many noises above the level."""
    values = 2.0 * np.exp(np.where(np.arange(N) % 2 == 0, 0.01, -0.01))
    for row, z in out.items():
        values[row] = 2.0 * math.exp(0.0148 * z)
    return values


@pytest.mark.parametrize(
    ("before", "onset"),
    [
        ({}, 400),
        ({399: 5.0}, 399),
        ({398: 5.0}, 398),
        ({397: 5.0}, 397),
        ({396: 5.0}, 400),
        ({397: 5.0, 394: 5.0}, 394),
        ({399: 2.0}, 400),
    ],
)
def test_rows_with_a_z_of_three_lead_back_to_the_onset_over_two_in_band(before, onset):
    e = one(quiet({**before, 400: 60.0}))
    assert (e.onset, e.trigger) == (onset, 400)


def test_what_lies_before_the_trigger_is_taken_back_from_the_baseline():
    t = trace(quiet({398: 5.0, 399: 5.0, 400: 60.0}))
    assert not t.accepted[398:401].any()
    assert t.accepted[397]
    assert t.excursions[0].frozen.rows == 398


def test_the_way_back_is_at_most_one_window():
    ramp = {400 - k: 4.0 for k in range(1, 60)}
    assert one(quiet({**ramp, 400: 90.0}), window=20).onset >= 380


def test_the_way_back_stops_at_the_event_before():
    values = quiet({400: 60.0, 408: 4.0, 407: 4.0, 409: 60.0})
    onsets = [e.onset for e in trace(values).excursions]
    assert onsets == sorted(onsets)
    assert all(
        b.onset >= a.outcome.resume
        for a, b in zip(trace(values).excursions, trace(values).excursions[1:], strict=False)
    )


@pytest.mark.parametrize(
    ("out", "barrier", "window", "onset"),
    [
        (range(100), 0, 20, 80),  # the window, its first row as well
        (range(100), 95, 20, 95),
        (range(100), 0, 200, 0),
        (range(90, 100), 0, 20, 90),
        ([], 0, 20, 100),
        ([97], 0, 20, 97),
        ([96], 0, 20, 100),
        ([97, 94], 0, 20, 94),
    ],
)
def test_the_way_back_row_by_row(out, barrier, window, onset):
    t = Trace.empty(200)
    t.z[list(out)] = BAND_Z
    assert _forward._walk_back(t, 100, barrier, window) == onset
    t.z[list(out)] = math.nextafter(BAND_Z, 0)
    assert _forward._walk_back(t, 100, barrier, window) == 100


def test_of_several_tiers_the_first_row_and_on_it_the_strongest_opens():
    assert [e[:2] for e in found(bumped((350, 1, 1.3), (400, 1, 3.0)))] == [("strong", 350), ("hard", 400)]
    assert [e[0] for e in found(bumped((350, 1, 3.0)))] == ["hard"]
    both = quiet({399: 30.0})
    both[397:399] = 2.0 * math.exp(0.105)  # in row 399 the level of four rows has shifted as well
    assert [e[:3] for e in found(both)] == [("strong", 397, 399)]


# ── the first rows ───────────────────────────────────────────────────────────────────────────────────────────────────


def first(*values: float, n: int = 60) -> np.ndarray:
    """These rows, then a calm run at 2."""
    return np.concatenate([values, np.full(n, 2.0)])


@pytest.mark.parametrize(
    ("values", "onset"),
    [
        (first(2.0, 2.0, 4.0, 4.0), 2),  # twice, and the next row as well
        (first(2.0, 2.0, 4.0, 2.0), None),  # twice, alone
        (first(2.0, 2.0, 3.99, 3.99), None),
        (first(2.0, 2.0, 8.01, 2.0), 2),  # four times, alone
        (first(2.0, 2.0, 7.99, 2.0), None),
        (first(2.0, 2.0, 4.0, math.nan), 2),  # a non-finite row confirms
        (first(2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0), None),  # the first loss is the reference
        (first(1.5, 2.0, 2.0, 2.0, 2.0, 2.0, 3.9, 3.9), None),  # ... or the median of the last five
        (first(1.5, 2.0, 2.0, 2.0, 2.0, 2.0, 4.1, 4.1), 6),
        (first(math.nan, 2.0), 0),
        (first(2.0, math.nan), 1),
        (first(2.0, math.inf), 1),
    ],
)
def test_below_twenty_rows_only_doublings_and_non_finite_values_open(values, onset):
    events = found(values)
    assert [e[1] for e in events[:1]] == ([] if onset is None else [onset])


def test_exactly_four_times_is_enough_alone():
    assert [e[:3] for e in found(np.concatenate([[1.0, 1.0, 4.0], np.ones(40)]))] == [("early", 2, 2)]


def test_from_eight_rows_on_the_noise_of_the_first_counts():
    def steps(rows: int) -> tuple[float, float]:
        state = Accepted.empty(None)
        x = np.array([0.0, 0.4, 0.1, 0.7, 0.2, 0.9, 0.1, 0.8])[:rows]
        state.append(x, *(np.zeros(rows),) * 3)
        return _forward._early_steps(choose(np.exp(x), "up"), state, 0.0)

    assert steps(7) == (math.log(2), math.log(4))
    assert steps(8)[0] > math.log(2)
    assert steps(8)[1] > math.log(4)


def test_the_last_row_cannot_be_confirmed():
    assert found(np.array([2.0, 2.0, 4.0])) == []
    assert [e[:3] for e in found(np.array([2.0, 2.0, 8.01]))] == [("early", 2, 2)]


def test_from_twenty_rows_on_the_tiers_decide():
    calm = 2.0 * np.exp(noise("gauss", 20, 0.01, 1))
    assert [e[:2] for e in found(np.concatenate([calm, [3.5, 3.5], flat(30)]))] == [("strong", 20)]
    assert found(np.concatenate([calm[:18], [3.5, 3.5], flat(30)])) == []
    e = one(np.concatenate([calm, [3.5, 3.5], flat(30)]))
    assert (e.frozen.rows, e.frozen.scale < 0.02) == (20, True)


def test_in_raw_space_a_doubling_means_nothing_around_zero():
    around = np.tile([-0.1, 0.1], 5)
    assert found(np.concatenate([around, [0.4, 0.4], np.tile([-0.1, 0.1], 30)])) == []
    large = np.concatenate([around, [9.0, 9.0], np.tile([-0.1, 0.1], 30)])
    assert [e[:2] for e in found(large)] == [("early", 10)]
    too_soon = np.concatenate([around[:4], [9.0, 9.0], np.tile([-0.1, 0.1], 30)])
    assert [e[:2] for e in found(too_soon)] == [("early", 5)]


# ── attempts and intervals ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_lasting_change_of_the_interval_starts_the_window_over():
    values = np.concatenate([flat(300), flat(300, level=3.0, seed=2)])
    assert [e[1] for e in found(values)] == [300]
    assert found(values, restarts=frozenset({300})) == []
    t = trace(values, restarts=frozenset({300}))
    assert np.isnan(t.predict[300:320]).all()
    assert np.isfinite(t.predict[[299, 320]]).all()


def memorised(low: float, back: float = 1.0, until: int = 550) -> np.ndarray:
    """A second attempt from row 300 on that is `low` up to row `until` and then `back` at the old level."""
    second = flat(500, seed=7)
    second[: until - 300] *= low
    second[until - 300 :] *= back
    return np.concatenate([flat(300), second])


RESUMED = {"starts": (0, 300), "repeats": (0, 550)}


def test_the_return_from_memorised_data_is_no_event():
    assert [e[1] for e in found(memorised(0.8), starts=(0, 300))] == [549]
    assert found(memorised(0.8), **RESUMED) == []


def test_a_rise_past_the_level_of_before_is_one():
    assert [e[1] for e in found(memorised(0.8, back=1.15), **RESUMED)] == [550]
    assert found(memorised(0.8, back=1.03), **RESUMED) == []


@pytest.mark.parametrize(("until", "is_event"), [(610, False), (620, True)])
def test_a_return_is_near_the_end_of_what_was_repeated(until, is_event):
    assert bool(found(memorised(0.8, until=until), **RESUMED)) is is_event


def test_a_return_may_begin_in_the_last_row_of_the_stretch():
    values = 2.0 * np.exp(np.where(np.arange(800) % 2 == 0, 0.001, -0.001))
    for until, events in ((614, 0), (615, 1)):
        low = values.copy()
        low[300:until] *= 0.5
        assert len(found(low, **RESUMED)) == events


def test_where_nothing_is_repeated_there_is_no_return():
    values = flat(800)
    values[300:350] *= 0.8
    assert len(found(values, starts=(0, 300), repeats=(0, 300), window=16)) == 1
    assert found(values, starts=(0, 300), repeats=(0, 320), window=16) == []


def test_a_return_lies_within_six_noises_of_the_level_of_before():
    before = Frozen(0.0, 0.0, 0.01, 0.01, 1.0, 6.0, 0.0, 100)
    assert _forward._is_return(np.full(20, 0.06), before)
    assert not _forward._is_return(np.full(20, 0.0601), before)
    assert _forward._is_return(np.append(np.full(8, 0.06), 9.0), before), "eight rows tell"
    assert not _forward._is_return(np.array([0.0, math.nan]), before)


def test_a_non_finite_row_is_no_return():
    values = memorised(0.8)
    values[550] = math.nan
    assert [e[0] for e in found(values, **RESUMED)][:1] == ["nonfinite"]


def test_only_the_first_rise_after_a_resume_is_a_return():
    values = memorised(0.8)
    values[600:610] = 2.0 * 1.5
    assert [e[1] for e in found(values, **RESUMED)] == [600]


def test_each_attempt_is_followed_to_its_own_end():
    values = bumped((295, 5, 2.0))
    e = trace(values, starts=(0, 300)).excursions[0]
    assert (e.onset, e.outcome.recovered, e.outcome.is_cut) == (295, None, True)
    assert one(values).outcome.recovered == 300


def test_an_adversary_has_no_level():
    values = bumped((300, 300, 1.22), sd=0.05)
    assert [e[0] for e in found(values)] == ["level"]
    assert found(values, has_levels=False) == []


# ── what is frozen ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_frozen_baseline_is_that_of_the_accepted_rows():
    e = one(bumped((350, 5, 2.0)))
    assert e.frozen.rows == 350
    assert e.frozen.level == pytest.approx(math.log(2.0), abs=0.01)
    assert e.frozen.scale == pytest.approx(0.01, rel=0.4)
    assert e.frozen.noise >= e.frozen.scale
    assert (e.frozen.unit, e.frozen.slope >= 0.0) == (1.0, True)


def test_a_falling_trend_is_not_extended_and_a_rising_one_is():
    falling, rising = 2.0 * np.exp(-0.001 * np.arange(N)), 2.0 * np.exp(0.001 * np.arange(N))
    for values, slope in ((falling, 0.0), (rising, 0.001)):
        shaken = values * np.exp(noise("gauss", N, 0.005, 3))
        shaken[350:355] *= 2
        assert one(shaken).frozen.slope == pytest.approx(slope, abs=2e-4)


def test_below_twenty_rows_the_noise_is_at_least_five_per_cent():
    e = one(first(2.0, 2.0, 2.0, 8.0, 8.0, 2.0))
    assert (e.frozen.rows, e.frozen.scale, e.frozen.slope) == (3, 0.05, 0.0)
    assert e.frozen.level == pytest.approx(math.log(2.0))


def test_before_anything_finite_there_is_no_level():
    e = one(first(math.nan, math.nan))
    assert math.isnan(e.frozen.level)
    assert e.frozen.rows == 0


def test_nothing_finite_at_all():
    e = one(np.full(40, math.nan))
    assert (e.onset, e.outcome.width, e.outcome.recovered) == (0, 40, None)


def test_no_points_at_all():
    assert found(np.array([])) == []
