"""W&B run files: what the three generations of clients wrote, and what a file says about its run."""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import math
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import wandb_file as build
from triage.errors import UnreadableError
from triage.model import RunTable
from triage.options import Limits, Options
from triage.readers import read_runs, wandb
from triage.readers._contract import everything
from triage.readers._source import open_path, open_stream

CASES = Path(__file__).parents[1] / "cases" / "formats"
SHARED = Path(__file__).parents[3] / "shared" / "cases" / "formats"


def blocks(file: bytes, limits: Limits | None = None, wanted=everything) -> list:
    limits = limits or Limits()
    return list(wandb.READER.read(open_stream(io.BytesIO(file), limits), limits, wanted))


def read(*records: bytes, **settings):
    """The one frame, merged meta, and notices by id of a file of these records behind a header record."""
    found = blocks(build.log([build.header_record(), *records])[0], **settings)
    frames = [block.frame for block in found if block.frame.height]
    assert len(frames) == 1
    meta = {key: value for block in found for key, value in block.meta.items()}
    return frames[0], meta, {notice.id: notice for block in found for notice in block.notices}


def only_run(path: Path) -> RunTable:
    result = read_runs([str(path)], Options())
    assert not result.errors
    assert len(result.runs) == 1
    return result.runs[0]


def check_loss(run: RunTable, truth: dict) -> None:
    points = run.frame.select("step", "loss").drop_nulls("loss")
    assert points.height == truth["loss_rows"]
    assert (points["step"].min(), points["step"].max()) == (truth["step_min"], truth["step_max"])
    assert points["loss"].is_nan().sum() == truth["nan_loss"]
    assert points["loss"].is_infinite().sum() == truth["inf_loss"]
    for (step, loss), (true_step, true_loss) in zip(points.tail(3).rows(), truth["last3"], strict=True):
        assert step == true_step
        assert loss == float(true_loss) or (math.isnan(loss) and true_loss == "NaN")


# ── real files ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["wandb__old_client_0_15_12", "wandb__old_client_0_19_11"])
def test_old_clients(name):
    run = only_run(CASES / name)
    check_loss(run, json.loads((CASES / f"{name}.case.json").read_text())["truth"])
    assert run.source.writer == f"wandb {name[18:].replace('_', '.')}"
    assert run.source.columns["step"].source == "train/global_step"
    assert run.source.config == {"lr": 0.003}
    assert run.frame["nest/a"].is_nan().sum() == 10
    assert run.notices == ()


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    [
        "wandb__nested_none_strings_media",
        "wandb__offline_basic_nan_inf",
        "wandb__resumed_same_id_overlap",
        "wandb__same_step_many_calls",
        "wandb__steps_10050_xz",
        "wandb__steps_600",
    ],
)
def test_labelled_cases(name):
    if not SHARED.exists():
        pytest.skip("the labelled cases are not here")
    run = only_run(SHARED / name)
    check_loss(run, json.loads((SHARED / f"{name}.case.json").read_text())["truth"])


@pytest.mark.shared
def test_a_killed_run_says_so():
    if not SHARED.exists():
        pytest.skip("the labelled cases are not here")
    run = only_run(SHARED / "wandb__killed_trainer_only")
    assert run.frame["step"].to_list() == list(range(440))
    notices = {notice.id: notice for notice in run.notices}
    assert notices["torn-tail"].count == 37
    assert notices["torn-tail"].where == "byte 163803"
    assert "run-not-finished" in notices


@pytest.mark.shared
def test_media_leaves_no_column_and_text_is_no_metric():
    if not SHARED.exists():
        pytest.skip("the labelled cases are not here")
    run = only_run(SHARED / "wandb__nested_none_strings_media")
    assert not [name for name in run.frame.columns if name.split("/")[0] in ("hist", "img", "tbl")]
    assert {notice.id for notice in run.notices} >= {"media-skipped"}
    assert run.frame["a.b"].unique().to_list() == [1.5]


def test_a_resumed_run_is_two_segments_of_one(tmp_path):
    for part, steps, code in (("20260101_000000", range(40), 1), ("20260101_010000", range(30, 50), 0)):
        folder = tmp_path / "wandb" / f"offline-run-{part}-abc"
        folder.mkdir(parents=True)
        rows = [build.row(n, {"train/loss": "1.5", "_step": str(n)}) for n in steps]
        records = [build.header_record(), *rows, build.exit_record(99, code)]
        (folder / "run-abc.wandb").write_bytes(build.log(records)[0])
    run = only_run(tmp_path)
    assert run.frame["step"].to_list() == [*range(40), *range(30, 50)]
    assert run.frame["segment"].to_list() == [0] * 40 + [1] * 20
    failed = next(notice for notice in run.notices if notice.id == "run-failed")
    assert "20260101_000000" in failed.where
    assert failed.detail == {"exit_code": 1}


def test_compressed_and_from_standard_input(tmp_path):
    file = next((CASES / "wandb__old_client_0_15_12").rglob("*.wandb"))
    packed = tmp_path / "run-old101512.wandb.xz"
    packed.write_bytes(lzma.compress(file.read_bytes()))
    plain = only_run(file).frame
    assert only_run(packed).frame.equals(plain)
    piped = read_runs(["-"], Options(), stdin=io.BytesIO(file.read_bytes()))
    assert piped.runs[0].frame.equals(plain)


def test_the_file_is_not_touched(tmp_path):
    path = tmp_path / "run-a.wandb"
    shutil.copy(next((CASES / "wandb__old_client_0_19_11").rglob("*.wandb")), path)
    path.chmod(0o400)
    before = (path.stat().st_mtime_ns, path.read_bytes())
    only_run(path)
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before
    assert list(tmp_path.iterdir()) == [path]


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_non_finite_absent_and_null_are_three_things():
    frame, _, _ = read(
        build.row(2, {"loss": "NaN"}),
        build.row(3, {"loss": "Infinity"}),
        build.row(4, {"loss": "-Infinity"}),
        build.row(5, {"loss": "null"}),
        build.row(6, {"lr": "1e-3"}),
        build.row(7, {"loss": '"NaN"'}),
    )
    loss = frame["loss"].to_list()
    assert math.isnan(loss[0])
    assert loss[1:5] == [math.inf, -math.inf, None, None]
    assert math.isnan(loss[5])


def test_steps_stay_exact_and_come_from_the_item():
    large = 2**53 + 1
    frame, _, _ = read(
        build.row(2, {"loss": "1", "_step": str(large)}, step=0),
        build.row(3, {"loss": "2", "_step": str(large + 2)}, 0),
    )
    assert frame["_step"].to_list() == [large, large + 2]


def test_the_records_own_step_stands_in_where_the_item_is_missing():
    frame, _, _ = read(
        build.row(2, {"loss": "1"}, step=5),
        build.record(3, 2, build.history([build.item(["loss"], "[2]")], 6)),
        build.row(4, {"loss": "3", "_step": "9"}, step=0),
    )
    assert frame["_step"].to_list() == [5, 6, 9]
    assert frame["loss"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("path", ["train/loss", ["train/loss"], ["train", "loss"]])
def test_groups_are_named_with_slashes_and_slashes_stay(path):
    frame, _, _ = read(build.record(2, 2, build.history([build.item(path, "1.5")])))
    assert frame.columns == ["train/loss"]


def test_media_is_dropped_as_a_whole_in_both_forms():
    leaves = [build.item(["img", leaf], value) for leaf, value in (("_type", '"image-file"'), ("size", "3"))]
    whole = build.item("tbl", '{"_type": "table-file", "nrows": 3}')
    frame, _, notices = read(build.record(2, 2, build.history([*leaves, whole, build.item(["loss"], "1")])))
    assert frame.columns == ["loss"]
    assert notices["media-skipped"].count == 2


def test_a_value_that_is_no_json_is_counted():
    frame, _, notices = read(build.row(2, {"loss": "1.5"}), build.row(3, {"loss": "oops"}))
    assert frame["loss"].to_list() == [1.5, None]
    assert notices["unread-values"].count == 1


def test_a_typed_value_alone_is_read():
    key = build.field(2, b"loss")
    typed = build.field(1, key + b"\x31" + b"\0\0\0\0\0\0\xf8\x3f") + build.field(1, build.field(2, b"n") + b"\x28\x0a")
    frame, _, _ = read(build.record(2, 2, typed))
    assert frame.rows(named=True) == [{"loss": 1.5, "n": 5}]


def test_only_wanted_columns_and_the_declared_axis_are_read():
    frame, meta, _ = read(
        build.metric_record(2, "*", "my.axis"),
        build.record(
            3, 2, build.history([build.item(["my", "axis"], "7"), build.item(["a"], "1"), build.item(["b"], "2")])
        ),
        wanted=lambda name: name == "a",
    )
    assert sorted(frame.columns) == ["a", "my/axis"]
    assert meta["step_column"] == "my/axis"


def test_of_several_axes_the_one_of_most_rows_is_declared():
    rows = [build.row(n, {"loss": "1", "train/step": str(n)}) for n in range(5, 15)]
    frame, meta, notices = read(
        build.metric_record(2, "eval/*", "eval/step"),
        build.metric_record(3, "train/*", "train/step"),
        build.row(4, {"eval/loss": "1", "eval/step": "1"}),
        *rows,
    )
    assert frame.height == 11
    assert meta["step_column"] == "train/step"
    assert notices["several-step-axes"].detail == {"axes": "eval/step, train/step"}


def test_more_columns_than_the_limit_are_counted():
    cells = {f"layer{n}": "1" for n in range(30)} | {"loss": "2"}
    frame, _, notices = read(build.row(2, cells), limits=Limits(columns=10))
    assert frame.width == 11  # the loss gets in past the limit
    assert notices["column-limit"].count == 20


# ── facts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def config_item(path, value: str) -> bytes:
    return build.item(path, value)  # field 1 of the config as of the history


def test_config_is_nested_and_changed_by_later_records():
    run = build.field(1, b"abc") + build.field(
        4, config_item("lr", "0.1") + config_item("_wandb", "{}") + config_item("model", '{"d": 1, "e": NaN}')
    )
    later = config_item(["model", "d"], "2") + build.field(2, build.field(1, b"lr"))
    _, meta, _ = read(build.record(2, 17, run), build.record(3, 5, later), build.row(4, {"loss": "1"}))
    assert meta["run_id"] == "abc"
    assert meta["config"]["model"]["d"] == 2
    assert math.isnan(meta["config"]["model"]["e"])
    assert set(meta["config"]) == {"model"}


def test_a_server_side_resume_and_the_exit_code():
    run = build.field(1, b"abc") + b"\x70\x1e" + b"\x90\x01\x01" + build.field(17, b"\x08\x64")
    _, meta, notices = read(build.record(2, 17, run), build.row(3, {"loss": "1"}), build.exit_record(4, 255))
    assert meta["started"] == 100
    assert meta["exit_code"] == 255
    assert notices["run-resumed"].detail == {"starting_step": 30}
    assert notices["run-failed"].detail == {"exit_code": 255}
    assert "run-not-finished" not in notices


def test_what_is_not_read_is_counted():
    _, _, notices = read(
        build.row(2, {"loss": "1"}),
        build.record(3, 3, b"summary"),
        build.record(4, 13, build.field(3, b"loss: nan")),
        build.record(5, 22 + 400, b"from a later client"),
        build.record(6, 10, build.field(1, b"NaN") + build.field(2, b"at step 5")),
        build.record(7, 9, build.field(1, b"/logs/tb")),
        b"\xff\xff\xff",
        build.exit_record(8),
    )
    counts = {name: notice.count for name, notice in notices.items()}
    assert counts == {
        "console-not-read": 1,
        "unknown-records": 1,
        "alerts-sent": 1,
        "metrics-in-tensorboard": 1,
        "undecodable-records": 1,
    }
    assert notices["alerts-sent"].detail == {"texts": "NaN: at step 5"}


# ── files that are none ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (build.HEADER[:3], "within its header"),
        (build.HEADER[:6] + b"\x07", "layout 7"),
        (bytes(100), "does not begin as one"),
        (b":W&B\0\0\0", "does not begin as one"),
    ],
)
def test_headers_that_are_none(file, words, tmp_path):
    path = tmp_path / "run-a.wandb"
    path.write_bytes(file)
    source = open_path(path, Limits())
    assert wandb.READER.sniff(source)
    with pytest.raises(UnreadableError, match=words) as fault:
        list(wandb.READER.read(source, Limits(), everything))
    assert fault.value.hint


def test_a_header_alone_is_a_run_without_rows():
    found = blocks(build.HEADER)
    assert [block.frame.height for block in found] == [0]
    assert [notice.id for notice in found[0].notices] == ["run-not-finished"]


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_give_blocks_or_a_clear_error(rubbish):
    for start in (b"", build.HEADER, b":W&B"):
        if not start + rubbish:
            continue
        with contextlib.suppress(UnreadableError):
            blocks(start + rubbish)
