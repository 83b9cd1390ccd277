"""Runs that share a file are told apart by the column that names them."""

from __future__ import annotations

import json
from pathlib import Path

from triage.options import Options
from triage.pipeline import analyze
from triage.readers import read_runs


def write(folder: Path, rows: list[dict[str, object]]) -> str:
    path = folder / "both.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_the_sick_run_is_not_hidden_by_the_healthy_one(tmp_path: Path) -> None:
    sick = [{"run": "a", "step": i, "loss": 2.0 - 0.01 * i if i < 30 else float("nan")} for i in range(60)]
    well = [{"run": "b", "step": i, "loss": 2.0 - 0.01 * i} for i in range(60)]
    report = analyze([write(tmp_path, sick + well)], Options())
    assert [run.verdict for run in report.runs] == ["unresolved", "healthy"]
    assert report.exit_code == 1


def test_interleaved_runs_keep_their_rows(tmp_path: Path) -> None:
    rows = [{"run_name": name, "step": i, "loss": 1.0 + k} for i in range(40) for k, name in enumerate("abc")]
    runs = read_runs([write(tmp_path, rows)], Options()).runs
    assert [run.frame.height for run in runs] == [40, 40, 40]
    assert [run.frame["loss"][0] for run in runs] == [1.0, 2.0, 3.0]


def test_one_name_is_one_run_and_a_name_per_row_is_none(tmp_path: Path) -> None:
    one = [{"run": "a", "step": i, "loss": 1.0} for i in range(20)]
    assert len(read_runs([write(tmp_path, one)], Options()).runs) == 1
    each = [{"trial": f"sample-{i}", "step": i, "loss": 1.0} for i in range(20)]
    assert len(read_runs([write(tmp_path, each)], Options()).runs) == 1
