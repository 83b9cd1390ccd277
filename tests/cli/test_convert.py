"""`convert`: the table of a log as a file, NaN, infinities and nulls as they were."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest

LOG = """\
{"step": 1, "loss": 2.0, "lr": 0.1}
{"step": 2, "loss": NaN}
{"step": 3, "loss": Infinity, "lr": 0.1}
{"step": 4, "loss": 1.5, "lr": 0.1}
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(LOG, encoding="utf-8")
    return path


READERS = {
    "parquet": pl.read_parquet,
    "arrow": pl.read_ipc,
    "csv": pl.read_csv,
    "jsonl": None,
}


@pytest.mark.parametrize("ending", READERS)
def test_each_format_keeps_what_was_logged(cli, log, tmp_path, ending):
    target = tmp_path / f"table.{ending}"
    found = cli("convert", str(log), "-o", str(target))
    assert found.code == 0
    assert found.out == ""
    assert "4 rows" in found.err
    read = READERS[ending]
    if read is None:
        rows = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
        assert [row.get("loss") for row in rows] == [2.0, "NaN", "Infinity", 1.5]
        assert "lr" not in rows[1]
        return
    frame = read(target)
    loss = frame["loss"].to_list()
    assert loss[0] == 2.0
    assert math.isnan(loss[1])
    assert math.isinf(loss[2])
    assert frame["lr"].to_list() == [0.1, None, 0.1, 0.1]
    assert frame["step"].to_list() == [1, 2, 3, 4]


def test_what_was_written_is_read_back_as_the_same_table(cli, log, tmp_path):
    import triage

    target = tmp_path / "again.jsonl"
    assert cli("convert", str(log), "-o", str(target), "--quiet").err == ""
    before, after = triage.read(str(log))[0].frame, triage.read(str(target))[0].frame
    assert before.select("step", "loss", "lr").equals(after.select("step", "loss", "lr"), null_equal=True)


def test_several_runs_are_one_table_with_their_names(cli, log, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(LOG, encoding="utf-8")
    target = tmp_path / "both.parquet"
    assert cli("convert", str(log), str(other), "-o", str(target)).code == 0
    frame = pl.read_parquet(target)
    assert frame.columns[0] == "run"
    assert frame["run"].n_unique() == 2
    assert frame.height == 8


def test_what_cannot_be_read_is_3_and_nothing_is_written(cli, tmp_path):
    target = tmp_path / "table.csv"
    found = cli("convert", str(tmp_path / "gone.jsonl"), "-o", str(target))
    assert found.code == 3
    assert "gone.jsonl" in found.err
    assert not target.exists()


@pytest.mark.parametrize("argv", [("-o", "t.docx"), ("-o", "t.csv", "--format", "xlsx")])
def test_an_unknown_table_format_is_2(cli, log, argv):
    assert cli("convert", str(log), *argv).code == 2


def test_the_format_may_be_named(cli, log, tmp_path):
    target = tmp_path / "table.out"
    assert cli("convert", str(log), "-o", str(target), "--format", "csv").code == 0
    assert target.read_text(encoding="utf-8").startswith("row,segment,step")
