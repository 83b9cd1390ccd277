"""The few protocol buffers of an event file, and the plain path: one event after the other, decoded by upb.

Separate because it is the yardstick: the vectorised path (`_tfevents_fast.py`) must give the same numbers or leave the
record to this one. Only the fields that lead to a scalar are declared; images, histograms and graphs stay bytes.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from triage.readers._tfevents_frames import Records

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SCALARS: Final = b"scalars"
"""The plugin whose tensors are scalars."""

NUMERIC: Final[dict[int, tuple[str, str]]] = {
    # DataType: field of TensorProto, struct format of one element in tensor_content
    1: ("float_val", "<f"),
    2: ("double_val", "<d"),
    3: ("int_val", "<i"),
    4: ("int_val", "<B"),
    5: ("int_val", "<h"),
    6: ("int_val", "<b"),
    9: ("int64_val", "<q"),
    10: ("bool_val", "<?"),
    14: ("half_val", "bfloat16"),
    17: ("int_val", "<H"),
    19: ("half_val", "<e"),
    22: ("uint32_val", "<I"),
    23: ("uint64_val", "<Q"),
}
"""Tensor types that hold one real number an element."""

SESSION_START: Final = 1
"""SessionLog status: a writer that resumed says from which step on it writes again (`purge_step`)."""

OTHER_EVENTS: Final = {
    "graph_def": "graph",
    "meta_graph_def": "graph",
    "tagged_run_metadata": "run metadata",
    "log_message": "log message",
}
OTHER_VALUES: Final = {
    "obsolete_old_style_histogram": "histogram",
    "histo": "histogram",
    "image": "image",
    "audio": "audio",
}

_MESSAGES: Final[dict[str, tuple[tuple[str, int, str, str], ...]]] = {
    # field, number, type ("*" in front = repeated), oneof
    "Event": (
        ("wall_time", 1, "double", ""),
        ("step", 2, "int64", ""),
        ("file_version", 3, "bytes", "what"),
        ("graph_def", 4, "bytes", "what"),
        ("summary", 5, "Summary", "what"),
        ("log_message", 6, "bytes", "what"),
        ("session_log", 7, "SessionLog", "what"),
        ("tagged_run_metadata", 8, "bytes", "what"),
        ("meta_graph_def", 9, "bytes", "what"),
        ("source_metadata", 10, "SourceMetadata", ""),
    ),
    "SourceMetadata": (("writer", 1, "bytes", ""),),
    "SessionLog": (("status", 1, "int32", ""), ("checkpoint_path", 2, "bytes", ""), ("msg", 3, "bytes", "")),
    "Summary": (("value", 1, "*Value", ""),),
    "Value": (
        ("tag", 1, "bytes", ""),
        ("simple_value", 2, "float", "value"),
        ("obsolete_old_style_histogram", 3, "bytes", "value"),
        ("image", 4, "bytes", "value"),
        ("histo", 5, "bytes", "value"),
        ("audio", 6, "bytes", "value"),
        ("node_name", 7, "bytes", ""),
        ("tensor", 8, "Tensor", "value"),
        ("metadata", 9, "Metadata", ""),
    ),
    "Metadata": (
        ("plugin_data", 1, "PluginData", ""),
        ("display_name", 2, "bytes", ""),
        ("summary_description", 3, "bytes", ""),
        ("data_class", 4, "int32", ""),
    ),
    "PluginData": (("plugin_name", 1, "bytes", ""), ("content", 2, "bytes", "")),
    "Tensor": (
        ("dtype", 1, "int32", ""),
        ("tensor_shape", 2, "Shape", ""),
        ("version_number", 3, "int32", ""),
        ("tensor_content", 4, "bytes", ""),
        ("float_val", 5, "*float", ""),
        ("double_val", 6, "*double", ""),
        ("int_val", 7, "*int32", ""),
        ("int64_val", 10, "*int64", ""),
        ("bool_val", 11, "*bool", ""),
        ("half_val", 13, "*int32", ""),
        ("uint32_val", 16, "*uint32", ""),
        ("uint64_val", 17, "*uint64", ""),
    ),
    "Shape": (("dim", 2, "*Dim", ""), ("unknown_rank", 3, "bool", "")),
    "Dim": (("size", 1, "int64", ""), ("name", 2, "bytes", "")),
}
"""Text is declared as bytes: a tag that is not valid UTF-8 must cost no event."""


@dataclass(frozen=True, slots=True)
class Series:
    """What values belong to: a tag, and whether they are tensors that only an earlier event can tell as scalars."""

    tag: bytes
    is_bare_tensor: bool = False


@dataclass(slots=True)
class Facts:
    """What a file says besides its scalars; filled while it is decoded.

    Attributes:
        series: every series met, numbered in order of appearance.
        foreign: tags that belong to another plugin than that of scalars.
        writer: the library that wrote the file; None where it does not say.
        starts: steps of SessionLog START events with their positions in time: (wall time, step).
        skipped: values and events that are no scalars, by kind.
        undecodable: records with a right checksum that are no event.
        first_wall: time of the first record without a summary, usually the one that opens the file.
    """

    series: dict[Series, int] = field(default_factory=dict)
    foreign: set[bytes] = field(default_factory=set)
    writer: str | None = None
    starts: list[tuple[float, int]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    undecodable: int = 0
    first_wall: float | None = None

    def number(self, series: Series) -> int:
        """The number of a series, a new one where it has none yet."""
        return self.series.setdefault(series, len(self.series))


@dataclass(frozen=True, slots=True)
class Scalars:
    """Scalars in the order in which they were written, one position each.

    Attributes:
        wall: Float64 seconds since 1970.
        step: Int64, as written; 0 where the writer gave none.
        series: Int32 number of the series.
        value: Float64; NaN and ±inf as written.
    """

    wall: Array
    step: Array
    series: Array
    value: Array


def read_plain(records: Records, facts: Facts) -> Scalars:
    """Decode all records one by one; some 4 µs each."""
    import numpy as np

    _, wall, step, series, value = decode(records, range(len(records.starts)), facts)
    return Scalars(
        np.array(wall, dtype=np.float64),
        np.array(step, dtype=np.int64),
        np.array(series, dtype=np.int32),
        np.array(value, dtype=np.float64),
    )


Decoded = tuple[list[int], list[float], list[int], list[int], list[float]]
"""For each scalar: which record, wall time, step, series, value."""


def decode(records: Records, which: Any, facts: Facts) -> Decoded:
    """Decode some of the records, given by their numbers in ascending order."""
    from google.protobuf.message import DecodeError

    parse = event_class().FromString
    data, starts, lengths = records.data, records.starts.tolist(), records.lengths.tolist()
    owners: list[int] = []
    walls: list[float] = []
    steps: list[int] = []
    numbers: list[int] = []
    values: list[float] = []
    for record in which:
        start = starts[record]
        try:
            event = parse(data[start : start + lengths[record]])
        except DecodeError:
            facts.undecodable += 1
            continue
        if event.WhichOneof("what") != "summary":
            _note(event, facts)
            continue
        for value in event.summary.value:
            scalar = scalar_of(value)
            if scalar is None:
                _note_skipped(value, facts)
                continue
            owners.append(record)
            walls.append(event.wall_time)
            steps.append(event.step)
            numbers.append(facts.number(series_of(value)))
            values.append(scalar)
    return owners, walls, steps, numbers, values


def scalar_of(value: Any) -> float | None:
    """The number that a Summary.Value holds; None where it holds something else."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    if kind != "tensor":
        return None
    plugin = value.metadata.plugin_data.plugin_name
    return _tensor_scalar(value.tensor, is_scalar=plugin == SCALARS) if plugin in (b"", SCALARS) else None


def series_of(value: Any) -> Series:
    """The series of a Summary.Value that holds a scalar."""
    is_bare = value.HasField("tensor") and not value.metadata.plugin_data.plugin_name
    return Series(value.tag, is_bare)


def _tensor_scalar(tensor: Any, *, is_scalar: bool) -> float | None:
    """The one number of a tensor; None where it has more, or is not numeric.

    Without the word of the plugin only rank 0 counts: a list that happens to hold one number is no scalar.
    """
    layout = NUMERIC.get(tensor.dtype)
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if layout is None or tensor.tensor_shape.unknown_rank or math.prod(sizes) != 1 or (sizes and not is_scalar):
        return None
    name, form = layout
    if content := tensor.tensor_content:
        size = 2 if form == "bfloat16" else struct.calcsize(form)
        if len(content) != size:
            return None
        return _bfloat16(content) if form == "bfloat16" else float(struct.unpack(form, content)[0])
    values = getattr(tensor, name)
    if not values:
        return 0.0  # the format leaves trailing values out that equal the last, and zeros altogether
    if name != "half_val":
        return float(values[0])
    half = struct.pack("<H", values[0] & 0xFFFF)
    return _bfloat16(half) if form == "bfloat16" else float(struct.unpack(form, half)[0])


def _bfloat16(two: bytes) -> float:
    return float(struct.unpack("<f", b"\0\0" + two)[0])


def _note(event: Any, facts: Facts) -> None:
    """Take what an event says that holds no summary."""
    kind = event.WhichOneof("what")
    if facts.first_wall is None:
        facts.first_wall = event.wall_time
    if event.source_metadata.writer:
        facts.writer = event.source_metadata.writer.decode("utf-8", "replace")
    if kind == "session_log" and event.session_log.status == SESSION_START:
        facts.starts.append((event.wall_time, event.step))
    elif kind in OTHER_EVENTS:
        facts.skipped[OTHER_EVENTS[kind]] += 1


def _note_skipped(value: Any, facts: Facts) -> None:
    """Count a value that is no scalar, by the plugin that it belongs to or else by its kind."""
    plugin = value.metadata.plugin_data.plugin_name
    kind = value.WhichOneof("value")
    name = OTHER_VALUES.get(kind or "") or kind or "empty value"
    if plugin and plugin != SCALARS:
        facts.foreign.add(value.tag)
        name = plugin.decode("utf-8", "backslashreplace")
    facts.skipped[name] += 1


@cache
def event_class() -> Any:
    """The message class of an event, made from the table of this module in a pool of its own."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field_type = descriptor_pb2.FieldDescriptorProto
    package = "triage.tfevents"
    file = descriptor_pb2.FileDescriptorProto(name="triage/tfevents.proto", package=package, syntax="proto3")
    for message, fields in _MESSAGES.items():
        built = file.message_type.add(name=message)
        for name, number, kind, oneof in fields:
            bare = kind.removeprefix("*")
            label = field_type.LABEL_REPEATED if kind != bare else field_type.LABEL_OPTIONAL
            added = built.field.add(name=name, number=number, label=label)
            if bare in _MESSAGES:
                added.type, added.type_name = field_type.TYPE_MESSAGE, f".{package}.{bare}"
            else:
                added.type = getattr(field_type, f"TYPE_{bare.upper()}")
            if oneof:
                if not built.oneof_decl:
                    built.oneof_decl.add(name=oneof)
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.Event"))
