"""Rows of one step become one row; nothing that is not finite is lost."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from triage.readers._coalesce import group_starts, merge, merge_all

NAN = float("nan")


def test_the_last_value_wins_but_not_over_a_nan() -> None:
    column = pl.Series([1.0, None, 2.0, None, None, NAN, 3.0, float("inf"), 4.0])
    merged = merge(column, np.array([0, 3, 5, 7]))
    assert merged.values.to_list()[:2] == [2.0, None]
    assert math.isnan(merged.values[2])
    assert merged.values[3] == float("inf")
    assert merged.conflicts == 3


def test_equal_values_are_no_conflict() -> None:
    merged = merge(pl.Series([1.0, 1.0, NAN, NAN]), np.array([0, 2]))
    assert merged.conflicts == 0


def test_quiet_columns_may_differ() -> None:
    frame = pl.DataFrame({"loss": [1.0, None], "time": [1.0, 2.0]})
    merged, conflicts = merge_all(frame, np.array([0]), ["time"])
    assert merged.to_dicts() == [{"loss": 1.0, "time": 2.0}]
    assert conflicts == {}


def test_groups_begin_where_a_key_changes() -> None:
    starts = group_starts(np.array([0, 0, 0, 1, 1]), np.array([3, 3, 4, 4, 4]))
    assert starts.tolist() == [0, 2, 3]


CELLS = st.one_of(st.none(), st.sampled_from([NAN, math.inf, -math.inf, 0.0]), st.floats(-5, 5))


@given(st.lists(st.tuples(st.integers(0, 3), CELLS), min_size=1, max_size=40))
def test_against_a_plain_loop(rows: list[tuple[int, float | None]]) -> None:
    rows.sort(key=lambda row: row[0])
    groups: dict[int, list[float | None]] = {}
    for key, cell in rows:
        groups.setdefault(key, []).append(cell)
    column = pl.Series([cell for _, cell in rows], dtype=pl.Float64)
    got = merge(column, group_starts(np.array([key for key, _ in rows]))).values.to_list()
    for cells, value in zip(groups.values(), got, strict=True):
        held = [cell for cell in cells if cell is not None]
        odd = [cell for cell in held if not math.isfinite(cell)]
        want = (odd or held or [None])[-1]
        assert value == want or (value is not None and want is not None and math.isnan(value) and math.isnan(want))
