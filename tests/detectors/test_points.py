"""The points of one signal: witnesses nearby, repeated steps, changes of the logging interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.helpers.runs import N, flat, healthy, sparse, spike, twice
from tests.helpers.synth import grad, run
from triage.detectors._points import GAP_ROWS, Points, points_of
from triage.detectors.excursion import detect
from triage.options import Options
from triage.signals import build


def points(c: dict, **more) -> Points:
    return points_of(build(run(c, **more), Options()), "loss", "up")


def test_only_logged_points_count():
    p = points({"loss": sparse(50, {3: 2.0, 7: 3.0, 20: np.nan}), "grad_norm": grad(50)})
    assert p.rows.tolist() == [3, 7, 20]
    assert np.isnan(p.track.x).tolist() == [False, False, True]
    assert p.track.starts == (0,)
    assert p.track.step is None


def test_a_signal_without_points():
    signals = build(run({"loss": sparse(5, {}), "grad_norm": grad(5)}), Options())
    p = points_of(signals, "loss", "up")
    assert (len(p.rows), p.track.starts, p.track.repeats) == (0, (0,), (0,))


def test_a_second_signal_counts_from_eight_points_before_to_two_after():
    p = points(spike(healthy(), 200, 1, 30, "grad_norm"))
    assert np.flatnonzero(p.track.second).tolist() == list(range(198, 209))


def test_a_second_signal_counts_from_a_z_of_six_on():
    signals = build(run(healthy()), Options())
    for z, seen in ((6.0, 11), (5.99, 0)):
        departure = np.where(np.arange(N) == 200, z, 0.0)
        p = points_of(replace(signals, companions={"grad_norm": departure}), "loss", "up")
        assert p.track.second.sum() == seen


def test_at_the_edges_of_the_log_as_well():
    p = points(spike(healthy(), N - 1, 1, 30, "grad_norm"))
    assert np.flatnonzero(p.track.second).tolist() == [N - 3, N - 2, N - 1]
    early = points({**healthy(), "grad_norm": np.where(np.arange(N) == 0, np.inf, grad(N))})
    assert np.flatnonzero(early.track.second).tolist() == list(range(9))


def test_a_second_signal_between_two_points_counts_for_the_next():
    loss = sparse(N, dict.fromkeys(range(0, N, 10), 2.0))
    p = points(spike({**healthy(), "loss": loss}, 205, 1, 30, "grad_norm"))
    assert np.flatnonzero(p.track.second).tolist() == list(range(21 - 2, 21 + 9))


def test_each_attempt_begins_where_the_step_goes_back_and_where_it_goes_on():
    c = {"loss": flat(300)}
    p = points_of(build(twice(c, {"loss": flat(200)}, 250), Options()), "loss", "up")
    assert (p.track.starts, p.track.repeats) == ((0, 300), (0, 350))
    assert p.track.step is not None
    only_old = points_of(build(twice(c, {"loss": flat(30)}, 250), Options()), "loss", "up")
    assert only_old.track.repeats == (0, 330)


def interval(*parts: tuple[int, int]) -> frozenset[int]:
    """Restarts of a log with so many points at each interval."""
    gaps = np.concatenate([np.full(n, gap) for n, gap in parts])
    step = np.concatenate([[0], np.cumsum(gaps)])
    return points({"loss": flat(len(step))}, step=step).track.restarts


@pytest.mark.parametrize(
    ("parts", "restarts"),
    [
        (((20, 1), (20, 3)), {20}),
        (((20, 10), (20, 1)), {20}),
        (((20, 1), (20, 2)), set()),
        (((20, 1), (1, 50), (20, 1)), set()),  # one gap is no change of the interval
        (((20, 1), (3, 50), (20, 1)), set()),
        (((4, 1), (20, 10)), {4}),
        (((3, 1), (20, 10)), set()),  # too few to know the interval before
        (((20, 1), (3, 10)), set()),  # ... or after
        (((20, 1), (4, 10)), {20}),
        (((20, 1), (20, 10), (20, 1)), {20, 40}),
        (((20, 1), (8, 10), (20, 100)), {20}),  # within one window of the last change
        (((20, 1), (9, 10), (20, 100)), {20, 29}),
        (((7, 1), (8, 10)), set()),  # fewer than two windows of gaps
        (((8, 1), (8, 10)), {8}),
    ],
)
def test_a_lasting_change_of_the_interval_by_three(parts, restarts):
    assert interval(*parts) == frozenset(restarts)
    assert GAP_ROWS == 8


def test_the_jump_back_of_a_resume_is_no_interval():
    p = points_of(build(twice({"loss": flat(60)}, {"loss": flat(60)}, 10), Options()), "loss", "up")
    assert p.track.restarts == frozenset()


@pytest.mark.parametrize(("sensitivity", "events"), [("low", 0), ("normal", 1), ("high", 1)])
def test_sensitivity(sensitivity, events):
    options = Options(sensitivity=sensitivity)
    assert len(detect(build(run(spike({"loss": flat()}, by=1.13)), options), options)) == events
    weaker = spike({"loss": flat(sd=0.014)}, by=1.107)
    assert len(detect(build(run(weaker), options), options)) == (1 if sensitivity == "high" else 0)
