"""Many resumes: the checks of each look at the rows around it only."""

from __future__ import annotations

import json
import time
from pathlib import Path

import triage


def log_of(folder: Path, rows: list[dict[str, float]]) -> Path:
    log = folder / "log.jsonl"
    log.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return log


def test_a_learning_rate_that_differs_is_found_behind_a_long_attempt(tmp_path: Path) -> None:
    rows = [{"step": s, "loss": 2.0 + s % 3 / 100, "lr": 0.1 if n == 0 else 0.3} for n in (0, 1) for s in range(6000)]
    run = triage.analyze(log_of(tmp_path, rows)).runs[0]
    found = next(f for f in run.findings if f.id == "resume-discontinuity")
    assert [e.id for e in found.evidence] == ["lr-differs-at-same-step", "jump-at-resume"]


def test_thousands_of_resumes_take_linear_time(tmp_path: Path) -> None:
    def seconds(resumes: int) -> float:
        rows = [
            {"step": 3 * n + s, "loss": 2.0 + s % 3 / 100, "lr": 0.1, "grad_norm": 1.0}
            for n in range(resumes)
            for s in range(10)
        ]
        log = log_of(tmp_path, rows)
        begin = time.process_time()
        assert triage.analyze(log).runs[0].source.segments == resumes
        return time.process_time() - begin

    seconds(10)
    assert seconds(2000) < 8 * max(seconds(500), 0.2)
