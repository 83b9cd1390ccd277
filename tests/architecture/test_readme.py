"""What the README shows is run: commands, the CI step, the Python example; its tables match the code."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.run_cli import run_process, scrubbed
from tests.helpers.tree import ROOT, code_blocks
from triage.errors import ExitCode
from triage.readers import READERS
from triage.readers._refused import REFUSED

README = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLES = ROOT / "sample_logs"
BLOCKS = code_blocks("README.md")
FAILS = {"runs/"}
"""Paths of the examples that hold an unresolved run."""


def commands() -> Iterator[str]:
    """Every `triage …` command of the shell and CI blocks, in order, without comment."""
    for language, block in BLOCKS:
        if language not in ("sh", "yaml"):
            continue
        for line in block.splitlines():
            found = line.partition("#")[0].strip().removeprefix("run:").strip().partition(" || ")[0]
            if re.search(r"(^|\| )triage ", found):
                yield found


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the logs that the examples speak of, and the report that one of them writes."""
    folder = tmp_path_factory.mktemp("desk")
    shutil.copy(SAMPLES / "single-step.jsonl", folder / "run.jsonl")
    (folder / "runs").mkdir()
    for name in ("healthy.jsonl", "non-recovering.jsonl"):
        shutil.copy(SAMPLES / name, folder / "runs" / name)
    run_process(["analyze", "runs/", "--format", "json", "-o", "report.json"], cwd=folder)
    return folder


def test_there_are_examples_of_every_kind():
    assert len(list(commands())) >= 10
    assert {language for language, _ in BLOCKS} == {"", "sh", "yaml", "python"}


@pytest.mark.parametrize("command", list(commands()))
def test_a_command_does_what_it_says(command: str, desk: Path):
    before, _, called = command.rpartition("| ")
    words = shlex.split(called)[1:]
    piped = {"stdin": None, "input": (desk / shlex.split(before)[1]).read_text(encoding="utf-8")} if before else {}
    found = run_process(words, cwd=desk, **piped)
    judges = words[0] in ("analyze", "spikes")
    assert found.returncode == int(judges and bool(FAILS & set(words))), found.stderr
    assert "Traceback" not in found.stderr
    if "-o" in words:
        written = desk / words[words.index("-o") + 1]
        assert written.stat().st_size > 0
        assert written.suffix != ".json" or json.loads(written.read_text(encoding="utf-8"))["schema_version"] == 1
    else:
        assert found.stdout.strip()


@pytest.mark.parametrize("block", [block for language, block in BLOCKS if language == "python"])
def test_the_python_example_runs(block: str, desk: Path):
    found = subprocess.run(
        [sys.executable, "-c", block], cwd=desk, capture_output=True, text=True, env=scrubbed(), check=False, timeout=60
    )
    assert found.returncode == 0, found.stderr
    assert "recovered 0" in found.stdout
    assert "single-step recovered 250 249" in found.stdout


def test_the_two_one_line_commands_are_there_and_lead_somewhere():
    first, second = (block.strip() for language, block in BLOCKS if not language)
    assert first.startswith("python3 -m venv .venv && ")
    assert second == "bash scripts/test"
    last = shlex.split(first.rpartition("&& ")[2])
    assert last[0] == ".venv/bin/triage"
    assert run_process(last[1:], cwd=ROOT).returncode == 0
    assert f"\n{second}\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for script in ("scripts/test", "scripts/docs", ".ci/run"):
        assert subprocess.run(["bash", "-n", ROOT / script], check=False).returncode == 0
        assert (ROOT / script).stat().st_mode & 0o100, f"{script} is not executable"


@pytest.mark.parametrize(("name", "said"), re.findall(r"^\| `([\w-]+\.jsonl)` \|.*\| (.+) \|$", README, re.MULTILINE))
def test_the_table_of_samples_says_what_the_tool_says(name: str, said: str):
    found = run_process(["analyze", name, "--format", "json"], cwd=SAMPLES)
    report = json.loads(found.stdout)
    worst = {(one["class"], one["status"]) for one in report["runs"][0]["diagnoses"]}
    assert found.returncode == int("exit 1" in said)
    if said == "healthy":
        assert report["verdict"] == "healthy"
    else:
        event_class, status = re.match(r"([\w-]+), (\w+)", said).groups()  # type: ignore[union-attr]
        assert (event_class, status) in worst
        verdict = re.search(r"verdict (\w+)", said)
        assert report["verdict"] == (verdict[1] if verdict else status)


def test_every_sample_is_in_the_table():
    assert {path.name for path in SAMPLES.glob("*.jsonl")} == set(
        re.findall(r"^\| `([\w-]+\.jsonl)` \|", README, re.MULTILINE)
    )


def test_the_table_of_exit_codes_is_that_of_the_code_and_of_the_definitions():
    rows = r"^\| (\d+) \| (.+) \|$"
    told = dict(re.findall(rows, README, re.MULTILINE))
    assert list(told) == [str(int(code)) for code in ExitCode]
    defined = dict(re.findall(rows, (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8"), re.MULTILINE))
    for code, words in told.items():
        assert defined[code].replace(",", "").startswith(words.replace(",", ""))


def test_the_table_of_formats_is_that_of_the_readers():
    section = README.partition("## What it reads")[2].partition("\n## ")[0]
    told = {
        name for cell in re.findall(r"^\| (`.+?) \|", section, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", cell)
    }
    assert told == {reader.name for reader in READERS if reader not in REFUSED}


def test_contributing_proves_with_tests_that_exist():
    recipes = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    proofs = re.findall(r"^Proof: `bash scripts/test(.*)`$", recipes, re.MULTILINE)
    assert len(proofs) == len(re.findall(r"^### Add", recipes, re.MULTILINE)) >= 10
    assert [path for proof in proofs for path in proof.split() if not (ROOT / path).exists()] == []
