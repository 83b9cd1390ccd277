"""Steps and segments of one stream of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.readers._steps import Placed, fill, place


def placed(steps: list[int], *, loss=None, epoch=None, has_loss=None) -> Placed:
    step = np.array(steps, dtype=np.int64)
    held = np.ones(len(step), dtype=bool) if has_loss is None else np.array(has_loss)
    values = None if loss is None else np.array(loss, dtype=float)
    epochs = None if epoch is None else np.array(epoch, dtype=float)
    return place(step, held, values, epochs)


def ids(result: Placed) -> list[str]:
    return [notice.id for notice in result.notices]


def test_a_restart_opens_a_segment() -> None:
    result = placed([*range(40), *range(30, 70)])
    assert result.segment.tolist() == [0] * 40 + [1] * 40
    assert result.step.tolist() == [*range(40), *range(30, 70)]
    assert result.order is None
    assert ids(result) == ["new-segment"]
    assert result.notices[0].detail == {"from": 39, "to": 30}


def test_a_restart_from_the_beginning_is_no_new_epoch() -> None:
    result = placed([*range(10), *range(10)], epoch=[*([0] * 10), *([0] * 10)])
    assert result.segment.tolist() == [0] * 10 + [1] * 10


def test_a_counter_that_restarts_with_the_epoch_goes_on() -> None:
    result = placed([0, 1, 2, 3] * 3, epoch=[0] * 4 + [1] * 4 + [2] * 4)
    assert result.step.tolist() == list(range(12))
    assert result.segment.tolist() == [0] * 12
    assert ids(result) == ["steps-restart-each-epoch"]


def test_an_epoch_that_begins_again_is_a_restart() -> None:
    result = placed([0, 1, 2, 0, 1, 2, 0, 1, 2], epoch=[0, 0, 0, 1, 1, 1, 1, 1, 1])
    assert result.step.tolist() == [0, 1, 2, 3, 4, 5, 3, 4, 5]
    assert result.segment.tolist() == [0] * 6 + [1] * 3


def test_epochs_are_laid_end_to_end_at_the_logged_stride() -> None:
    result = placed([10, 20, 30, 10, 20, 30], epoch=[1, 1, 1, 2, 2, 2])
    assert result.step.tolist() == [10, 20, 30, 40, 50, 60]


def test_the_epoch_may_be_logged_in_some_rows_only() -> None:
    nan = float("nan")
    result = placed([0, 1, 2, 0, 1, 2], epoch=[0, nan, nan, nan, 1, nan])
    assert result.step.tolist() == [0, 1, 2, 3, 4, 5]


def test_evaluation_rows_that_count_their_own_batches_stay_with_their_epoch() -> None:
    result = placed([50, 100, 7, 50, 100, 7], epoch=[1, 1, 1, 2, 2, 2], has_loss=[True, True, False, True, True, False])
    assert result.segment.tolist() == [0] * 6
    assert result.step.tolist() == [50, 100, 100, 150, 200, 200]


def test_a_constant_epoch_length_tells_where_no_epoch_is_logged() -> None:
    falling = list(np.linspace(4, 2, 12))
    result = placed([0, 1, 2, 3] * 3, loss=falling)
    assert result.step.tolist() == list(range(12))
    assert ids(result) == ["steps-restart-each-epoch"]


def test_a_job_that_crashes_at_the_same_step_each_time_restarts() -> None:
    result = placed([0, 1, 2, 3] * 3, loss=[4.0, 3.0, 2.0, 1.0] * 3)
    assert result.segment.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert ids(result) == ["new-segment"]


def test_late_evaluation_rows_are_put_in_their_place() -> None:
    result = placed([10, 20, 30, 20, 40], has_loss=[True, True, True, False, True])
    assert result.segment.tolist() == [0] * 5
    assert result.order.tolist() == [0, 1, 3, 2, 4]
    assert ids(result) == ["rows-out-of-order"]


def test_swapped_neighbours_are_put_in_order() -> None:
    result = placed([0, 1, 3, 2, 4, 5])
    assert result.segment.tolist() == [0] * 6
    assert result.order.tolist() == [0, 1, 3, 2, 4, 5]


def test_one_repeated_step_is_a_restart() -> None:
    result = placed([0, 1, 2, 3, 2, 3, 4])
    assert result.segment.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_steps_beyond_float_stay_exact() -> None:
    big = 2**53 + 1
    result = placed([big, big + 2, big + 1])
    assert result.step.tolist() == [big, big + 2, big + 1]
    assert result.segment.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("steps", "loss", "want", "outside"),
    [
        ([0, None, 2, 3], [True, False, True, True], [0, 0, 2, 3], []),
        ([0, None, None, 9], [True, True, True, True], [0, 3, 6, 9], []),
        ([0, None, 1], [True, True, True], [0, 0, 1], []),
        ([None, 0, 1, None], [True, True, True, True], [0, 0, 1, 0], [0, 3]),
        ([0, None, None, None, 9], [True, True, False, True, True], [0, 3, 3, 6, 9], []),
    ],
)
def test_rows_without_a_step(steps, loss, want, outside) -> None:
    known = np.array([step is not None for step in steps])
    values = np.array([step or 0 for step in steps], dtype=np.int64)
    filled, lost, _ = fill(values, known, np.array(loss))
    assert np.flatnonzero(lost).tolist() == outside
    inside = ~lost
    assert filled[inside].tolist() == np.array(want)[inside].tolist()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.data())
def test_promises(steps: list[int], data: st.DataObject) -> None:
    has_loss = data.draw(st.lists(st.booleans(), min_size=len(steps), max_size=len(steps)))
    epoch = data.draw(st.none() | st.lists(st.integers(0, 4), min_size=len(steps), max_size=len(steps)))
    result = placed(steps, loss=[1.0] * len(steps), epoch=epoch, has_loss=has_loss)
    order = np.arange(len(steps)) if result.order is None else result.order
    assert sorted(order.tolist()) == list(range(len(steps)))
    segment, step = result.segment[order], result.step[order]
    assert (np.diff(segment) >= 0).all()
    assert (np.diff(step)[np.diff(segment) == 0] >= 0).all()


def test_training_behind_the_last_step_goes_on_and_closing_rows_do_not() -> None:
    step = np.array([0, 10, 20, 0, 0, 0, 0, 0, 0])
    known = np.array([True] * 3 + [False] * 6)
    loss = np.array([True, True, True, True, False, True, True, True, False])
    filled, lost, count = fill(step, known, loss)
    assert (filled.tolist(), lost.any(), count) == ([0, 10, 20, 30, 30, 40, 50, 60, 60], False, 6)
    loss[3] = False
    _, lost, count = fill(step, known, loss)
    assert (lost.tolist(), count) == ([False] * 3 + [True] * 6, 0)
