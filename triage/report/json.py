"""The report as JSON, schema version 1, and back again.

Strict JSON: non-finite numbers are the strings "NaN", "Infinity" and "-Infinity". The published schema is
`schema-1.json` beside this file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage._version import version
from triage.errors import UnreadableError
from triage.model import SCHEMA_VERSION, Report, StepView
from triage.report._contract import Look, Renderer
from triage.report._shapes import BY_TYPE, REPORT, STEP_VIEW

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
"""What Python puts for bytes of a file name that are no UTF-8; strict JSON has no room for it."""

PARTS: Final[Mapping[str, frozenset[str]]] = {
    "spikes": frozenset({"run_id", "verdict", "source", "diagnoses"}),
    "inspect": frozenset({"run_id", "verdict", "source", "notices", "not_judged", "missing_metrics"}),
}
"""What a command other than `analyze` reports of a run; the other keys are null."""


def render(report: Report, look: Look) -> str:  # noqa: ARG001 - machine output does not depend on the look
    """Give the report as one line of JSON."""
    return dumps(report)


def dumps(report: Report) -> str:
    """Write a report as one line of strict JSON, keys in the order of the contract."""
    body = to_json(report)
    kept = PARTS.get(str(report.options.get("command")))
    if kept is not None:
        body["runs"] = [{name: run[name] if name in kept else None for name in run} for run in body["runs"]]
    return _line(body)


def loads(text: str) -> Report:
    """Read a report back from its JSON.

    Raises:
        UnreadableError: this is no JSON, no report, or one of a later schema version.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(
            f"this is not JSON: {error}", hint="give a report that `triage analyze --format json` wrote"
        ) from error
    if not isinstance(raw, dict) or "schema_version" not in raw or "runs" not in raw:
        raise UnreadableError(
            "this JSON is not a triage report", hint="give a report that `triage analyze --format json` wrote"
        )
    if raw["schema_version"] != SCHEMA_VERSION:
        raise UnreadableError(
            f"the report has schema version {raw['schema_version']}; this triage reads version {SCHEMA_VERSION}",
            hint="use the triage that wrote it, or a later one",
        )
    try:
        report = REPORT.load(raw)
    except (TypeError, AttributeError, ValueError, LookupError) as error:
        raise UnreadableError(f"the report is damaged: {error}", hint="write it again from the log") from error
    assert isinstance(report, Report)  # noqa: S101 - tells the type checker what the table builds
    return report


def dumps_step(view: StepView) -> str:
    """Write what `inspect --at` shows as one line of strict JSON."""
    return _line({"step_view": to_json(view)})


def dumps_settings(rows: Sequence[tuple[str, Any, str]]) -> str:
    """Write what `config` shows: setting → value and origin."""
    return _line({"settings": {name: {"value": to_json(value), "origin": origin} for name, value, origin in rows}})


def loads_step(text: str) -> StepView:
    """Read a step view back from its JSON."""
    view = STEP_VIEW.load(json.loads(text)["step_view"])
    assert isinstance(view, StepView)  # noqa: S101 - tells the type checker what the table builds
    return view


def to_json(value: Any) -> Any:
    """Turn a value of the model into plain JSON values."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATES.sub("\ufffd", value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return {str(to_json(str(name))): to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    found = BY_TYPE.get(type(value))
    if found is not None:
        return {key.name: to_json(getattr(value, key.attribute)) for key in found.keys}
    if hasattr(value, "item"):  # a numpy scalar in a notice or a config
        return to_json(value.item())
    return to_json(str(value))


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _line(body: Mapping[str, Any]) -> str:
    head = {"schema_version": SCHEMA_VERSION, "tool": {"name": "triage", "version": version()}}
    return json.dumps({**head, **body}, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


RENDERER: Final = Renderer(name="json", suffixes=(".json",), render=render)
