"""Steps of tags that lag, restart, count epochs or samples, or have no steps at all."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from triage.model import Notice
from triage.readers import _tfevents_axis as axis
from triage.readers._tfevents_axis import finish, place, track
from triage.readers._tfevents_proto import Scalars
from triage.readers._tfevents_rows import frames

Logged = Sequence[tuple[int, str]]


def lay_out(logged: Logged, *, cuts: Sequence[int] = ()) -> tuple[pl.DataFrame, dict[str, Notice]]:
    """The rows of values in the order of writing (step, tag); every value is its own place in that order."""
    names: list[str] = []
    run = track(names)
    found = []
    bounds = [0, *sorted(cuts), len(logged)]
    for begin, end in itertools.pairwise(bounds):
        piece = logged[begin:end]
        names += [tag for tag in dict.fromkeys(tag for _, tag in piece) if tag not in names]
        place_ = np.arange(begin, end, dtype=np.float64)
        scalars = Scalars(
            place_,
            np.array([step for step, _ in piece], dtype=np.int64),
            np.array([names.index(tag) for _, tag in piece], dtype=np.int32),
            place_,
        )
        for placed in place(run, scalars):
            found += list(frames(placed, names))
    for placed in finish(run):
        found += list(frames(placed, names))
    whole = pl.concat(found, how="diagonal") if found else pl.DataFrame()
    return whole.drop("wall_time", strict=False), {notice.id: notice for notice in run.notices()}


def test_tags_that_lag_are_put_beside_their_step() -> None:
    frame, notices = lay_out([(10, "loss"), (7, "lr"), (20, "loss"), (14, "lr"), (10, "eval/loss")])
    assert frame["step"].to_list() == [7, 10, 14, 20]
    assert frame.row(1, named=True) == {"step": 10, "loss": 0.0, "lr": None, "eval/loss": 4.0}
    assert notices["rows-out-of-order"].count == 3


def test_a_restart_is_kept_apart_from_what_was_before() -> None:
    first = [(step, tag) for step in range(40) for tag in ("loss", "lr")]
    second = [(step, tag) for step in range(30, 60) for tag in ("lr", "loss")]
    frame, notices = lay_out([*first, *second])
    assert frame["step"].to_list() == [*range(40), *range(30, 60)]
    assert frame.null_count().sum_horizontal()[0] == 0
    assert not notices


def test_a_tag_that_only_goes_on_belongs_to_the_restart_that_it_is_part_of() -> None:
    """`eval` was last logged at 20, so that 25 is no step back for it; but it stands between values that go back."""
    logged = [(20, "eval"), (38, "loss"), (39, "loss"), (25, "eval"), (25, "loss"), (26, "loss")]
    frame, _ = lay_out(logged)
    assert frame["step"].to_list() == [20, 38, 39, 25, 26]
    assert frame["eval"].to_list() == [0.0, None, None, 3.0, None]


def test_two_restarts_at_one_step_are_two() -> None:
    frame, _ = lay_out([(1, "loss"), (2, "loss"), (1, "loss"), (2, "loss"), (1, "loss")])
    assert frame["step"].to_list() == [1, 2, 1, 2, 1]


@st.composite
def runs(draw: st.DrawFn, most: int = 3) -> list[tuple[int, str]]:
    """Tags with strides of their own, interleaved at random, restarted now and then."""
    logged: list[tuple[int, str]] = []
    for begin in draw(st.lists(st.integers(1, 20), min_size=1, max_size=most)):
        waiting = {
            tag: [begin + stride * i for i in range(draw(st.integers(1, 6)))]
            for tag, stride in zip("abc", (1, 2, 5), strict=True)
        }
        while waiting:
            tag = draw(st.sampled_from(sorted(waiting)))
            logged.append((waiting[tag].pop(0), tag))
            if not waiting[tag]:
                del waiting[tag]
    return logged


@given(runs(), st.lists(st.integers(0, 40), max_size=4))
def test_no_value_is_lost_and_no_tag_is_reordered(logged: Logged, cuts: list[int]) -> None:
    frame, _ = lay_out(logged, cuts=[min(cut, len(logged)) for cut in cuts])
    for tag in {tag for _, tag in logged}:
        kept = frame.filter(pl.col(tag).is_not_null())
        assert kept[tag].to_list() == [float(i) for i, (_, other) in enumerate(logged) if other == tag]
        assert kept["step"].to_list() == [step for step, other in logged if other == tag]


@given(runs(most=1), st.lists(st.integers(0, 40), max_size=4))
def test_the_size_of_stretches_changes_nothing(logged: Logged, cuts: list[int]) -> None:
    whole, _ = lay_out(logged)
    cut, _ = lay_out(logged, cuts=[min(cut, len(logged)) for cut in cuts])
    assert_frame_equal(cut, whole)
    assert whole["step"].is_sorted()


def test_little_is_held_back_and_still_in_order() -> None:
    logged = [(step, tag) for step in range(2_000) for tag in ("loss", "lr")]
    late = [(step - 3 if tag == "lr" else step, tag) for step, tag in logged]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(axis, "HELD", 16)
        frame, notices = lay_out(late, cuts=range(50, 4_000, 50))
    assert frame["step"].to_list() == list(range(-3, 2_000))
    assert notices["rows-out-of-order"].count > 1_900


def test_values_without_steps_count_by_their_order() -> None:
    frame, notices = lay_out([(0, "loss"), (0, "lr"), (0, "loss"), (0, "lr"), (0, "loss")])
    assert "step" not in frame.columns
    assert frame.rows() == [(0.0, 1.0), (2.0, 3.0), (4.0, None)]
    assert (notices["no-global-step"].count, notices["no-global-step"].detail) == (5, {"tags": "loss, lr"})


def test_a_tag_without_steps_takes_those_of_the_others() -> None:
    frame, notices = lay_out([(0, "lr"), (1, "loss"), (0, "lr"), (2, "loss"), (0, "lr"), (3, "loss")])
    assert frame["step"].to_list() == [1, 1, 2, 3]
    assert frame["lr"].to_list() == [0.0, 2.0, 4.0, None]
    assert (notices["steps-filled-in"].count, notices["steps-filled-in"].detail) == (3, {"tags": "lr"})
    assert "no-global-step" not in notices


def test_one_value_at_step_0_has_a_step() -> None:
    frame, notices = lay_out([(0, "loss"), (0, "hp_metric")])
    assert frame.rows() == [(0, 0.0, 1.0)]
    assert not notices


def test_epochs_are_put_at_the_batch_that_came_before_them() -> None:
    """What Keras writes with update_freq=8 over two epochs of 16 batches."""
    logged = []
    for epoch in range(3):
        logged += [(16 * epoch + 8, "batch_loss"), (16 * epoch + 16, "batch_loss")]
        logged += [(16 * epoch + 16, "evaluation_loss_vs_iterations"), (epoch, "epoch_loss"), (epoch, "epoch_lr")]
    frame, notices = lay_out(logged)
    assert frame["step"].to_list() == [8, 16, 24, 32, 40, 48]
    assert frame.filter(pl.col("epoch_loss").is_not_null())["step"].to_list() == [16, 32, 48]
    assert frame["evaluation_loss_vs_iterations"].count() == 3
    assert (notices["epochs-on-batch-axis"].count, notices["epochs-on-batch-axis"].detail) == (
        6,
        {"tags": "epoch_loss, epoch_lr"},
    )


def test_epochs_without_batches_are_the_axis() -> None:
    logged = []
    for epoch in range(4):
        logged += [(epoch, "epoch_loss"), (64 * epoch, "evaluation_loss_vs_iterations")]
    frame, notices = lay_out(logged)
    assert frame["epoch"].to_list() == [0, 1, 2, 3]
    assert frame.columns == ["epoch", "epoch_loss"]
    assert notices["other-axis"].count == 4


def test_a_name_like_that_of_an_epoch_over_plain_steps_is_left_alone() -> None:
    frame, notices = lay_out([(100, "batch_size"), (100, "epoch_loss"), (200, "batch_size"), (200, "epoch_loss")])
    assert frame["step"].to_list() == [100, 200]
    assert frame["epoch_loss"].null_count() == 0
    assert not notices


def test_copies_over_samples_are_left_out_with_a_notice() -> None:
    frame, notices = lay_out([(1, "lm loss"), (256, "lm loss vs samples"), (2, "lm loss"), (512, "lm loss vs samples")])
    assert frame.columns == ["step", "lm loss"]
    assert (notices["other-axis"].count, notices["other-axis"].detail) == (2, {"tags": "lm loss vs samples"})


def test_a_notice_names_only_a_few_tags() -> None:
    _, notices = lay_out([(1, f"x{i} vs samples") for i in range(8)])
    assert notices["other-axis"].detail == {
        "tags": "x0 vs samples, x1 vs samples, x2 vs samples, x3 vs samples, x4 vs samples and 3 more"
    }
