"""The tree holds what belongs to the project, and nothing of the machine that it was written on."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.helpers.tree import ROOT, project_files, text_files

MACHINE = {
    "a path of a machine": r"(?<![\w.])/(?:work|root|home|Users)/\w",
    "a package index": r"\b(?:pypi|files\.pythonhosted)\.org\b|\bindex[-_]url\b|\bartifactory\b",
    "an e-mail address": r"[\w.+-]+@(?!v\d)[\w-]+\.(?:com|org|net|io|cn|dev)\b",
    "a key": r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:ghp|hf|sk)_[A-Za-z0-9]{20,}",
    "notes outside the project": r"\b(?:SPIKE_SCIENCE|DESIGN \d|FORMATS(?:\.md)? \d|PERFORMANCE\.md|CHECKLISTS\b)",
}
OWN = {"tests/architecture/test_clean_tree.py"}
"""This file: it names what it looks for."""
INVENTED = {"tests/cases/", "tests/helpers/", "tests/readers/"}
"""Tests invent paths and addresses for their logs."""


@pytest.mark.parametrize("what", MACHINE)
def test_there_is_nothing_of_it(what: str):
    pattern = re.compile(MACHINE[what])
    found = [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in text_files()
        if name not in OWN and not (what == "a path of a machine" and name.startswith(tuple(INVENTED)))
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def test_nothing_is_large_or_compiled():
    large = [str(path) for path in project_files() if path.stat().st_size > 500_000]
    assert large == []
    assert [str(path) for path in project_files() if path.suffix in {".pyc", ".so", ".whl", ".egg"}] == []


def test_the_licence_is_there_and_declared():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "Apache License" in text
    assert "Copyright 2026 The triage authors" in text
    assert "Apache-2.0" in str(project["license"])


@pytest.mark.parametrize(
    "name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", ".ci/run"]
)
def test_the_first_things_that_are_looked_for_are_there(name: str):
    assert (ROOT / name).stat().st_size > 100


def test_decisions_have_one_form():
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name)
        assert text.startswith(f"# {path.name[:4]} ")
        headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
        assert headings == ["Context", "Options", "Decision", "Consequence", "Revisit when"], path.name
        assert len(text.splitlines()) <= 60, "one page"
