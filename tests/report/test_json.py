"""The published JSON: strict, complete, described by its schema, and readable again without loss."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triage.report as room
from tests.helpers import reports
from triage.errors import UnreadableError
from triage.model import SCHEMA_VERSION, Evidence
from triage.report.json import dumps, dumps_step, loads, loads_step, to_json

SCHEMA = json.loads((Path(room.__file__).parent / "schema-1.json").read_text(encoding="utf-8"))


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


def closed(node: Any) -> Any:
    """The schema with every object closed, so that a key that it does not describe is an error."""
    if isinstance(node, list):
        return [closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    shut = {key: closed(value) for key, value in node.items()}
    if "properties" in shut and isinstance(shut.get("required"), list):
        shut["additionalProperties"] = False
    return shut


@pytest.mark.parametrize("name", reports.ALL)
@pytest.mark.parametrize("command", ["analyze", "spikes", "inspect"])
def test_every_report_fits_the_published_schema(name, command):
    report = reports.ALL[name]()
    text = dumps(replace(report, options={**report.options, "command": command}))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(closed(SCHEMA)).validate(strict(text))
    assert text.endswith("}\n")
    assert text.count("\n") == 1


@pytest.mark.parametrize("name", reports.ALL)
def test_reading_back_gives_the_same_report(name):
    text = dumps(reports.ALL[name]())
    again = loads(text)
    assert dumps(again) == text
    assert len(again.runs) == len(reports.ALL[name]().runs)


def test_a_report_without_nan_is_equal_after_the_round_trip():
    report = reports.recovered()
    assert loads(dumps(report)) == report


def test_keys_stand_in_the_order_of_the_contract():
    body = strict(dumps(reports.unresolved()))
    assert list(body) == ["schema_version", "tool", "verdict", "exit_code", "options", "errors", "runs"]
    assert body["schema_version"] == SCHEMA_VERSION
    assert body["tool"]["name"] == "triage"
    diagnosis = body["runs"][0]["diagnoses"][0]
    assert list(diagnosis)[:8] == [
        "class",
        "status",
        "censored",
        "signal",
        "segment",
        "onset_step",
        "onset_range",
        "onset_time",
    ]
    assert diagnosis["peak_value"] == "NaN"
    assert body["runs"][0]["source"]["columns"]["loss"]["from"] == "train/loss"


def test_a_command_that_shows_a_part_leaves_the_rest_null():
    report = reports.unresolved()
    spikes = strict(dumps(replace(report, options={"command": "spikes"})))["runs"][0]
    assert spikes["diagnoses"]
    assert spikes["findings"] is None
    assert spikes["series"] is None
    inspect = strict(dumps(replace(report, options={"command": "inspect"})))["runs"][0]
    assert inspect["diagnoses"] is None
    assert inspect["notices"]
    assert set(inspect) == set(spikes)


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_steps_stay_whole_numbers(step):
    report = reports.report(reports.run(diagnoses=(reports.diagnosis(onset_step=step),)))
    assert loads(dumps(report)).runs[0].diagnoses[0].onset_step == step


@given(st.floats())
def test_numbers_survive(value):
    evidence = Evidence("x", "loss", value, None, -value)
    report = reports.report(reports.run(diagnoses=(reports.diagnosis(evidence=(evidence,)),)))
    back = loads(dumps(report)).runs[0].diagnoses[0].evidence[0]
    assert back.observed is not None
    assert back.threshold is not None
    assert math.isnan(back.observed) if math.isnan(value) else back.observed == value
    assert math.isnan(back.threshold) if math.isnan(value) else back.threshold == -value


def test_odd_values_of_a_notice_become_plain_json():
    import numpy as np

    assert to_json({"a": np.float64("nan"), "b": np.int64(3), 4: (1, math.inf), "c": Path("x")}) == {
        "a": "NaN",
        "b": 3,
        "4": [1, "Infinity"],
        "c": "x",
    }


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "not JSON"),
        ("[1, 2]", "not a triage report"),
        ('{"a": 1}', "not a triage report"),
        ('{"schema_version": 2, "runs": []}', "schema version 2"),
        ('{"schema_version": 1, "runs": [{"verdict": "healthy"}]}', "damaged"),
        ('{"schema_version": 1, "runs": 7}', "damaged"),
        ('{"schema_version": 1, "runs": ["x"]}', "damaged"),
    ],
)
def test_what_is_no_report_is_refused(text, word):
    with pytest.raises(UnreadableError, match=word):
        loads(text)


def test_unknown_keys_of_a_later_triage_are_ignored():
    body = json.loads(dumps(reports.recovered()))
    body["later"] = {"x": 1}
    body["runs"][0]["diagnoses"][0]["later"] = 1
    assert loads(json.dumps(body)) == reports.recovered()


def test_the_step_view_survives():
    text = dumps_step(reports.step_view())
    strict(text)
    again = loads_step(text)
    assert again.decisions == reports.step_view().decisions
    assert dumps_step(again) == text
