"""The whole way, from a log to what is printed, on the sample logs of the project."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import triage.report as room
from tests.helpers.run_cli import run_process
from triage.checklists import load_statistics
from triage.report._width import cells

SAMPLES = Path(__file__).parents[2] / "sample_logs"
LOGS = sorted(path.name for path in SAMPLES.glob("*.jsonl"))
SCHEMA = json.loads((Path(room.__file__).parent / "schema-1.json").read_text(encoding="utf-8"))
CODES = {"non-recovering.jsonl": 1, "first-step-nan.jsonl": 1}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("command", ["analyze", "spikes", "inspect"])
def test_json_fits_the_schema_and_renders_to_the_direct_output(cli, monkeypatch, tmp_path, name, command, lang):
    monkeypatch.chdir(SAMPLES)
    direct = cli(command, name, "--lang", lang)
    assert direct.code == (CODES.get(name, 0) if command != "inspect" else 0)
    as_json = cli(command, name, "--lang", lang, "--format", "json")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(as_json.out))
    saved = tmp_path / "report.json"
    saved.write_text(as_json.out, encoding="utf-8")
    assert cli("render", "-", stdin=saved).out == direct.out
    assert all(cells(line) <= 100 for line in direct.out.splitlines())


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", LOGS)
def test_every_id_of_a_report_has_its_sentence(cli, monkeypatch, name, lang):
    monkeypatch.chdir(SAMPLES)
    text = cli("analyze", name, "--lang", lang, "--checklist", "none").out
    assert "(observed" not in text
    assert "(signal" not in text
    assert [line for line in text.splitlines() if "?" in line.removesuffix("?").replace("  ? ", "")] == []
    assert [one for one in load_statistics() if "_" in one and one in text] == [], "a raw key"


def test_the_command_and_the_module_are_the_same():
    found = run_process(["spikes", "healthy.jsonl"], cwd=SAMPLES)
    assert found.returncode == 0
    assert found.stdout.startswith("HEALTHY")
    assert found.stderr == ""


def test_a_pipe_goes_through():
    found = run_process(
        ["analyze", "--format", "json"], cwd=SAMPLES, stdin=None, input=(SAMPLES / "single-step.jsonl").read_text()
    )
    body = json.loads(found.stdout)
    assert body["runs"][0]["diagnoses"][0]["class"] == "single-step"


def test_a_step_is_looked_into(cli, monkeypatch):
    monkeypatch.chdir(SAMPLES)
    for lang in ("en", "zh"):
        found = cli("inspect", "single-step.jsonl", "--at", "250", "--lang", lang)
        assert found.code == 0
        assert "→" in found.out
    assert cli("inspect", "single-step.jsonl", "--at", "999999").code in (2, 4)
