"""Where the result goes: standard output, a file whole or not at all; how it looks there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.helpers import reports
from triage.cli._write import write_whole
from triage.errors import OutputError


def test_the_result_goes_to_the_file_and_nothing_else_is_left(cli, pipeline, tmp_path):
    target = tmp_path / "report.txt"
    found = cli("analyze", "x.jsonl", "-o", str(target))
    assert found.code == 0
    assert found.out == ""
    assert target.read_text(encoding="utf-8") == cli("analyze", "x.jsonl").out
    assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]


def test_the_ending_chooses_the_format(cli, pipeline, tmp_path):
    target = tmp_path / "report.JSON"
    cli("analyze", "x.jsonl", "-o", str(target))
    assert json.loads(target.read_text(encoding="utf-8"))["schema_version"] == 1
    cli("analyze", "x.jsonl", "-o", str(target), "--format", "terminal")
    assert target.read_text(encoding="utf-8").startswith("RECOVERED")


@pytest.mark.parametrize("where", ["gone/report.txt", "."])
def test_an_output_that_cannot_be_written_is_5_before_the_work(cli, pipeline, tmp_path, where):
    found = cli("analyze", "x.jsonl", "-o", str(tmp_path / where))
    assert found.code == 5
    assert pipeline.calls == []


def test_the_input_is_never_overwritten(cli, pipeline, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text("{}", encoding="utf-8")
    link = tmp_path / "link.jsonl"
    link.symlink_to(log)
    for output in (log, link):
        assert cli("analyze", str(log), "-o", str(output)).code == 2
    assert log.read_text(encoding="utf-8") == "{}"


def test_what_was_there_stays_where_writing_fails(tmp_path):
    target = tmp_path / "report.txt"
    target.write_text("old", encoding="utf-8")

    def fail(path: Path) -> None:
        path.write_text("half", encoding="utf-8")
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left"):
        write_whole(str(target), fail)
    assert target.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.txt"]


def test_permissions_and_links_are_kept(tmp_path):
    target = tmp_path / "report.txt"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    write_whole(str(link), lambda path: path.write_text("new", encoding="utf-8"))
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    fresh = tmp_path / "fresh.txt"
    write_whole(str(fresh), lambda path: path.write_text("new", encoding="utf-8"))
    umask = os.umask(0)
    os.umask(umask)
    assert fresh.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_device_is_written_directly(cli, pipeline):
    assert cli("analyze", "x.jsonl", "-o", os.devnull).code == 0


def test_colours_only_where_they_are_wanted(cli, pipeline):
    assert "\x1b[" not in cli("analyze", "x.jsonl").out
    assert "\x1b[" in cli("analyze", "x.jsonl", env={"FORCE_COLOR": "1"}).out
    assert "\x1b[" not in cli("analyze", "x.jsonl", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).out
    assert "\x1b[" not in cli("analyze", "x.jsonl", "--no-color", env={"FORCE_COLOR": "1", "NO_COLOR": ""}).out
    assert "\x1b[" in cli("analyze", "x.jsonl", env={"TRIAGE_COLOR": "always", "FORCE_COLOR": ""}).out


def test_columns_sets_the_width_of_piped_output(cli, pipeline):
    from triage.report._width import cells

    narrow = cli("analyze", "x.jsonl", env={"COLUMNS": "60"}).out
    assert max(cells(line) for line in narrow.splitlines()) <= 60
    piped = cli("analyze", "x.jsonl", env={"COLUMNS": ""}).out
    assert 60 < max(cells(line) for line in piped.splitlines()) <= 100


def test_an_output_that_carries_ascii_only(cli, pipeline):
    found = cli("analyze", "x.jsonl", encoding="ascii")
    assert found.code == 0
    assert "?" not in found.out.partition("Why")[0].replace("? ", "")


def test_json_is_utf8_whatever_the_terminal(cli, pipeline):
    pipeline.report = reports.hostile()
    assert json.loads(cli("analyze", "x.jsonl", "-f", "json").out)["runs"][1]["run_id"] == "另一个"


def test_errors_are_said_on_standard_error_too_where_the_result_is_for_a_machine(cli, pipeline):
    pipeline.report = reports.several()
    assert "gone.jsonl: no such file" in cli("analyze", "x.jsonl", "-f", "json").err
    assert cli("analyze", "x.jsonl").err == ""
