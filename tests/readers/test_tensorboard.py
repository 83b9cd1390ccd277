"""The reader from bytes to blocks: encodings, what is skipped and told, damage, and files of real writers."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.helpers import event_files as ev
from triage.errors import UnreadableError
from triage.model import Notice
from triage.options import Limits
from triage.readers._contract import Source, everything
from triage.readers.tensorboard import READER

SHARED = Path(__file__).parents[2].parent / "shared" / "cases" / "formats"


def read(source: Source, limits: Limits | None = None) -> tuple[pl.DataFrame, dict[str, Notice], dict[str, Any]]:
    blocks = list(READER.read(source, limits or Limits(), everything))
    frames = [block.frame for block in blocks if block.frame.height]
    whole = pl.concat(frames, how="diagonal") if frames else pl.DataFrame()
    return whole, {n.id: n for block in blocks for n in block.notices}, dict(blocks[-1].meta)


def read_events(tmp_path: Path, payloads: Iterable[bytes]) -> tuple[pl.DataFrame, dict[str, Notice], dict[str, Any]]:
    return read(ev.source_of(tmp_path, ev.file_of(payloads)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(ev.simple("loss", 0.1), struct.unpack("<f", struct.pack("<f", 0.1))[0], id="simple_value"),
        pytest.param(ev.tensor("loss", 1, ev.float_val(0.5)), 0.5, id="float_val"),
        pytest.param(ev.tensor("loss", 1, ev.float_val_unpacked(0.5)), 0.5, id="float_val unpacked"),
        pytest.param(ev.tensor("loss", 1, ev.content("<f", 0.5)), 0.5, id="float content"),
        pytest.param(ev.tensor("loss", 2, ev.double_val(0.1)), 0.1, id="double_val"),
        pytest.param(ev.tensor("loss", 2, ev.content("<d", 0.1)), 0.1, id="double content"),
        pytest.param(ev.tensor("loss", 3, ev.field(7, ev.varint(-7))), -7.0, id="int32"),
        pytest.param(ev.tensor("loss", 9, ev.content("<q", -(2**40))), -(2.0**40), id="int64 content"),
        pytest.param(ev.tensor("loss", 9, ev.field(10, ev.varint(2**40))), 2.0**40, id="int64"),
        pytest.param(ev.tensor("loss", 10, ev.field(11, b"\x01")), 1.0, id="bool"),
        pytest.param(ev.tensor("loss", 14, ev.field(13, ev.varint(0x3FC0))), 1.5, id="bfloat16"),
        pytest.param(ev.tensor("loss", 14, ev.field(4, b"\xc0\x7f")), math.nan, id="bfloat16 content, NaN"),
        pytest.param(ev.tensor("loss", 19, ev.field(13, ev.varint(0x3E00))), 1.5, id="half"),
        pytest.param(ev.tensor("loss", 19, ev.content("<e", math.inf)), math.inf, id="half content, inf"),
        pytest.param(ev.tensor("loss", 23, ev.field(17, ev.varint(2**63))), 2.0**63, id="uint64"),
        pytest.param(ev.tensor("loss", 1, b""), 0.0, id="zero left out"),
        pytest.param(ev.tensor("loss", 1, ev.float_val(0.5), shape=None), 0.5, id="no shape"),
        pytest.param(ev.tensor("loss", 1, ev.float_val(0.5), shape=(1, 1)), 0.5, id="list of one"),
        pytest.param(ev.tensor("loss", 1, ev.float_val(0.5), plugin=""), 0.5, id="no plugin"),
        pytest.param(ev.simple("loss", math.nan), math.nan, id="NaN"),
        pytest.param(ev.simple("loss", -math.inf), -math.inf, id="-inf"),
    ],
)
def test_all_encodings_of_a_number(tmp_path: Path, value: bytes, expected: float) -> None:
    frame, notices, _ = read_events(tmp_path, [ev.event(1.7e9, 1, value)])
    assert frame["loss"].to_list() == pytest.approx([expected], rel=0, abs=0, nan_ok=True)
    assert not notices


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (ev.histogram("h"), "histogram"),
        (ev.text("h", "hello"), "text"),
        (ev.field(1, b"h") + ev.field(4, bytes(99)), "image"),
        (ev.field(1, b"h") + ev.field(6, bytes(99)), "audio"),
        (ev.tensor("h", 1, ev.field(4, bytes(36)), plugin="pr_curves", shape=(3, 3)), "pr_curves"),
        (ev.tensor("h", 1, ev.float_val(1.0), plugin="mine"), "mine"),
        (ev.tensor("h", 1, ev.field(4, bytes(8)), plugin="", shape=(2,)), "tensor"),
        (ev.tensor("h", 1, ev.float_val(1.0), plugin="", shape=(1,)), "tensor"),
        (ev.tensor("h", 8, ev.field(9, bytes(8))), "tensor"),
        (ev.field(1, b"_hparams_/experiment") + ev.metadata("hparams"), "hparams"),
        (ev.field(1, b"h"), "empty value"),
    ],
)
def test_what_is_no_scalar_is_counted(tmp_path: Path, value: bytes, kind: str) -> None:
    frame, notices, _ = read_events(
        tmp_path, [ev.event(1.7e9, 1, ev.simple("loss", 1.0), value), ev.event(1.7e9, 2, value)]
    )
    assert frame.columns == ["step", "wall_time", "loss"]
    assert notices["summaries-skipped"].count == 2
    assert notices["summaries-skipped"].detail == {"kinds": kind}


def test_a_tag_that_was_another_plugins_is_no_scalar_later_without_a_word(tmp_path: Path) -> None:
    """The format allows the plugin to be named in the first event of a tag only."""
    named = ev.tensor("pr", 1, ev.field(4, bytes(8)), plugin="pr_curves", shape=(2,))
    bare = ev.tensor("pr", 1, ev.float_val(1.0), plugin="")
    frame, notices, _ = read_events(
        tmp_path, [ev.event(1.7e9, i, value, ev.simple("loss", i)) for i, value in enumerate([named, bare, bare], 1)]
    )
    assert frame.columns == ["step", "wall_time", "loss"]
    assert notices["summaries-skipped"].count == 3


def test_whole_steps_stay_exact_and_negative_ones_stay(tmp_path: Path) -> None:
    steps = [-5, 0, 2**53, 2**53 + 1, 2**62 + 1]
    frame, _, _ = read_events(tmp_path, ev.scalars((step, {"loss": 1.0}) for step in steps))
    assert frame["step"].to_list() == steps
    assert frame.schema["step"] == pl.Int64


def test_tags_of_one_step_share_a_row_and_a_tag_that_comes_again_opens_one(tmp_path: Path) -> None:
    payloads = [
        ev.event(10.0, 1, ev.simple("loss", 1.0), ev.simple("lr", 0.1)),
        ev.event(11.0, 1, ev.simple("acc", 0.5)),
        ev.event(12.0, 1, ev.simple("loss", 2.0)),
        ev.event(13.0, 1, ev.simple("acc", 0.6)),
        ev.event(14.0, 2, ev.simple("acc", 0.7)),
    ]
    frame, _, _ = read_events(tmp_path, payloads)
    expected = pl.DataFrame(
        {
            "step": [1, 1, 2],
            "wall_time": [10.0, 12.0, 14.0],
            "loss": [1.0, 2.0, None],
            "lr": [0.1, None, None],
            "acc": [0.5, 0.6, 0.7],
        }
    )
    assert_frame_equal(frame, expected, check_exact=False, rel_tol=1e-6)


def test_tags_named_like_our_own_columns_keep_their_values(tmp_path: Path) -> None:
    frame, _, _ = read_events(tmp_path, ev.scalars([(1, {"step": 7.0, "wall_time": 8.0, "time": 9.0, "": 1.0})]))
    assert frame.drop("wall_time").to_dicts() == [
        {"step": 1, "tag/step": 7.0, "tag/wall_time": 8.0, "time": 9.0, "(no tag)": 1.0}
    ]


def test_tags_that_are_no_text_stay_apart(tmp_path: Path) -> None:
    values = [ev.field(1, tag) + b"\x15" + struct.pack("<f", i) for i, tag in enumerate([b"\xff", b"\xfe"])]
    frame, _, _ = read_events(tmp_path, [ev.event(1.0, 1, *values)])
    assert frame.columns[2:] == ["\\xff", "\\xfe"]


def test_a_writer_that_resumed_says_so_and_nothing_is_purged(tmp_path: Path) -> None:
    before = ev.scalars((step, {"loss": 1.0}) for step in range(40))
    after = ev.scalars(((step, {"loss": 2.0}) for step in range(30, 50)), wall=1.8e9)
    frame, notices, meta = read_events(tmp_path, [*before, ev.header(1.8e9), ev.session_start(1.8e9, 30), *after])
    assert frame["step"].to_list() == [*range(40), *range(30, 50)]
    assert (notices["session-start"].count, notices["session-start"].detail) == (1, {"steps": "30"})
    assert [(event["step"], event["kind"]) for event in meta["text_events"]] == [(30, "resume")]


def test_meta_says_what_was_read(tmp_path: Path) -> None:
    data = ev.file_of(ev.scalars([(1, {"loss": 1.0})]))
    _, _, meta = read(ev.source_of(tmp_path, data))
    assert meta == {
        "format": "tensorboard",
        "step_column": "step",
        "aliases": {"eval/epoch_loss": "eval_loss"},
        "bytes": len(data),
        "dropped": 0,
        "writer": "tests.writer",
    }


def test_records_that_are_no_events_are_counted(tmp_path: Path) -> None:
    payloads = [*ev.scalars([(1, {"loss": 1.0})]), b"\xff\xff", *ev.scalars([(2, {"loss": 1.0})])]
    frame, notices, meta = read_events(tmp_path, payloads)
    assert frame["step"].to_list() == [1, 2]
    assert notices["undecodable-records"].count == 1
    assert meta["dropped"] == 1


def test_a_damaged_record_is_left_out_and_counted(tmp_path: Path) -> None:
    payloads = ev.scalars((step, {"loss": float(step)}) for step in range(5))
    data = bytearray(ev.file_of(payloads))
    data[-8] ^= 1
    frame, notices, meta = read(ev.source_of(tmp_path, bytes(data)))
    assert frame["step"].to_list() == [0, 1, 2, 3]
    assert notices["bad-record-checksum"].count == 1
    assert meta["dropped"] == 1


def test_a_header_alone_has_no_rows_and_is_no_error(tmp_path: Path) -> None:
    frame, notices, meta = read_events(tmp_path, [])
    assert not frame.height
    assert not notices
    assert meta["writer"] == "tests.writer"


def test_columns_over_the_limit_are_counted_but_not_the_loss(tmp_path: Path) -> None:
    payloads = ev.scalars([(1, {**{f"x{i}": 1.0 for i in range(9)}, "loss": 1.0})] * 2)
    frame, notices, _ = read(ev.source_of(tmp_path, ev.file_of(payloads)), Limits(columns=5))
    assert frame.columns == ["step", "wall_time", *(f"x{i}" for i in range(5)), "loss"]
    assert notices["column-limit"].count == 8


def test_only_wanted_columns_are_read(tmp_path: Path) -> None:
    source = ev.source_of(tmp_path, ev.file_of(ev.scalars([(1, {"loss": 1.0, "x": 2.0})])))
    blocks = list(READER.read(source, Limits(), lambda name: name == "loss"))
    assert blocks[0].frame.columns == ["step", "wall_time", "loss"]


def test_tags_that_never_share_a_step_do_not_fill_the_memory(tmp_path: Path) -> None:
    """A dense table of 3000 rows and 3000 columns would have 9 million cells."""
    payloads = ev.scalars((step, {f"x{step}": float(step)}) for step in range(3_000))
    source = ev.source_of(tmp_path, ev.file_of(payloads))
    frames = [block.frame for block in READER.read(source, Limits(), everything) if block.frame.height]
    assert sum(frame.height for frame in frames) == 3_000
    assert max(frame.height * frame.width for frame in frames) < 5_000_000
    assert sum(frame.drop("step", "wall_time").count().sum_horizontal()[0] for frame in frames) == 3_000


# ── is it ours? ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "data", "ours"),
    [
        ("events.out.tfevents.1.host", ev.file_of([]), True),
        ("renamed.bin", ev.file_of([]), True),
        ("train.tfrecord", ev.frame(b"\x0a\x05image"), False),
        ("events.out.tfevents.1.host", ev.frame(b"\x09" + bytes(8)), True),
        ("events.out.tfevents.1.host", ev.file_of([])[:5], True),
        ("events.out.tfevents.1.host", bytes(100), True),
        ("events.out.tfevents.1.host", b'{"loss": 1.0}\n', False),
        ("tfevents.csv", b"step,loss\n1,2\n", False),
        ("notes.txt", b"brain.Event:2 is the version", False),
    ],
)
def test_sniff(tmp_path: Path, name: str, data: bytes, ours: bool) -> None:
    assert READER.sniff(ev.source_of(tmp_path, data, name)) is ours


def test_a_file_that_does_not_begin_with_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="does not begin with a record"):
        read(ev.source_of(tmp_path, bytes(100)))


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_blocks_or_a_clear_error(tmp_path: Path, data: st.DataObject) -> None:
    payloads = [
        ev.event(1.7e9 + i, i // 3, value)
        for i, value in enumerate(
            [ev.simple("loss", 1.0), ev.tensor("lr", 1, ev.float_val(2.0)), ev.histogram("h")] * 20
        )
    ]
    changes = st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 255)), max_size=8)
    if data.draw(st.booleans()):
        # Right checksums, so that what is inside is looked at.
        for at, octet in data.draw(changes):
            payload = bytearray(payloads[at % len(payloads)])
            payload[at % len(payload)] = octet
            payloads[at % len(payloads)] = bytes(payload)
        raw = ev.file_of(payloads)
    else:
        broken = bytearray(ev.file_of(payloads)[: data.draw(st.integers(1, 4_000))])
        for at, octet in data.draw(changes):
            broken[at % len(broken)] = octet
        raw = bytes(broken)
    try:
        frame, _, meta = read(ev.source_of(tmp_path, raw))
    except UnreadableError:
        return
    assert meta["bytes"] == len(raw)
    assert not frame.height or {"step", "wall_time"} & set(frame.columns)


# ── real writers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_tensorboardx_writes_is_what_is_read(tmp_path: Path) -> None:
    writers = pytest.importorskip("tensorboardX")
    losses = [2.0, 1.5, math.nan, math.inf, -math.inf, 0.0]
    with writers.SummaryWriter(str(tmp_path)) as writer:
        for step, loss in enumerate(losses):
            writer.add_scalar("train/loss", loss, step)
            writer.add_scalar("lr", 0.5**step, step)
        writer.add_text("notes", "hello")
        writer.add_histogram("weights", [1.0, 2.0, 3.0])
    path = next(tmp_path.glob("*tfevents*"))
    frame, notices, _ = read(ev.source_of(tmp_path, path.read_bytes()))
    assert frame["step"].to_list() == [0, 1, 2, 3, 4, 5]
    assert frame["train/loss"].to_list() == pytest.approx(losses, nan_ok=True)
    assert frame["lr"].to_list() == [0.5**step for step in range(6)]
    assert frame["wall_time"].is_sorted()
    assert notices["summaries-skipped"].count == 2


TRUTH = {
    # case: column of the loss
    "tensorboard__disk_full_truncated_record": "train/loss",
    "tensorboard__no_global_step": "loss",
    "tensorboard__steps_every_10_offset": "train_loss",
    "tensorboard__tb_summary_writer_tf2_style": "train/loss",
    "tensorboard__tensorboardX_basic": "Loss/train",
    "tensorboard__tf1_filewriter_simple_value": "loss",
    "tensorboard__tf2_summary_scalar": "loss",
    "tensorboard__torch_basic_nan_inf": "train/loss",
    "tensorboard__torch_double_precision": "train/loss",
    "tensorboard__torch_new_style_tensor_float": "train/loss",
    "lightning__csv_tb": "train_loss_step",
    "lightning__csv_tb_nan": "train_loss_step",
    "accelerate__trackers_tb": "train_loss",
}
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="no cases here")
@pytest.mark.parametrize("case", TRUTH)
def test_real_files_hold_what_was_logged(case: str) -> None:
    column = TRUTH[case]
    path = min(SHARED.joinpath(case).rglob("*tfevents*"), key=lambda path: len(path.parts))
    told = json.loads(SHARED.joinpath(f"{case}.case.json").read_text())
    truth = told["truth"]
    frame, notices, _ = read(_opened(path))
    rows = frame.filter(pl.col(column).is_not_null())
    assert rows.height == truth["loss_rows"]
    assert rows[column].is_nan().sum() == truth["nan_loss"]
    assert rows[column].is_infinite().sum() == truth["inf_loss"]
    for row, (step, loss) in zip(rows.tail(3).iter_rows(named=True), truth["last3"], strict=True):
        assert row.get("step") == step
        assert row[column] == pytest.approx(WORDS.get(loss, loss), rel=1e-6, nan_ok=True)
    left = told.get("bytes_after_last_whole_record", 0)
    assert (notices["torn-tail"].count if "torn-tail" in notices else 0) == left


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="no cases here")
@pytest.mark.parametrize("case", ["tensorboard__killed_torch", "tensorboard__tf2_killed"])
def test_killed_writers_lose_no_whole_record(case: str) -> None:
    path = next(SHARED.joinpath(case).glob("*tfevents*"))
    count, left = ev.whole_records(path.read_bytes())
    frame, notices, _ = read(_opened(path))
    tags = frame.drop("step", "wall_time")
    assert tags.count().sum_horizontal()[0] == count - 1
    assert (notices["torn-tail"].count if "torn-tail" in notices else 0) == left


def _opened(path: Path) -> Source:
    from triage.readers._source import open_path

    return open_path(path, Limits())
