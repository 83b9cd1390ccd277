"""Parquet and Arrow: null beside NaN, nested columns, damaged files."""

from __future__ import annotations

import datetime as dt
import gzip
import math
from pathlib import Path

import polars as pl
import pytest

from triage.errors import UnreadableError
from triage.model import Block
from triage.options import Limits
from triage.readers import parquet
from triage.readers._contract import everything
from triage.readers._source import open_path

FRAME = pl.DataFrame(
    {
        "step": [1, 2, 3],
        "loss": pl.Series([1.5, None, float("nan")], dtype=pl.Float32),
        "nested": [{"a": 1.0, "b": {"c": 2}}, None, {"a": 3.0, "b": {"c": None}}],
        "list": [[1], [2, 3], None],
        "flag": [True, False, None],
        "kind": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
        "when": [dt.datetime(1970, 1, 1, 0, 0, i, tzinfo=dt.UTC) for i in range(3)],
        "spent": [dt.timedelta(seconds=i) for i in range(3)],
    }
)


def read(path: Path, limits: Limits | None = None, wanted=everything) -> list[Block]:
    source = open_path(path, limits or Limits())
    assert parquet.READER.sniff(source)
    return list(parquet.READER.read(source, limits or Limits(), wanted))


@pytest.mark.parametrize("form", ["parquet", "arrow", "stream", "packed"])
def test_null_and_nan_stay_apart(tmp_path: Path, form: str) -> None:
    path = (
        tmp_path / {"parquet": "m.parquet", "arrow": "m.feather", "stream": "m.arrows", "packed": "m.parquet.gz"}[form]
    )
    if form == "parquet":
        FRAME.write_parquet(path)
    elif form == "arrow":
        FRAME.write_ipc(path)
    elif form == "stream":
        FRAME.write_ipc_stream(path)
    else:
        FRAME.write_parquet(tmp_path / "m.parquet")
        path.write_bytes(gzip.compress((tmp_path / "m.parquet").read_bytes()))
    (block,) = read(path)
    loss = block.frame["loss"].to_list()
    assert loss[:2] == [1.5, None]
    assert math.isnan(loss[2])
    assert block.frame["nested/a"].to_list() == [1.0, None, 3.0]
    assert block.frame["nested/b/c"].to_list() == [2, None, None]
    assert block.frame["when"].to_list() == [0.0, 1.0, 2.0]
    assert block.frame["spent"].to_list() == [0.0, 1.0, 2.0]
    assert block.frame["kind"].to_list() == ["x", "y", "x"]
    assert [(n.id, n.count, n.detail["columns"]) for n in block.notices] == [("nested-columns-dropped", 1, "list")]


def test_blocks_and_wanted_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BLOCK_CELLS", 100)
    frame = pl.DataFrame({"step": range(500), "loss": [1.0] * 500, "x": [2.0] * 500})
    frame.write_parquet(tmp_path / "m.parquet")
    found = read(tmp_path / "m.parquet", wanted=lambda name: name != "x")
    assert len(found) == 10
    assert found[0].frame.columns == ["step", "loss"]
    assert pl.concat([block.frame for block in found])["step"].to_list() == list(range(500))


def test_a_file_without_its_end(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "whole.parquet")
    path = tmp_path / "m.parquet"
    path.write_bytes((tmp_path / "whole.parquet").read_bytes()[:-20])
    with pytest.raises(UnreadableError, match="not complete") as caught:
        read(path)
    assert "killed" in str(caught.value.hint)


def test_columns_beyond_the_limit(tmp_path: Path) -> None:
    pl.DataFrame({**{f"m{i}": [1.0] for i in range(9)}, "loss": [1.0]}).write_parquet(tmp_path / "m.parquet")
    (block,) = read(tmp_path / "m.parquet", Limits(columns=3))
    assert "loss" in block.frame.columns
    assert [(n.id, n.count) for n in block.notices] == [("columns-over-limit", 7)]


def test_the_index_of_pandas_is_the_step(tmp_path: Path) -> None:
    pl.DataFrame({"loss": [1.0], "__index_level_0__": [5]}).write_parquet(tmp_path / "m.parquet")
    assert read(tmp_path / "m.parquet")[0].meta["step_column"] == "__index_level_0__"


def test_four_bytes_are_no_arrow_stream_without_the_name(tmp_path: Path) -> None:
    path = tmp_path / "core.dump"
    path.write_bytes(b"\xff\xff\xff\xff" + bytes(100))
    assert not parquet.READER.sniff(open_path(path, Limits()))
