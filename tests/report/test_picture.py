"""The little picture: where the marks stand, and that every series can be drawn."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import reports
from triage.model import Diagnosis, Series
from triage.report._lines import Line, plain
from triage.report._picture import HEIGHT, Words, picture, view_of
from triage.report._width import cells

WORDS = Words("onset", "peak", "recovered", "log scale")


def drawn(series: Series, diagnosis: Diagnosis, width: int = 80) -> list[str]:
    view = view_of((series,), diagnosis)
    assert view is not None
    lines: list[Line] = picture(view, diagnosis, width, WORDS)
    return [plain(found) for found in lines]


def test_onset_peak_and_recovery_stand_over_their_steps():
    series = Series("loss", tuple(range(101)), *[tuple(9.0 if n == 50 else 2.0 for n in range(101))] * 2)
    found = reports.diagnosis(onset_step=50, peak_step=50, peak_value=9.0, recovered_step=60, end_step=50, baseline=2.0)
    lines = drawn(series, found, 200)
    axis = next(line for line in lines if "└" in line)
    start = axis.index("└") + 1
    first, last = (int(word) for word in lines[lines.index(axis) + 1].split())
    columns = len(axis) - start

    def column(step: int) -> int:
        return round((step - first) / (last - first) * (columns - 1))

    assert axis.index("▲") - start == column(50)
    assert axis.index("◆") - start == column(60)
    assert lines[1].index("●") - start == column(50)
    assert lines[1].lstrip().startswith("9")
    assert lines[0] == "loss  log scale"


def test_nonfinite_steps_are_crosses_and_break_the_line():
    values = [2.0] * 30 + [None] * 20
    series = Series("loss", tuple(range(50)), tuple(values), tuple(values), tuple(range(30, 50)))
    found = reports.diagnosis(onset_step=30, peak_step=30, peak_value=math.nan, recovered_step=None, end_step=49)
    lines = drawn(series, found)
    assert lines[1].rstrip().endswith("×" * 20)
    assert "× NaN/inf" in lines[-1]
    assert all("×" not in line for line in lines[2 : HEIGHT + 1])


def test_a_signal_with_values_at_or_below_zero_has_a_linear_scale():
    series = Series("reward", (0, 1, 2), (-1.0, 0.0, 3.0), (-1.0, 0.0, 3.0))
    found = reports.diagnosis(signal="reward", onset_step=2, peak_step=2, peak_value=3.0, baseline=-1.0)
    assert drawn(series, found)[0] == "reward"


def test_the_segment_of_the_incident_is_drawn():
    first = Series("loss", (0, 10, 20), (1.0,) * 3, (1.0,) * 3, (), 0)
    second = Series("loss", (10, 20, 30), (5.0,) * 3, (5.0,) * 3, (), 1)
    found = reports.diagnosis(segment=1, onset_step=20, peak_step=20, peak_value=5.0, recovered_step=None, baseline=5.0)
    view = view_of((first, second), found)
    assert view is not None
    assert view.low == (5.0, 5.0, 5.0)


def test_a_series_over_all_segments_is_cut_where_the_step_goes_back():
    both = Series("loss", (0, 10, 20, 10, 20, 30), (1.0,) * 3 + (5.0,) * 3, (1.0,) * 3 + (5.0,) * 3)
    found = reports.diagnosis(segment=1, onset_step=20, peak_step=20, peak_value=5.0, recovered_step=None, baseline=5.0)
    view = view_of((both,), found)
    assert view is not None
    assert view.steps == (10, 20, 30)


@pytest.mark.parametrize("steps", [(), (5,)])
def test_one_point_is_no_picture(steps):
    series = Series("loss", steps, (1.0,) * len(steps), (1.0,) * len(steps))
    assert view_of((series,), reports.diagnosis()) is None
    assert view_of((), reports.diagnosis()) is None


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(st.one_of(st.none(), finite), min_size=2, max_size=60),
    st.integers(1, 10**12),
    st.integers(0, 59),
    st.floats(),
    st.one_of(st.none(), st.floats()),
    st.integers(20, 120),
)
def test_anything_can_be_drawn_inside_its_width(values, gap, at, peak, baseline, width):
    steps = tuple(n * gap for n in range(len(values)))
    onset = steps[at % len(steps)]
    bad = tuple(step for step, value in zip(steps, values, strict=True) if value is None)
    found = reports.diagnosis(
        onset_step=onset, peak_step=onset, peak_value=peak, recovered_step=steps[-1], end_step=onset, baseline=baseline
    )
    lines = drawn(Series("loss", steps, tuple(values), tuple(values), bad), found, width)
    room = max(width, 12 + 12 + 2)
    axis = next(line for line in lines if "└" in line)
    assert all(cells(line) <= max(room, len(axis)) for line in lines[1 : HEIGHT + 1])
    assert sum(line.count("▲") for line in lines if "└" in line) == 1
