"""`render`: a saved report prints what the run that wrote it printed."""

from __future__ import annotations

import pytest

from tests.helpers import reports
from triage.report.json import dumps


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
