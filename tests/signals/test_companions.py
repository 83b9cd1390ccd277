"""When other signals left their band, where that began, and who moved first."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.helpers.runs import AT, N, flat, healthy, only, put, sparse, spike, twice
from tests.helpers.synth import grad, run
from triage.classify import classify
from triage.detectors import detect
from triage.model import Diagnosis, RunTable, TimelinePoint
from triage.options import Options
from triage.signals import SignalTable, build
from triage.signals.companions import DEPART_Z, LONGEST, departure_of
from triage.signals.precursors import last_healthy, stretch_start
from triage.signals.timeline import first_mover, timeline

NORM = grad(600, seed=2)


def departed(values: np.ndarray) -> np.ndarray:
    """Rows out of band."""
    z = departure_of(values, np.ones(len(values), dtype=bool))
    return np.flatnonzero(z >= DEPART_Z)


def table(c: dict, **more) -> SignalTable:
    return build(run(c, **more), Options())


# ── departures ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_calm_signal_never_departs():
    assert departed(NORM).tolist() == []


def test_a_jump_departs_and_comes_back():
    values = NORM.copy()
    values[300:305] *= 20
    assert departed(values).tolist() == [300, 301, 302, 303, 304]


def test_the_baseline_does_not_learn_from_what_departed():
    values = NORM.copy()
    values[300 : 300 + LONGEST - 1] *= 20
    assert len(departed(values)) == LONGEST - 1


def test_after_two_hundred_rows_the_new_level_is_normal():
    values = NORM.copy()
    values[200:] *= 20
    assert departed(values).tolist() == list(range(200, 200 + LONGEST))


def test_non_finite_values_depart_without_end_and_without_a_baseline():
    values = NORM.copy()
    values[[3, 300]] = [np.nan, np.inf]
    z = departure_of(values, np.ones(600, dtype=bool))
    assert np.flatnonzero(np.isinf(z)).tolist() == [3, 300]


def test_no_z_where_nothing_is_logged_or_known():
    logged = np.ones(600, dtype=bool)
    logged[100:150] = False
    z = departure_of(NORM, logged)
    assert np.isnan(z[:20]).all()
    assert np.isnan(z[100:150]).all()
    assert np.isfinite(z[20:100]).all()
    assert np.isfinite(z[150:]).all()


def test_only_companions_are_watched_and_only_with_two_values():
    signals = table({**healthy(), "val/metric": flat(), "max_attn_logit": sparse(N, {5: 1.0})})
    assert set(signals.companions) == {"grad_norm", "update_ratio", "u_over_lr"}


# ── precursors ───────────────────────────────────────────────────────────────────────────────────────────────────────


def start_of(out: list[int], onset: int = 100, n: int = 400, **change: np.ndarray) -> int:
    """Where the stretch up to the onset begins, for a companion that is out in these rows."""
    signals = table({"loss": flat(n)}, **change)
    z = np.zeros(n)
    z[out] = DEPART_Z
    return stretch_start(signals, z, onset)


@pytest.mark.parametrize(
    ("out", "start"),
    [
        ([], 100),
        ([99], 99),
        ([98], 98),  # one row in band is bridged
        ([97], 97),  # two as well
        ([96], 100),  # three are not
        ([97, 94], 94),
        ([99, 95], 99),
        ([100, 101], 100),
        (list(range(90, 100)), 90),
    ],
)
def test_the_stretch_bridges_two_rows_in_band(out, start):
    assert start_of(out) == start


def test_a_z_just_below_the_threshold_does_not_count():
    signals = table({"loss": flat()})
    z = np.zeros(N)
    z[99] = np.nextafter(DEPART_Z, 0)
    assert stretch_start(signals, z, 100) == 100


def test_rows_without_the_companion_do_not_break_the_stretch():
    signals = table({"loss": flat()})
    z = np.full(N, np.nan)
    z[[80, 90, 99]] = DEPART_Z
    assert stretch_start(signals, z, 100) == 80


def test_the_stretch_reaches_two_hundred_steps_back():
    assert start_of(list(range(50, 300)), onset=300) == 100
    assert start_of(list(range(50, 300)), onset=300, step=np.arange(400) * 10) == 280


def test_the_stretch_ends_at_a_resume():
    segment = (np.arange(400) >= 95).astype(int)
    assert start_of(list(range(80, 100)), segment=segment) == 95


def test_the_stretch_may_reach_the_first_row():
    assert start_of(list(range(10)), onset=10) == 0


def test_the_last_healthy_row_lies_before_the_first_precursor():
    c = spike(healthy(), AT - 6, 6, 20, "grad_norm")
    signals = table(c)
    assert last_healthy(signals, "loss", AT - 1, AT) == AT - 7
    assert last_healthy(table(healthy()), "loss", AT - 1, AT) == AT - 1
    assert last_healthy(signals, "loss", None, AT) is None
    assert last_healthy(signals, "loss", AT - 20, AT) == AT - 20


def test_with_a_precursor_from_the_first_row_on_nothing_was_healthy():
    signals = table(put(only(healthy(), "loss", "grad_norm"), "grad_norm", slice(0, 30), np.inf))
    assert last_healthy(signals, "loss", 29, 30) is None


# ── timeline ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def told(made: RunTable) -> tuple[SignalTable, Diagnosis, tuple[TimelinePoint, ...]]:
    signals = build(made, Options())
    d = classify(signals, detect(signals, Options()))[0]
    return signals, d, timeline(signals, d)


def steps(made: RunTable) -> list[tuple[str, int]]:
    return [(p.signal, p.step) for p in told(made)[2]]


def test_the_judged_signal_stands_at_its_own_onset():
    signals, d, points = told(run(spike({"loss": flat()})))
    assert [(p.signal, p.step) for p in points] == [("loss", AT)]
    assert points[0].ratio == pytest.approx(3.0, rel=0.1)
    assert points[0].z == next(e.observed for e in d.evidence if e.id == "robust-z")
    assert first_mover(signals, d, points) is not None


def test_companions_stand_where_their_stretch_begins_or_just_after():
    c = spike(spike(healthy(), width=20), AT - 4, 24, 20, "grad_norm")
    assert steps(run(c))[:2] == [("grad_norm", AT - 4), ("loss", AT)]
    late = spike(spike(healthy(), width=20), AT + 3, 10, 20, "grad_norm")
    assert steps(run(late)) == [("loss", AT), ("grad_norm", AT + 3)]
    never = spike(spike(healthy(), width=20), AT + 8, 10, 20, "grad_norm")
    assert steps(run(never)) == [("loss", AT)]


def test_in_one_step_the_judged_signal_comes_first():
    c = spike(spike(healthy(), width=5), AT, 5, 20, "grad_norm")
    assert [name for name, _ in steps(run(c))][:2] == ["loss", "grad_norm"]


def test_the_ratio_of_a_companion_is_to_its_last_32_points():
    c = spike(spike(only(healthy(), "loss", "grad_norm"), width=5), AT - 2, 7, 20, "grad_norm")
    point = next(p for p in told(run(c))[2] if p.signal == "grad_norm")
    level = np.median(c["grad_norm"][AT - 2 - 32 : AT - 2])
    assert point.ratio == pytest.approx(c["grad_norm"][AT - 2] / level)


@pytest.mark.parametrize(
    ("at", "factor", "seen"), [(AT, 1.5, True), (AT - 7, 1.5, True), (AT - 8, 1.5, False), (AT, 1.49, False)]
)
def test_a_jump_of_lr_within_eight_points(at, factor, seen):
    c = spike(only(healthy(), "loss", "lr"), width=5)
    c["lr"] = np.where(np.arange(N) < at, 3e-4, 3e-4 * factor)
    assert (("lr", at) in steps(run(c))) is seen


def test_a_gradual_warm_up_is_no_jump_of_lr():
    c = {"loss": flat(60, sd=0.002), "lr": 3e-5 * 1.6 ** np.minimum(np.arange(60), 40)}
    c["loss"][36:50] *= 3
    assert steps(run(c)) == [("loss", 36)]


@pytest.mark.parametrize(
    ("falls", "first"),
    [([AT - 30, AT - 10], AT - 30), ([AT - 10], None), ([AT - 150, AT - 110], None), ([AT - 98, AT - 10], AT - 98)],
)
def test_two_halvings_within_a_hundred_steps(falls, first):
    scale = 65536.0 / 2.0 ** (np.arange(N)[:, None] >= falls).sum(axis=1)
    found = dict(steps(run({**spike({"loss": flat()}, width=5), "loss_scale": scale})))
    assert found.get("loss_scale") == first


def test_parts_that_were_lost_first():
    c = {**put({"loss": flat()}, "loss", slice(AT, N), np.nan), "loss/part": flat(), "layer.3/norm": flat()}
    c["loss/part"][AT - 5 :] = np.nan
    c["layer.3/norm"][AT + 1 :] = np.inf
    assert steps(run(c)) == [("loss/part", AT - 5), ("loss", AT)]


def test_parts_say_nothing_of_a_finite_excursion():
    c = {**spike({"loss": flat()}, width=5), "loss/part": put({"p": flat()}, "p", AT - 5, np.nan)["p"]}
    assert steps(run(c)) == [("loss", AT)]


# ── first mover ──────────────────────────────────────────────────────────────────────────────────────────────────────


def mover(points: list[TimelinePoint], interval: int = 1) -> tuple[str, int | None] | None:
    signals, d, _ = told(run(spike({"loss": flat()}), step=np.arange(N) * interval))
    found = first_mover(signals, d, tuple(points))
    return None if found is None else (found.signal, found.lead_steps)


def at(signal: str, step: int) -> TimelinePoint:
    return TimelinePoint(signal, step, None, None)


def test_first_mover():
    assert mover([at("grad_norm", AT - 4), at("loss", AT)]) == ("grad_norm", 4)
    assert mover([at("loss", AT), at("grad_norm", AT)]) == ("loss", 0)
    assert mover([]) is None


@pytest.mark.parametrize(
    ("lead", "expected"), [(0, ("loss", None)), (10, ("grad_norm", None)), (20, ("grad_norm", 20))]
)
def test_no_order_is_told_within_one_logging_interval(lead, expected):
    first = at("grad_norm", AT * 10 - lead) if lead else at("loss", AT * 10)
    assert mover([first, at("loss", AT * 10)], interval=10) == expected


def test_the_second_attempt_has_a_timeline_of_its_own():
    second = spike({"loss": flat(seed=4), "grad_norm": grad(N, seed=9)}, AT - 100, 5)
    made = twice(only(healthy(), "loss", "grad_norm"), spike(second, AT - 102, 4, 20, "grad_norm"), 100)
    signals, d, points = told(made)
    assert d.segment == 1
    assert [(p.signal, p.step) for p in points] == [("grad_norm", AT - 2), ("loss", AT)]
    assert signals.segment[d.row_onset] == 1
    assert math.isclose(points[1].ratio or 0.0, 3.0, rel_tol=0.1)
