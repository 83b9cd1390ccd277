"""The code is clean by ruff and by mypy in strict mode."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.tree import ROOT


@pytest.mark.parametrize(
    "arguments", [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]], ids=["lint", "format", "types"]
)
def test_is_clean(arguments: list[str]):
    found = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert found.returncode == 0, found.stdout + found.stderr
