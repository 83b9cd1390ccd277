"""What starting costs: help and errors load none of the heavy libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.run_cli import scrubbed

HEAVY = ("polars", "numpy", "scipy", "pyarrow", "rich", "bottleneck", "orjson", "zstandard")

PROBE = """
import sys
from triage.__main__ import main
code = main(sys.argv[1:])
print("loaded:", *sorted(set(name.partition(".")[0] for name in sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def loaded(*argv: str) -> tuple[int, set[str]]:
    found = subprocess.run(
        [sys.executable, "-c", PROBE, *argv], capture_output=True, text=True, env=scrubbed(), check=False, timeout=60
    )
    line = next(line for line in found.stderr.splitlines() if line.startswith("loaded:"))
    return found.returncode, set(line.split()[1:])


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("--help",), 0),
        (("--version",), 0),
        (("analyze", "--help"), 0),
        (("spikes", "--help"), 0),
        (("inspect", "--help"), 0),
        (("convert", "--help"), 0),
        (("explain", "--help"), 0),
        (("render", "--help"), 0),
        (("config", "--help"), 0),
        (("nonsense",), 2),
        (("analyze", "--nonsense"), 2),
    ],
)
def test_nothing_heavy_is_loaded(argv, code):
    got, names = loaded(*argv)
    assert got == code
    assert names & set(HEAVY) == set()


def test_importing_the_package_loads_nothing_heavy():
    probe = "import sys, triage; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=60)
    assert {name.partition(".")[0] for name in found.stdout.split()} & set(HEAVY) == set()
