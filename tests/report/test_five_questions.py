"""docs/five-questions.md: the first lines of three logs as they are printed, and five answers read off them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.helpers.run_cli import run_cli

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "five-questions.md"
BLOCK = re.compile(r"^```console\n\$ triage (analyze [^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| ([^|]+\?) \| ([^|]+) \| `([^`]+)` \|$", re.MULTILINE)
FIRST_LINES = 40
QUESTIONS = (
    "What happened?",
    "From which step?",
    "Which step is safe to go back to?",
    "What is the first experiment?",
    "What must not be done yet?",
)


def first_lines(monkeypatch: pytest.MonkeyPatch, command: str) -> str:
    monkeypatch.chdir(ROOT)
    found = run_cli(monkeypatch, command.split(), env={"COLUMNS": "100"})
    assert found.err == ""
    return "".join(f"{line}\n" for line in found.out.splitlines()[:FIRST_LINES])


def test_the_lines_are_those_that_are_printed(monkeypatch: pytest.MonkeyPatch):
    page = PAGE.read_text(encoding="utf-8")
    commands = [command for command, _ in BLOCK.findall(page)]
    assert len(commands) == 4
    fresh = BLOCK.sub(lambda found: f"```console\n$ triage {found[1]}\n{first_lines(monkeypatch, found[1])}```", page)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(fresh, encoding="utf-8")
        return
    assert page == fresh, "write it with UPDATE_GOLDEN=1, and read the answers again"


def test_every_answer_can_be_read_off_the_lines():
    page = PAGE.read_text(encoding="utf-8")
    sections = [section for section in page.split("\n## ")[1:] if ROW.search(section)]
    assert len(sections) == 3
    for section in sections:
        (_, lines), *_ = BLOCK.findall(section)
        text = re.sub(r"\s+", " ", lines)
        rows = ROW.findall(section)
        assert [question for question, _, _ in rows] == list(QUESTIONS)
        for _, answer, quoted in rows:
            assert answer
            assert quoted in text
