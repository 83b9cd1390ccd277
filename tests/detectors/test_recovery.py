"""Following an event: the band, how long it must hold, the deadline, and what the end of the log leaves open."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from triage.detectors._recovery import Frozen, Outcome, deadline, follow

FROZEN = Frozen(level=0.0, slope=0.0, scale=0.01, noise=0.01, unit=1.0, z_open=6.0, record=0.0, rows=500)
CALM = 0.0


def track(*parts: tuple[int, float]) -> np.ndarray:
    """Rows at these levels: (how many, level)."""
    return np.concatenate([np.full(n, level) for n, level in parts])


def outcome(x: np.ndarray, onset: int = 10, trigger: int | None = None, limit: int = 200, **frozen: float) -> Outcome:
    return follow(x, onset, onset if trigger is None else trigger, dataclasses.replace(FROZEN, **frozen), limit)


@pytest.mark.parametrize(
    ("points", "rows"), [(0, 200), (799, 200), (800, 200), (804, 201), (2000, 500), (2004, 500), (10**6, 500)]
)
def test_the_deadline_is_a_quarter_of_the_log_between_bounds(points, rows):
    assert deadline(points) == rows


# ── the band ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("level", "is_back"), [(0.0, True), (0.0099, True), (0.01, True), (0.0101, False), (0.0299, False), (-0.5, True)]
)
def test_back_is_within_one_noise_of_the_level(level, is_back):
    found = outcome(track((10, CALM), (1, 1.0), (400, level)))
    assert (found.recovered == 11) is is_back


@pytest.mark.parametrize(("level", "is_back"), [(0.0029, True), (0.0031, False)])
def test_in_a_quiet_run_within_three_per_mille(level, is_back):
    found = outcome(track((10, CALM), (1, 1.0), (400, level)), noise=0.001)
    assert (found.recovered is not None) is is_back


@pytest.mark.parametrize(("level", "is_back"), [(0.0149, True), (0.0151, False)])
def test_three_per_mille_are_of_a_unit(level, is_back):
    found = outcome(track((10, CALM), (1, 1.0), (400, level)), unit=5.0, noise=0.001)
    assert (found.recovered is not None) is is_back


def test_a_row_just_out_of_band_counts_to_the_event():
    assert outcome(track((10, CALM), (1, 1.0), (1, 0.03), (400, CALM))).width == 2
    assert outcome(track((10, CALM), (1, 1.0), (1, 0.0299), (400, CALM))).width == 1


def test_a_rising_level_is_extended_by_sixteen_rows_and_no_further():
    slope = 0.008
    line = slope * np.minimum(np.arange(400), 16)
    assert outcome(np.concatenate([track((10, CALM), (1, 1.0)), line[1:]]), slope=slope).recovered == 25
    assert outcome(np.concatenate([track((10, CALM), (1, 1.0)), line[1:]]), slope=0.0).recovered is None
    straight = slope * np.arange(400.0)
    assert outcome(np.concatenate([track((10, CALM), (40, 1.0)), straight[41:]]), slope=slope).recovered is None


def test_the_excess_is_counted_from_the_extended_level():
    found = outcome(track((10, CALM), (3, 0.5), (1, 1.0), (200, CALM)), slope=0.01)
    assert found.excess == pytest.approx(1.0 - 0.03)
    assert found.z == pytest.approx(97.0)


# ── the confirmation ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("width", "rows"), [(1, 5), (2, 6), (10, 30), (21, 63), (22, 64), (100, 64)])
def test_it_must_hold_for_three_times_the_width(width, rows):
    above = track((10, CALM), (width, 1.0), (rows // 2, 0.0), (rows - rows // 2, 0.021), (400, 0.021))
    enough = track((10, CALM), (width, 1.0), (rows // 2 + 1, 0.0), (rows - rows // 2 - 1, 0.021), (400, 0.021))
    assert outcome(enough).recovered == 10 + width
    assert outcome(above).recovered is None


def test_rows_just_out_of_band_make_it_longer():
    x = track((10, CALM), (1, 1.0), (5, 0.03), (8, CALM), (400, 0.021))
    assert outcome(x).recovered is None, "six rows out ask for eighteen in band"
    inside = track((10, CALM), (1, 1.0), (5, 0.0299), (8, CALM), (400, 0.021))
    assert outcome(inside).recovered is not None


def test_a_new_excursion_among_the_rows_is_no_recovery_yet():
    again = track((10, CALM), (1, 1.0), (2, CALM), (1, 0.2), (400, CALM))
    found = outcome(again)
    assert (found.recovered, found.width, found.groups) == (14, 2, 1)
    small = track((10, CALM), (1, 1.0), (2, CALM), (1, 0.099), (400, CALM))
    assert outcome(small).recovered == 11
    quiet = track((10, CALM), (1, 1.0), (2, CALM), (1, 0.2), (400, CALM))
    assert outcome(quiet, z_open=21.0).recovered == 11
    assert outcome(quiet, z_open=20.0).recovered == 14


def test_a_new_excursion_of_exactly_ten_per_cent_reopens():
    assert outcome(track((10, CALM), (1, 1.0), (2, CALM), (1, 0.10), (400, CALM))).recovered == 14


def test_a_non_finite_row_is_no_recovery():
    broken = track((10, CALM), (1, 1.0), (2, CALM), (1, math.nan), (400, CALM))
    assert outcome(broken).recovered == 14
    assert outcome(broken).nonfinite == 1


def test_the_event_is_not_over_before_its_trigger():
    x = track((10, CALM), (1, 0.04), (6, CALM), (1, 0.5), (400, CALM))
    assert outcome(x, onset=10, trigger=17).recovered == 18
    assert outcome(x, onset=10, trigger=10).recovered == 11
    assert outcome(track((10, CALM), (1, 0.04), (400, CALM)), onset=10, trigger=17).recovered == 18


# ── the end of the log ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rows", "recovered", "needed"), [(5, 11, 0), (4, 11, 1), (3, 11, 2), (2, None, 198), (0, None, 200)]
)
def test_three_rows_in_band_are_enough_at_the_end(rows, recovered, needed):
    found = outcome(track((10, CALM), (1, 1.0), (rows, CALM)))
    assert found.recovered == recovered
    assert found.is_cut is (rows < 5)
    if recovered is not None:
        assert found.needed == needed
    else:
        assert found.needed == 10 + 200 - (11 + rows)


@pytest.mark.parametrize(
    ("height", "level", "is_back"),
    [
        (0.05, 0.0, True),  # a low peak: the median must lie in the band by its own error
        (0.05, 0.004, False),
        (0.0999, 0.004, False),
        (0.1001, 0.004, True),  # ... not so where the band is narrow beside the peak
        (0.1001, 0.0101, False),
    ],
)
def test_at_the_end_a_plateau_just_above_the_band_is_not_taken_for_a_recovery(height, level, is_back):
    found = outcome(track((10, CALM), (2, height), (3, level)))
    assert (found.recovered is not None) is is_back


def test_a_band_of_exactly_a_tenth_is_narrow():
    rough = {"noise": 0.125, "scale": 0.125}
    assert outcome(track((10, CALM), (2, 1.25), (3, 0.06)), **rough).recovered == 12
    assert outcome(track((10, CALM), (2, 1.2), (3, 0.06)), **rough).recovered is None


def test_a_whole_confirmation_needs_no_such_margin():
    assert outcome(track((10, CALM), (1, 0.05), (5, 0.0099))).recovered == 11


def test_an_open_event_at_the_end_says_how_many_rows_are_missing():
    found = outcome(track((10, CALM), (5, 1.0), (1, 1.1), (20, 1.0)), limit=200)
    assert (found.recovered, found.is_cut, found.peak, found.needed) == (None, True, 15, 15 + 200 - 36)
    assert (found.end, found.resume) == (36, 36)


def test_at_least_one_row_is_missing():
    assert outcome(track((10, CALM), (1, 1.0), (199, 0.5)), limit=200).needed == 1


# ── the deadline ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("rows", "recovered"), [(200, 210), (201, None)])
def test_an_event_must_be_back_by_its_deadline(rows, recovered):
    found = outcome(track((10, CALM), (1, 1.0), (rows - 1, 0.5), (600, CALM)), limit=200)
    assert found.recovered == recovered
    assert not found.is_cut
    assert found.needed == 0
    if recovered is None:
        assert found.resume == 211


def test_a_deadline_that_passes_with_the_last_row_is_no_cut():
    found = outcome(track((10, CALM), (1, 1.0), (200, 0.5)), limit=200)
    assert (found.recovered, found.is_cut, found.needed, found.resume) == (None, False, 0, 211)


def test_the_deadline_counts_from_the_peak():
    x = track((10, CALM), (100, 0.5), (1, 1.0), (150, 0.5), (600, CALM))
    found = outcome(x, limit=200)
    assert (found.peak, found.recovered) == (110, 261)


def test_the_deadline_does_not_cut_a_non_finite_stretch():
    x = track((10, CALM), (300, math.nan), (600, CALM))
    found = outcome(x, limit=200)
    assert (found.resume, found.nonfinite, found.recovered) == (310, 300, None)


def test_non_finite_rows_that_end_in_time_recover():
    found = outcome(track((10, CALM), (3, math.nan), (600, CALM)))
    assert (found.recovered, found.peak, found.width, found.nonfinite) == (13, 10, 3, 3)
    assert math.isinf(found.z)
    assert math.isinf(found.excess)


def test_non_finite_outranks_finite_and_the_first_of_them_is_the_peak():
    found = outcome(track((10, CALM), (1, 9.0), (1, math.nan), (1, math.nan), (600, CALM)))
    assert found.peak == 11


def test_of_equal_rows_the_first_is_the_peak():
    assert outcome(track((10, CALM), (3, 1.0), (600, CALM))).peak == 10


# ── nothing came before ──────────────────────────────────────────────────────────────────────────────────────────────


def test_without_a_level_only_non_finite_rows_are_out():
    unknown = {"level": math.nan}
    found = outcome(track((1, math.nan), (100, 5.0)), onset=0, **unknown)
    assert (found.recovered, found.width) == (1, 1)
    never = outcome(track((50, math.nan)), onset=0, **unknown)
    assert (never.recovered, never.is_cut, never.width, never.nonfinite) == (None, True, 50, 50)
    again = outcome(track((1, math.nan), (2, 5.0), (1, math.nan), (100, 5.0)), onset=0, **unknown)
    assert (again.recovered, again.nonfinite) == (4, 2)


# ── the sum ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("gap", "groups"), [(1, 1), (2, 1), (3, 2)])
def test_excursions_within_an_event_are_told_apart_by_three_rows(gap, groups):
    x = track((10, CALM), (20, 1.0), (gap, CALM), (20, 1.0), (600, CALM))
    found = outcome(x)
    assert (found.groups, found.width, found.end) == (groups, 40, 50 + gap)


def test_a_long_event_is_followed_past_the_first_rows():
    x = track((10, CALM), (150, 1.0), (600, CALM))
    assert outcome(x, limit=500).width == 150


def test_the_walk_goes_on_behind_what_was_seen():
    assert outcome(track((10, CALM), (1, 1.0), (600, CALM))).resume == 11
    assert outcome(track((10, CALM), (5, 1.0), (600, CALM))).resume == 15


def test_an_event_without_a_row_out_of_band_still_has_a_width_of_one():
    found = outcome(track((10, CALM), (600, 0.029)), onset=10, trigger=10)
    assert (found.width, found.end) == (1, 211)
