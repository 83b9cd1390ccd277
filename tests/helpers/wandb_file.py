"""`.wandb` files built byte by byte, without any of the reader's code: records in, log out."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence

HEADER = b":W&B\xe1\xbe\x00"
BLOCK = 32768
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, contents: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(contents)) + contents


def item(path: str | Sequence[str], value: str, extra: bytes = b"") -> bytes:
    """A history (or config) item: one name is `key`, several are `nested_key`; the value is JSON text."""
    key = field(1, path.encode()) if isinstance(path, str) else b"".join(field(2, part.encode()) for part in path)
    return field(1, key + field(16, value.encode()) + extra)


def history(items: Iterable[bytes], step: int | None = None) -> bytes:
    """Contents of a history record."""
    number = b"" if not step else b"\x08" + varint(step)
    return b"".join(items) + (b"" if step is None else field(2, number))


def record(number: int, kind: int, contents: bytes, behind: bytes = b"") -> bytes:
    return b"\x08" + varint(number) + field(kind, contents) + behind


def row(number: int, cells: Mapping[str, str], step: int | None = None) -> bytes:
    """A history record of flat metrics as the clients from 0.19 on write them."""
    return record(number, 2, history([item([name], value) for name, value in cells.items()], step))


def header_record(client: str = "0.31.0+abc") -> bytes:
    return record(1, 21, field(1, field(1, client.encode())))


def metric_record(number: int, name: str, axis: str) -> bytes:
    return record(number, 12, field(1, name.encode()) + field(4, axis.encode()))


def exit_record(number: int, code: int = 0) -> bytes:
    return record(number, 18, b"" if not code else b"\x08" + varint(code))


def log(records: Iterable[bytes]) -> tuple[bytes, list[int]]:
    """The file of these records, and for each record the place where it is whole."""
    out = bytearray(HEADER)
    ends = []
    for payload in records:
        rest, is_first = payload, True
        while True:
            room = BLOCK - len(out) % BLOCK
            if room < 7:
                out += bytes(room)
                room = BLOCK
            part, rest = rest[: room - 7], rest[room - 7 :]
            kind = (FULL if not rest else FIRST) if is_first else (LAST if not rest else MIDDLE)
            out += piece(kind, part)
            is_first = False
            if not rest:
                break
        ends.append(len(out))
    return bytes(out), ends


def piece(kind: int, part: bytes) -> bytes:
    return struct.pack("<IHB", zlib.crc32(part, zlib.crc32(bytes([kind]))), len(part), kind) + part


def whole_records(file: bytes) -> tuple[list[bytes], int]:
    """A second reader, one piece after another: the whole records of an undamaged file, and where the last one ends."""
    at, records, open_parts, end = len(HEADER), [], [], len(HEADER)
    while at + 7 <= len(file):
        room = BLOCK - at % BLOCK
        if room < 7:
            at += room
            continue
        crc, size, kind = struct.unpack_from("<IHB", file, at)
        part = file[at + 7 : at + 7 + size]
        if len(part) < size or kind not in (FULL, FIRST, MIDDLE, LAST):
            break
        assert zlib.crc32(part, zlib.crc32(bytes([kind]))) == crc
        at += 7 + size
        open_parts = [part] if kind in (FULL, FIRST) else [*open_parts, part]
        if kind in (FULL, LAST):
            records.append(b"".join(open_parts))
            open_parts, end = [], at
    return records, end
