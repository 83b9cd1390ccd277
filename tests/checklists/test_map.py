"""The map of the two guides: every point carried, by a text that speaks of it; the page in step with the data."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "SEED_ITEMS.md"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("checklist_map", ROOT / "scripts" / "checklist_map.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load_script()


def points() -> dict[str, list[str]]:
    """Point → words that a text which carries it must hold."""
    lines = SCRIPT.SEED_IDS.read_text(encoding="utf-8").splitlines()
    rows = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {seed: [word.strip().lower() for word in words.split(", ")] for seed, words in rows}


POINTS = points()
CARRIERS = SCRIPT.carriers()


def test_the_list_holds_every_point_once():
    assert len(POINTS) == len(SCRIPT.seed_ids()) == 144
    assert set(CARRIERS) <= set(POINTS), "a step names a point that does not exist"


@pytest.mark.parametrize("seed", POINTS)
def test_every_point_is_carried_by_a_text_that_speaks_of_it(seed: str):
    assert seed in CARRIERS, "no step, finding or command carries it"
    lacking = {by: [word for word in POINTS[seed] if word not in text.lower()] for by, text in CARRIERS[seed]}
    assert any(not words for words in lacking.values()), lacking


def test_the_page_is_in_step_with_the_data():
    assert SCRIPT.PAGE.read_text(encoding="utf-8") == SCRIPT.page(), "run scripts/checklist_map.py"


def test_the_page_names_every_point_and_no_gap():
    text = SCRIPT.PAGE.read_text(encoding="utf-8")
    assert all(f"| {seed} |" in text for seed in POINTS)
    assert "**nothing**" not in text


def test_the_check_of_the_script_tells_fresh_from_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert SCRIPT.main(["--check"]) == 0
    stale = tmp_path / "checklists.md"
    stale.write_text("old", encoding="utf-8")
    monkeypatch.setattr(SCRIPT, "PAGE", stale)
    assert SCRIPT.main(["--check"]) == 1


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the inventory is not beside the project")
def test_the_points_are_those_of_the_inventory():
    assert set(re.findall(r"\b([HQ]\d+\.\d+)\b", SHARED.read_text(encoding="utf-8"))) == set(POINTS)


def test_resolving_loads_no_heavy_library():
    heavy = {"numpy", "polars", "scipy", "pyarrow", "rich", "orjson"}
    code = f"import sys, triage.resolve, triage.facts; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "[]"
