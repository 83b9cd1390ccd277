"""Every row of the scenario table, judged whole; and the numbers that the table asks to be held."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from tests.helpers.scenario import Scenario
from tests.helpers.scenarios import ALL
from tests.helpers.verdicts import failures, worst
from triage.detectors._forward import walk
from triage.detectors._points import points_of
from triage.detectors.excursion import decisions
from triage.model import RunReport
from triage.options import Options
from triage.pipeline import judge
from triage.signals import SignalTable, build

DEFAULTS = Options()


@cache
def report_of(s: Scenario) -> RunReport:
    return judge(s.make(), DEFAULTS)


@cache
def signals_of(s: Scenario) -> SignalTable:
    return build(s.make(), DEFAULTS)


def row(number: int) -> Scenario:
    """The row of the table with this number; of several the first."""
    return next(s for s in ALL if s.number == number)


def notice_ids(number: int) -> set[str]:
    return {notice.id for notice in report_of(row(number)).notices}


def evidence_ids(number: int) -> set[str]:
    return {e.id for d in report_of(row(number)).diagnoses for e in d.evidence}


def test_the_table_is_complete():
    assert {s.number for s in ALL} == set(range(1, 38))


@pytest.mark.parametrize("s", ALL, ids=lambda s: f"{s.number:02}-{s.name.replace(' ', '-')}")
def test_scenario(s):
    assert failures(s, report_of(s)) == []


# ── numbers that the table asks for ──────────────────────────────────────────────────────────────────────────────────


def test_heavy_tails_open_at_most_one_joint_event():
    points = points_of(signals_of(row(2)), "loss", "up")
    tiers = [e.tier for e in walk(points.track, window=None, factor=1.0).excursions]
    assert tiers.count("joint") <= 1
    assert len(tiers) <= 15
    assert [f.id for f in report_of(row(2)).findings] == ["heavy-tailed-noise"]


def test_the_gradient_leads_the_176b_spike_by_four():
    (d,) = report_of(row(5)).diagnoses
    departed = next(point.step for point in d.timeline if point.signal == "grad_norm")
    assert abs(d.onset_step - 31216) <= 1
    assert abs(departed - 31215) <= 1
    assert d.peak_step - departed == 4
    assert d.first_mover is not None
    assert d.first_mover.signal == "grad_norm"
    assert d.recovered_step is not None
    assert d.recovered_step <= 31250


def test_the_plateau_of_three_per_cent_is_seen_as_one():
    points = points_of(signals_of(row(7)), "loss", "up")
    (excursion,) = walk(points.track, window=None, factor=1.0).excursions
    gap = float(np.median(points.track.x[1210:1274]) - np.median(points.track.x[1072:1200]))
    assert gap >= 1.5 * excursion.frozen.noise
    assert report_of(row(7)).verdict == "unresolved"


@pytest.mark.parametrize(("number", "least", "most"), [(9, 0.9, 1.1), (10, 4.0, math.inf)])
def test_update_over_lr_tells_a_schedule_from_a_lost_state(number, least, most):
    signals = signals_of(row(number))
    ratio = signals.columns["u_over_lr"]
    assert least <= ratio[1000] / np.median(ratio[900:1000]) <= most


# ── notes that are no findings ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("number", "note"),
    [(13, "isolated-overflows"), (15, "scale-search"), (16, "grad-norm-scaled")],
)
def test_a_note_says_what_is_no_fault(number, note):
    assert note in notice_ids(number)
    assert report_of(row(number)).findings == ()


@pytest.mark.parametrize("number", [1, 3, 14, 36])
def test_no_such_note_without_a_reason(number):
    assert notice_ids(number).isdisjoint({"isolated-overflows", "scale-search", "grad-norm-scaled"})


# ── what must not be said ────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_at_all_is_said_of_a_clean_run():
    report = report_of(row(1))
    assert (report.diagnoses, report.findings, report.notices) == ((), (), ())


def test_a_hidden_nan_has_not_converged():
    (d,) = report_of(row(17)).diagnoses
    assert d.last_healthy_step is None
    assert not math.isfinite(d.peak_value)


def test_a_smoothed_series_has_no_exact_onset():
    assert "looks-smoothed" in evidence_ids(31)
    assert {d.confidence for d in report_of(row(31)).diagnoses} == {"low"}


def test_no_order_is_told_below_the_logging_interval():
    (d,) = worst(report_of(row(32)))
    assert d.onset_range == (1190, 1200)
    assert d.first_mover is None or d.first_mover.lead_steps is None
    assert all(c.confidence != "likely" for c in d.causes)


def test_rounding_makes_no_infinite_z():
    signals = signals_of(row(35))
    z = [decisions(signals, at, DEFAULTS)[0].z for at in (500, 1000, 1999)]
    assert all(value is not None and abs(value) < 6 for value in z)


def test_a_plateau_of_skipped_steps_is_not_a_collapse():
    assert [f.severity for f in report_of(row(36)).findings if f.id == "loss-scale-collapse"] == ["warning"]
    assert [f.severity for f in report_of(row(14)).findings if f.id == "loss-scale-collapse"] == ["error"]
