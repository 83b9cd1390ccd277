"""Every way out has its published exit code, its message on standard error, and JSON where JSON was asked for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.helpers import reports
from tests.helpers.run_cli import scrubbed
from triage.errors import OutputError, UndeterminedError, UnreadableError, UsageError


@pytest.mark.parametrize(
    ("name", "code"),
    [("healthy", 0), ("recovered", 0), ("unresolved", 1), ("unreadable", 3), ("undetermined", 4), ("several", 3)],
)
@pytest.mark.parametrize("command", ["analyze", "spikes"])
def test_the_gate_passes_on_the_code_of_the_report(cli, pipeline, name, code, command):
    pipeline.report = reports.ALL[name]()
    found = cli(command, "x.jsonl")
    assert found.code == code
    assert found.out
    as_json = cli(command, "x.jsonl", "--format", "json")
    assert as_json.code == code
    body = json.loads(as_json.out)
    assert body["exit_code"] == code
    assert [error["path"] for error in body["errors"]] == [error.path for error in pipeline.report.errors]


@pytest.mark.parametrize(("name", "code"), [("unresolved", 0), ("unreadable", 3), ("several", 3), ("undetermined", 0)])
def test_inspect_only_shows(cli, pipeline, name, code):
    pipeline.report = reports.ALL[name]()
    assert cli("inspect", "x.jsonl").code == code
    assert json.loads(cli("inspect", "x.jsonl", "-f", "json").out)["exit_code"] == code


@pytest.mark.parametrize(
    ("error", "code"), [(UsageError, 2), (UnreadableError, 3), (UndeterminedError, 4), (OutputError, 5)]
)
def test_an_error_says_what_where_and_what_to_do(cli, pipeline, error, code):
    pipeline.report = error("it broke", path="a.jsonl", hint="mend it")
    found = cli("analyze", "a.jsonl")
    assert found.code == code
    assert found.err == "triage: a.jsonl: it broke\n  mend it\n"
    assert found.out == ""
    as_json = cli("analyze", "a.jsonl", "--format=json")
    assert as_json.code == code
    if code <= 4:
        body = json.loads(as_json.out)
        assert body["exit_code"] == code
        assert body["errors"] == [{"path": "a.jsonl", "exit_code": code, "message": "it broke", "hint": "mend it"}]
    else:
        assert as_json.out == ""


@pytest.mark.parametrize(
    "argv",
    [
        ("nonsense",),
        ("analyze", "--nonsense"),
        ("analyze", "--window", "many"),
        ("analyze", "--window", "3"),
        ("analyze", "--fail-on", "often"),
        ("analyze", "--lang", "fr"),
        ("analyze", "--format", "yaml"),
        ("analyze", "--map", "loss"),
        ("analyze", "--map", "=x"),
        ("analyze", "--from-step", "9", "--to-step", "3"),
        ("explain", "no-such-id"),
        ("render",),
        ("convert", "x.jsonl"),
        ("convert", "x.jsonl", "-o", "x.docx"),
        ("inspect", "a", "b", "--at", "3"),
    ],
)
def test_bad_arguments(cli, pipeline, argv):
    found = cli(*argv)
    assert found.code == 2
    assert found.err.startswith("triage: ")
    assert "Traceback" not in found.err
    assert pipeline.calls == []


def test_an_argument_that_cannot_be_parsed_gives_json_too(cli):
    found = cli("analyze", "--format", "json", "--nonsense")
    assert found.code == 2
    assert json.loads(found.out)["errors"][0]["exit_code"] == 2
    assert cli("analyze", "--nonsense", env={"TRIAGE_FORMAT": "json"}).out.startswith("{")


def test_an_internal_error_is_one_line_without_debug(cli, pipeline):
    pipeline.report = ZeroDivisionError("boom")
    found = cli("analyze", "x.jsonl")
    assert found.code == 70
    assert "internal error: ZeroDivisionError: boom (conftest.py:" in found.err
    assert "report it" in found.err
    assert "Traceback" not in found.err
    assert "Traceback" in cli("analyze", "x.jsonl", "--debug").err
    assert "Traceback" in cli("analyze", "x.jsonl", env={"TRIAGE_DEBUG": "1"}).err


def test_an_interrupt_is_130(cli, pipeline):
    pipeline.report = KeyboardInterrupt()
    found = cli("analyze", "x.jsonl")
    assert found.code == 130
    assert found.err == ""


def test_an_interrupt_of_a_real_process():
    running = subprocess.Popen(
        [sys.executable, "-m", "triage", "render", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=scrubbed(),
    )
    time.sleep(1.5)  # it waits for its input now
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert err == b""


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    saved = tmp_path / "report.json"
    from triage.report.json import dumps

    saved.write_text(dumps(reports.many(150)), encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    found = subprocess.run(
        [sys.executable, "-m", "triage", "render", str(saved)],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=scrubbed(),
        check=False,
        timeout=60,
    )
    os.close(writing)
    assert found.returncode == 0
    assert found.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110 - a device
def test_a_full_disk_is_5():
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        found = subprocess.run(
            [sys.executable, "-m", "triage", "explain", "classes"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=scrubbed(),
            check=False,
            timeout=60,
        )
    assert found.returncode == 5
    assert b"No space left" in found.stderr
    assert b"Traceback" not in found.stderr


@pytest.mark.skipif(os.name != "posix", reason="closes file descriptors")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_do_not_change_the_verdict(tmp_path, closed):
    log = tmp_path / "log.jsonl"
    for tail, code in (("2.0", 0), ("NaN", 1)):
        lines = [f'{{"step": {s}, "loss": {2.0 if s < 50 else tail}}}' for s in range(60)]
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = f'"{sys.executable}" -m triage analyze "{log}" {closed}'
        assert subprocess.run(["sh", "-c", command], env=scrubbed(), check=False, timeout=60).returncode == code


def test_an_empty_path_is_no_search(cli):
    found = cli("analyze", "")
    assert found.code == 2
    assert "PATH is empty" in found.err


@pytest.mark.parametrize("command", ["analyze", "spikes"])
def test_a_reader_that_goes_away_leaves_the_gate(tmp_path, command):
    log = tmp_path / "log.jsonl"
    lines = [f'{{"step": {s}, "loss": {2.0 if s < 50 else "NaN"}}}' for s in range(60)]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    found = subprocess.run(
        [sys.executable, "-m", "triage", command, str(log)],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=scrubbed(),
        check=False,
        timeout=60,
    )
    os.close(writing)
    assert (found.returncode, found.stderr) == (1, b"")
