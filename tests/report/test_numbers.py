"""Numbers as a person reads them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.report._numbers import change, duration, moment, number, size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (0.0, "0"),
        (3, "3"),
        (2.4, "2.4"),
        (9.3056, "9.306"),
        (12345.678, "12346"),
        (1234567.0, "1.23e6"),
        (0.00012345, "1.23e-4"),
        (1e300, "1e300"),
        (-0.5, "-0.5"),
        (math.nan, "NaN"),
        (math.inf, "+inf"),
        (-math.inf, "-inf"),
        (1.0, "1"),
        (10**18, "1000000000000000000"),
    ],
)
def test_number(value, text):
    assert number(value) == text


@given(st.floats(-1e300, 1e300))
def test_a_number_keeps_its_value_to_three_digits(value):
    text = number(value)
    assert text is not None
    assert len(text) <= 10
    assert math.isclose(float(text), value, rel_tol=6e-3)


@pytest.mark.parametrize(
    ("value", "baseline", "text"),
    [
        (9.31, 2.4, "×3.88"),
        (1e10, 1.0, "×1e10"),
        (0.5, -0.2, "+0.7"),
        (-3.0, -1.0, "-2"),
        (1.0, None, None),
        (math.nan, 1.0, None),
        (1.0, math.inf, None),
    ],
)
def test_change(value, baseline, text):
    assert change(value, baseline) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [(None, None), (0, "0 B"), (999, "999 B"), (45_700, "45.7 kB"), (10**9, "1 GB"), (5 * 10**15, "5000 TB")],
)
def test_size(n, text):
    assert size(n) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, None),
        (math.nan, None),
        (12.5, "12.5 s"),
        (1.7e9, "2023-11-14 22:13:20 UTC"),
        (1e30, "1e30"),
    ],
)
def test_moment(seconds, text):
    assert moment(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, None), (-1.0, None), (0.25, "0.25 s"), (59.6, "1 min"), (12_345.0, "3 h 25 min"), (90_000.0, "1 d 1 h")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text
