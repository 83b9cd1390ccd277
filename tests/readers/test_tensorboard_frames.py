"""Framing: cuts at every byte, wrong checksums, records of all sizes."""

from __future__ import annotations

import bisect
import io
import itertools
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import event_files as ev
from triage.options import Limits
from triage.readers import _tfevents_frames as frames
from triage.readers._contract import everything
from triage.readers.tensorboard import READER

LONGEST = 64 << 20


def payloads_of(data: bytes, longest: int = LONGEST) -> tuple[list[bytes], frames.Damage]:
    damage = frames.Damage()
    found = []
    for records in frames.read_records(io.BytesIO(data), longest, damage):
        for start, length in zip(records.starts.tolist(), records.lengths.tolist(), strict=True):
            found.append(records.data[start : start + length])
    return found, damage


def test_every_prefix_keeps_every_whole_record_and_counts_the_rest(tmp_path: Path) -> None:
    values = ev.scalars((step, {"loss": 2.0 - step / 8, "lr": 1e-3}) for step in (0, 1, 200))
    data = ev.file_of(values)
    for cut in range(1, len(data) + 1):
        blocks = list(READER.read(ev.source_of(tmp_path, data[:cut]), Limits(), everything))
        n_records, left = ev.whole_records(data[:cut])
        got = sum(
            block.frame.height - block.frame[name].null_count()
            for block in blocks
            for name in ("loss", "lr")
            if name in block.frame.columns
        )
        assert got == max(0, n_records - 1), cut
        torn = {n.id: n.count for n in blocks[-1].notices}
        assert torn == ({"torn-tail": left} if left else {}), cut
        assert blocks[-1].meta["bytes"] == cut


@given(st.lists(st.binary(max_size=200), max_size=12), st.integers(1, 300), st.integers(0, 40))
def test_the_size_of_chunks_changes_nothing(payloads: list[bytes], chunk: int, cut: int) -> None:
    data = b"".join(map(ev.frame, payloads))
    data = data[: max(0, len(data) - cut)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "CHUNK", chunk)
        found, damage = payloads_of(data)
    count, left = ev.whole_records(data)
    assert found == payloads[:count]
    assert (damage.records, damage.torn, damage.size) == (count, left, len(data))


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=8), st.data())
def test_one_wrong_byte_costs_one_record_or_is_told_where_it_stands(payloads: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(map(ev.frame, payloads))
    at = data.draw(st.integers(0, len(whole) - 1))
    wrong = bytearray(whole)
    wrong[at] ^= data.draw(st.integers(1, 255))
    found, damage = payloads_of(bytes(wrong))
    begins = [0, *itertools.accumulate(16 + len(payload) for payload in payloads)]
    index = bisect.bisect_right(begins, at) - 1
    begin = begins[index]
    if at < begin + 12:
        assert found == payloads[:index]
        assert (damage.lost, damage.lost_at) == (len(whole) - begin, begin)
    else:
        assert found == payloads[:index] + payloads[index + 1 :]
        assert (damage.wrong, damage.wrong_at) == (1, begin)


def test_an_event_file_inside_a_record_is_not_read() -> None:
    inner = ev.file_of(ev.scalars([(1, {"loss": 1.0})]))
    found, _ = payloads_of(ev.frame(b"\0" * 100 + inner) + ev.frame(b"after"))
    assert found == [b"\0" * 100 + inner, b"after"]


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_535, 65_536, (1 << 24) - 1, 1 << 24, (1 << 24) + 5])
def test_records_of_all_sizes(size: int) -> None:
    payload = bytes(size)
    found, damage = payloads_of(ev.frame(b"a") + ev.frame(payload) + ev.frame(b"b"))
    assert found == [b"a", payload, b"b"]
    assert not damage.notices(LONGEST)


def test_a_record_over_the_limit_is_passed_over_and_counted() -> None:
    long = ev.frame(bytes(9 << 20))
    found, damage = payloads_of(ev.frame(b"a") + long + ev.frame(b"b"), longest=8 << 20)
    assert found == [b"a", b"b"]
    assert (damage.oversize, damage.oversize_at) == (1, 17)
    found, damage = payloads_of(ev.frame(b"a") + long[:-1], longest=8 << 20)
    assert found == [b"a"]
    assert (damage.oversize, damage.torn) == (0, len(long) - 1)


def test_a_length_that_claims_more_than_there_is_does_not_ask_for_memory() -> None:
    length = struct.pack("<Q", 1 << 62)
    found, damage = payloads_of(ev.frame(b"a") + length + ev.checksum(length) + b"rest")
    assert found == [b"a"]
    assert damage.torn == 16


def test_zero_bytes_at_the_end_of_a_file_are_counted() -> None:
    found, damage = payloads_of(ev.frame(b"a") + bytes(500))
    assert found == [b"a"]
    assert (damage.lost, damage.lost_at) == (500, 17)
