"""The help pages, as they are printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.golden import check_golden
from tests.helpers.run_cli import run_process
from triage.cli import COMMANDS

GOLDEN = Path(__file__).parent / "golden"
NAMES = ["", *(command.__name__ for command in COMMANDS)]


@pytest.mark.parametrize("name", NAMES)
def test_help(name):
    found = run_process([*filter(None, [name]), "--help"], env={"COLUMNS": "100"})
    assert found.returncode == 0
    assert found.stderr == ""
    check_golden(GOLDEN / f"help{'-' if name else ''}{name}.txt", found.stdout)


def test_every_command_describes_itself():
    assert all(command.__doc__ and command.__doc__.strip() for command in COMMANDS)


def test_without_a_command_help_is_shown():
    found = run_process([])
    assert "Usage: triage" in found.stdout + found.stderr
    assert found.returncode in (0, 2)


def test_version():
    found = run_process(["--version"])
    assert found.stdout.startswith("triage ")
    assert run_process(["analyze", "--version"]).stdout == found.stdout
