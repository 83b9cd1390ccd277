"""`config`: every setting with its value and origin."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.golden import check_golden
from triage.settings import KINDS

GOLDEN = Path(__file__).parent / "golden"


def test_defaults(cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    found = cli("config")
    assert found.code == 0
    check_golden(GOLDEN / "config.txt", found.out)


def test_origins(cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "triage.toml").write_text('window = 64\n[map]\nloss = "my/loss"\n', encoding="utf-8")
    found = cli("config", "--format", "json", "--lang", "zh", env={"TRIAGE_FAIL_ON": "any"})
    settings = json.loads(found.out)["settings"]
    assert list(settings) == list(KINDS)
    assert settings["window"] == {"value": 64, "origin": f"{tmp_path / 'triage.toml'}:1"}
    assert settings["map"] == {"value": {"loss": "my/loss"}, "origin": f"{tmp_path / 'triage.toml'}:2"}
    assert settings["fail-on"] == {"value": "any", "origin": "environment (TRIAGE_FAIL_ON)"}
    assert settings["lang"] == {"value": "zh", "origin": "flag"}
    assert settings["join"] == {"value": False, "origin": "default"}


def test_a_broken_file_is_2_and_names_the_line(cli, pipeline, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "triage.toml").write_text("lang = 'en'\nwidow = 64\n", encoding="utf-8")
    found = cli("analyze", "x.jsonl")
    assert found.code == 2
    assert "triage.toml: line 2: there is no setting 'widow'" in found.err
    assert "did you mean 'window'?" in found.err
