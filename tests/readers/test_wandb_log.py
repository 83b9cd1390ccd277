"""The record log: every cut, flipped bits, rubbish; nothing whole is lost, and nothing lost is uncounted."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import wandb_file as build
from triage.readers import _wandb_log
from triage.readers._wandb_log import BLOCK, LogTally, read_log

CASES = Path(__file__).parent.parent / "cases" / "formats"
SHARED = Path(__file__).parents[2].parent / "shared" / "cases" / "formats"
LONGEST = 64 << 20


def read(file: bytes, longest: int = LONGEST) -> tuple[list[bytes], LogTally]:
    tally = LogTally()
    found = []
    for batch in read_log(io.BytesIO(file), tally, longest):
        found += [batch.buffer[a:b].tobytes() for a, b in zip(batch.start, batch.end, strict=True)]
    return found, tally


RECORDS = [build.row(n, {"loss": f"{n}.5", "_step": str(n)}) for n in range(12)]


def test_every_prefix_gives_the_whole_records_and_counts_the_rest():
    file, ends = build.log(RECORDS)
    for cut in range(len(build.HEADER), len(file) + 1):
        found, tally = read(file[:cut])
        whole = [end for end in ends if end <= cut]
        assert found == RECORDS[: len(whole)]
        assert tally.torn == cut - (whole[-1] if whole else len(build.HEADER))
        assert tally.pieces == 0


def test_every_cut_around_block_ends():
    records = [build.row(n, {"loss": "1" * (8000 + 1237 * (n % 7)), "_step": str(n)}) for n in range(20)]
    file, ends = build.log(records)
    assert len(file) > 5 * BLOCK
    near = {edge + shift for edge in range(BLOCK, len(file), BLOCK) for shift in range(-40, 60)} | {*ends}
    for cut in sorted(cut for cut in near if cut <= len(file)):
        found, tally = read(file[:cut])
        whole = [end for end in ends if end <= cut]
        assert found == records[: len(whole)]
        behind = cut - whole[-1] if whole else cut - len(build.HEADER)
        # Up to six zero bytes fill a block in which no further head fits.
        is_padding = whole and behind < 7 and whole[-1] // BLOCK == (cut - 1) // BLOCK and BLOCK - whole[-1] % BLOCK < 7
        assert tally.torn == (0 if is_padding else behind)


@pytest.mark.parametrize("room", range(12))
def test_records_that_leave_little_room_in_a_block(room):
    first = b"\x08\x01" + b"x" * (BLOCK - 7 - 7 - 2 - room)
    file, ends = build.log([first, b"second"])
    assert ends[0] == BLOCK - room
    assert read(file)[0] == [first, b"second"]


def test_a_record_over_many_blocks_and_batches(monkeypatch):
    monkeypatch.setattr(_wandb_log, "BATCH", 2 * BLOCK)
    records = [b"a" * 10, b"b" * (9 * BLOCK), b"c" * 5]
    file, _ = build.log(records)
    found, tally = read(file)
    assert found == records
    assert (tally.pieces, tally.torn, tally.total) == (0, 0, len(file))


def test_a_record_over_the_limit_is_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(_wandb_log, "BATCH", 2 * BLOCK)
    file, _ = build.log([b"a" * 10, b"b" * (3 * BLOCK), b"c" * 5])
    found, tally = read(file, longest=2 * BLOCK)
    assert found == [b"a" * 10, b"c" * 5]
    assert tally.oversize == 1
    assert [notice.id for notice in tally.notices()] == ["oversize-records"]


def test_every_flipped_bit_costs_at_most_its_own_record_or_the_rest_of_its_block():
    file, ends = build.log(RECORDS)
    starts = [len(build.HEADER), *ends[:-1]]
    for place in range(len(build.HEADER), len(file)):
        damaged = bytearray(file)
        damaged[place] ^= 1 << place % 8
        found, tally = read(bytes(damaged))
        index = next(i for i, end in enumerate(ends) if place < end)
        is_length = place - starts[index] in (4, 5)
        assert found[:index] == RECORDS[:index]
        if not is_length and place - starts[index] != 6:
            assert found == RECORDS[:index] + RECORDS[index + 1 :]
            assert tally.pieces == 1
            assert tally.skipped == ends[index] - starts[index]
        assert tally.skipped + tally.torn > 0


def test_a_damaged_length_costs_its_block_and_no_more():
    records = [build.row(n, {"loss": "1" * 500, "_step": str(n)}) for n in range(200)]
    file, ends = build.log(records)
    damaged = bytearray(file)
    damaged[ends[3] + 5] ^= 0x40
    found, tally = read(bytes(damaged))
    assert found[:4] == records[:4]
    in_block = sum(end <= BLOCK for end in ends)
    assert found[4:] == records[in_block + 1 :]
    assert tally.pieces >= 1
    assert tally.first == ends[3]


def test_zeros_at_the_end_are_a_tail_and_zeros_in_the_middle_a_hole(monkeypatch):
    monkeypatch.setattr(_wandb_log, "BATCH", 2 * BLOCK)
    records = [build.row(n, {"loss": "1" * 3000, "_step": str(n)}) for n in range(60)]
    file, ends = build.log(records)
    tail = file[: ends[4]] + bytes(3 * BLOCK)
    found, tally = read(tail)
    assert found == records[:5]
    assert (tally.torn, tally.pieces) == (3 * BLOCK, 0)

    hole = file[: 2 * BLOCK] + bytes(BLOCK) + file[3 * BLOCK :]
    found, tally = read(hole)
    lost = [record for record in records if record not in found]
    assert len(lost) == sum(1 for a, b in zip([0, *ends], ends, strict=False) if b > 2 * BLOCK and a < 3 * BLOCK)
    assert tally.torn == 0
    assert tally.skipped >= BLOCK


def test_a_middle_without_beginning_is_counted():
    file = build.HEADER + build.piece(build.LAST, b"abc") + build.piece(build.FULL, b"whole")
    found, tally = read(file)
    assert found == [b"whole"]
    assert (tally.pieces, tally.skipped) == (1, 10)


def test_a_beginning_without_end_is_counted():
    file = build.HEADER + build.piece(build.FIRST, b"abc") + build.piece(build.FULL, b"whole")
    found, tally = read(file)
    assert found == [b"whole"]
    assert (tally.pieces, tally.skipped, tally.torn) == (1, 10, 0)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 3))
def test_any_bytes_are_read_without_a_fault(rubbish, before):
    start, _ = build.log(RECORDS[:before])
    found, tally = read(start + rubbish)
    assert found[:before] == RECORDS[:before]
    assert tally.total == len(start) + len(rubbish)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_anywhere_in_many_blocks_is_survived(data):
    sizes = data.draw(st.lists(st.integers(0, 40_000), min_size=1, max_size=12))
    records = [bytes([n % 251]) * size for n, size in enumerate(sizes)]
    file = bytearray(build.log(records)[0])
    assert read(bytes(file))[0] == records
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(len(build.HEADER), len(file) - 1))
        file[place] ^= data.draw(st.integers(1, 255))
    found, tally = read(bytes(file))
    missing = len(records) - len(found)
    assert all(record in records for record in found)
    assert missing <= 0 or tally.pieces + tally.torn > 0


@pytest.mark.shared
def test_the_killed_run_is_read_up_to_its_last_whole_record():
    folder = SHARED / "wandb__killed_trainer_only"
    if not folder.exists():
        pytest.skip("the labelled cases are not here")
    case = json.loads((SHARED / "wandb__killed_trainer_only.case.json").read_text())
    file = (folder / case["files"][0]).read_bytes()
    records, end = build.whole_records(file)
    assert len(records) == case["whole_records"]
    found, tally = read(file)
    assert found == records
    assert tally.torn == len(file) - end
