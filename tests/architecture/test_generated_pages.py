"""Pages that can be written from what they describe are written from it, and are not stale."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest

from tests.helpers.tree import ROOT


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", ROOT / "scripts" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load_script()


@pytest.mark.parametrize("name", SCRIPT.PAGES)
def test_the_page_is_fresh(name: str):
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == SCRIPT.PAGES[name](), "run scripts/docs"


def test_stale_pages_are_told_and_written_anew(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(SCRIPT, "ROOT", tmp_path)
    monkeypatch.setattr(SCRIPT, "PAGES", {"one.md": lambda: "new\n"})
    (tmp_path / "docs").mkdir()
    assert SCRIPT.main(["--check"]) == 1
    assert "one.md" in capsys.readouterr().err
    assert SCRIPT.main([]) == 0
    assert SCRIPT.main(["--check"]) == 0


def test_one_command_writes_every_generated_page():
    generated = {
        path.name
        for path in (ROOT / "docs").glob("*.md")
        if re.search(r"^Written by `scripts/", path.read_text("utf-8"), re.MULTILINE)
    }
    assert generated == {*SCRIPT.PAGES, "checklists.md"}
    script = (ROOT / "scripts" / "docs").read_text(encoding="utf-8")
    assert "scripts/pages.py" in script
    assert "scripts/checklist_map.py" in script
