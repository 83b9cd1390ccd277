"""The path of accepted points through several attempts, and which level a new attempt takes up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from triage.detectors._attempts import LEVEL_POINTS, Path, rebuilt, takes_up

STEP = np.concatenate([np.arange(10), np.arange(6, 16)])


def path(*, skipped: tuple[int, ...] = ()) -> Path:
    """The first attempt, steps 0 to 9, taken but for some points."""
    made = Path.empty(20)
    accepted = np.ones(20, dtype=bool)
    accepted[list(skipped)] = False
    made.extend(0, 10, accepted, STEP)
    return made


def test_a_finished_attempt_is_on_the_path_as_far_as_it_was_accepted():
    made = path(skipped=(3, 4))
    assert made.count == 8
    assert made.at[: made.count].tolist() == [0, 1, 2, 5, 6, 7, 8, 9]
    assert made.step[: made.count].tolist() == [0, 1, 2, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("step", "left", "dropped"), [(6, 6, [6, 7, 8, 9]), (0, 0, list(range(10))), (10, 10, []), (9, 9, [9])]
)
def test_a_resume_drops_its_own_step_and_what_came_later(step, left, dropped):
    made = path()
    kept, gone = made.cut(step)
    assert kept.tolist() == list(range(left))
    assert gone.tolist() == dropped
    assert made.count == left


def test_only_the_baseline_that_held_there_is_left():
    made = Path.empty(20)
    made.begin_era(4)
    made.extend(0, 10, np.ones(20, dtype=bool), STEP)
    assert made.era[:10].tolist() == [0] * 4 + [1] * 6
    kept, _ = made.cut(8)
    assert kept.tolist() == [4, 5, 6, 7]
    kept, _ = made.cut(3)
    assert kept.tolist() == [0, 1, 2]


def test_eras_are_never_used_twice():
    made = Path.empty(20)
    made.begin_era(2)
    made.current = 0
    made.begin_era(5)
    assert (made.current, made.newest) == (2, 2)


def test_two_attempts_make_one_path():
    made = path()
    made.cut(6)
    made.extend(10, 20, np.ones(20, dtype=bool), STEP)
    assert made.step[: made.count].tolist() == list(range(16))
    assert made.at[: made.count].tolist() == [0, 1, 2, 3, 4, 5, *range(10, 20)]


X = np.concatenate([np.linspace(3.0, 1.0, 50), np.zeros(50)])
DROPPED = np.arange(30, 50)


@pytest.mark.parametrize(
    ("now", "ended", "expected"),
    [
        (float(np.median(X[30:38])), 1.0, True),  # where the earlier attempt was at that step
        (1.0, 1.0, False),  # where it ended
        (0.5 * (float(np.median(X[30:38])) + 1.0), 1.0, True),  # half way: the rule of the steps
        (0.49 * float(np.median(X[30:38])) + 0.51, 1.0, False),
    ],
)
def test_the_nearer_level_decides(now, ended, expected):
    assert takes_up(X, DROPPED, np.full(20, now), ended) is expected


def test_without_a_level_to_compare_the_steps_rule():
    far = np.full(20, 9.0)
    assert takes_up(X, DROPPED[:0], far, 9.0)
    assert takes_up(X, DROPPED, np.full(20, math.nan), 9.0)
    assert takes_up(X, DROPPED, far, math.nan)
    assert not takes_up(X, DROPPED, far, 9.0)


def test_only_the_first_points_tell_the_level():
    ahead = np.concatenate([np.full(LEVEL_POINTS, 1.0), np.full(50, float(np.median(X[30:38])))])
    assert not takes_up(X, DROPPED, ahead, 1.0)
    broken = np.concatenate([[math.nan], np.full(LEVEL_POINTS, 1.0)])
    assert not takes_up(X, DROPPED, broken, 1.0)


def test_the_baseline_is_rebuilt_from_what_was_said_of_its_points():
    x = np.array([1.0, 2.0, 0.5, 1.0])
    said = (np.full(4, 0.9), np.full(4, 1.0), np.full(4, 0.1))
    state = rebuilt(x, said, np.array([0, 2]), None)
    assert (state.count, state.x.tolist()) == (2, [1.0, 0.5])
    np.testing.assert_allclose(state.residual, [0.1, -0.4])
    np.testing.assert_allclose(state.excess, [0.0, -0.5])
    np.testing.assert_allclose(state.down, [0.0, 4.0])


def test_a_long_past_is_counted_but_not_kept():
    n = 3000
    state = rebuilt(np.zeros(n), (np.zeros(n), np.zeros(n), np.ones(n)), np.arange(n), None)
    assert (state.count, len(state.x)) == (n, state.keep)
