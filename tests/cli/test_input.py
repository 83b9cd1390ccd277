"""What is read without a PATH: standard input where something is piped in, else the current directory."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.run_cli import scrubbed


def test_paths_are_handed_on(cli, pipeline):
    cli("analyze", "a.jsonl", "b.jsonl", "--join")
    paths, options, stdin = pipeline.calls[0]
    assert paths == ("a.jsonl", "b.jsonl")
    assert options.join is True
    assert stdin is None


def test_a_file_on_standard_input_is_read(cli, pipeline, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"step": 1, "loss": 2}\n', encoding="utf-8")
    cli("analyze", stdin=log)
    paths, _, stdin = pipeline.calls[0]
    assert paths == ("-",)
    assert stdin is not None
    cli("analyze", "-", stdin=log)
    assert pipeline.calls[1][0] == ("-",)


def test_without_input_the_current_directory_is_searched_and_said(cli, pipeline):
    found = cli("analyze")
    assert pipeline.calls[0][0] == (".",)
    assert "searching the current directory" in found.err
    assert "read: runs/alpha/train.jsonl" in found.err
    assert cli("analyze", "--quiet").err == ""
    assert "正在搜索当前目录" in cli("analyze", "--lang", "zh").err


def test_a_silent_pipe_is_not_waited_for(monkeypatch):
    probe = (
        "import triage.cli._session as s, sys; s.SILENCE_S = 0.2\n"
        "from triage.__main__ import main; sys.exit(main(['analyze']))"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", probe],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=scrubbed(),
    )
    try:
        assert running.wait(timeout=30) == 3
        assert running.stderr is not None
        assert b"nothing arrived on standard input" in running.stderr.read()
    finally:
        running.kill()
        running.communicate()


@pytest.mark.parametrize("command", ["analyze", "spikes", "inspect"])
def test_flags_reach_the_options(cli, pipeline, command):
    cli(
        command,
        "x",
        "--window",
        "50",
        "--map",
        "loss=my/loss",
        "--map",
        "lr=eta=1",
        "--signal",
        "reward",
        "--direction",
        "down",
        "--from-step",
        "1",
        "--to-step",
        "9",
        "--segment",
        "last",
        "--sensitivity",
        "high",
        "--lang",
        "zh",
    )
    options = pipeline.calls[0][1]
    assert options.window == 50
    assert options.mapping == {"loss": "my/loss", "lr": "eta=1"}
    assert (options.signal, options.direction) == ("reward", "down")
    assert (options.from_step, options.to_step, options.segment) == (1, 9, "last")
    assert (options.sensitivity, options.lang) == ("high", "zh")


def test_flags_of_the_gate_reach_the_options(cli, pipeline):
    cli("analyze", "x", "--fail-on", "any", "--max-incidents", "7", "--checklist", "short")
    options = pipeline.calls[0][1]
    assert (options.fail_on, options.max_incidents, options.checklist) == ("any", 7, "short")
    cli("spikes", "x")
    assert pipeline.calls[1][1].checklist == "none"


def test_a_step_is_looked_into(cli, pipeline):
    found = cli("inspect", "x.jsonl", "--at", "5110")
    assert found.code == 0
    assert pipeline.calls[0][:2] == ("x.jsonl", 5110)
    assert "alpha: step 5110" in found.out
    assert cli("inspect", "x.jsonl", "--at", "5110", "-f", "json").out.startswith('{"schema_version":1')
