"""What belongs together: the cluster gap, periods, echoes of other detectors, and signals that moved as well."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.events import event, lost, opened
from tests.helpers.runs import N, flat, sparse, twice
from tests.helpers.synth import grad, run
from triage.incidents import group
from triage.model import Event
from triage.options import Options
from triage.signals import SignalTable, build

PLAIN = build(run({"loss": flat(4000), "grad_norm": grad(4000)}), Options())


def together(*events: Event, signals: SignalTable = PLAIN) -> list[list[int]]:
    """Onsets of the excursions of each incident."""
    return [[e.onset for e in incident.events] for incident in group(signals, events)]


@pytest.mark.parametrize(("gap", "expected"), [(50, [[100, 152]]), (51, [[100], [153]])])
def test_fifty_logged_points_belong_together(gap, expected):
    assert together(event(100, 3), event(102 + gap)) == expected


def test_the_gap_counts_logged_points_not_rows():
    loss = sparse(4000, dict.fromkeys(range(0, 4000, 10), 2.0))
    signals = build(run({"loss": loss, "grad_norm": grad(4000)}), Options())
    assert together(event(1000), event(1500), signals=signals) == [[1000, 1500]]
    assert together(event(1000), event(1520), signals=signals) == [[1000], [1520]]


def test_a_chain_reaches_further_than_one_gap():
    assert together(event(100), event(140), event(180), event(300)) == [[100, 140, 180], [300]]


def test_a_long_event_reaches_over_a_short_one_inside_it():
    assert together(event(100, 300), event(150, 5), event(440)) == [[100, 150, 440]]
    assert together(event(100, 300), event(150, 5), event(450)) == [[100, 150], [450]]


def test_attempts_are_kept_apart():
    signals = build(twice({"loss": flat(300)}, {"loss": flat(300)}, 200), Options())
    assert together(event(295), event(305), signals=signals) == [[295], [305]]


def test_the_order_in_which_events_come_does_not_matter():
    events = [event(500), event(100), event(140)]
    assert together(*events) == together(*reversed(events)) == [[100, 140], [500]]


def test_nothing_makes_no_incident():
    assert group(PLAIN, []) == []


def test_heavy_tails_are_passed_over():
    assert together(event(100, tier="heavy-tail"), event(300)) == [[300]]


# ── periods ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def periodic(*events: Event) -> list[bool]:
    return [incident.is_periodic for incident in group(PLAIN, events)]


def test_four_at_even_distances_are_one_locked_to_a_period():
    assert periodic(*(event(at) for at in (200, 400, 600, 800))) == [True]
    assert together(*(event(at) for at in (200, 400, 600, 800))) == [[200, 400, 600, 800]]


def test_three_are_not():
    assert periodic(*(event(at) for at in (200, 400, 600))) == [False] * 3


@pytest.mark.parametrize(("late", "expected"), [(40, [True]), (60, [False] * 4)])
def test_distances_may_vary_by_a_tenth(late, expected):
    onsets = np.array([200, 400, 600, 800]) + np.array([0, 0, late, late])
    gaps = np.diff(onsets)
    assert (gaps.std() <= 0.1 * gaps.mean()) == (len(expected) == 1), "the case is what it says"
    assert periodic(*(event(int(at)) for at in onsets)) == expected


def test_exactly_a_tenth_still_counts():
    gaps = [180, 220, 180, 220]
    assert np.std(gaps) == 0.1 * np.mean(gaps)
    onsets = np.cumsum([200, *gaps])
    assert periodic(*(event(int(at)) for at in onsets)) == [True]


def test_one_more_that_the_end_of_the_log_cuts_joins_the_period():
    calm = [event(at) for at in (200, 400, 600, 800)]
    assert periodic(*calm, opened(1000, 3, censored=True)) == [True]
    assert periodic(*calm, opened(1000, 3, censored=False)) == [False] * 5


def test_one_that_stays_open_on_the_way_breaks_the_period():
    assert periodic(event(200), event(400), opened(600, 3, censored=True), event(800), event(1000)) == [False] * 5


def test_four_whole_ones_are_needed_beside_the_cut_one():
    assert periodic(event(200), event(400), event(600), opened(800, 3, censored=True)) == [False] * 4


# ── echoes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def drift(onset: int, peak: int) -> Event:
    return opened(onset, 400, peak=peak, detector="drift", tier="drift")


def back(onset: int, peak: int) -> Event:
    return opened(onset, 400, peak=peak, detector="back-to-start", tier="back-to-start")


def test_what_an_open_excursion_explains_is_not_said_again():
    assert together(opened(100, 300), drift(150, 390)) == [[100]]
    assert together(opened(100, 300), drift(150, 400)) == [[100]]
    assert together(opened(100, 300), drift(150, 401)) == [[100, 150]]
    assert together(opened(100, 300), back(50, 390)) == [[100]]


def test_a_closed_excursion_explains_nothing():
    assert together(event(100, 300), drift(150, 390)) == [[100, 150]]


def test_a_return_to_the_start_says_it_better_than_a_drift():
    assert [i.events[0].detector for i in group(PLAIN, [drift(100, 300), back(120, 350)])] == ["back-to-start"]
    assert [i.events[0].detector for i in group(PLAIN, [drift(100, 300)])] == ["drift"]


def test_the_open_excursion_may_be_one_of_several():
    assert together(event(60), opened(100, 300), drift(150, 390)) == [[60, 100]]


# ── other signals ────────────────────────────────────────────────────────────────────────────────────────────────────


def other(onset: int, rows: int) -> Event:
    return lost(onset, rows, signal="grad_norm", detector="nonfinite")


@pytest.mark.parametrize(
    ("onset", "rows", "joins"),
    [
        (1000, 10, True),
        (1060, 10, True),  # the incident ends at 1010
        (1061, 10, False),
        (940, 10, True),  # ends at 950
        (939, 10, False),
    ],
)
def test_another_signal_that_moved_nearby_joins(onset, rows, joins):
    incidents = group(PLAIN, [event(1000, 10), other(onset, rows)])
    assert len(incidents) == (1 if joins else 2)
    assert [e.signal for e in incidents[0].joined] == (["grad_norm"] if joins else [])


def test_another_signal_of_another_attempt_does_not():
    c = {"loss": flat(300), "grad_norm": grad(300)}
    signals = build(twice(c, c, 200), Options())
    assert len(group(signals, [event(290, 5), other(305, 10)])) == 2


def test_on_its_own_it_is_an_incident():
    (incident,) = group(PLAIN, [other(1000, 10)])
    assert (incident.signal, incident.joined) == ("grad_norm", ())


def test_several_join_one():
    (incident,) = group(PLAIN, [event(1000, 10), other(1000, 10), other(1020, 10)])
    assert len(incident.joined) == 2


def test_each_judged_signal_has_incidents_of_its_own():
    evals = sparse(N, dict.fromkeys(range(0, N, 10), 2.0))
    signals = build(run({"eval_loss": evals, "val/b_loss": evals}), Options())
    found = group(signals, [event(100, signal="eval_loss"), event(100, signal="val/b_loss")])
    assert [i.signal for i in found] == ["eval_loss", "val/b_loss"]
