"""Spellings of numbers, one by one and as columns."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.readers._cells import number, numbers
from triage.readers._times import looks_like_time, seconds

NAN = float("nan")
INF = float("inf")


def same(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return left == right or (math.isnan(left) and math.isnan(right))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nan", NAN),
        ("NaN", NAN),
        ("-nan", NAN),
        ("nan(ind)", NAN),
        ("-1.#IND", NAN),
        ("inf", INF),
        ("Infinity", INF),
        ("-Infinity", -INF),
        ("1.#INF", INF),
        ("1e-3", 0.001),
        ("1,234.5", 1234.5),
        ("12,345,678", 12_345_678),
        ("None", None),
        ("null", None),
        ("-", None),
        ("", None),
        ("   ", None),
        ("n/a", None),
        (" 2.5 ", 2.5),
        ('"2.5"', 2.5),
        ("tensor(2.5, device='cuda:0')", 2.5),
        ("tensor(nan, grad_fn=<NllLossBackward0>)", NAN),
        ("np.float64(2.5)", 2.5),
        ("[2.5]", 2.5),
        ("True", 1),
        ("False", 0),
        ("9007199254740993", 9007199254740993),
        ("1e999", INF),
    ],
)
def test_reads_a_cell(text: str, value: float | None) -> None:
    assert same(number(text), value)
    assert same(numbers(pl.Series([text])).values[0], value)


@pytest.mark.parametrize("text", ["x", "1_000", "0x10", "1,23", "1 2", "++1", ".", "e5", "nan1", "²", "٣"])
def test_refuses_what_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        number(text)
    read = numbers(pl.Series([text]))
    assert read.unread == 1
    assert read.values[0] is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("0,0123", 0.0123), ("1.234,5", 1234.5), ("1.234", 1234), ("0.0003", 0.0003), ("nan", NAN), ("3", 3)],
)
def test_decimal_comma(text: str, value: float) -> None:
    assert same(number(text, decimal_comma=True), value)
    assert same(numbers(pl.Series([text]), decimal_comma=True).values[0], float(value))


def test_whole_numbers_stay_exact_beside_blanks() -> None:
    read = numbers(pl.Series(["9007199254740993", "", None, " 9007199254740995 "]))
    assert read.values.dtype == pl.Int64
    assert read.values.to_list() == [9007199254740993, None, None, 9007199254740995]
    assert read.unread == 0


WORDS = st.one_of(
    st.floats().map(repr),
    st.integers(-(2**53), 2**53).map(str),
    st.sampled_from(
        ["", "-", "nan", "-inf", "None", "1,234", "1,23", "true", "x", "[1]", "1.2.3", "1.234,5", "tensor(1)"]
    ),
    st.text(alphabet="0123456789.,-+einfax ()[]", max_size=8),
)


@given(st.lists(WORDS, max_size=20), st.booleans())
def test_column_equals_cells(cells: list[str], decimal_comma: bool) -> None:
    read = numbers(pl.Series(cells, dtype=pl.String), decimal_comma=decimal_comma)
    unread = 0
    for cell, got in zip(cells, read.values.to_list(), strict=True):
        try:
            want = number(cell, decimal_comma=decimal_comma)
        except ValueError:
            unread += 1
            want = None
        assert same(got, None if want is None else float(want)), cell
    assert read.unread == unread


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1970-01-01 00:01:00", 60.0),
        ("1970-01-01T00:01:00.500Z", 60.5),
        ("1970-01-01 00:01:00,250", 60.25),
        ("1970-01-01 01:01:00+01:00", 60.0),
        ("1970/01/01 00:01", None),
        ("0:01:05", 65.0),
        ("1 day, 0:00:01", 86401.0),
        ("02:03", 123.0),
    ],
)
def test_times(text: str, value: float | None) -> None:
    assert looks_like_time(text)
    assert seconds(pl.Series([text]))[0] == value


def test_text_is_no_time() -> None:
    assert not looks_like_time("step 1:2")
    assert seconds(pl.Series(["soon"]))[0] is None
