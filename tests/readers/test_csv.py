"""Tables as text: dialects, ragged rows, headers in the middle, exports."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.errors import UnreadableError
from triage.model import Block
from triage.options import Limits
from triage.readers import _jsonl_lines, csv
from triage.readers._contract import Source, everything
from triage.readers._source import open_path, open_stream

NAN = float("nan")


def source(tmp_path: Path, text: str | bytes, name: str = "metrics.csv") -> Source:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_path(path, Limits())


def blocks(made: Source, limits: Limits | None = None, wanted: Callable[[str], bool] = everything) -> list[Block]:
    return list(csv.READER.read(made, limits or Limits(), wanted))


def one(made: Source) -> tuple[pl.DataFrame, dict[str, int]]:
    found = blocks(made)
    frame = pl.concat([block.frame for block in found if block.frame.height], how="diagonal_relaxed")
    return frame, {notice.id: notice.count for block in found for notice in block.notices}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("step,loss\n0,2.5\n1,nan\n", "metrics.csv"),
        ("step,loss\r\n0,2.5\r\n1,nan\r\n", "metrics.csv"),
        ("step,loss\r0,2.5\r1,nan\r", "metrics.csv"),
        ("step\tloss\n0\t2.5\n1\tNaN\n", "metrics.tsv"),
        ("step;loss\n0;2,5\n1;nan\n", "log"),
        ('"step","loss"\n"0","2.5"\n"1","nan"\n', ""),
        ("\ufeffstep,loss\n0,2.5\n1,nan\n", "x"),
        ("sep=;\nstep;loss\n0;2,5\n1;NaN\n", "x.csv"),
        ("# step, loss\n0, 2.5\n1, nan\n", "x.csv"),
        ("\n\nstep,loss\n0,2.5\n\n1,nan\n\n", "x.csv"),
        ("step|loss\n0|2.5\n1|nan", "x.csv"),
    ],
)
def test_dialects(tmp_path: Path, text: str, name: str) -> None:
    made = source(tmp_path, text, name or "m")
    assert csv.READER.sniff(made)
    frame, notices = one(made)
    assert frame["step"].to_list() == [0, 1]
    assert frame["loss"][0] == 2.5
    assert math.isnan(frame["loss"][1])
    assert notices == {}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    made = source(tmp_path, "step,loss\n0,2.5\n1,2.4\n".encode(encoding))
    assert csv.READER.sniff(made)
    assert one(made)[0]["loss"].to_list() == [2.5, 2.4]


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox, jumps over\nthe lazy dog, and so on\n",
        '{"step": 0, "loss": 2.5}\n{"step": 1, "loss": 2.4}\n',
        "2026-01-01 00:00:00,123 | INFO | loss 2.5\n2026-01-01 00:00:01,123 | INFO | loss 2.4\n",
        "a,b\nx,y\nz,w\n",
        "step 0 loss 2.5\nstep 1 loss 2.4\n",
        "",
    ],
)
def test_what_is_no_table(text: str) -> None:
    made = open_stream(io.BytesIO(text.encode() or b"\n"), Limits())
    assert not csv.READER.sniff(made)


def test_ragged_rows_are_padded_or_cut_and_counted(tmp_path: Path) -> None:
    frame, notices = one(source(tmp_path, "step,loss,lr\n0,3,0.1\n1,2\n2,1,0.1,9\n3,1,0.1,\n4,1,0.1\n5,1,0.1\n"))
    assert frame["step"].to_list() == [0, 1, 2, 3, 4, 5]
    assert frame["lr"].to_list() == [0.1, None, 0.1, 0.1, 0.1, 0.1]
    assert notices == {"ragged-rows": 2}


def test_a_torn_last_line_loses_its_last_cell_only(tmp_path: Path) -> None:
    frame, notices = one(source(tmp_path, "step,loss,lr\n0,3.5,0.1\n1,2.5,0.1\n2,1.2"))
    assert frame["step"].to_list() == [0, 1, 2]
    assert frame["loss"].to_list() == [3.5, 2.5, None]
    assert notices == {"torn-tail": 3}


def test_a_header_in_the_middle_brings_its_columns(tmp_path: Path) -> None:
    found = blocks(source(tmp_path, "step,loss\n0,3\n1,2\nstep,loss,lr\n2,1,0.1\n3,nan,0.1\n"))
    assert [block.frame.columns for block in found] == [["step", "loss"], ["step", "loss", "lr"]]
    assert found[1].frame["lr"].to_list() == [0.1, 0.1]
    assert [(n.id, n.count, n.where) for block in found for n in block.notices] == [("header-repeated", 1, "line 4")]


def test_quoted_thousands(tmp_path: Path) -> None:
    frame, _ = one(source(tmp_path, '"step","loss"\n"1,000","1,234.5"\n"2,000","nan"\n'))
    assert frame["step"].to_list() == [1000, 2000]
    assert frame["loss"][0] == 1234.5


def test_whole_steps_stay_exact(tmp_path: Path) -> None:
    frame, _ = one(source(tmp_path, f"step,loss\n{2**53 + 1},1.0\n{2**53 + 3},\n"))
    assert frame["step"].to_list() == [2**53 + 1, 2**53 + 3]


def test_types_that_change_further_down(tmp_path: Path) -> None:
    lines = [f"{i},2" for i in range(2000)] + ["2000.0,-nan(ind)", "2001,None", "2002,x"]
    found = blocks(source(tmp_path, "step,loss\n" + "\n".join(lines) + "\n"))
    loss = pl.concat([block.frame["loss"].cast(pl.String) for block in found])
    assert loss.len() == 2003
    assert loss.to_list()[-3:] == ["-nan(ind)", "None", "x"], "text is left for the table to count"


def test_the_index_of_pandas(tmp_path: Path) -> None:
    frame, notices = one(source(tmp_path, ",_step,loss\n0,10,2.5\n1,20,2.4\n"))
    assert frame.columns == ["_step", "loss"]
    assert notices == {"index-column-dropped": 1}
    found = blocks(source(tmp_path, ",loss\n0,2.5\n10,2.4\n"))
    assert found[0].frame.columns == ["index", "loss"]
    assert found[0].meta["step_column"] == "index"


def test_names_that_stand_twice_and_names_that_are_missing(tmp_path: Path) -> None:
    assert one(source(tmp_path, "step,loss,loss\n0,1,2\n1,1,2\n"))[0].columns == ["step", "loss", "loss.1"]
    assert one(source(tmp_path, "0,2.5\n1,2.4\n"))[0].columns == ["column_1", "column_2"]


def test_only_wanted_columns_are_read(tmp_path: Path) -> None:
    made = source(tmp_path, "step,loss,a,b\n0,1,2,3\n1,1,2,3\n")
    found = blocks(made, wanted=lambda name: name in ("step", "b"))
    assert found[0].frame.columns == ["step", "b"]
    limited = blocks(made, Limits(columns=2))
    assert limited[0].frame.columns == ["step", "loss"]
    assert [(n.id, n.count) for n in limited[0].notices] == [("columns-over-limit", 2)]


def test_a_header_alone(tmp_path: Path) -> None:
    made = source(tmp_path, "step,loss\n")
    assert csv.READER.sniff(made)
    assert sum(block.frame.height for block in blocks(made)) == 0


def test_the_table_of_runs_is_refused(tmp_path: Path) -> None:
    made = source(tmp_path, '"Name","State","train/loss"\n"a","crashed","NaN"\n"b","finished","2.4"\n')
    assert csv.READER.sniff(made)
    with pytest.raises(UnreadableError, match="one row for every run"):
        blocks(made)


def test_a_chart_of_two_runs(tmp_path: Path) -> None:
    header = '"Step","a - b - loss","a - b - loss__MIN","a - b - loss__MAX","c - loss","c - loss__MIN","c - loss__MAX"'
    rows = '"0","3","3","3","","",""\n"10","2","1","3","5","5","5"\n'
    found = blocks(source(tmp_path, f"{header}\n{rows}", "wandb_export.csv"))
    assert [block.run for block in found] == ["a - b", "c"]
    assert found[0].frame.to_dicts() == [{"Step": 0, "loss": 3.0}, {"Step": 10, "loss": 2.0}]
    assert found[1].frame.to_dicts() == [{"Step": 10, "loss": 5.0}]
    notice = found[0].notices[0]
    assert (notice.id, notice.detail["bucketed"]) == ("sampled-export", True)


def test_a_download_of_tensorboard(tmp_path: Path) -> None:
    text = "Wall time,Step,Value\r\n1.5,0,2.5\r\n2.5,7,nan\r\n"
    found = blocks(source(tmp_path, text, "run-run1-tag-train_loss.csv"))
    assert found[0].frame.columns == ["Wall time", "Step", "train_loss"]
    assert found[0].notices == ()
    long = "Wall time,Step,Value\n" + "".join(f"{i}.5,{3 * i},2.5\n" for i in range(1000))
    notice = blocks(source(tmp_path, long, "run-a-tag-loss.csv"))[0].notices[0]
    assert (notice.id, notice.count) == ("sampled-export", 1000)


def test_the_monitor_of_deepspeed_names_its_tag(tmp_path: Path) -> None:
    found = blocks(source(tmp_path, "step,train_loss\n64,2.5\n128,2.4\n", "Train_Samples_train_loss.csv"))
    assert found[0].frame.columns == ["step", "Train_Samples_train_loss"]


def test_stretches_follow_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jsonl_lines.read_lines, "__defaults__", (1 << 12,))
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"step": np.arange(3000), "loss": rng.random(3000), "lr": rng.random(3000)})
    frame = frame.with_columns(pl.when(pl.col("step") % 7 == 3).then(NAN).otherwise("loss").alias("loss"))
    path = tmp_path / "m.csv"
    frame.write_csv(path)
    found = blocks(open_path(path, Limits()))
    assert len(found) > 5
    assert pl.concat([block.frame for block in found]).equals(frame)


CELL = st.one_of(st.floats().map(repr), st.sampled_from(["", "nan", "-inf", "3", '"4"', '"1,234"', "x"]))


@given(st.lists(st.lists(CELL, min_size=1, max_size=4), min_size=3, max_size=12))
def test_no_cell_is_lost(rows: list[list[str]]) -> None:
    """Every cell of a row of the right width arrives, whichever path reads it."""
    full = [["7", *row, *["1"] * (4 - len(row))][:4] for row in rows]
    text = "step,loss,lr,x\n" + "".join(",".join(row) + "\n" for row in full)
    made = open_stream(io.BytesIO(text.encode()), Limits())
    if not csv.READER.sniff(made):
        return
    frame = pl.concat([block.frame.cast(pl.String) for block in blocks(made) if block.frame.height])
    assert frame.height == len(full)
    for cells, row in zip(full, frame.iter_rows(), strict=True):
        for cell, got in zip(cells, row, strict=True):
            assert (got is None) == (cell == "")
