"""Reports built by hand: every shape that a renderer must be able to show, without reading or judging a log."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from triage.model import (
    Cause,
    ColumnInfo,
    Decision,
    Diagnosis,
    Evidence,
    Facts,
    Finding,
    FirstMover,
    MissingMetric,
    NonFinite,
    Notice,
    NotJudged,
    Question,
    ReadError,
    Report,
    Restart,
    RunReport,
    Series,
    SourceInfo,
    StepValues,
    StepView,
    TimelinePoint,
)
from triage.options import Options
from triage.resolve import resolve


def source(**changes: Any) -> SourceInfo:
    """A JSONL log of 1,000 rows, every tenth step."""
    base = SourceInfo(
        path="runs/alpha/train.jsonl",
        format="jsonl",
        writer="hf-trainer",
        rows=1000,
        bytes=123_456,
        dropped=0,
        step_unit="optimizer step",
        step_first=10,
        step_last=10_000,
        time_first=None,
        time_last=None,
        segments=1,
        config={"lr": 0.0003, "precision": "bf16"},
        columns={
            "step": ColumnInfo("step", 1000, 0, 0, 10, 10_000, 10_000.0),
            "loss": ColumnInfo("train/loss", 1000, 0, 0, 10, 10_000, 2.31),
            "grad_norm": ColumnInfo("grad_norm", 1000, 0, 0, 10, 10_000, 0.42),
            "lr": ColumnInfo("learning_rate", 1000, 0, 0, 10, 10_000, 1.5e-05),
            "my/metric": ColumnInfo("my/metric", 100, 0, 0, 10, 10_000, 1.0),
        },
    )
    return replace(base, **changes)


def diagnosis(**changes: Any) -> Diagnosis:
    """A recovered single-step spike at step 5110 of the loss, from 2.4 to 9.31."""
    base = Diagnosis(
        event_class="single-step",
        status="recovered",
        censored=False,
        signal="loss",
        segment=0,
        onset_step=5110,
        onset_range=(5100, 5110),
        onset_time=None,
        onset_abrupt=True,
        peak_step=5110,
        peak_value=9.31,
        recovered_step=5130,
        last_healthy_step=5100,
        first_nonfinite=None,
        confidence="high",
        evidence=(
            Evidence("excess-over-baseline", "loss", 9.31, 2.4, None, 5110),
            Evidence("robust-z", "loss", 41.27, None, 6.0, 5110),
            Evidence("second-signal", "grad_norm", 17.4, None, 6.0, 5110),
            Evidence("out-of-band-points", "loss", 2.0, None, 3.0, 5110),
            Evidence("recovered-within", "loss", 20.0, 2.4, None, 5130),
        ),
        n_points=2,
        n_excursions=1,
        end_step=5120,
        baseline=2.4,
        row_onset=510,
        row_healthy=509,
        row_peak=510,
        row_end=512,
    )
    return replace(base, **changes)


def series(**changes: Any) -> Series:
    """The loss around step 5110: a slow decay with one spike of two points."""
    steps = tuple(range(4500, 5800, 10))
    values = [2.6 - 0.2 * (n / len(steps)) + 0.03 * math.sin(2.1 * n) for n in range(len(steps))]
    values[steps.index(5110)] = 9.31
    values[steps.index(5120)] = 3.4
    base = Series("loss", steps, tuple(values), tuple(values), (), 0)
    return replace(base, **changes)


def run(**changes: Any) -> RunReport:
    """A run with one recovered spike."""
    base = RunReport(run_id="alpha", verdict="recovered", source=source(), diagnoses=(diagnosis(),), series=(series(),))
    return replace(base, **changes)


def report(*runs: RunReport, exit_code: int = 0, errors: tuple[ReadError, ...] = (), **options: Any) -> Report:
    """A report of some runs; the verdict is the worst of theirs."""
    order = ("healthy", "recovered", "undetermined", "unresolved")
    verdict = max((one.verdict for one in runs), key=order.index, default="undetermined")
    return Report(verdict, exit_code, {**Options().as_json(), "command": "analyze", **options}, runs, errors)


def healthy() -> Report:
    """Nothing happened."""
    return report(run(verdict="healthy", diagnoses=(), series=(series(),)))


def recovered() -> Report:
    """One spike that recovered."""
    return report(run())


def blown_up() -> RunReport:
    """A run that ends in NaN, with everything that a report can hold filled in."""
    steps = tuple(range(6000, 6600, 10))
    low = tuple(
        2.4 + 0.02 * math.sin(n) if step < 6300 else None if step >= 6400 else 2.4 * 1.6 ** ((step - 6290) // 10)
        for n, step in enumerate(steps)
    )
    bad = tuple(step for step in steps if step >= 6400)
    evidence = (
        Evidence("nonfinite-value", "loss", math.nan, 2.4, None, 6400),
        Evidence("nonfinite-stays", "loss", 20.0, None, 3.0, 6400),
        Evidence("not-recovered-by-deadline", "loss", 30.0, 2.4, None, 6300),
        Evidence("second-signal", "grad_norm", 88.0, 0.4, 6.0, 6280),
        Evidence("no-second-signal", None, None, None, None, None, "contradicts"),
        Evidence("grad-norm-jump", "update_ratio", None, None, None, None, "missing"),
    )
    facts = Facts(
        columns=frozenset({"loss", "grad_norm", "lr"}),
        statistics={
            ("loss", "points_before"): 629.0,
            ("loss", "is_growing"): 1.0,
            ("grad_norm", "peak_before_ratio"): 3.4,
            ("grad_norm", "drift_ratio"): 1.1,
            ("lr", "jump_ratio"): 1.0,
            ("run", "resume_within_20"): 0.0,
        },
        placeholders={
            "onset": "6300",
            "before_onset": "6290",
            "last_healthy": "6270",
            "healthy_minus_100": "6170",
            "skip_from": "6271",
            "skip_to": "6590",
            "half_lr": "0.00015",
            "third_lr": "0.0001",
            "tenth_lr": "3e-05",
            "replay_steps": "180",
        },
        framework="hf-trainer",
    )
    checklist = resolve("non-recovering", facts, "en")
    found = diagnosis(
        event_class="non-recovering",
        status="unresolved",
        onset_step=6300,
        onset_range=(6270, 6300),
        onset_abrupt=False,
        peak_step=6400,
        peak_value=math.nan,
        recovered_step=None,
        last_healthy_step=6270,
        first_nonfinite=NonFinite("grad_norm", 6390),
        evidence=evidence,
        n_points=30,
        end_step=6590,
        row_onset=629,
        row_end=659,
        first_mover=FirstMover("grad_norm", 20),
        timeline=(TimelinePoint("grad_norm", 6280, 11.2, 3.4), TimelinePoint("loss", 6300, 9.0, 1.6)),
        causes=(
            Cause("lr/too-high", "likely", 0.72, evidence[3:4]),
            Cause("data/bad-batch", "weak", 0.2, (Evidence("token-count", "tokens", None, verdict="missing"),)),
        ),
        checklist=checklist,
        restart=Restart(
            from_step=6270,
            checkpoint="checkpoint-6200",
            poisoned_checkpoints=("checkpoint-6400",),
            skip_steps=(6270, 6350),
            lr_factor=(0.1, 0.33),
            restore=("optimizer", "scheduler"),
            change_first="change-halve-lr",
            replay=(6300, 6310),
            reasons=("before-first-precursor", "state-may-be-poisoned"),
            lost_steps=320,
            lost_seconds=12_345.0,
        ),
    )
    columns = {**source().columns, "loss": ColumnInfo("train/loss", 660, 20, 3, 10, 6590, math.nan)}
    return run(
        run_id="beta",
        verdict="unresolved",
        source=source(
            path="runs/beta/train.jsonl",
            rows=660,
            step_last=6590,
            segments=2,
            dropped=4,
            time_first=1.7e9,
            time_last=1.7e9 + 3600,
            columns=columns,
        ),
        diagnoses=(found,),
        series=(Series("loss", steps, low, low, bad, 0),),
        findings=(
            Finding("periodic-spikes", "info", None),
            Finding("loss-scale-collapse", "error", 6200, (Evidence("robust-z", "loss_scale", 9.0, None, 6.0, 6200),)),
        ),
        questions=(Question("data", "unknown"), Question("optimizer", "yes", ("second-signal",))),
        missing_metrics=(
            MissingMetric(
                "update_ratio", ("optimizer/stale-second-moment",), "log the update norm over the parameter norm"
            ),
        ),
        not_judged=(NotJudged("rank-disagreement", ("rank",)),),
        notices=(Notice("skipped-lines", 3, "line 17"), Notice("torn-tail", 12, None, {"bytes": 12})),
    )


def unresolved() -> Report:
    """One run that ended in NaN."""
    return report(blown_up(), exit_code=1)


def many(n: int = 150) -> Report:
    """A run with very many recovered spikes."""
    found = tuple(
        diagnosis(
            onset_step=100 + 60 * k,
            peak_step=100 + 60 * k,
            recovered_step=120 + 60 * k,
            end_step=110 + 60 * k,
            peak_value=2.5 + 0.01 * k,
            row_onset=10 + 6 * k,
            evidence=(),
        )
        for k in range(n)
    )
    return report(run(diagnoses=found))


def undetermined() -> Report:
    """A log without anything that can be judged."""
    columns = {"epoch": ColumnInfo("epoch", 9, 0, 0, 1, 9, 9.0)}
    return report(
        run(
            verdict="undetermined",
            source=source(columns=columns, rows=9, step_unit="row", step_first=None, step_last=None),
            diagnoses=(),
            series=(),
            not_judged=(NotJudged("excursion", ("loss",)),),
            notices=(Notice("unmapped-loss-like", 1, "my_objective"),),
        ),
        exit_code=4,
    )


def unreadable() -> Report:
    """Nothing could be read."""
    return report(exit_code=3, errors=(ReadError("gone.jsonl", 3, "no such file", "check the path"),))


def several() -> Report:
    """Three runs and a path that could not be read."""
    return report(
        blown_up(),
        run(),
        run(run_id="gamma", verdict="healthy", diagnoses=()),
        exit_code=3,
        errors=(ReadError("gone.jsonl", 3, "no such file", "check the path"),),
    )


def hostile() -> Report:
    """Names that try to steer the terminal, and wide ones."""
    columns = {
        "loss": ColumnInfo("\x1b[31m训练/损失[red]\u202e", 1000, 0, 0, 10, 10_000, 2.31),
        "指标": ColumnInfo("指标", 10, 0, 0, 10, 100, 1.0),
    }
    return report(
        run(
            run_id="evil\x1b]0;title\x07\n[bold]run[/bold]\ud800",
            source=source(path="训练日志/\x1b[2Jlog\udcff.jsonl", columns=columns, writer="w\x9b1m"),
            notices=(Notice("skipped-lines", 1, "line\r\x1b[H", {"id": "x", "kind": "y", "lang": "z"}),),
        ),
        run(run_id="另一个"),
    )


ALL = {
    "healthy": healthy,
    "recovered": recovered,
    "unresolved": unresolved,
    "many": many,
    "undetermined": undetermined,
    "unreadable": unreadable,
    "several": several,
    "hostile": hostile,
}
"""Every report of this file by its name."""


def step_view() -> StepView:
    """Step 5110 of the run `alpha`, where the spike opens."""
    values = {"loss": 9.31, "grad_norm": 17.4, "lr": 1.5e-4}
    calm = {"loss": 2.41, "grad_norm": 0.42, "lr": 1.5e-4}
    return StepView(
        run_id="alpha",
        step=5110,
        row=510,
        segment=0,
        values=values,
        decisions=(
            Decision(
                "loss", 9.31, 2.4, 0.012, 41.27, 1.356, 6.0, 4.1, {"hard": True, "strong": True}, "in event", False
            ),
            Decision("grad_norm", math.inf, None, None, math.inf, None, None, None, {}, "calm", True),
        ),
        neighbours=(
            StepValues(5100, 509, 0, calm),
            StepValues(5120, 511, 0, {"loss": math.nan, "grad_norm": 1.2}),
        ),
    )
