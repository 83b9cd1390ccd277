"""Every file of a room that makes something is in the room's list: forgetting the one line must not go unseen."""

from __future__ import annotations

import pytest

import triage.causes
import triage.checklists
import triage.cli
import triage.detectors
import triage.findings
import triage.readers
import triage.report
import triage.texts
from tests.helpers.tree import PACKAGE, ROOT, import_module

NO_MEMBERS = {"readers": {"context"}, "findings": {"remarks"}}
"""Files without a leading underscore that belong to the face of their room and are no member of its list."""


def members(room: str) -> list[str]:
    names = {path.stem for path in (PACKAGE / room).glob("*.py") if not path.stem.startswith("_")}
    return sorted(names - NO_MEMBERS.get(room, set()))


@pytest.mark.parametrize(
    ("room", "constant", "listed"),
    [
        ("readers", "READER", triage.readers.READERS),
        ("detectors", "DETECTOR", triage.detectors.DETECTORS),
        ("report", "RENDERER", triage.report.RENDERERS),
    ],
)
def test_every_file_is_listed(room: str, constant: str, listed: tuple[object, ...]):
    made = {name: getattr(import_module(PACKAGE / room / f"{name}.py"), constant, None) for name in members(room)}
    assert [name for name, member in made.items() if member is None] == [], f"makes no {constant}"
    assert [name for name, member in made.items() if not any(member is one for one in listed)] == []


@pytest.mark.parametrize(
    ("room", "listed"),
    [("findings", triage.findings.RULES), ("causes", triage.causes.RULES)],
    ids=["findings", "causes"],
)
def test_every_rule_is_listed(room: str, listed: tuple[object, ...]):
    made = {name: import_module(PACKAGE / room / f"{name}.py").RULES for name in members(room)}
    assert sum(len(rules) for rules in made.values()) == len(listed)
    assert [name for name, rules in made.items() if not all(any(rule is one for one in listed) for rule in rules)] == []


def test_every_command_is_listed():
    assert members("cli") == sorted(command.__name__ for command in triage.cli.COMMANDS)


def test_every_checklist_is_listed():
    folder = PACKAGE / "checklists"
    branches = {path.stem for path in folder.glob("*.toml") if "[[step]]" in path.read_text(encoding="utf-8")}
    assert branches == set(triage.checklists.BRANCHES)
    assert {path.stem for path in (folder / "lists").glob("*.toml")} == set(triage.checklists.LISTS)


def test_every_kind_of_text_is_listed():
    assert {path.stem for path in (PACKAGE / "texts").glob("*.toml")} == set(triage.texts.KINDS)


def test_every_library_has_its_line_of_reason():
    import tomllib

    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    page = next((ROOT / "docs" / "decisions").glob("0001-*.md")).read_text(encoding="utf-8")
    assert [name for name in wanted if f"| {name.partition('>')[0]} |" not in page] == []
