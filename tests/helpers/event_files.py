"""Event files made by hand, byte by byte and without the reader's own descriptor: what a test writes, it knows."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import crc32c

from triage.options import Limits
from triage.readers._contract import Source
from triage.readers._source import open_path

VERSION = b"brain.Event:2"


def checksum(data: bytes) -> bytes:
    crc = crc32c.crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    return length + checksum(length) + payload + checksum(payload)


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def metadata(plugin: str, data_class: int = 0) -> bytes:
    body = field(1, field(1, plugin.encode())) if plugin else b""
    return field(9, body + (integer(4, data_class) if data_class else b""))


def simple(tag: str, value: float) -> bytes:
    """What torch and tensorboardX write: simple_value and empty metadata."""
    return field(1, tag.encode()) + b"\x15" + struct.pack("<f", value) + field(9, b"")


def tensor(tag: str, dtype: int, body: bytes, *, plugin: str = "scalars", shape: tuple[int, ...] | None = ()) -> bytes:
    """A tensor; `shape` None leaves the shape out."""
    dims = b"" if shape is None else field(2, b"".join(field(2, integer(1, size)) for size in shape))
    meta = metadata(plugin) if plugin else b""
    return field(1, tag.encode()) + field(8, integer(1, dtype) + dims + body) + meta


def float_val(value: float) -> bytes:
    return field(5, struct.pack("<f", value))


def float_val_unpacked(value: float) -> bytes:
    return varint(5 << 3 | 5) + struct.pack("<f", value)


def double_val(value: float) -> bytes:
    return field(6, struct.pack("<d", value))


def content(form: str, value: float) -> bytes:
    return field(4, struct.pack(form, value))


def histogram(tag: str, size: int = 40) -> bytes:
    return field(1, tag.encode()) + field(5, b"\x09" + bytes(size))


def text(tag: str, words: str) -> bytes:
    return tensor(tag, 7, field(8, words.encode()), plugin="text", shape=(1,))


def event(wall: float, step: int, *values: bytes, rest: bytes = b"") -> bytes:
    """An event; a step of 0 is not on the wire, as in proto3."""
    head = b"\x09" + struct.pack("<d", wall) + (integer(2, step) if step else b"")
    return head + (field(5, b"".join(field(1, value) for value in values)) if values else b"") + rest


def header(wall: float = 1.7e9, writer: str = "tests.writer") -> bytes:
    return event(wall, 0, rest=field(3, VERSION) + field(10, field(1, writer.encode())))


def session_start(wall: float, step: int) -> bytes:
    return event(wall, step, rest=field(7, integer(1, 1)))


def file_of(payloads: Iterable[bytes], *, with_header: bool = True) -> bytes:
    return b"".join(map(frame, [header(), *payloads] if with_header else payloads))


def scalars(rows: Iterable[tuple[int, dict[str, float]]], wall: float = 1.7e9) -> list[bytes]:
    """One event a value, a tenth of a second apart."""
    flat = [(step, tag, value) for step, values in rows for tag, value in values.items()]
    return [event(wall + 0.1 * i, step, simple(tag, value)) for i, (step, tag, value) in enumerate(flat)]


def source_of(folder: Path, data: bytes, name: str = "events.out.tfevents.1700000000.host.1.0") -> Source:
    path = folder / name
    path.write_bytes(data)
    return open_path(path, Limits())


def whole_records(data: bytes) -> tuple[int, int]:
    """How many whole records the bytes hold, and the bytes behind the last; by the lengths alone."""
    position = count = 0
    while position + 12 <= len(data):
        end = position + 16 + struct.unpack_from("<Q", data, position)[0]
        if end > len(data):
            break
        position, count = end, count + 1
    return count, len(data) - position
