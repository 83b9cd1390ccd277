"""Facts: the statistics around an onset, on synthetic runs whose fault is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import synth
from triage import checklists
from triage.advice.questions import questions
from triage.facts import facts
from triage.facts._config import number, precision
from triage.model import Diagnosis, Evidence, Facts, Finding, NonFinite, RunTable, TimelinePoint
from triage.resolve import branch_of, resolve

N = 600


def diagnosis(onset: int, end: int | None = None, **changes: Any) -> Diagnosis:
    values: dict[str, Any] = {
        "event_class": "consecutive",
        "status": "recovered",
        "censored": False,
        "signal": "loss",
        "segment": 0,
        "onset_step": onset,
        "onset_range": (onset - 1, onset),
        "onset_time": None,
        "onset_abrupt": True,
        "peak_step": onset,
        "peak_value": 1.0,
        "recovered_step": None,
        "last_healthy_step": onset - 1,
        "first_nonfinite": None,
        "confidence": "high",
        "evidence": (),
        "n_points": 1,
        "n_excursions": 1,
        "end_step": onset if end is None else end,
        "baseline": None,
        "row_onset": onset,
        "row_healthy": None,
        "row_peak": onset,
        "row_end": onset + 1,
    }
    return Diagnosis(**(values | changes))


def healthy(n: int = N) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "loss": synth.curve(n),
        "grad_norm": synth.grad(n),
        "lr": np.minimum(np.arange(n) + 1, 50) / 50 * 3e-4,
        "update_ratio": 1e-3 * np.minimum(np.arange(n) + 1, 50) / 50 * np.exp(0.02 * rng.standard_normal(n)),
        "tokens": 4096 + rng.integers(-50, 50, n).astype(float),
        "seq_len": 1024 + rng.integers(-20, 20, n).astype(float),
    }


def answers(found: Facts, branch: str) -> dict[str, str]:
    return {s.id: s.answer for s in resolve(branch, found, "en").steps if s.kind == "log"}


# ── around the onset ─────────────────────────────────────────────────────────────────────────────────────────────────


def bad_batch(onset: int = 400) -> RunTable:
    columns = healthy()
    columns["loss"][onset] *= 3
    columns["grad_norm"][onset] *= 80
    columns["update_ratio"][onset] *= 2
    columns["seq_len"][onset] = columns["tokens"][onset] = 4 * 4096
    return synth.run(columns)


def test_a_bad_batch_jumps_with_nothing_before_it():
    found = facts(bad_batch(), diagnosis(400, event_class="single-step"))
    assert found.statistics["loss", "ratio_at_onset"] == pytest.approx(3, rel=0.1)
    assert found.statistics["grad_norm", "ratio_at_onset"] == pytest.approx(80, rel=0.5)
    assert found.statistics["grad_norm", "quiet_before"] == 1
    assert found.statistics["grad_norm", "lead_steps"] == 0
    assert found.statistics["grad_norm", "peak_before_ratio"] == 1
    assert found.statistics["grad_norm", "after_ratio"] == pytest.approx(1, abs=0.2)
    assert ("loss", "lead_steps") not in found.statistics
    told = answers(found, "single-step")
    assert told["grad-jumped-too"] == told["quiet-before"] == told["batch-is-outlier"] == told["state-settled"] == "yes"
    assert told["update-beyond-gradient"] == "no"


def test_where_a_noisy_signal_settles_is_seen_without_its_trend():
    columns = healthy()
    falling = np.exp(-np.arange(N) / 150) * np.exp(0.3 * np.random.default_rng(7).standard_normal(N))
    columns["grad_norm"], columns["update_ratio"] = 10 * falling, 1e-3 * falling
    columns["loss"][400] *= 3
    found = facts(synth.run(columns), diagnosis(400, event_class="single-step"))
    assert found.statistics["grad_norm", "settled_ratio"] == pytest.approx(0.8, abs=0.15)
    assert answers(found, "single-step")["state-settled"] == "yes"
    columns["update_ratio"][401:] *= 3
    lasting = facts(synth.run(columns), diagnosis(400, event_class="single-step"))
    assert answers(lasting, "single-step")["state-settled"] == "no"


def test_an_update_that_is_not_logged_follows_nothing():
    columns = healthy()
    columns["grad_norm"][400] *= 80
    del columns["update_ratio"]
    for branch in ("single-step", "consecutive", "non-recovering"):
        found = facts(synth.run(columns), diagnosis(400))
        assert ("u_over_lr", "over_gradient") not in found.statistics
        assert answers(found, branch)["update-beyond-gradient"] == "unknown"


def test_an_update_beyond_its_gradient_is_the_optimizer():
    columns = healthy()
    columns["grad_norm"][400] *= 2
    columns["update_ratio"][400] *= 10
    found = facts(synth.run(columns), diagnosis(400))
    assert found.statistics["u_over_lr", "over_gradient"] == pytest.approx(5, rel=0.3)
    assert answers(found, "consecutive")["update-beyond-gradient"] == "yes"


def test_several_jumps_are_no_echo_of_one_batch():
    columns = healthy()
    columns["grad_norm"][400] *= 80
    columns["update_ratio"][400:408] *= 5
    echo = facts(synth.run(columns), diagnosis(400, 440))
    assert answers(echo, "consecutive")["echo-of-one-batch"] == "yes"
    several = facts(synth.run(columns), diagnosis(400, 440, n_excursions=4))
    assert several.statistics["loss", "departures"] == 4
    assert answers(several, "consecutive")["echo-of-one-batch"] == "no"


def test_a_gradient_that_jumps_with_the_loss_is_no_normal_gradient():
    columns = healthy()
    columns["grad_norm"][400] *= 20
    columns["update_ratio"][400] *= 5
    found = facts(synth.run(columns), diagnosis(400))
    assert answers(found, "consecutive")["gradient-factor"] == "unknown"


def test_a_gradient_that_leads_is_seen_with_its_steps():
    columns = healthy()
    columns["grad_norm"][396:404] *= 12
    columns["loss"][400:404] *= 2
    found = facts(synth.run(columns), diagnosis(400, 403))
    assert found.statistics["grad_norm", "lead_steps"] == 4
    assert found.statistics["grad_norm", "quiet_before"] == 0
    assert found.statistics["grad_norm", "peak_before_ratio"] > 8
    assert answers(found, "consecutive")["gradient-moved-first"] == "yes"


def test_the_lead_of_the_diagnosis_is_taken_where_it_has_one():
    about = diagnosis(400, timeline=(TimelinePoint("grad_norm", 393, 9.0, 4.0), TimelinePoint("loss", 400, 9.0, 4.0)))
    found = facts(bad_batch(), about)
    assert found.statistics["grad_norm", "lead_steps"] == 7
    assert ("loss", "lead_steps") not in found.statistics


def test_a_stale_second_moment_moves_the_update_alone():
    columns = healthy()
    columns["update_ratio"][395:399] *= 2
    columns["loss"][400:410] *= 1.6
    found = facts(synth.run(columns), diagnosis(400, 409))
    assert found.statistics["u_over_lr", "peak_before_ratio"] == pytest.approx(2, rel=0.1)
    assert answers(found, "consecutive")["update-moved-first"] == "yes"


def test_update_ratio_is_made_from_its_two_norms():
    columns = healthy()
    ratio = columns.pop("update_ratio")
    columns |= {"update_norm": ratio * 40, "param_norm": np.full(N, 40.0)}
    found = facts(synth.run(columns), diagnosis(400))
    assert "update_ratio" in found.columns
    assert "u_over_lr" not in found.columns
    assert found.statistics["update_ratio", "level_before"] == pytest.approx(1e-3, rel=0.05)


def test_a_falling_loss_is_judged_against_its_trend():
    columns = healthy()
    columns["loss"][60] *= 1.5
    found = facts(synth.run(columns), diagnosis(60))
    assert found.statistics["loss", "ratio_at_onset"] == pytest.approx(1.5, rel=0.12)


def test_cumulative_tokens_are_taken_apart_into_batches():
    columns = healthy()
    columns["tokens"] = np.cumsum(columns["tokens"])
    columns["tokens"][400:] += 3 * 4096
    found = facts(synth.run(columns), diagnosis(400))
    assert found.statistics["tokens", "ratio_at_onset"] == pytest.approx(4, rel=0.05)


def test_a_sparse_column_is_read_from_the_rows_just_after():
    columns = healthy()
    sparse = np.where(np.arange(N) % 3 == 1, columns["grad_norm"], np.nan).astype(object)
    sparse[[v is None or math.isnan(v) for v in sparse]] = None
    sparse[400] = 40.0
    columns["grad_norm"] = sparse
    found = facts(synth.run(columns), diagnosis(399))
    assert found.statistics["grad_norm", "value_at_onset"] == 40.0


def test_drift_and_a_norm_logged_after_clipping():
    columns = healthy()
    columns["grad_norm"][380:400] *= 4
    columns["param_norm"] = np.full(N, 7.0)
    found = facts(synth.run(columns), diagnosis(400))
    assert found.statistics["grad_norm", "drift_ratio"] == pytest.approx(4, rel=0.2)
    assert found.statistics["param_norm", "constant_share"] == 1
    assert found.statistics["grad_norm", "constant_share"] < 0.05


# ── non-finite values ────────────────────────────────────────────────────────────────────────────────────────────────


def test_which_signal_turned_nonfinite_first():
    columns = healthy()
    columns["grad_norm"][399:] = np.inf
    columns["loss"][400:] = np.nan
    found = facts(synth.run(columns), diagnosis(400, N - 1, event_class="non-recovering"))
    assert found.statistics["grad_norm", "nonfinite_first"] == 1
    assert found.statistics["loss", "nonfinite_first"] == 0
    assert found.statistics["loss", "is_nonfinite_at_onset"] == 1
    assert found.statistics["loss", "nonfinite_after"] == 1
    assert found.statistics["loss", "ratio_at_onset"] == math.inf
    assert ("loss", "value_at_onset") not in found.statistics
    told = answers(found, "nan-inf")
    assert told["where-first"] == "no"
    assert told["stays-nonfinite"] == "yes"


def test_in_one_row_the_loss_comes_before_the_gradient():
    columns = healthy()
    columns["grad_norm"][0:] = np.nan
    columns["loss"][0:] = np.nan
    found = facts(synth.run(columns), diagnosis(0, N - 1, event_class="first-step-nan", last_healthy_step=None))
    assert found.statistics["loss", "nonfinite_first"] == 1
    assert found.statistics["loss", "points_before"] == 0
    told = answers(found, "first-step-nan")
    assert told["loss-first"] == "yes"
    assert told["after-first-update"] == "no"
    assert "last_healthy" not in found.placeholders


def test_the_diagnosis_knows_better_what_was_first():
    columns = healthy()
    columns["loss"][400:] = np.nan
    about = diagnosis(400, N - 1, first_nonfinite=NonFinite("grad_norm", 400))
    assert facts(synth.run(columns), about).statistics["grad_norm", "nonfinite_first"] == 1


def test_a_zero_beside_a_nan_is_hidden():
    columns = healthy()
    columns["loss"][400:] = 0.0
    columns["grad_norm"][400:] = np.nan
    about = Finding("hidden-nan", "error", 400)
    found = facts(synth.run(columns), about)
    assert found.statistics["loss", "is_zero_beside_nan"] == 1
    assert answers(found, branch_of(about.id))["hidden-nan"] == "yes"
    assert facts(bad_batch(), about).statistics["loss", "is_zero_beside_nan"] == 0


# ── schedule ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_warm_up_from_a_tiny_lr_is_no_jump():
    found = facts(synth.run(healthy()), diagnosis(6))
    assert found.statistics["lr", "jump_ratio"] == 1
    assert found.statistics["lr", "in_warmup"] == 1
    assert found.statistics["lr", "at_peak"] == 0
    assert found.statistics["lr", "over_warmup"] == pytest.approx(6 / 49)


def test_a_step_of_the_schedule_is_a_jump():
    columns = healthy()
    columns["lr"][398:] *= 5
    columns["update_ratio"][398:] *= 5
    columns["loss"][400:] *= 2
    found = facts(synth.run(columns), diagnosis(400, N - 1, event_class="non-recovering"))
    assert found.statistics["lr", "jump_ratio"] == pytest.approx(5)
    assert found.statistics["lr", "lead_steps"] == 2
    assert found.statistics["u_over_lr", "peak_before_ratio"] == 1
    told = answers(found, "non-recovering")
    assert told["lr-jumped"] == "yes"
    assert told["optimizer-state-moved"] == "no"


def test_the_warm_up_of_the_config_wins():
    found = facts(synth.run(healthy(), config={"optimizer": {"warmup_steps": 500}}), diagnosis(400))
    assert found.statistics["lr", "in_warmup"] == 1
    assert found.placeholders["warmup_steps"] == "500"
    assert found.placeholders["double_warmup"] == "1000"


def test_a_warm_up_that_the_log_does_not_end_has_no_length():
    columns = healthy(40)
    found = facts(synth.run(columns), diagnosis(20))
    assert found.statistics["lr", "in_warmup"] == 1
    assert "warmup_steps" not in found.placeholders


# ── resume ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def resumed(**changes: float) -> RunTable:
    """300 steps, then a resume at 250 that trains on to 599; `changes` scale a column after the mark."""
    columns = healthy()
    first, second = np.arange(300), np.arange(250, N)
    both = {
        name: np.concatenate([values[first], values[second] * changes.get(name, 1.0)])
        for name, values in columns.items()
    }
    both["loss_scale"] = np.where(np.arange(650) < 300, 4096.0, 65536.0)
    segment = np.concatenate([np.zeros(300, dtype=int), np.ones(350, dtype=int)])
    return synth.run(both, segment=segment, step=np.concatenate([first, second]))


def test_a_lost_scheduler_breaks_lr_at_the_same_step():
    found = facts(resumed(lr=0.1), Finding("resume-discontinuity", "warning", 250))
    assert found.statistics["lr", "resume_ratio"] == pytest.approx(0.1)
    assert found.statistics["loss_scale", "resume_ratio"] == 16
    assert found.statistics["run", "resume_within_20"] == 1
    assert found.placeholders["resume_step"] == "250"
    told = answers(found, "resume")
    assert told["lr-continuous"] == told["scaler-continuous"] == "yes"
    assert told["data-position-continuous"] == "no"


def test_a_lost_optimizer_state_breaks_the_update_alone():
    columns = resumed()
    boost = 1 + 3.4 * np.exp(-np.clip(np.arange(650) - 300, 0, None) / 6) * (np.arange(650) >= 300)
    table = synth.run(
        {
            name: columns.frame[name].to_numpy() * (boost if name == "update_ratio" else 1)
            for name in columns.frame.columns
            if name not in ("row", "segment", "step")
        },
        segment=columns.frame["segment"].to_numpy(),
        step=columns.frame["step"].to_numpy(),
    )
    told = answers(facts(table, Finding("resume-discontinuity", "warning", 250)), "resume")
    assert told["optimizer-continuous"] == "yes"
    assert told["lr-continuous"] == "no"


def test_a_dead_attempt_does_not_colour_the_level():
    table = resumed()
    frame = table.frame.with_columns(
        pl.when((pl.col("segment") == 0) & (pl.col("step") >= 250)).then(50.0).otherwise(pl.col("loss")).alias("loss")
    )
    spoiled = RunTable(table.run_id, frame, {}, table.source)
    about = diagnosis(260, segment=1)
    assert facts(spoiled, about).statistics["loss", "level_before"] == pytest.approx(
        facts(table, about).statistics["loss", "level_before"]
    )


def test_another_attempt_at_the_same_step_is_asked():
    table = resumed()

    def spike(segments: tuple[int, ...]) -> RunTable:
        at = (pl.col("step") == 280) & pl.col("segment").is_in(list(segments))
        frame = table.frame.with_columns(pl.when(at).then(pl.col("loss") * 3).otherwise(pl.col("loss")).alias("loss"))
        return RunTable(table.run_id, frame, {}, table.source)

    key = ("run", "repeats_in_other_segment")
    assert facts(spike((0, 1)), diagnosis(280, segment=1)).statistics[key] == 1
    assert facts(spike((1,)), diagnosis(280, segment=1)).statistics[key] == 0
    assert key not in facts(spike((1,)), diagnosis(400, segment=1)).statistics


def test_an_attempt_that_passed_with_another_lr_is_no_repeat_but_answers_the_question_of_lr():
    table = resumed()
    spoiled = (pl.col("segment") == 0) & (pl.col("step") == 280)
    rate = pl.when(pl.col("segment") == 1).then(pl.col("lr") * 0.3).otherwise(pl.col("lr")).alias("lr")
    loss = pl.when(spoiled).then(pl.col("loss") * 3).otherwise(pl.col("loss")).alias("loss")
    about = diagnosis(280)
    same = facts(RunTable("same", table.frame.with_columns(loss), {}, table.source), about)
    lower = facts(RunTable("lower", table.frame.with_columns(loss, rate), {}, table.source), about)
    repeats = ("run", "repeats_in_other_segment")
    assert same.statistics[repeats] == 0
    assert ("lr", "passing_attempt_ratio") not in same.statistics
    assert lower.statistics["lr", "passing_attempt_ratio"] == pytest.approx(0.3, rel=0.05)
    assert repeats not in lower.statistics
    assert [q.answer for q in questions([about], [lower]) if q.id == "optimizer"] == ["yes"]
    assert [q.answer for q in questions([about], [same]) if q.id == "optimizer"] == ["unknown"]


# ── precision and clipping ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_collapsing_scale_is_counted_in_halvings():
    columns = healthy()
    scale = np.full(N, 65536.0)
    scale[350:] /= 8
    scale[390:] /= 4
    scale[398:] = 1.0
    columns["loss_scale"] = scale
    columns["is_skipped"] = (np.arange(N) >= 380).astype(float)
    found = facts(synth.run(columns), Finding("loss-scale-collapse", "error", 400))
    assert found.statistics["loss_scale", "halvings_100"] == 16
    assert found.statistics["loss_scale", "lost_doublings"] == 16
    assert found.statistics["loss_scale", "at_floor"] == 1
    assert found.statistics["run", "is_fp16"] == 1
    assert found.statistics["is_skipped", "skipped_share"] == pytest.approx(220 / 300)
    told = answers(found, "amp")
    assert told == dict.fromkeys(("scale-collapses", "scale-at-floor", "steps-skipped", "sinking-for-long"), "yes")


def test_a_collapse_that_begins_at_the_finding_is_counted_to_its_end():
    columns = healthy()
    scale = 65536.0 / 2.0 ** np.clip(np.arange(N) - 400, 0, 16)
    columns["loss_scale"], columns["is_skipped"] = scale, (np.arange(N) >= 400).astype(float)
    found = facts(synth.run(columns), Finding("loss-scale-collapse", "error", 401))
    assert found.statistics["loss_scale", "halvings_100"] == 1
    assert found.statistics["loss_scale", "worst_halvings_100"] == 16
    assert found.statistics["is_skipped", "skipped_since"] == 1
    told = answers(found, "amp")
    assert told["scale-collapses"] == told["steps-skipped"] == "yes"


def test_a_scale_that_fell_only_after_the_onset_gave_no_warning():
    columns = healthy()
    columns["loss_scale"] = 65536.0 / 2.0 ** np.clip(np.arange(N) - 400, 0, 16)
    found = facts(synth.run(columns), diagnosis(400, N - 1, event_class="non-recovering"))
    assert found.statistics["loss_scale", "at_floor"] == 1
    assert answers(found, "non-recovering")["scale-sank-before"] == "no"


def test_the_search_for_a_scale_at_the_start_is_no_collapse():
    columns = healthy()
    columns["loss_scale"] = np.maximum(2.0 ** (32 - np.arange(N)), 2.0**15)
    found = facts(synth.run(columns), diagnosis(60))
    assert found.statistics["loss_scale", "halvings_100"] == 0
    assert found.statistics["loss_scale", "lost_doublings"] == 0


def test_a_scale_of_one_throughout_is_no_scaler():
    columns = healthy() | {"loss_scale": np.ones(N)}
    found = facts(synth.run(columns, config={"bf16": True}), diagnosis(400))
    assert ("loss_scale", "at_floor") not in found.statistics
    assert found.statistics["run", "is_fp16"] == 0
    assert found.statistics["run", "is_low_precision"] == 1


def test_clipping_from_the_coefficient_and_from_the_norm():
    columns = healthy()
    from_norm = facts(synth.run(columns, config={"max_grad_norm": 0.01}), diagnosis(400))
    assert from_norm.statistics["clip_coef", "clip_share"] == 1
    assert from_norm.statistics["clip_coef", "is_configured"] == 1
    assert from_norm.placeholders["clip"] == "0.01"
    coefficient = np.where(np.arange(N) % 4 == 0, 0.5, 1.0)
    from_coefficient = facts(synth.run(columns | {"clip_coef": coefficient}), diagnosis(400))
    assert from_coefficient.statistics["clip_coef", "clip_share"] == 0.25
    early = facts(synth.run(columns | {"clip_coef": coefficient}), diagnosis(3, 402))
    assert early.statistics["clip_coef", "clipped_around"] == 0.25, "three rows before it are no share"
    off = facts(synth.run(columns, config={"grad_clip": 0}), diagnosis(400))
    assert off.statistics["clip_coef", "is_configured"] == 0
    assert ("clip_coef", "clip_share") not in off.statistics


def test_settings_of_the_optimizer_are_found_at_any_depth():
    config = {"optimizer": {"betas": [0.9, 0.95], "eps": "1e-8"}, "args/weight-decay": 0.5, "precision": "bf16-mixed"}
    found = facts(synth.run(healthy(), config=config), diagnosis(400))
    assert found.statistics["adam_beta2", "setting"] == 0.95
    assert found.statistics["adam_eps", "setting"] == 1e-8
    assert found.statistics["weight_decay", "setting"] == 0.5
    told = answers(found, "divergence")
    assert told["adam-eps-small"] == "yes"
    assert told["betas-extreme"] == "no"
    assert told["weight-decay-large"] == "yes"


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"fp16": True}, "fp16"),
        ({"fp16": {"enabled": True}}, "fp16"),
        ({"fp16": False, "bf16": True}, "reduced"),
        ({"precision": "16-mixed"}, "fp16"),
        ({"precision": "bf16-mixed"}, "reduced"),
        ({"torch_dtype": "torch.bfloat16"}, "reduced"),
        ({"trainer": {"precision": 32}}, "full"),
        ({"mixed_precision": "no"}, "full"),
        ({"dtype": "float8_e4m3"}, "reduced"),
        ({}, None),
    ],
)
def test_the_precision_of_a_config(config: dict[str, Any], kind: str | None):
    assert precision(config) == kind


@pytest.mark.parametrize("value", [True, "auto", None, float("nan"), [1.0]])
def test_what_is_no_number_is_not_taken_for_one(value: object):
    assert number({"max_grad_norm": value}, "clip") is None


# ── shape of loss and evaluations ────────────────────────────────────────────────────────────────────────────────────


def test_a_plateau_and_a_runaway_are_told_apart():
    plateau, runaway = healthy(), healthy()
    plateau["loss"][400:] *= 1.5
    runaway["loss"][400:] *= np.exp(np.arange(200) / 40)
    about = diagnosis(400, N - 1, event_class="non-recovering", status="unresolved")
    flat, steep = facts(synth.run(plateau), about), facts(synth.run(runaway), about)
    assert flat.statistics["loss", "is_growing"] == 0
    assert flat.statistics["loss", "plateau_excess"] == pytest.approx(0.5, abs=0.1)
    assert steep.statistics["loss", "is_growing"] == 1
    assert flat.statistics["loss", "during_ratio"] == pytest.approx(1.5, rel=0.1)


@pytest.mark.parametrize(("starts", "is_periodic"), [((300, 350, 400, 450, 500), 1), ((300, 310, 390, 420, 560), 0)])
def test_a_period_is_seen(starts: tuple[int, ...], is_periodic: int):
    columns = healthy() | {"epoch": np.arange(N) / 50}
    columns["loss"][list(starts)] *= 1.6
    found = facts(synth.run(columns), diagnosis(starts[0], starts[-1]))
    assert found.statistics["loss", "is_periodic"] == is_periodic
    assert found.statistics["loss", "is_epoch_locked"] == is_periodic
    assert answers(found, "consecutive")["locked-to-a-period"] == ("yes" if is_periodic else "no")


def test_validation_that_turns_and_one_that_falls_off_a_cliff():
    evaluations = np.full(N, np.nan).astype(object)
    evaluations[:] = None
    evaluations[99::100] = [3.0, 2.5, 2.3, 2.4, 2.5, 3.5]
    accuracy = evaluations.copy()
    accuracy[99::100] = [0.5, 0.6, 0.7, 0.6, 0.6, 0.5]
    found = facts(
        synth.run(healthy() | {"eval_loss": evaluations, "eval_accuracy": accuracy}),
        Finding("overfitting", "warning", None),
    )
    assert found.statistics["eval_loss", "worse_evals"] == 3
    assert found.statistics["eval_accuracy", "worse_evals"] == 3
    assert found.statistics["eval_loss", "largest_jump"] == pytest.approx(1.4)
    assert ("eval_accuracy", "largest_jump") not in found.statistics
    assert found.statistics["loss", "late_change"] < 0
    told = answers(found, "performance-drop")
    assert told["train-fell-while-eval-rose"] == told["sudden-cliff"] == "yes"
    assert "onset" not in found.placeholders


def test_a_loss_summed_over_accumulation_is_a_multiple_of_the_evaluation():
    evaluations = np.full(N, np.nan).astype(object)
    evaluations[:] = None
    evaluations[99::100] = healthy()["loss"][99::100]
    columns = healthy()
    columns["loss"] *= 4
    found = facts(synth.run(columns | {"eval_loss": evaluations}), Finding("accumulation-scaling", "warning", 0))
    assert found.statistics["loss", "over_eval_ratio"] == pytest.approx(4, rel=0.05)
    assert answers(found, "divergence")["loss-is-a-multiple"] == "yes"


# ── the whole ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_placeholders_of_one_incident():
    columns = healthy() | {"time": np.arange(N) * 6.0}
    found = facts(synth.run(columns), diagnosis(400, 403, last_healthy_step=390))
    assert found.placeholders == {
        "onset": "400",
        "before_onset": "399",
        "last_healthy": "390",
        "healthy_minus_100": "290",
        "skip_from": "391",
        "skip_to": "590",
        "replay_steps": "160",
        "replay_time": "16",
        "lr": "0.0003",
        "half_lr": "0.00015",
        "quarter_lr": "7.5e-05",
        "third_lr": "0.0001",
        "tenth_lr": "3e-05",
        "warmup_steps": "49",
        "double_warmup": "98",
    }
    assert set(found.placeholders) <= set(checklists.load_placeholders())


def test_evidence_is_filed_under_its_signal():
    about = diagnosis(
        400, evidence=(Evidence("grad-jump", "grad_norm"), Evidence("no-clip", "clip_coef", verdict="missing"))
    )
    assert facts(bad_batch(), about).evidence_ids == {"grad_norm": ("grad-jump",)}


def test_ranks_that_disagree_are_known_from_the_finding():
    found = facts(bad_batch(), Finding("rank-disagreement", "error", None))
    assert answers(found, "parallel")["ranks-disagree"] == "yes"
    assert ("rank", "disagrees") not in facts(bad_batch(), diagnosis(400)).statistics


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("branch", checklists.BRANCHES)
def test_short_runs_give_few_facts_and_no_error(n: int, branch: str):
    found = facts(synth.run({name: values[:n] for name, values in healthy(50).items()}), diagnosis(n - 1))
    assert resolve(branch, found, "zh").steps


def test_a_run_without_rows_gives_no_facts():
    table = synth.run({"loss": np.ones(1)})
    empty = RunTable("empty", table.frame.clear(), {}, table.source)
    assert facts(empty, Finding("flat-loss", "error", None)).statistics == {}


def test_every_statistic_of_the_list_is_computed_somewhere():
    evaluations = np.full(650, np.nan).astype(object)
    evaluations[:] = None
    evaluations[49::50] = 2.0
    table = resumed()
    columns = {n: table.frame[n].to_numpy().copy() for n in table.frame.columns if n not in ("row", "segment", "step")}
    columns |= {
        "eval_loss": evaluations,
        "epoch": np.arange(650) / 40,
        "is_skipped": np.zeros(650),
        "clip_coef": np.full(650, 0.9),
    }
    columns["loss"][[500, 530, 560, 590]] *= 2
    columns["grad_norm"][640:] = np.nan
    columns["grad_norm"][500] *= 20
    spoiled = synth.run(
        columns,
        segment=table.frame["segment"].to_numpy(),
        step=table.frame["step"].to_numpy(),
        config={"weight_decay": 0.1},
    )
    found = {name for _, name in facts(spoiled, diagnosis(450, 598, segment=1)).statistics}
    found |= {name for _, name in facts(spoiled, diagnosis(450, 580, segment=1)).statistics}
    found |= {name for _, name in facts(spoiled, Finding("rank-disagreement", "error", 280)).statistics}
    assert found | {"repeats_in_other_segment", "passing_attempt_ratio", "is_logged"} == set(
        checklists.load_statistics()
    )


def test_only_statistics_of_the_list_are_computed():
    listed = checklists.load_statistics()
    for about in (diagnosis(400), Finding("resume-discontinuity", "warning", 300)):
        for table in (bad_batch(), resumed()):
            assert {name for _, name in facts(table, about).statistics} <= set(listed)


@settings(max_examples=25, deadline=None)
@given(
    onset=st.integers(1, 199),
    seed=st.integers(0, 50),
    bad=st.sampled_from([float("nan"), float("inf"), 0.0, -1.0, 1e300]),
)
def test_nothing_after_the_onset_colours_what_was_before(onset: int, seed: int, bad: float):
    rng = np.random.default_rng(seed)
    columns = {name: values[:200].copy() for name, values in healthy().items()}
    changed = {name: values.copy() for name, values in columns.items()}
    for values in changed.values():
        values[onset:] = np.where(rng.random(200 - onset) < 0.5, bad, values[onset:])
    about = diagnosis(onset)
    one, two = facts(synth.run(columns), about), facts(synth.run(changed), about)
    assert not any(math.isnan(value) for value in two.statistics.values())
    for signal in columns:
        for name in ("level_before", "quiet_before", "peak_before_ratio", "drift_ratio", "constant_share"):
            assert one.statistics.get((signal, name)) == two.statistics.get((signal, name))
