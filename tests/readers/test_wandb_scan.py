"""The scanner and protobuf give the same table: whatever stands in a record, in whatever order and form."""

from __future__ import annotations

import io
import json
import struct

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.helpers import wandb_file as build
from triage.options import Limits
from triage.readers import wandb
from triage.readers._contract import everything
from triage.readers._source import open_stream
from triage.readers._wandb_scan import Keys, envelopes, items_of

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(2**70), 2**70).map(str),
    st.integers(0, 20).map(str),
    st.sampled_from(["NaN", "Infinity", "-Infinity", "1.7960620381331956e+09", "-0", "9007199254740993", "1e999"]),
)
WORDS = st.sampled_from(["null", "true", "false"])
TEXTS = st.one_of(
    st.sampled_from(['"NaN"', '"1.5"', '""', '"a"', '"é"', '"1,000"']), st.text(max_size=5).map(json.dumps)
)
NESTED = st.sampled_from(['{"a": 1.5}', "[1, 2.5]", "[3]", '{"_type": "image-file", "size": 3}', "{}", "[]"])
BROKEN = st.sampled_from(["nan", "+1", "1_0", "x", " 5", "tensor(1.)"])
VALUES = st.one_of(NUMBERS, NUMBERS, NUMBERS, WORDS, TEXTS, NESTED, BROKEN)
PATHS = st.sampled_from(
    ["loss", "train/loss", ("train", "loss"), ("train", "lr"), ("img", "_type"), ("img", "size"), "_step", "é", "",
     ("a" * 140, "b"), "a key of more than sixteen bytes, one", "a key of more than sixteen bytes, two", ("x",) * 9]
)  # fmt: skip


def typed(kind: str) -> bytes:
    """The second form of a value, which has no say where the text is there."""
    return {
        "none": b"\x18\x00",
        "boolean": b"\x20\x01",
        "integer": b"\x28" + build.varint(2**40),
        "number": b"\x31" + struct.pack("<d", 1.25),
        "text": build.field(7, b"abc"),
        "json": build.field(8, b"[1]"),
        "": b"",
    }[kind]


KINDS = st.sampled_from(["", "", "", "none", "boolean", "integer", "number", "text", "json"])
ITEMS = st.builds(lambda path, value, kind: build.item(path, value, typed(kind)), PATHS, VALUES, KINDS)
STEPS = st.one_of(st.none(), st.just(0), st.integers(1, 2**40))
HISTORIES = st.builds(build.history, st.lists(ITEMS, max_size=7), STEPS)
NUMBERS_OF_RECORDS = st.one_of(st.integers(0, 300), st.sampled_from([16640, 16767, 2**40]))
ROWS = st.builds(build.record, NUMBERS_OF_RECORDS, st.just(2), HISTORIES, st.sampled_from([b"", build.field(16, b"")]))


def table(file: bytes) -> tuple[pl.DataFrame, list]:
    source = open_stream(io.BytesIO(file), Limits())
    blocks = list(wandb.READER.read(source, Limits(), everything))
    frames = [block.frame for block in blocks if block.frame.height]
    assert len(frames) <= 1
    return (frames[0] if frames else pl.DataFrame()), [notice for block in blocks for notice in block.notices]


def by_protobuf(file: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[pl.DataFrame, list]:
    with monkeypatch.context() as patch:
        patch.setattr(wandb, "scanned", lambda *given: (([], {}), np.arange(len(given[1]))))
        return table(file)


@settings(max_examples=400, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=8))
def test_both_paths_give_the_same_table_and_the_same_counts(rows):
    file, _ = build.log(rows)
    with pytest.MonkeyPatch.context() as patch:
        fast, fast_notices = table(file)
        slow, slow_notices = by_protobuf(file, patch)
    assert fast.height == slow.height
    assert_frame_equal(
        fast.select(sorted(fast.columns)), slow.select(sorted(slow.columns)), check_exact=True, check_dtypes=True
    )
    assert sorted(map(str, fast_notices)) == sorted(map(str, slow_notices))


def test_plain_rows_are_read_by_the_scanner_alone(monkeypatch):
    """Otherwise the test above would compare protobuf with itself."""
    monkeypatch.setattr(wandb, "decode", lambda _payload: pytest.fail("a plain row went to protobuf"))
    rows = [
        build.row(n, {"loss": "NaN" if n == 3 else f"{n}.5", "_step": str(n), "a key of more than 16 bytes": "1e-3"}, n)
        for n in range(50)
    ]
    rows += [
        build.record(n, 2, build.history([build.item(("train", "lr"), "0.1", typed("number")), build.item("k", "2")]))
        for n in range(50, 60)
    ]
    frame, _ = table(build.log(rows)[0])
    assert frame.height == 60
    assert frame["loss"].is_nan().sum() == 1
    assert frame["train/lr"].to_list() == [None] * 50 + [0.1] * 10
    assert frame["k"].dtype == pl.Int64


def test_heads_inside_numbers_do_not_matter():
    """82 01 is the head of a value, and the end of every record number and step from 16640 to 16767."""
    rows = [build.row(n, {"loss": "1.5", "_step": str(n)}, n) for n in (130, *range(16630, 16780))]
    assert sum(row.count(b"\x82\x01") for row in rows) > 2 * len(rows)
    frame, notices = table(build.log(rows)[0])
    assert frame["_step"].to_list() == [130, *range(16630, 16780)]
    assert [notice.id for notice in notices] == ["run-not-finished"]


def test_keys_of_one_hash_are_told_apart_by_their_bytes():
    """The hash looks at the first and last eight bytes and the length only."""
    names = [f"abcdefgh{middle}ijklmnop" for middle in ("one", "two", "six")]
    rows = [build.row(n, {name: str(n + 10 * place) for place, name in enumerate(names)}) for n in range(5)]
    frame, _ = table(build.log(rows)[0])
    assert {name: frame[name].to_list() for name in names} == {
        name: [n + 10 * place for n in range(5)] for place, name in enumerate(names)
    }


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(ROWS, st.binary(max_size=40)), min_size=1, max_size=6), st.data())
def test_bent_records_never_fail_and_are_never_half_read(rows, data):
    bent = []
    for row in rows:
        changed = bytearray(row)
        if changed and data.draw(st.booleans()):
            changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
        bent.append(bytes(changed))
    file, _ = build.log(bent)
    with pytest.MonkeyPatch.context() as patch:
        fast, _ = table(file)
        slow, _ = by_protobuf(file, patch)
    assert fast.height == slow.height
    assert_frame_equal(fast.select(sorted(fast.columns)), slow.select(sorted(slow.columns)), check_exact=True)


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=200))
def test_the_scanner_survives_any_bytes(rubbish):
    buffer = np.frombuffer(rubbish + bytes(320), dtype=np.uint8)
    start, end = np.array([0], dtype=np.int64), np.array([len(rubbish)], dtype=np.int64)
    found = envelopes(buffer, start, end)
    assert len(found.kind) == 1
    items = items_of(buffer, start, end, Keys())
    assert (items.end <= len(rubbish)).all()
