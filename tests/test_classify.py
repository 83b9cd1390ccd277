"""From events to classes: every row of the table, what is reported beside it, and attempts that were overtaken."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.helpers.events import event, lost, opened
from tests.helpers.runs import AT, N, flat, healthy, lift, only, put, spike, twice
from tests.helpers.synth import grad, run
from triage.classify import TABLE, Facts, classify, decide, worst_class
from triage.detectors import detect
from triage.model import Diagnosis, Event, RunTable
from triage.options import Options
from triage.signals import SignalTable, build

CALM = Facts(
    never_finite=False,
    first_nonfinite_point=None,
    blew_up_before=False,
    at_first_update=False,
    begins_at_start=True,
    is_open=False,
    points=1,
    excursions=1,
    is_periodic=False,
)


def judged(made: RunTable) -> tuple[Diagnosis, ...]:
    signals = build(made, Options())
    return classify(signals, detect(signals, Options()))


def only_one(made: RunTable) -> Diagnosis:
    (d,) = judged(made)
    return d


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("change", "row", "event_class", "status"),
    [
        (
            {"never_finite": True, "is_open": True, "first_nonfinite_point": 0},
            "never-finite",
            "first-step-nan",
            "unresolved",
        ),
        ({"first_nonfinite_point": 0, "is_open": True}, "nonfinite-from-the-start", "first-step-nan", "unresolved"),
        ({"first_nonfinite_point": 1, "is_open": True}, "nonfinite-from-the-start", "first-step-nan", "unresolved"),
        ({"first_nonfinite_point": 2, "is_open": True}, "not-recovered", "non-recovering", "unresolved"),
        (
            {"first_nonfinite_point": 1, "is_open": True, "blew_up_before": True},
            "not-recovered",
            "non-recovering",
            "unresolved",
        ),
        (
            {"first_nonfinite_point": 1, "is_open": True, "begins_at_start": False},
            "not-recovered",
            "non-recovering",
            "unresolved",
        ),
        (
            {"first_nonfinite_point": 0, "is_open": True, "begins_at_start": False},
            "nonfinite-from-the-start",
            "first-step-nan",
            "unresolved",
        ),
        (
            {"first_nonfinite_point": 8, "is_open": True, "at_first_update": True},
            "nonfinite-from-the-start",
            "first-step-nan",
            "unresolved",
        ),
        ({"first_nonfinite_point": 8, "at_first_update": True}, "one-short-excursion", "single-step", "recovered"),
        ({"first_nonfinite_point": 0}, "one-short-excursion", "single-step", "recovered"),
        ({"is_open": True}, "not-recovered", "non-recovering", "unresolved"),
        ({"is_open": True, "is_periodic": True}, "not-recovered", "non-recovering", "unresolved"),
        ({"is_periodic": True, "excursions": 5}, "locked-to-a-period", "consecutive", "recovered"),
        ({"excursions": 2, "points": 2}, "several-excursions", "consecutive", "recovered"),
        ({"points": 4}, "longer-than-three-points", "consecutive", "recovered"),
        ({"points": 3}, "one-short-excursion", "single-step", "recovered"),
        ({}, "one-short-excursion", "single-step", "recovered"),
    ],
)
def test_every_row_of_the_table(change, row, event_class, status):
    decided = decide(replace(CALM, **change))
    assert (decided.id, decided.event_class, decided.status) == (row, event_class, status)


def test_every_row_can_decide():
    assert [row.id for row in TABLE] == [
        "never-finite",
        "nonfinite-from-the-start",
        "not-recovered",
        "locked-to-a-period",
        "several-excursions",
        "longer-than-three-points",
        "one-short-excursion",
    ]


@pytest.mark.parametrize(
    ("classes", "worst"),
    [
        ([], None),
        (["single-step"], "single-step"),
        (["consecutive", "single-step"], "consecutive"),
        (["non-recovering", "consecutive"], "non-recovering"),
        (["non-recovering", "first-step-nan", "single-step"], "first-step-nan"),
    ],
)
def test_the_worst_class_of_a_run(classes, worst):
    d = only_one(run(spike({"loss": flat()})))
    assert worst_class([replace(d, event_class=name) for name in classes]) == worst


# ── whole runs ───────────────────────────────────────────────────────────────────────────────────────────────────────


def told(made: RunTable) -> list[tuple[str, str, bool]]:
    return [(d.event_class, d.status, d.censored) for d in judged(made)]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (run({"loss": flat()}), []),
        (run(spike({"loss": flat()})), [("single-step", "recovered", False)]),
        (run(spike({"loss": flat()}, width=3)), [("single-step", "recovered", False)]),
        (run(spike({"loss": flat()}, width=4)), [("consecutive", "recovered", False)]),
        (run(spike(spike({"loss": flat()}), AT + 40)), [("consecutive", "recovered", False)]),
        (run(spike(spike({"loss": flat()}), AT + 60)), [("single-step", "recovered", False)] * 2),
        (run(lift({"loss": flat(900)})), [("non-recovering", "unresolved", False)]),
        (run(lift({"loss": flat(300)})), [("non-recovering", "unresolved", True)]),
        (run(put({"loss": flat()}, "loss", AT, np.nan)), [("single-step", "recovered", False)]),
        (run(put({"loss": flat()}, "loss", slice(AT, AT + 3), np.nan)), [("single-step", "recovered", False)]),
        (run(put({"loss": flat()}, "loss", slice(AT, AT + 4), np.nan)), [("consecutive", "recovered", False)]),
        (run(put({"loss": flat()}, "loss", slice(AT, N), np.inf)), [("non-recovering", "unresolved", False)]),
        (run({"loss": np.full(40, np.nan)}), [("first-step-nan", "unresolved", False)]),
        (run(put({"loss": flat(40)}, "loss", slice(1, 40), np.nan)), [("first-step-nan", "unresolved", False)]),
        (run(put({"loss": flat(40)}, "loss", slice(2, 40), np.nan)), [("non-recovering", "unresolved", False)]),
        (run(put({"loss": flat(40)}, "loss", slice(0, 1), np.nan)), [("single-step", "recovered", False)]),
    ],
)
def test_class_status_and_what_the_end_cuts(made, expected):
    assert told(made) == expected


def test_nan_first_and_then_a_healthy_run_has_low_confidence():
    d = only_one(run(put({"loss": flat()}, "loss", 0, np.nan)))
    assert (d.event_class, d.confidence, d.last_healthy_step) == ("single-step", "low", None)


def test_a_blow_up_before_the_nan_is_no_first_step_nan():
    loss = np.concatenate([[2.0, 50.0], np.full(38, np.nan)])
    assert only_one(run({"loss": loss})).event_class == "non-recovering"


def test_a_loss_that_blows_up_with_the_gradient_is_no_first_step_nan():
    loss = np.concatenate([[2.0, 50.0], np.full(38, np.nan)])
    norm = np.concatenate([[0.2, np.inf], np.full(38, np.nan)])
    assert only_one(run({"loss": loss, "grad_norm": norm})).event_class == "non-recovering"


@pytest.mark.parametrize(
    ("first", "interval", "event_class"),
    [
        (0, 1, "first-step-nan"),
        (2, 1, "first-step-nan"),
        (3, 1, "non-recovering"),  # an excerpt: what came before was finite
        (10, 10, "first-step-nan"),
        (20, 10, "first-step-nan"),
        (21, 10, "non-recovering"),
    ],
)
def test_a_log_that_begins_later_is_an_excerpt(first, interval, event_class):
    loss = put({"l": flat(40)}, "l", slice(1, 40), np.nan)["l"]
    assert only_one(run({"loss": loss}, step=first + interval * np.arange(40))).event_class == event_class


def test_the_first_non_finite_value_of_a_run_that_never_had_another():
    d = only_one(run({"loss": np.full(40, np.nan)}))
    assert d.first_nonfinite is not None
    assert (d.first_nonfinite.step, d.last_healthy_step, d.onset_range) == (0, None, (None, 0))


def test_a_single_gradient_that_was_skipped_is_no_run_that_was_never_finite():
    (d,) = judged(run({"grad_norm": np.array([np.nan]), "is_skipped": np.array([1.0])}))
    assert (d.event_class, d.status) == ("single-step", "recovered")


def test_a_gradient_that_was_never_finite_is_no_loss_that_was_never_finite():
    d = only_one(run({"loss": flat(300), "grad_norm": put({"g": grad(300)}, "g", slice(200, 300), np.nan)["g"]}))
    assert (d.signal, d.event_class, d.status) == ("grad_norm", "non-recovering", "unresolved")


@pytest.mark.parametrize(("rows", "censored"), [(1, True), (2, True), (3, False)])
def test_one_or_two_non_finite_points_at_the_end_leave_it_open(rows, censored):
    d = only_one(run(put({"loss": flat()}, "loss", slice(N - rows, N), np.nan)))
    assert (d.event_class, d.censored) == ("non-recovering", censored)
    assert (d.confidence == "low") is censored


# ── what is reported beside the class ────────────────────────────────────────────────────────────────────────────────


def test_the_numbers_of_one_spike():
    d = only_one(run(spike(spike({"loss": flat()}, width=2), AT + 1, 1, 2.0)))
    assert (d.onset_step, d.peak_step, d.recovered_step, d.end_step) == (AT, AT + 1, AT + 2, AT + 1)
    assert (d.last_healthy_step, d.onset_range) == (AT - 1, (AT - 1, AT))
    assert (d.n_points, d.n_excursions, d.segment, d.signal) == (2, 1, 0, "loss")
    assert d.peak_value == pytest.approx(12.0, rel=0.05)
    assert d.baseline == pytest.approx(2.0, rel=0.02)
    assert (d.row_onset, d.row_healthy, d.row_peak, d.row_end) == (AT, AT - 1, AT + 1, AT + 2)
    assert d.first_nonfinite is None


def test_an_unresolved_incident_did_not_recover():
    assert only_one(run(lift({"loss": flat(900)}))).recovered_step is None


def test_the_last_healthy_step_lies_before_the_precursor():
    c = spike(spike(healthy(), width=20), AT - 6, 26, 20, "grad_norm")
    d = only_one(run(c))
    assert (d.onset_step, d.last_healthy_step, d.onset_range) == (AT, AT - 7, (AT - 1, AT))


def test_the_largest_excursion_is_the_peak_and_non_finite_outranks_it():
    two = spike(spike({"loss": flat()}, by=2), AT + 20, 1, 5)
    assert only_one(run(two)).peak_step == AT + 20
    nan = put(two, "loss", AT + 10, np.nan)
    d = only_one(run(nan))
    assert (d.peak_step, d.n_excursions) == (AT + 10, 3)


def test_a_gradient_that_was_lost_first_is_the_onset():
    c = only(healthy(), "loss", "grad_norm")
    c = put(put(c, "loss", slice(AT, N), np.nan), "grad_norm", slice(AT - 3, N), np.inf)
    d = only_one(run(c))
    assert (d.onset_step, d.last_healthy_step) == (AT - 3, AT - 4)
    assert d.first_nonfinite is not None
    assert (d.first_nonfinite.signal, d.first_nonfinite.step) == ("grad_norm", AT - 3)


def test_in_one_row_the_loss_is_named_before_the_gradient():
    c = only(healthy(), "loss", "grad_norm")
    d = only_one(run(put(put(c, "loss", slice(AT, N), np.nan), "grad_norm", slice(AT, N), np.nan)))
    assert d.first_nonfinite is not None
    assert (d.first_nonfinite.signal, d.first_nonfinite.step) == ("loss", AT)


def test_a_single_step_keeps_its_own_onset_whatever_the_gradient_did():
    c = put(put(only(healthy(), "loss", "grad_norm"), "loss", AT, np.nan), "grad_norm", slice(AT - 2, AT + 1), np.inf)
    d = only_one(run(c))
    assert (d.event_class, d.onset_step) == ("single-step", AT)


def test_a_gradient_that_was_lost_in_an_earlier_attempt_is_no_onset():
    first = put(only(healthy(300), "loss", "grad_norm"), "grad_norm", slice(290, 300), np.inf)
    second = put(only(healthy(300), "loss", "grad_norm"), "loss", slice(100, 300), np.nan)
    ds = judged(twice(first, put(second, "grad_norm", slice(100, 300), np.nan), 200))
    assert [(d.segment, d.onset_step) for d in ds if d.segment == 1] == [(1, 300)]


@pytest.mark.parametrize(
    ("shape", "is_abrupt"),
    [
        ([1.0], True),
        ([0.2, 0.2, 1.0], True),
        ([0.2, 0.2, 0.2, 1.0], False),
        (list(np.linspace(0.1, 1.0, 20)), False),
    ],
)
def test_abrupt_is_half_of_the_way_within_three_points(shape, is_abrupt):
    c = {"loss": flat(sd=0.002)}
    c["loss"][AT : AT + len(shape)] *= np.exp(shape)
    d = only_one(run(c))
    assert d.onset_step == AT
    assert d.onset_abrupt is is_abrupt


@pytest.mark.parametrize(("run_up", "is_abrupt"), [([1.5] * 4, False), ([2.1], True), ([], True)])
def test_on_the_way_to_nan_abrupt_is_doubled_within_three_points(run_up, is_abrupt):
    c = {"loss": flat(sd=0.002)}
    c["loss"][AT : AT + len(run_up)] *= run_up
    d = only_one(run(put(c, "loss", slice(AT + len(run_up), N), np.nan)))
    assert (d.onset_step, d.onset_abrupt) == (AT, is_abrupt)


def test_a_drift_is_never_abrupt():
    n = 1000
    loss = flat(n) * np.exp(np.where(np.arange(n) > 300, 0.15 * (np.arange(n) - 300) / 700, 0))
    assert only_one(run({"loss": loss})).onset_abrupt is False


@pytest.mark.parametrize(
    ("level", "peak", "near", "is_abrupt"),
    [
        (2.0, 8.0, 3.9, False),  # half way in nats is 4
        (2.0, 8.0, 4.0, True),
        (4.0, 1.0, 2.1, False),  # down as well
        (4.0, 1.0, 2.0, True),
        (-1.0, 3.0, 0.9, False),  # otherwise half of the difference
        (-1.0, 3.0, 1.0, True),
        (0.0, 4.0, 1.9, False),
        (0.0, 4.0, 2.0, True),
        (2.0, 0.0, 1.1, False),
        (2.0, 0.0, 1.0, True),
        (2.0, 2.0, 1.5, False),
        (2.0, math.nan, 3.9, False),  # on the way to NaN: twice
        (2.0, math.nan, 4.0, True),
        (0.0, math.nan, 1.0, False),
        (-1.0, math.nan, 1.0, False),
        (None, math.nan, 1.0, False),
    ],
)
def test_how_far_is_half_way(level, peak, near, is_abrupt):
    signals = build(run({"loss": put({"l": flat(100)}, "l", slice(50, 60), near)["l"]}), Options())
    d = of(event(50, 10, level=level, peak_value=peak), signals=signals)
    assert d.onset_abrupt is is_abrupt


def test_abrupt_downward_where_down_is_bad():
    signals = build(run(spike({"reward": flat()}, by=0.2, name="reward")), Options(signal="reward", direction="down"))
    (d,) = classify(signals, detect(signals, Options()))
    assert d.onset_abrupt is True


def test_the_wall_clock_comes_along_where_it_is_logged():
    table = run(spike({"loss": flat()}))
    assert only_one(table).onset_time is None
    timed = replace(table, frame=table.frame.with_columns(time=table.frame["row"] * 2.5))
    assert only_one(timed).onset_time == AT * 2.5


# ── from events made by hand ─────────────────────────────────────────────────────────────────────────────────────────

SIGNALS = build(run({"loss": flat(2000), "grad_norm": grad(2000, sd=0.02)}), Options())


def of(*events: Event, signals: SignalTable = SIGNALS) -> Diagnosis:
    (d,) = classify(signals, events)
    return d


def evidence(d: Diagnosis) -> dict[str, float | None]:
    return {e.id: e.observed for e in d.evidence}


def test_evidence_of_a_recovery():
    d = of(event(1000, 2, peak=1001), event(1030, 3, recovered=1040, peak=1031))
    assert evidence(d) == {"out-of-band-points": 5.0, "excursions": 2.0, "recovered-within": 39.0}
    assert evidence(of(event(1000))) == {"out-of-band-points": 1.0, "recovered-within": 1.0}


def test_evidence_of_what_did_not_recover():
    assert evidence(of(opened(1000)))["not-recovered-by-deadline"] == 50.0
    assert evidence(of(opened(1000, censored=True, needed=77)))["log-ends-first"] == 77.0
    assert evidence(of(lost(1000)))["nonfinite-stays"] == 50.0
    assert "nonfinite-stays" not in evidence(of(lost(1000, 2, censored=True)))
    mixed = of(opened(1000, 10), event(1030))
    assert (mixed.status, "recovered-within" in evidence(mixed)) == ("unresolved", False)
    cut = of(*(event(at) for at in (400, 600, 800, 1000)), opened(1200, 2, censored=True, needed=9))
    assert (cut.status, evidence(cut)["log-ends-first"]) == ("recovered", 9.0)


def test_evidence_of_a_period():
    d = of(*(event(at) for at in (400, 600, 800, 1000)))
    assert d.event_class == "consecutive"
    assert evidence(d)["periodic"] == 200.0


def test_evidence_of_a_second_signal():
    loud = build(run({"loss": flat(2000), "grad_norm": spike({"g": grad(2000)}, 998, 4, 30, "g")["g"]}), Options())
    found = [e for e in of(event(1000, 3), signals=loud).evidence if e.id == "second-signal"]
    assert [(e.signal, e.step) for e in found] == [("grad_norm", 998)]
    at_onset = build(run({"loss": flat(2000), "grad_norm": spike({"g": grad(2000)}, 1000, 4, 30, "g")["g"]}), Options())
    assert "second-signal" in evidence(of(event(1000, 3), signals=at_onset))
    later = build(run({"loss": flat(2000), "grad_norm": spike({"g": grad(2000)}, 1001, 4, 30, "g")["g"]}), Options())
    assert "second-signal" not in evidence(of(event(1000, 3), signals=later))


@pytest.mark.parametrize(
    ("out", "seen"),
    [({1000: 6.0}, (1000, 1000)), ({1000: 5.99}, None), ({999: 6.0, 1000: 6.0}, (999, 1000)), ({999: 6.0}, (999, 999))],
)
def test_a_second_signal_is_shown_at_the_onset_where_it_is_out_there(out, seen):
    z = np.zeros(2000)
    z[list(out)] = list(out.values())
    d = of(event(1000, 3), signals=replace(SIGNALS, companions={"grad_norm": z}))
    found = [(e.step, e.observed) for e in d.evidence if e.id == "second-signal"]
    expected = [] if seen is None else [(seen[0], SIGNALS.columns["grad_norm"][seen[1]])]
    assert found == expected


def test_what_recovered_is_not_cut_by_the_end_of_the_log():
    assert of(event(1000, censored=True)).censored is False
    assert of(event(1000, censored=True), opened(1020)).censored is False
    assert of(opened(1000, 5, censored=True)).censored is True


@pytest.mark.parametrize(
    ("events", "confidence"),
    [
        ([event(1000, confidence="high")], "high"),
        ([event(1000, confidence="low")], "low"),
        ([event(1000, 3, confidence="low")], "low"),
        ([event(1000, 4, confidence="low")], "medium"),
        ([event(1000, confidence="low"), event(1020, confidence="low")], "medium"),
        ([event(1000, confidence="low"), event(1020, confidence="high")], "high"),
        ([event(1000, 4, confidence="high", censored=True)], "low"),
        ([event(1000, censored=True), event(1020, confidence="high")], "high"),
        ([event(1000, 4, confidence="high", censored=True, n_nonfinite=3)], "low"),
        ([opened(1000, confidence="high", censored=True)], "low"),
        ([opened(1000, confidence="high")], "high"),
    ],
)
def test_confidence(events, confidence):
    assert of(*events).confidence == confidence


def test_several_points_are_counted_together():
    d = of(event(1000, 2, n_groups=2), event(1030, 3))
    assert (d.n_points, d.n_excursions) == (5, 3)


# ── attempts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def attempts(again_from: int, again_to: int, **sick: Any) -> list[tuple[int, str]]:
    """The first attempt of 300 steps is lost from step 200 on; the second trains the steps from .. to."""
    first = {"loss": put({"l": flat(300)}, "l", slice(200, 300), np.nan)["l"]}
    second = {"loss": flat(again_to - again_from, seed=4)}
    if sick:
        second = put(second, "loss", slice(sick["at"] - again_from, again_to), np.nan)
    return [(d.segment, d.status) for d in judged(twice(first, second, again_from))]


@pytest.mark.parametrize(
    ("again_from", "again_to", "status"),
    [
        (150, 400, "superseded"),
        (200, 400, "superseded"),  # from the onset on
        (201, 400, "unresolved"),  # the onset itself was not trained again
        (150, 300, "superseded"),  # up to the last step out of band
        (150, 299, "unresolved"),
    ],
)
def test_an_incident_whose_steps_passed_in_health_later_is_superseded(again_from, again_to, status):
    assert attempts(again_from, again_to) == [(0, status)]


def test_it_is_not_if_the_later_attempt_failed_as_well():
    assert attempts(150, 400, at=350) == [(0, "unresolved"), (1, "unresolved")]


def test_a_restart_cut_it_short_and_not_the_end_of_the_log():
    first = {"loss": put({"l": flat(210)}, "l", slice(205, 210), 40.0)["l"]}
    alone = judged(run(first))[0]
    assert (alone.status, alone.censored, alone.confidence) == ("unresolved", True, "low")
    assert "log-ends-first" in evidence(alone)
    d = judged(twice(first, {"loss": flat(250, seed=4)}, 150))[0]
    assert (d.status, d.censored, d.confidence) == ("superseded", False, "medium")
    assert "log-ends-first" not in evidence(d)
    assert {"out-of-band-points", "superseded-by-later-segment"} <= evidence(d).keys()


def test_non_finite_from_the_start_to_the_end_is_sure_however_short_the_log():
    two, three = (judged(run({"loss": np.full(n, np.nan)}))[0] for n in (2, 3))
    assert {two.event_class, three.event_class} == {"first-step-nan"}
    assert (two.confidence, three.confidence) == ("low", "medium")


def test_the_proof_is_named():
    first = {"loss": put({"l": flat(300)}, "l", slice(200, 300), np.nan)["l"]}
    d = judged(twice(first, {"loss": flat(250, seed=4)}, 150))[0]
    proof = d.evidence[-1]
    assert (proof.id, proof.observed, proof.step) == ("superseded-by-later-segment", 1.0, 200)


def test_what_recovered_stays_recovered():
    first = spike({"loss": flat(300)}, 200)
    assert [d.status for d in judged(twice(first, {"loss": flat(250, seed=4)}, 150))] == ["recovered"]


def test_diagnoses_come_in_the_order_of_their_onsets():
    found = classify(SIGNALS, [event(1500), event(300), event(900)])
    assert [d.onset_step for d in found] == [300, 900, 1500]
    assert all(math.isfinite(d.peak_value) for d in found)
