"""A counter that goes back: the new attempt is judged against the level that held at its own steps."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

import triage
from triage.model import RunReport


def losses(count: int, seed: int) -> list[float]:
    """A healthy run: from 8 down to 2, noise of 2 %."""
    noise = random.Random(seed)  # noqa: S311 - a test series, nothing secret
    return [(6 * math.exp(-i / 120) + 2) * math.exp(noise.gauss(0, 0.02)) for i in range(count)]


def judged(folder: Path, *attempts: dict[int, float]) -> RunReport:
    lines = [json.dumps({"step": s, "loss": v}) for attempt in attempts for s, v in attempt.items()]
    log = folder / "log.jsonl"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return triage.analyze(log).runs[0]


def attempt(steps: range, seed: int) -> dict[int, float]:
    return {step: losses(500, seed)[step] for step in steps}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0, 500), (0, 500)),
        ((0, 300), (0, 500)),
        ((0, 500), (100, 500)),
        ((0, 500), (100, 200)),
        ((0, 300), (200, 500)),
    ],
)
def test_a_healthy_attempt_from_an_earlier_step_is_healthy(
    tmp_path: Path, first: tuple[int, int], second: tuple[int, int]
) -> None:
    run = judged(tmp_path, attempt(range(*first), 0), attempt(range(*second), 1))
    assert run.source.segments == 2
    assert (run.verdict, run.diagnoses, run.findings) == ("healthy", (), ())


def test_weights_that_were_lost_at_the_resume_are_not_healthy(tmp_path: Path) -> None:
    lost = {step + 250: loss for step, loss in attempt(range(60), 1).items()}
    run = judged(tmp_path, attempt(range(300), 0), lost)
    assert run.verdict == "unresolved"
    assert (run.diagnoses[0].onset_step, run.diagnoses[0].last_healthy_step) == (250, 249)


def test_a_counter_set_back_while_the_weights_stay_keeps_the_level_of_the_end(tmp_path: Path) -> None:
    flat = {step: loss * 2.0 / losses(500, 2)[499] for step, loss in enumerate(losses(900, 2)[700:])}
    sick = {step: loss * (1.6 if step >= 3 else 1.0) for step, loss in flat.items()}
    assert judged(tmp_path, attempt(range(500), 0), flat).verdict == "healthy"
    run = judged(tmp_path, attempt(range(500), 0), sick)
    assert run.verdict == "unresolved"
    assert run.diagnoses[0].onset_step == 3


def test_a_nan_in_the_first_row_of_a_resume_is_an_incident_of_one_step(tmp_path: Path) -> None:
    again = attempt(range(250, 500), 1) | {250: math.nan}
    run = judged(tmp_path, attempt(range(300), 0), again)
    only = run.diagnoses[0]
    assert (only.event_class, only.onset_step, only.last_healthy_step) == ("single-step", 250, 249)


def test_a_blow_up_after_a_dead_branch_is_measured_from_the_branch_that_lives(tmp_path: Path) -> None:
    dead = attempt(range(300), 0) | dict.fromkeys(range(290, 300), 9.0)
    again = {step: loss * (2.0 if step >= 270 else 1.0) for step, loss in attempt(range(250, 400), 1).items()}
    run = judged(tmp_path, dead, again)
    assert run.verdict == "unresolved"
    assert [d.onset_step for d in run.diagnoses if d.segment == 1] == [270]
