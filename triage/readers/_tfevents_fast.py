"""The vectorised path: records of equal layout are decoded together, each proven equal to one that upb has decoded.

Separate because speed is its only purpose; what it cannot prove it leaves to the plain path (`_tfevents_proto.py`).

A writer logs the same tags over and over, so two records of a series differ in three places only: wall time, step and
value. A template says where these lie in one record. It is found by upb itself: a record that upb writes back byte by
byte as it was is written twice more with other times, steps and values, and where the bytes change, there they are. A
record with the same bytes everywhere else, and with a step of as many bytes, then decodes in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.readers._tfevents_frames import Records
from triage.readers._tfevents_proto import Facts, Scalars, decode, event_class, scalar_of, series_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

MIN_GROUP: Final = 24
"""Fewer records of one length than this are decoded one by one: the fixed costs of arrays would exceed the gain."""

MIN_MEMBERS: Final = 3
"""Records alike that are worth a template of their own."""

SHORTEST: Final = 24
LONGEST: Final = 1 << 16
"""Payloads that can have a template: from a time, a step and an empty summary up to a thousand values in one event."""

ROUNDS: Final = 4
"""Layouts tried within records of one length: other encodings may have it too, or other things between the scalars."""

MOST_TEMPLATES: Final = 50_000
"""Templates remembered; past it they are forgotten, against a file in which no two records are alike."""

_TIME_AT: Final = 1
_TIME_TAG: Final = 0x09
_STEP_TAG: Final = 0x10
_STEP_AT: Final = 10
_LONGEST_STEP: Final = 9
"""A step of ten bytes is negative or beyond Int64: rare, and left to the plain path."""

_ODD: Final = 0x9E3779B97F4A7C15
"""Odd 64-bit constant (2^64 over the golden ratio) whose powers spread the words of a record over the hash."""


@dataclass(frozen=True, slots=True)
class Template:
    """Where time, step and values lie in records of one layout.

    Attributes:
        fixed: bytes of the payload, 0xFF where they must be equal and 0 where they may differ.
        step_bytes: length of the step; 0 = no step on the wire, which means step 0.
        places: for each value where it begins and its numpy type.
        series: for each value the number of its series.
    """

    fixed: bytes
    step_bytes: int
    places: tuple[tuple[int, str], ...]
    series: tuple[int, ...]


@dataclass(slots=True)
class Templates:
    """Series by the fixed bytes of a record, remembered from chunk to chunk."""

    known: dict[tuple[bytes, bytes], tuple[int, ...] | None] = field(default_factory=dict)


def read_fast(records: Records, facts: Facts, templates: Templates) -> Scalars:
    """Decode all records; equal to `read_plain` in every number and in their order."""
    import numpy as np

    count = len(records.starts)
    n_values = np.zeros(count, dtype=np.int64)
    groups: list[_Group] = []
    is_left = np.ones(count, dtype=bool)
    for length, members in _by_length(records.lengths):
        for group in _groups(records, length, members, facts, templates):
            groups.append(group)
            n_values[group.members] = group.value.shape[1]
            is_left[group.members] = False
    plain = decode(records, np.flatnonzero(is_left).tolist(), facts)
    owners = np.array(plain[0], dtype=np.int64)
    np.add.at(n_values, owners, 1)
    return _in_order(groups, plain, owners, n_values)


@dataclass(frozen=True, slots=True)
class _Group:
    """Decoded records of one mask.

    Attributes:
        members: (records,) their numbers.
        wall, step: (records,).
        series, value: (records, values in each).
    """

    members: Array
    wall: Array
    step: Array
    series: Array
    value: Array


def _in_order(groups: list[_Group], plain: Any, owners: Array, n_values: Array) -> Scalars:
    import numpy as np

    first = np.cumsum(n_values) - n_values
    total = int(n_values.sum())
    wall, value = np.empty(total), np.empty(total)
    step, series = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int32)
    for group in groups:
        for column in range(group.value.shape[1]):
            at = first[group.members] + column
            wall[at], step[at] = group.wall, group.step
            series[at], value[at] = group.series[:, column], group.value[:, column]
    if len(owners):
        # Values of one event follow each other: their number within it is the distance to its first.
        at = first[owners] + np.arange(len(owners)) - np.searchsorted(owners, owners)
        wall[at], step[at], series[at], value[at] = plain[1], plain[2], plain[3], plain[4]
    return Scalars(wall, step, series, value)


def _by_length(lengths: Array) -> Iterator[tuple[int, Array]]:
    """Numbers of the records of each length that is worth it, ascending."""
    import numpy as np

    short = np.where((lengths >= SHORTEST) & (lengths < LONGEST), lengths, 0).astype(np.uint16)
    order = np.argsort(short, kind="stable")
    counts = np.bincount(short)
    ends = np.cumsum(counts)
    for length in np.flatnonzero(counts >= MIN_GROUP).tolist():
        if length:
            yield length, order[ends[length] - counts[length] : ends[length]]


def _groups(records: Records, length: int, members: Array, facts: Facts, templates: Templates) -> Iterator[_Group]:
    """Decode what can be decoded of the records of one length."""
    import numpy as np

    n_words = -(-length // 8)
    whole = np.ndarray((len(records.data) - 8 * n_words + 1,), f"V{8 * n_words}", records.data, 0, (1,))
    words = whole[records.starts[members]].view(np.uint64).reshape(-1, n_words)
    octets = words.view(np.uint8)
    columns = np.ascontiguousarray(words.T)  # whole columns are compared, not rows
    widths = _step_widths(octets)
    for width in np.flatnonzero(np.bincount(widths, minlength=_LONGEST_STEP + 2)[: _LONGEST_STEP + 1]).tolist():
        pending = np.flatnonzero(widths == width)
        for turn in range(ROUNDS):
            if len(pending) < MIN_GROUP:
                break
            sample = octets[pending[len(pending) * turn // ROUNDS], :length].tobytes()
            template = template_of(sample, facts)
            if template is None or template.step_bytes != width:
                continue
            is_all = len(pending) == len(members)
            series, taken = _alike(columns if is_all else columns[:, pending], length, template, facts, templates)
            if is_all and taken.all():
                yield _extract(octets, members, template, series)
                return
            if taken.any():
                chosen = pending[taken]
                yield _extract(octets[chosen], members[chosen], template, series[taken])
                pending = pending[~taken]


def _step_widths(octets: Array) -> Array:
    """(records,) bytes of the step; 0 where there is none, one more than _LONGEST_STEP where it is too long."""
    import numpy as np

    width = np.zeros(len(octets), dtype=np.int8)
    goes_on = octets[:, _STEP_AT - 1] == _STEP_TAG
    for place in range(_STEP_AT, min(_STEP_AT + _LONGEST_STEP + 1, octets.shape[1])):
        if not goes_on.any():
            break
        width += goes_on
        goes_on = goes_on & (octets[:, place] >= 0x80)  # the continuation bit of a varint
    return width


def _alike(columns: Array, length: int, template: Template, facts: Facts, templates: Templates) -> tuple[Array, Array]:
    """Sort records by their fixed bytes.

    Args:
        columns: (words, records) the bytes of the records, eight at a time.
        length: bytes of a record.
        template: says which of them are fixed.
        facts: where new series get their numbers.
        templates: what is known from earlier chunks; grows.

    Returns:
        The series of every record's values (rows of -1 where unknown), and which records were proven alike: all fixed
        bytes equal to those of one record that has this template's layout itself.
    """
    import numpy as np

    fixed = np.frombuffer(template.fixed.ljust(8 * len(columns), b"\0"), np.uint64)
    used = [word & bits for word, bits in zip(columns, fixed, strict=True) if bits]
    mixed = np.zeros(columns.shape[1], np.uint64)
    for power, word in enumerate(used, 1):
        mixed += word * np.uint64(pow(_ODD, power, 1 << 64))
    _, first, kind = np.unique(mixed, return_index=True, return_inverse=True)
    sizes = np.bincount(kind)
    series = np.full((len(first), len(template.places)), -1, dtype=np.int32)
    for number in np.flatnonzero(sizes >= MIN_MEMBERS).tolist():
        sample = columns[:, first[number]]
        key = (template.fixed, (sample & fixed).tobytes())
        if key not in templates.known:
            if len(templates.known) >= MOST_TEMPLATES:
                templates.known.clear()
            own = template_of(sample.tobytes()[:length], facts)
            fits = own is not None and own.fixed == template.fixed and own.places == template.places
            templates.known[key] = own.series if own is not None and fits else None
        if (found := templates.known[key]) is not None:
            series[number] = found
    # The hash only sorts; what counts is that the bytes are equal.
    taken: Array = (series[:, 0] >= 0)[kind]
    for word in used:
        taken &= word == word[first][kind]
    return series[kind], taken


def _extract(octets: Array, members: Array, template: Template, series: Array) -> _Group:
    import numpy as np

    count = len(octets)

    def column(place: int, kind: str) -> Array:
        found: Array = np.ascontiguousarray(octets[:, place : place + np.dtype(kind).itemsize]).view(kind)[:, 0]
        return found

    step = np.zeros(count, dtype=np.int64)
    for place in range(template.step_bytes):
        step |= (octets[:, _STEP_AT + place] & 0x7F).astype(np.int64) << (7 * place)
    value = np.empty((count, len(template.places)))
    with np.errstate(invalid="ignore"):  # a signalling NaN, made of stray bits, is a NaN like any other
        for index, (place, kind) in enumerate(template.places):
            value[:, index] = column(place, kind)
    return _Group(members, column(_TIME_AT, "<f8"), step, series, value)


def template_of(payload: bytes, facts: Facts) -> Template | None:
    """The template of one record; None where it holds anything but scalars of fixed width, or is written oddly."""
    from google.protobuf.message import DecodeError

    make = event_class().FromString
    try:
        event = make(payload)
    except DecodeError:
        return None
    values = event.summary.value
    if not values or payload[0] != _TIME_TAG or event.SerializeToString() != payload:
        return None
    widths = [_width_of(value) for value in values if scalar_of(value) is not None]
    kinds = [width for width in widths if width is not None]
    if len(kinds) != len(values):
        return None
    step_bytes = _varint_bytes(event.step) if event.step else 0
    if step_bytes > _LONGEST_STEP:
        return None
    ones, twos = (_filled(make(payload), kinds, octet, step_bytes) for octet in (1, 2))
    if not len(ones) == len(twos) == len(payload):
        return None
    moving = [place for place, (one, two) in enumerate(zip(ones, twos, strict=True)) if one != two]
    head, tail = moving[: 8 + step_bytes], moving[8 + step_bytes :]
    expected = [*range(_TIME_AT, _TIME_AT + 8), *range(_STEP_AT, _STEP_AT + step_bytes)]
    if head != expected or len(tail) != sum(kinds):
        return None
    places = []
    at = 0
    for width in kinds:
        begin = tail[at]
        if tail[at : at + width] != list(range(begin, begin + width)):
            return None
        places.append((begin, f"<f{width}"))
        at += width
    fixed = bytearray(b"\xff" * len(payload))
    for place in moving:
        fixed[place] = 0
    return Template(bytes(fixed), step_bytes, tuple(places), tuple(facts.number(series_of(value)) for value in values))


def _width_of(value: Any) -> int | None:
    """Bytes of the number in a Summary.Value if they lie in one place; None otherwise."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return 4
    if kind != "tensor" or value.tensor.dtype not in _FLOATS:
        return None
    name, width = _FLOATS[value.tensor.dtype]
    content, numbers = value.tensor.tensor_content, getattr(value.tensor, name)
    return width if (len(content), len(numbers)) in ((width, 0), (0, 1)) else None


_FLOATS: Final[dict[int, tuple[str, int]]] = {1: ("float_val", 4), 2: ("double_val", 8)}


def _filled(event: Any, kinds: list[int], octet: int, step_bytes: int) -> bytes:
    """The event written with the same octet in every byte of its time, step and values."""
    import struct

    single = struct.unpack("<f", bytes([octet]) * 4)[0]
    double = struct.unpack("<d", bytes([octet]) * 8)[0]
    event.wall_time = double
    if step_bytes:
        event.step = sum(octet << (7 * place) for place in range(step_bytes))
    for value, width in zip(event.summary.value, kinds, strict=True):
        number = single if width == 4 else double
        if value.WhichOneof("value") == "simple_value":
            value.simple_value = number
        elif value.tensor.tensor_content:
            value.tensor.tensor_content = bytes([octet]) * width
        else:
            getattr(value.tensor, _FLOATS[value.tensor.dtype][0])[0] = number
    return bytes(event.SerializeToString())


def _varint_bytes(number: int) -> int:
    return max(1, -(-(number & (1 << 64) - 1).bit_length() // 7))
