"""The few protobuf messages of W&B that a reader needs, described by hand and decoded by protobuf's own C code.

Separate so that neither the client nor its generated code is needed; what is not described here is skipped by protobuf
as an unknown field. Kinds of records without anything to read are declared as bytes: known, and not decoded.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

_MESSAGES: Final[dict[str, tuple[tuple[int, str, str], ...]]] = {
    "Record": (
        (1, "num", "int64"),
        (2, "history", "HistoryRecord"),
        (3, "summary", "bytes"),
        (4, "output", "bytes"),
        (5, "config", "ConfigRecord"),
        (6, "files", "bytes"),
        (7, "stats", "bytes"),
        (8, "artifact", "bytes"),
        (9, "tbrecord", "TBRecord"),
        (10, "alert", "AlertRecord"),
        (11, "telemetry", "bytes"),
        (12, "metric", "MetricRecord"),
        (13, "output_raw", "bytes"),
        (16, "control", "bytes"),
        (17, "run", "RunRecord"),
        (18, "exit", "RunExitRecord"),
        (20, "final", "bytes"),
        (21, "header", "HeaderRecord"),
        (22, "footer", "bytes"),
        (23, "preempting", "bytes"),
        (24, "noop_link_artifact", "bytes"),
        (25, "use_artifact", "bytes"),
        (26, "environment", "bytes"),
        (27, "output_logger", "bytes"),
        (100, "request", "bytes"),
    ),
    "HistoryRecord": ((1, "item", "HistoryItem*"), (2, "step", "HistoryStep")),
    "HistoryStep": ((1, "num", "int64"),),
    "HistoryItem": (
        (1, "key", "string"),
        (2, "nested_key", "string*"),
        # The typed form beside the JSON text, from client 0.31 on where it is switched on.
        (3, "none", "int32"),
        (4, "boolean", "bool"),
        (5, "integer", "sint64"),
        (6, "number", "double"),
        (7, "text", "string"),
        (8, "json", "string"),
        (16, "value_json", "string"),
    ),
    "ConfigRecord": ((1, "update", "ConfigItem*"), (2, "remove", "ConfigItem*")),
    "ConfigItem": ((1, "key", "string"), (2, "nested_key", "string*"), (16, "value_json", "string")),
    "TBRecord": ((1, "log_dir", "string"),),
    "AlertRecord": ((1, "title", "string"), (2, "text", "string")),
    "MetricRecord": ((1, "name", "string"), (2, "glob_name", "string"), (4, "step_metric", "string")),
    "RunRecord": (
        (1, "run_id", "string"),
        (3, "project", "string"),
        (4, "config", "ConfigRecord"),
        (8, "display_name", "string"),
        (14, "starting_step", "int64"),
        (17, "start_time", "Timestamp"),
        (18, "resumed", "bool"),
        (19, "telemetry", "TelemetryRecord"),
    ),
    "Timestamp": ((1, "seconds", "int64"), (2, "nanos", "int32")),
    "TelemetryRecord": ((5, "cli_version", "string"),),
    "RunExitRecord": ((1, "exit_code", "int32"),),
    "HeaderRecord": ((1, "version_info", "VersionInfo"),),
    "VersionInfo": ((1, "producer", "string"),),
}
"""Message → fields: number, name, type; `*` = repeated. Numbers read in the client's own descriptors."""

_ENVELOPE: Final = ("num", "control")
"""Fields of a record that say nothing about its kind."""

KINDS: Final = {name: number for number, name, _ in _MESSAGES["Record"] if name not in _ENVELOPE}
"""Kind of a record → its field number."""

_PACKAGE: Final = "triage_wandb"


@cache
def record_class() -> Any:
    """The message class of a record; built at the first call (protobuf is imported then)."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    for message_name, fields in _MESSAGES.items():
        message = file.message_type.add(name=message_name)
        for number, name, written in fields:
            of = written.rstrip("*")
            added = message.field.add(name=name, number=number)
            added.label = kinds.LABEL_REPEATED if written.endswith("*") else kinds.LABEL_OPTIONAL
            if of in _MESSAGES:
                added.type = kinds.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}.{of}"
            else:
                # Text is declared as bytes as well: one byte that is no UTF-8 must not cost the record.
                added.type = getattr(kinds, f"TYPE_{'BYTES' if of == 'string' else of.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Record"))


def decode(payload: bytes) -> Any | None:
    """Decode one record; None where the bytes are no protobuf message."""
    from google.protobuf.message import DecodeError

    try:
        return record_class().FromString(payload)
    except DecodeError:
        return None


def kind_of(record: Any) -> str | None:
    """Which kind of record it is; None where it is none that is known."""
    return next((name for name in KINDS if record.HasField(name)), None)
