"""`render`: a saved report prints what the run that wrote it printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import reports
from tests.helpers.run_cli import run_process
from triage.report.json import dumps

SAMPLES = Path(__file__).parents[2] / "sample_logs"


@pytest.mark.parametrize("command", ["analyze", "spikes", "inspect"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_render_prints_what_the_direct_run_prints(cli, pipeline, tmp_path, command, lang):
    pipeline.report = reports.unresolved()
    direct = cli(command, "x.jsonl", "--lang", lang)
    saved = tmp_path / "report.json"
    saved.write_text(cli(command, "x.jsonl", "--lang", lang, "--format", "json").out, encoding="utf-8")
    assert cli("render", str(saved)).out == direct.out
    assert cli("render", "-", stdin=saved).out == direct.out
    assert cli("render", str(saved), "--format", "json").out == saved.read_text(encoding="utf-8")


def test_another_language_may_be_asked_for(cli, tmp_path):
    saved = tmp_path / "report.json"
    saved.write_text(dumps(reports.recovered()), encoding="utf-8")
    assert "单步尖峰" in cli("render", str(saved), "--lang", "zh").out
    assert "single-step" in cli("render", str(saved), env={"LANG": "zh_CN.UTF-8"}).out


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_in_another_language_it_is_what_the_run_would_have_printed_in_it(cli, monkeypatch, tmp_path, lang):
    monkeypatch.chdir(SAMPLES)
    other = "zh" if lang == "en" else "en"
    saved = tmp_path / "report.json"
    saved.write_text(cli("analyze", "consecutive.jsonl", "--lang", other, "--format", "json").out, encoding="utf-8")
    direct = cli("analyze", "consecutive.jsonl", "--lang", lang).out
    assert cli("render", str(saved), "--lang", lang).out == direct
    assert cli("render", str(saved), "--lang", other).out == cli("analyze", "consecutive.jsonl", "--lang", other).out


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("extent", ["short", "full", "none"])
def test_through_a_pipe_it_is_what_the_direct_run_prints(lang, extent):
    argv = ["analyze", "single-step.jsonl", "--lang", lang, "--checklist", extent]
    direct, piped = run_process(argv, cwd=SAMPLES), run_process([*argv, "--format", "json"], cwd=SAMPLES)
    shown = run_process(["render", "-", "--format", "terminal"], cwd=SAMPLES, stdin=None, input=piped.stdout)
    assert direct.stdout
    assert shown.stdout == direct.stdout
    assert shown.stderr == ""


@pytest.mark.parametrize("extent", ["short", "full", "none"])
def test_another_length_of_the_checklist_may_be_asked_for(cli, monkeypatch, tmp_path, extent):
    monkeypatch.chdir(SAMPLES)
    saved = tmp_path / "report.json"
    saved.write_text(cli("analyze", "single-step.jsonl", "--format", "json").out, encoding="utf-8")
    assert cli("render", str(saved), "--checklist", extent).out == (
        cli("analyze", "single-step.jsonl", "--checklist", extent).out
    )
    assert cli("render", str(saved), "--checklist", "long").code == 2


@pytest.mark.parametrize(
    ("content", "word"), [(b"", "not JSON"), (b"{}", "not a triage report"), (b"\xff\xfe\x00", "not UTF-8")]
)
def test_what_is_no_report_is_3(cli, tmp_path, content, word):
    saved = tmp_path / "report.json"
    saved.write_bytes(content)
    found = cli("render", str(saved))
    assert found.code == 3
    assert word in found.err


def test_a_missing_report_is_3(cli, tmp_path):
    assert cli("render", str(tmp_path / "gone.json")).code == 3
    assert cli("render", str(tmp_path)).code == 3
