"""Every opening rule: the numbers at which it opens, and just below which it does not."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from triage.detectors._tiers import LEVEL_SE, MEDIAN_SE, POINT_TIERS, Stretch, level_candidates, level_holds
from triage.signals.baseline import Accepted, Forecast

LN2 = math.log(2)


def row(
    z: float,
    effect: float,
    *,
    second: bool = False,
    count: int = 1000,
    record: float = 0.0,
    z_open: float = 6.0,
    widen: float = 1.0,
    highest: float = 0.0,
    unit: float = 1.0,
    is_log: bool = True,
) -> Stretch:
    """One row that stands `effect` units and `z` noises above its base of 0."""
    x = np.array([effect * unit])
    one = np.ones(1)
    expected = Forecast(
        predict=0 * one,
        base=0 * one,
        scale=x / z,
        z_open=z_open * one,
        widen=widen * one,
        record=record * one,
        unit=unit * one,
        count=count * one,
        highest=highest * one,
    )
    return Stretch(x, expected, np.array([z]), np.array([effect]), np.array([second]), is_log)


def opened(stretch: Stretch) -> str | None:
    """The first tier that opens on the row."""
    return next((tier.id for tier in POINT_TIERS if tier.opens(stretch)[0]), None)


def tiers(stretch: Stretch) -> set[str]:
    """Every tier that opens on the row."""
    return {tier.id for tier in POINT_TIERS if tier.opens(stretch)[0]}


@pytest.mark.parametrize(
    ("tier", "opens", "misses"),
    [
        ("hard", row(6.0, LN2), row(5.99, LN2)),
        ("hard", row(6.0, LN2), row(6.0, LN2 - 1e-9)),
        ("hard", row(7.0, LN2, z_open=7.0), row(7.0, LN2, z_open=7.01)),
        ("hard", row(6.0, 0.75, record=0.5), row(6.0, 0.75, record=0.501)),
        ("hard", row(6.0, LN2), row(6.0, LN2, is_log=False)),
        ("strong", row(8.0, 0.10), row(7.99, 0.10)),
        ("strong", row(8.0, 0.10), row(8.0, 0.0999)),
        ("strong", row(9.0, 0.10, z_open=9.0), row(9.0, 0.10, z_open=9.01)),
        ("strong", row(12.0, 0.10, widen=1.5), row(11.99, 0.10, widen=1.5)),
        ("strong", row(8.0, 0.15, record=0.0999), row(8.0, 0.15, record=0.1001)),
        ("joint", row(6.0, 0.02, second=True), row(6.0, 0.02)),
        ("joint", row(6.0, 0.02, second=True), row(5.99, 0.02, second=True)),
        ("joint", row(6.0, 0.02, second=True), row(6.0, 0.0199, second=True)),
        ("joint", row(6.0, 0.03, second=True, record=0.02), row(6.0, 0.03, second=True, record=0.0201)),
        ("record", row(4.0, 0.25), row(3.99, 0.25)),
        ("record", row(4.0, 0.25), row(4.0, 0.2499)),
        ("record", row(4.0, 0.25, record=0.125), row(4.0, 0.25, record=0.126)),
        ("record", row(4.0, 0.25, count=100), row(4.0, 0.25, count=99)),
        ("record", row(6.0, 0.25, widen=1.5), row(5.99, 0.25, widen=1.5)),
        ("witness", row(3.0, LN2, second=True, count=50), row(3.0, LN2, count=50)),
        ("witness", row(3.0, LN2, second=True, count=50), row(2.99, LN2, second=True, count=50)),
        ("witness", row(3.0, LN2, second=True, count=50), row(3.0, LN2 - 1e-9, second=True, count=50)),
        ("witness", row(4.5, LN2, second=True, widen=1.5), row(4.49, LN2, second=True, widen=1.5)),
        ("witness", row(3.0, 0.75, second=True, record=0.5), row(3.0, 0.75, second=True, record=0.501)),
        ("tower", row(3.0, 2 * LN2, count=99), row(3.0, 2 * LN2, count=100)),
        ("tower", row(3.0, 2 * LN2, count=99), row(3.0, 2 * LN2 - 1e-9, count=99)),
        ("tower", row(3.0, 2.0, count=99, highest=2.0 - 2 * LN2), row(3.0, 2.0, count=99, highest=2.01 - 2 * LN2)),
        ("tower", row(3.0, 2 * LN2, count=99), row(3.0, 2 * LN2, count=99, is_log=False)),
        ("tower", row(3.0, 2 * LN2, count=99), row(2.99, 2 * LN2, count=99)),
        ("record", row(4.0, 0.25), row(4.0, 0.25, is_log=False)),
    ],
)
def test_it_opens_at_its_numbers_and_not_below(tier, opens, misses):
    assert tier in tiers(opens)
    assert tier not in tiers(misses)


def test_the_strongest_tier_names_the_event():
    assert opened(row(9.0, LN2, second=True)) == "hard"
    assert opened(row(9.0, 0.2, second=True)) == "strong"
    assert opened(row(6.5, 0.05, second=True)) == "joint"
    assert opened(row(4.0, 0.3)) == "record"
    assert opened(row(3.0, 2.0, count=40)) == "tower"
    assert opened(row(3.0, 0.8, second=True, count=40)) == "witness"
    assert opened(row(5.0, 0.05)) is None


def test_every_tier_gives_its_reason():
    assert all(tier.reason for tier in POINT_TIERS)
    assert len({tier.id for tier in POINT_TIERS}) == len(POINT_TIERS)


# ── shifts of the level ──────────────────────────────────────────────────────────────────────────────────────────────


def past(n: int = 200, residual: np.ndarray | None = None) -> Accepted:
    """Accepted rows at level 0, base 0."""
    zeros = np.zeros(n)
    return Accepted(zeros, zeros if residual is None else residual, zeros, zeros, keep=1000, count=n)


def shifted(
    k: int, by: float, *, scale: float = 0.01, second: bool = False, record: float = 0.0, unit: float = 1.0
) -> Stretch:
    """`k` rows at `by` above the base of 0."""
    one = np.ones(k)
    expected = Forecast(0 * one, 0 * one, scale * one, 6 * one, one, record * one, unit * one, 500 * one, 0 * one)
    x = by * one
    return Stretch(x, expected, x / scale, x / unit, np.full(k, second), True)


def found(stretch: Stretch, state: Accepted | None = None) -> list[tuple[int, int]]:
    state = state or past()
    return [(row, k) for row, k in level_candidates(state, stretch) if level_holds(state, stretch, row, k)]


def se(k: int, times: float = 7.0) -> float:
    """So many standard errors of a median of k rows, in noises."""
    return times * 1.2533 / math.sqrt(k)


@pytest.mark.parametrize("k", [4, 8, 16])
def test_a_level_shift_is_ten_per_cent(k):
    assert (k - 1, k) in found(shifted(k, 0.10))
    assert (k - 1, k) not in found(shifted(k, 0.0999))


@pytest.mark.parametrize("k", [4, 8, 16])
def test_a_level_shift_is_seven_standard_errors(k):
    scale = 0.2
    assert (k - 1, k) in found(shifted(k, 1.001 * se(k) * scale, scale=scale))
    assert (k - 1, k) not in found(shifted(k, 0.999 * se(k) * scale, scale=scale))


@pytest.mark.parametrize("k", [4, 8, 16])
def test_exactly_as_many_are_enough(k):
    needed = LEVEL_SE * MEDIAN_SE / math.sqrt(k) * 0.2 * 1.0
    assert (k - 1, k) in found(shifted(k, needed, scale=0.2))
    assert (k - 1, k) not in found(shifted(k, math.nextafter(needed, 0), scale=0.2))


@pytest.mark.parametrize("k", [4, 8, 16])
def test_five_are_enough_beside_a_second_signal(k):
    scale = 0.2
    assert (k - 1, k) in found(shifted(k, 1.001 * se(k, 5.0) * scale, scale=scale, second=True))
    assert (k - 1, k) not in found(shifted(k, 0.999 * se(k, 5.0) * scale, scale=scale, second=True))
    assert (k - 1, k) not in found(shifted(k, 1.001 * se(k, 5.0) * scale, scale=scale))


def test_a_level_shift_is_at_least_one_noise():
    wide = dataclasses.replace(shifted(16, 0.49, scale=0.5, second=True))
    assert se(16, 5.0) > 1.0, "five errors of sixteen rows are more than one noise, so the errors decide"
    assert found(wide) == []


@pytest.mark.parametrize(("k", "factor"), [(4, 1.0), (8, math.sqrt(0.5)), (16, 0.5)])
def test_a_level_shift_beats_the_record_by_less_the_more_rows_carry_it(k, factor):
    assert (k - 1, k) in found(shifted(k, 0.401 * factor, record=0.4))
    assert (k - 1, k) not in found(shifted(k, 0.399 * factor, record=0.4))


def test_a_level_shift_is_in_units_of_effect():
    assert (3, 4) in found(shifted(4, 0.201, unit=2.0))
    assert (3, 4) not in found(shifted(4, 0.199, unit=2.0))


def test_the_widened_threshold_of_few_rows_holds():
    stretch = shifted(4, 1.2 * se(4) * 0.2, scale=0.2)
    wide = dataclasses.replace(stretch, expected=dataclasses.replace(stretch.expected, widen=1.3 * np.ones(4)))
    assert (3, 4) in found(stretch)
    assert (3, 4) not in found(wide)


def test_correlated_noise_needs_a_larger_shift():
    walk = np.cumsum(np.random.default_rng(0).standard_normal(200))
    stretch = shifted(4, 1.5 * se(4) * 0.1, scale=0.1)
    assert (3, 4) in level_candidates(past(), stretch)
    assert level_holds(past(), stretch, 3, 4)
    assert not level_holds(past(residual=walk), stretch, 3, 4)


def test_a_level_shift_counts_the_rows_before_the_stretch():
    state = past()
    state.x = np.concatenate([np.zeros(196), np.full(4, 0.5)])
    state.excess = state.x.copy()
    rest = shifted(4, 0.5)
    assert (3, 8) in found(rest, state)


def test_a_few_rows_cannot_be_a_shift():
    assert found(shifted(3, 5.0), past(0)) == []
    assert found(shifted(4, 5.0), past(0)) == [(3, 4)]
    assert level_candidates(past(3), shifted(1, 0.0)) == []
