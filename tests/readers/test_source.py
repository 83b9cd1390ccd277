"""Paths and streams as sources: packers, cuts, bombs, pipes, permissions, encodings."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import threading
from pathlib import Path

import pytest
import zstandard

from triage.errors import UnreadableError
from triage.options import Limits
from triage.readers._contract import HEAD_BYTES, Source
from triage.readers._source import bare_name, open_path, open_stream, text_stream

LIMITS = Limits()
TEXT = b"".join(b'{"step": %d, "loss": %f}\n' % (i, i * 0.123457 % 7) for i in range(20_000))


def zstd(data: bytes) -> bytes:
    packer = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compressobj()
    return packer.compress(data) + packer.flush()


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def all_of(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read()


@pytest.mark.parametrize("ending", PACKERS)
def test_members_are_read_one_after_another(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"metrics.jsonl.{ending}"
    path.write_bytes(PACKERS[ending](TEXT) + PACKERS[ending](TEXT))
    source = open_path(path, LIMITS)
    assert source.head == TEXT[:HEAD_BYTES]
    assert source.name == "metrics.jsonl"
    assert source.local is None
    assert all_of(source) == TEXT + TEXT
    assert source.torn() == 0
    assert all_of(source) == TEXT + TEXT, "a file can be opened again"


@pytest.mark.parametrize("ending", PACKERS)
def test_a_cut_end_costs_the_end_only(tmp_path: Path, ending: str) -> None:
    packed = PACKERS[ending](TEXT) + PACKERS[ending](TEXT)
    path = tmp_path / f"m.{ending}"
    path.write_bytes(packed[:-40])
    source = open_path(path, LIMITS)
    got = all_of(source)
    assert (TEXT + TEXT).startswith(got)
    assert len(got) >= len(TEXT)
    assert source.torn() > 0


@pytest.mark.parametrize("ending", PACKERS)
def test_damage_keeps_what_was_before(tmp_path: Path, ending: str) -> None:
    first, second = PACKERS[ending](TEXT), bytearray(PACKERS[ending](TEXT))
    second[len(second) // 2 : len(second) // 2 + 8] = b"\xff" * 8
    path = tmp_path / f"m.{ending}"
    path.write_bytes(first + bytes(second))
    source = open_path(path, LIMITS)
    assert all_of(source).startswith(TEXT)
    assert source.torn() > 0


@pytest.mark.parametrize("ending", PACKERS)
def test_padding_is_legal_and_garbage_is_counted(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"m.{ending}"
    path.write_bytes(PACKERS[ending](TEXT) + bytes(16))
    source = open_path(path, LIMITS)
    assert all_of(source) == TEXT
    assert source.torn() == 0
    path.write_bytes(PACKERS[ending](TEXT) + b"not packed at all")
    source = open_path(path, LIMITS)
    assert all_of(source) == TEXT
    assert source.torn() == len(b"not packed at all")


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_bomb_is_refused(tmp_path: Path, pack) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(pack(bytes(80 << 20)))
    with open_path(path, LIMITS).open() as stream, pytest.raises(UnreadableError, match="times its size"):
        stream.read()


def test_the_limit_of_unpacked_bytes_holds(tmp_path: Path) -> None:
    path = tmp_path / "large.gz"
    path.write_bytes(gzip.compress(TEXT))
    small = Limits(decompressed_bytes=HEAD_BYTES * 2)
    with pytest.raises(UnreadableError, match="more than"), open_path(path, small).open() as stream:
        stream.read()


def test_damage_from_the_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "m.gz"
    path.write_bytes(b"\x1f\x8b" + b"\xff" * 50)
    with pytest.raises(UnreadableError, match="cannot be unpacked"):
        open_path(path, LIMITS)
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(UnreadableError, match="holds nothing"):
        open_path(path, LIMITS)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="no such file"):
        open_path(tmp_path / "missing", LIMITS)
    with pytest.raises(UnreadableError, match="directory"):
        open_path(tmp_path, LIMITS)
    with pytest.raises(UnreadableError, match="is no path"):
        open_path(Path("a\0b"), LIMITS)
    (tmp_path / "empty").touch()
    with pytest.raises(UnreadableError, match="empty"):
        open_path(tmp_path / "empty", LIMITS)
    with pytest.raises(UnreadableError, match="empty"):
        open_path(Path(os.devnull), LIMITS)
    with pytest.raises(UnreadableError, match="socket or device"):
        open_path(Path("/dev/zero"), LIMITS)


def test_not_permitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.csv"
    path.write_text("step,loss\n")

    def refuse(*_args: object, **_more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnreadableError, match="not permitted") as caught:
        open_path(path, LIMITS)
    assert caught.value.path == str(path)
    assert caught.value.hint


def test_a_pipe_without_a_writer_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableError, match="nothing came through the pipe"):
        open_path(tmp_path / "pipe", LIMITS)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    holder = os.open(path, os.O_RDWR)  # a writer that is there before we look
    packed = zstd(TEXT) + zstd(TEXT)
    assert len(packed) > HEAD_BYTES, "more than the pipe is asked for at first"

    def write() -> None:
        with path.open("wb") as pipe:
            pipe.write(packed)
        os.close(holder)

    writer = threading.Thread(target=write)
    writer.start()
    source = open_path(path, LIMITS)
    assert all_of(source) == TEXT + TEXT
    writer.join()


def test_a_stream_can_be_opened_once() -> None:
    source = open_stream(io.BytesIO(zstd(TEXT)), LIMITS)
    assert source.path == "-"
    assert source.name == ""
    assert source.head == TEXT[:HEAD_BYTES]
    assert all_of(source) == TEXT
    with pytest.raises(UnreadableError, match="already"):
        source.open()
    with pytest.raises(UnreadableError, match="standard input is empty"):
        open_stream(io.BytesIO(b""), LIMITS)


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8-sig", b""),
        ("utf-16", b""),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32", b""),
        ("utf-32-be", b"\x00\x00\xfe\xff"),
    ],
)
def test_text_comes_as_utf8(tmp_path: Path, encoding: str, mark: bytes) -> None:
    text = "step,loss\n" + "".join(f"{i},2.5,é漢\n" for i in range(60_000))
    path = tmp_path / "m.csv"
    path.write_bytes(mark + text.encode(encoding))
    opened = text_stream(open_path(path, LIMITS))
    with opened.stream as stream:
        assert stream.read().decode() == text
    assert opened.replaced() == 0


def test_bytes_that_are_no_text_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes("step,loss\n0,caf\ufffd\n".encode() + b"1,caf\xe9\n2,\xff\xfe\n")
    opened = text_stream(open_path(path, LIMITS))
    with opened.stream as stream:
        assert stream.read().decode() == "step,loss\n0,caf\ufffd\n1,caf\ufffd\n2,\ufffd\ufffd\n"
    assert opened.replaced() == 3


def test_names_without_packers() -> None:
    assert bare_name("metrics.jsonl.gz") == "metrics.jsonl"
    assert bare_name("a.tar.xz.GZ") == "a.tar"
    assert bare_name("metrics.csv") == "metrics.csv"
