"""Run the command line: in this process for most tests, as a real process for a few."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRUBBED = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "TZ", "CI", "LANG", "LANGUAGE")
"""Variables that would change the output; LC_*, GITHUB_* and TRIAGE_* go too."""


@dataclass(frozen=True)
class Result:
    """What a call left behind."""

    code: int
    out: str
    err: str


def scrubbed(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without anything that changes the output."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in SCRUBBED and not name.startswith(("LC_", "GITHUB_", "TRIAGE_"))
    }
    return {**kept, **(extra or {})}


def run_cli(
    monkeypatch: pytest.MonkeyPatch,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: Path | str = os.devnull,
    encoding: str = "utf-8",
) -> Result:
    """Run `triage` in this process; standard input is a file."""
    from triage.__main__ import main

    for name in list(os.environ):
        if name not in scrubbed():
            monkeypatch.delenv(name)
    for name, value in (env or {}).items():
        monkeypatch.setenv(name, value)
    out, err = io.BytesIO(), io.BytesIO()
    with open(stdin, encoding="utf-8") as source, monkeypatch.context() as patch:  # noqa: PTH123 - devnull is no Path
        # kept by name: a wrapper that is collected closes the bytes behind it
        out_text = io.TextIOWrapper(out, encoding=encoding, write_through=True)
        err_text = io.TextIOWrapper(err, encoding=encoding, write_through=True)
        patch.setattr(sys, "stdin", source)
        patch.setattr(sys, "stdout", out_text)
        patch.setattr(sys, "stderr", err_text)
        code = main(list(argv))
        return Result(code, out.getvalue().decode(encoding), err.getvalue().decode(encoding))


def run_process(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run `triage` as a process of its own."""
    settings: dict[str, object] = {"stdin": subprocess.DEVNULL, "timeout": 60, **options}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "triage", *argv],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=scrubbed(env),
        cwd=cwd,
        check=False,
        **settings,
    )
