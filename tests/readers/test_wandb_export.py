"""Exports of a W&B history: thinned ones are told from whole ones."""

from __future__ import annotations

import polars as pl
import pytest

from triage.options import Options
from triage.readers import read_runs


def steps(kind: str) -> list[int]:
    return {
        "sampled": [step for step in range(600) if step % 13 not in (4, 9)][:500],
        "whole": list(range(500)),
        "every tenth": list(range(0, 5000, 10)),
        "shorter": [step for step in range(600) if step % 13 not in (4, 9)][:400],
    }[kind]


@pytest.mark.parametrize(
    ("kind", "is_sampled"), [("sampled", True), ("whole", False), ("every tenth", False), ("shorter", False)]
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_sample_of_500_rows_is_told(tmp_path, kind, is_sampled, ending):
    place = steps(kind)
    frame = pl.DataFrame({"_step": place, "_runtime": [step / 7 for step in place], "loss": [1.0] * len(place)})
    path = tmp_path / f"history.{ending}"
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    run = read_runs([str(path)], Options()).runs[0]
    found = [notice.count for notice in run.notices if notice.id == "sampled-export"]
    assert found == ([500] if is_sampled else [])


def test_500_rows_of_another_logger_are_no_sample(tmp_path):
    path = tmp_path / "log.csv"
    pl.DataFrame({"_step": steps("sampled"), "loss": [1.0] * 500}).write_csv(path)
    assert not [notice for notice in read_runs([str(path)], Options()).runs[0].notices if notice.id == "sampled-export"]
