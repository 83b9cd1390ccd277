"""Finding the values of many history records at once, by following their structure byte for byte.

Separate from the decoding by protobuf (`_wandb_proto.py`), which it must equal: a record that does not have exactly the
shape below, to its last byte, is left to protobuf. Nothing is searched for: the bytes of a field head also turn up
inside numbers (82 01 ends every varint of 16640 to 16767), so that counting heads proves nothing.

    record  := [08 varint(number)] 12 len history            to the end of the record
    history := item* [12 len (08 varint(step))?]             to the end of the history
    item    := 0A len ((0A len key) | (12 len key)+) 82 01 len value typed?
    typed   := 18 x | 20 x | 28 varint | 31 8 bytes | 3A len text | 42 len text      the same value once more
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

CONTINUES: Final = 0x80
"""Bit of a varint byte that says that another one follows; also the first length that takes two bytes."""

NUMBER_BYTES: Final = 10
"""Most bytes of a varint."""

LENGTH_BYTES: Final = 4
"""Most bytes of the length of a record: 256 MiB."""

ITEM_LENGTH_BYTES: Final = 2
"""Most bytes of the length of an item here: 16 KiB; a longer value is no number."""

WORD: Final = 8
"""Bytes that are compared at once."""

_KEY, _NESTED, _TYPED_DOUBLE = 0x0A, 0x12, 0x31
_VALUE_HEAD = (0x82, 0x01)
_MIX: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
"""Odd constants that spread the bits of a key's first and last bytes."""


@dataclass(frozen=True, slots=True)
class Envelopes:
    """The records of a batch, by kind.

    Attributes:
        kind: (records,) field number of the one field that fills the record; 0 = protobuf must say.
        start: (records,) where its contents begin.
    """

    kind: Array
    start: Array


@dataclass(frozen=True, slots=True)
class Items:
    """Values of history records.

    Attributes:
        is_read: (records,) all of the record is in here; false = nothing of it is.
        step: (records,) number of the record's own step field; -1 without one.
        record: (items,) which record an item belongs to.
        key: (items,) which key of the `Keys`.
        start, end: (items,) where the JSON text of its value lies.
    """

    is_read: Array
    step: Array
    record: Array
    key: Array
    start: Array
    end: Array


@dataclass(frozen=True, slots=True)
class _Marks:
    """What keys are first told apart by: their first 8 bytes, their last, their size, and a number from all three."""

    first: Array
    last: Array
    size: Array
    hashes: Array

    def of(self, places: Array) -> _Marks:
        """The marks of some of the keys."""
        return _Marks(self.first[places], self.last[places], self.size[places], self.hashes[places])


@dataclass(frozen=True, slots=True)
class _Table:
    """Known keys in the order of their hashes: marks, number, and where each lies in the bytes of all."""

    marks: _Marks
    number: Array
    store: Array
    start: Array


@dataclass(slots=True)
class Keys:
    """The keys met so far, and how to find one by its bytes; grows over the batches of a file.

    Attributes:
        paths: the components of each key.
        encoded: each key as it stands in the file, field heads included.
        table: the same for looking up.
    """

    paths: list[tuple[bytes, ...]] = field(default_factory=list)
    encoded: list[bytes] = field(default_factory=list)
    table: _Table | None = None


def envelopes(buffer: Array, start: Array, end: Array) -> Envelopes:
    """Read kind and extent of the one field that fills a record."""
    import numpy as np

    at = start.copy()
    numbered = buffer[at] == 0x08
    _, after, closed = _varint(buffer, at + 1, NUMBER_BYTES)
    at = np.where(numbered, after, at)
    tag = buffer[at]
    length, body, has_length = _varint(buffer, at + 1, LENGTH_BYTES)
    is_single = (closed | ~numbered) & has_length & (body + length == end) & (tag & 7 == 2) & (tag < CONTINUES)
    return Envelopes(np.where(is_single, tag >> 3, 0), body)


def items_of(buffer: Array, start: Array, end: Array, keys: Keys) -> Items:
    """Follow all history records side by side, item after item; the cost is that of the longest record's items."""
    import numpy as np

    is_read = np.ones(len(start), dtype=bool)
    step = np.full(len(start), -1, dtype=np.int64)
    at = start.copy()
    record = np.flatnonzero(at < end)
    found: list[tuple[Array, Array, Array, Array, Array]] = []
    while len(record):
        here, stop = at[record], end[record]
        is_item = buffer[here] == _KEY
        if not is_item.all():
            rest = record[~is_item]
            number, is_step = _step(buffer, here[~is_item], stop[~is_item])
            step[rest] = number
            is_read[rest[~is_step]] = False
            record, here, stop = record[is_item], here[is_item], stop[is_item]
        length, body, good = _varint(buffer, here + 1, ITEM_LENGTH_BYTES)
        item_end = body + length
        good &= item_end <= stop
        key_end, value, value_end, fits = _parts(buffer, body, np.minimum(item_end, stop))
        good &= fits
        if not good.all():
            is_read[record[~good]] = False
            record, body, key_end = record[good], body[good], key_end[good]
            value, value_end, item_end = value[good], value_end[good], item_end[good]
        found.append((record, body, key_end, value, value_end))
        at[record] = item_end
        record = record[item_end < end[record]]
    if not found:
        nothing = np.empty(0, dtype=np.int64)
        return Items(is_read, step, nothing, nothing, nothing, nothing)
    record, body, key_end, value, value_end = (np.concatenate(part) for part in zip(*found, strict=True))
    key = _identify(buffer, body, key_end, keys)
    is_read[record[key < 0]] = False
    kept = is_read[record]
    return Items(is_read, step, record[kept], key[kept], value[kept], value_end[kept])


def _varint(buffer: Array, at: Array, most: int) -> tuple[Array, Array, Array]:
    """Read varints of at most `most` bytes: (value, the place behind, whether it ended within them)."""
    import numpy as np

    byte = buffer[at].astype(np.int64)
    value, after, goes_on = byte & 0x7F, at + 1, byte >= CONTINUES
    for index in range(1, most):
        if not goes_on.any():
            break
        byte = buffer[at + index].astype(np.int64)
        value = np.where(goes_on, value | ((byte & 0x7F) << (7 * index)), value)
        after = after + goes_on
        goes_on = goes_on & (byte >= CONTINUES)
    return value, after, ~goes_on


def _step(buffer: Array, at: Array, stop: Array) -> tuple[Array, Array]:
    """Read the step field that closes a history: (its number, whether that is what stands there)."""
    import numpy as np

    length = buffer[at + 1].astype(np.int64)
    number, after, closed = _varint(buffer, at + 3, NUMBER_BYTES)
    is_zero = length == 0
    good = (buffer[at] == _NESTED) & (at + 2 + length == stop) & (length < CONTINUES)
    good &= is_zero | ((buffer[at + 2] == 0x08) & closed & (after == stop))
    return np.where(is_zero, 0, number), good


def _parts(buffer: Array, body: Array, stop: Array) -> tuple[Array, Array, Array, Array]:
    """Split items into key and value: (end of the key, start and end of the value, whether the item has this shape)."""
    import numpy as np

    head = buffer[body]
    size = buffer[body + 1]
    good = ((head == _KEY) | (head == _NESTED)) & (size < CONTINUES)
    key_end = body + 2 + size
    good &= key_end < stop
    goes_on = good & (head == _NESTED) & (buffer[np.where(good, key_end, body)] == _NESTED)
    while goes_on.any():
        size = buffer[np.where(goes_on, key_end + 1, body)]
        key_end = np.where(goes_on, key_end + 2 + size, key_end)
        good &= ~goes_on | ((size < CONTINUES) & (key_end < stop))
        goes_on &= good
        goes_on &= buffer[np.where(goes_on, key_end, body)] == _NESTED
    place = np.where(good, key_end, body)
    good &= (buffer[place] == _VALUE_HEAD[0]) & (buffer[place + 1] == _VALUE_HEAD[1])
    length, value, closed = _varint(buffer, place + 2, ITEM_LENGTH_BYTES)
    value_end = value + length
    good &= closed & (length > 0) & (value_end <= stop)
    if not (value_end == stop).all():
        good &= (value_end == stop) | _is_typed(buffer, np.where(good, value_end, body), stop)
    return key_end, value, value_end, good


def _is_typed(buffer: Array, at: Array, stop: Array) -> Array:
    """Does one typed value stand there and end the item?"""
    tag, length = buffer[at], buffer[at + 1]
    _, after, closed = _varint(buffer, at + 1, NUMBER_BYTES)
    is_varint = ((tag == 0x18) | (tag == 0x20) | (tag == 0x28)) & closed & (after == stop)
    is_double = (tag == _TYPED_DOUBLE) & (at + 9 == stop)
    is_text = ((tag == 0x3A) | (tag == 0x42)) & (length < CONTINUES) & (at + 2 + length == stop)
    out: np.ndarray[Any, Any] = is_varint | is_double | is_text
    return out


def _identify(buffer: Array, start: Array, end: Array, keys: Keys) -> Array:
    """Number the keys by their bytes, learning new ones: (items,) place in `keys`; -1 = protobuf must say."""
    import numpy as np

    marks = _marks(buffer, start, end)
    number = _look_up(buffer, start, marks, keys)
    unknown = np.flatnonzero(number < 0)
    if len(unknown):
        _, first = np.unique(marks.hashes[unknown], return_index=True)
        # In the order of their first appearance, so that columns do not depend on the hash.
        for item in unknown[np.sort(first)].tolist():
            encoded = buffer[start[item] : end[item]].tobytes()
            keys.encoded.append(encoded)
            keys.paths.append(_components(encoded))
        keys.table = _table(keys.encoded)
        number[unknown] = _look_up(buffer, start[unknown], marks.of(unknown), keys)
    return number


def _components(encoded: bytes) -> tuple[bytes, ...]:
    parts = []
    at = 0
    while at < len(encoded):
        stop = at + 2 + encoded[at + 1]
        parts.append(encoded[at + 2 : stop])
        at = stop
    return tuple(parts)


def _words(buffer: Array) -> Array:
    """The buffer as 8-byte words at every byte."""
    import numpy as np

    return np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer.data, strides=(1,))


def _marks(buffer: Array, start: Array, end: Array) -> _Marks:
    """Take the marks of keys: of one that is shorter than 8 bytes, all of it is its first word and its last."""
    import numpy as np

    words = _words(buffer)
    size = end - start
    first = words[start]
    last = words[np.maximum(end - 8, start)]
    short = np.flatnonzero(size < WORD)
    if len(short):
        cut = (8 * (WORD - size[short])).astype(np.uint64)
        first[short] = (first[short] << cut) >> cut
        last[short] = first[short]
    hashes = (first * np.uint64(_MIX[0])) ^ ((last + size.astype(np.uint64)) * np.uint64(_MIX[1]))
    return _Marks(first, last, size, hashes)


def _table(encoded: list[bytes]) -> _Table:
    import numpy as np

    store = np.frombuffer(b"".join([*encoded, bytes(WORD)]), dtype=np.uint8)
    end = np.cumsum([len(key) for key in encoded])
    start = end - np.array([len(key) for key in encoded])
    marks = _marks(store, start, end)
    order = np.argsort(marks.hashes, kind="stable")
    return _Table(marks.of(order), order, store, start[order])


def _look_up(buffer: Array, start: Array, marks: _Marks, keys: Keys) -> Array:
    """Find each key by its hash and compare all of its bytes; -1 where it is none of the known."""
    import numpy as np

    table = keys.table
    if table is None:
        return np.full(len(start), -1, dtype=np.int64)
    known = table.marks
    place = np.minimum(np.searchsorted(known.hashes, marks.hashes), len(known.hashes) - 1)
    same = (known.first[place] == marks.first) & (known.last[place] == marks.last) & (known.size[place] == marks.size)
    # First and last word are all there is of a key of up to two words.
    long = np.flatnonzero(same & (marks.size > 2 * WORD))
    if len(long):
        words, their_words = _words(buffer), _words(table.store)
        for offset in range(WORD, int(marks.size[long].max()) - WORD, WORD):
            long = long[marks.size[long] > offset + WORD]
            same[long] &= words[start[long] + offset] == their_words[table.start[place[long]] + offset]
    return np.where(same, table.number[place], -1)
