"""A NaN on one worker stays visible although another worker's loss is the one that is judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import triage
from triage.model import Report


def judged(folder: Path, *, bad: range, sick: tuple[int, ...], rows: int = 120) -> Report:
    log = folder / "log.jsonl"
    lines = [
        json.dumps({"step": s, "rank": r, "loss": float("nan") if r in sick and s in bad else 2.0 + (s + r) % 3 / 100})
        for s in range(rows)
        for r in range(4)
    ]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return triage.analyze(log)


@pytest.mark.parametrize("sick", [(1,), (1, 2, 3)])
@pytest.mark.parametrize("first", [100, 119])
def test_a_worker_that_ends_in_nan_fails_the_gate(tmp_path: Path, sick: tuple[int, ...], first: int) -> None:
    report = judged(tmp_path, bad=range(first, 120), sick=sick)
    found = next(f for f in report.runs[0].findings if f.id == "rank-disagreement")
    assert (report.exit_code, found.severity, found.step) == (1, "error", first)
    assert [e.signal for e in found.evidence] == [f"loss@rank{r}" for r in sick]


def test_a_nan_of_one_worker_that_passes_is_a_warning(tmp_path: Path) -> None:
    report = judged(tmp_path, bad=range(60, 62), sick=(2,))
    assert (report.exit_code, [f.id for f in report.runs[0].findings]) == (0, ["nonfinite-metric"])


def test_workers_that_end_in_nan_together_are_one_incident(tmp_path: Path) -> None:
    run = judged(tmp_path, bad=range(100, 120), sick=(0, 1, 2, 3)).runs[0]
    assert (len(run.diagnoses), run.findings) == (1, ())
