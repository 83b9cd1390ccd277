"""References lead somewhere: to sections of the documents, to files, to ids."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.helpers.tree import PACKAGE, ROOT, sections, text_files
from triage.causes import RULES as CAUSES
from triage.classify import TABLE
from triage.errors import ExitCode
from triage.findings import RULES as FINDINGS
from triage.model import CLASSES, VERDICTS
from triage.texts import ids

NUMBER = r"\d+(?:\.\d+)?"
REFERENCE = re.compile(rf"\b(definitions|science)(?:\.md)?\)? ({NUMBER}(?:(?:, | and ){NUMBER})*)")
DECISION = re.compile(r"\bdecision (\d{4})\b")
DEFINITIONS = (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8")


def references(text: str) -> Iterator[tuple[str, str]]:
    """(page, section) of every reference in a text."""
    for page, numbers in REFERENCE.findall(text):
        for number in re.findall(NUMBER, numbers):
            yield page, number


def section(number: str) -> str:
    """The text of one section of the definitions, its subsections included."""
    depth = 2 + number.count(".")
    found = [line for line in DEFINITIONS.splitlines() if line.startswith(f"{'#' * depth} {number} ")]
    assert found, number
    inside = DEFINITIONS.partition(found[0])[2]
    return re.split(rf"^#{{2,{depth}}} ", inside, maxsplit=1, flags=re.MULTILINE)[0]


def test_every_section_exists():
    broken = [
        f"{name}: {page} {number}"
        for name, text in text_files()
        for page, number in references(text)
        if number not in sections(page)
    ]
    assert broken == []


def test_the_code_does_refer_to_both_pages():
    code = "".join(text for name, text in text_files() if name.startswith("triage/") and name.endswith(".py"))
    found = list(references(code))
    assert {page for page, _ in found} == {"definitions", "science"}
    assert len(found) > 50


def test_every_decision_exists():
    numbers = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")}
    named = {(name, number) for name, text in text_files() for number in DECISION.findall(text)}
    assert [f"{name}: decision {number}" for name, number in named if number not in numbers] == []


def test_the_search_for_references():
    assert list(references("(science 3.3, 4; definitions 4.1) and [definitions 9](x)")) == [
        ("science", "3.3"),
        ("science", "4"),
        ("definitions", "4.1"),
        ("definitions", "9"),
    ]
    assert list(references("computer science: 3 of them")) == []


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/definitions.md"])
def test_files_that_are_named_exist(name: str):
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"`((?:triage|tests|docs|scripts|sample_logs|benchmarks|\.ci)/[\w./-]*)`", text)
    named += re.findall(r"\]\((?!https?:)([\w./-]+)", text)
    folder = (ROOT / name).parent
    missing = [path for path in named if not (ROOT / path).exists() and not (folder / path).exists()]
    assert [path for path in missing if "NAME" not in path and "NNNN" not in path] == []


def test_the_definitions_list_every_cause():
    listed = set(re.findall(r"`([a-z]+/[a-z0-9-]+)`", section("11.2")))
    assert listed == set(ids("causes")) == {rule.id for rule in CAUSES}


def test_the_definitions_give_every_finding_its_severity():
    rows = {
        name: words
        for words, cell in re.findall(
            r"^\| (error|error or warning|warning|info) \| (.*) \|$", section("7"), re.MULTILINE
        )
        for name in re.findall(r"`([a-z-]+)`", cell)
    }
    assert set(rows) == set(ids("findings")) == {rule.id for rule in FINDINGS}
    assert [rule.id for rule in FINDINGS if rule.severity not in rows[rule.id].split(" or ")] == []


def test_the_definitions_name_every_class_verdict_and_code():
    classes = re.findall(r"^\| `([a-z-]+)` \|.*\| (\w+) \|$", section("5.2"), re.MULTILINE)
    assert [name for name, _ in classes] == list(CLASSES)
    assert set(classes) == {(row.event_class, row.status) for row in TABLE}
    assert re.findall(r"^\| `(\w+)` \|", section("8"), re.MULTILINE) == list(reversed(VERDICTS))
    assert re.findall(r"^\| (\d+) \|", section("9"), re.MULTILINE) == [str(int(code)) for code in ExitCode]


def test_the_definitions_name_every_field_of_the_json():
    schema = json.loads((PACKAGE / "report" / "schema-1.json").read_text(encoding="utf-8"))
    told = set(re.findall(r"`(\w+)`", section("10")))
    assert sorted(fields(schema) - told) == []


def fields(schema: object) -> set[str]:
    """The names of all properties of a JSON schema."""
    if isinstance(schema, list):
        return {name for item in schema for name in fields(item)}
    if not isinstance(schema, dict):
        return set()
    own = set(schema.get("properties", {}))
    return own | {name for item in schema.values() for name in fields(item)}
