"""Who may import whom: the layers of pyproject.toml, siblings apart, heavy libraries late and in their rooms."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.helpers.tree import PACKAGE, ROOT, at_import, imported, modules, name_of, tree_of

HEAVY = {"polars", "numpy", "scipy", "pyarrow", "rich", "orjson", "bottleneck", "zstandard", "crc32c", "google"}
ROOMS = ("cli", "readers", "detectors", "findings", "causes", "facts", "report", "advice")
"""Folders whose files are alternatives of each other."""


def roots(node: ast.AST) -> set[str]:
    return {name.partition(".")[0] for name in imported(node)}


def test_imports_go_downward():
    program = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("room", ROOMS)
def test_siblings_do_not_import_each_other(room: str):
    members = {path.stem for path in (PACKAGE / room).glob("*.py") if not path.stem.startswith("_")}
    wrong = []
    for path in (PACKAGE / room).glob("*.py"):
        if path.stem == "__init__":
            continue
        siblings = {f"triage.{room}.{name}" for name in members - {path.stem}}
        for node in ast.walk(tree_of(path)):
            wrong += [f"{name_of(path)}:{node.lineno} {name}" for name in imported(node) if name in siblings]  # type: ignore[attr-defined]
    assert wrong == [], "what two files share belongs into a file that starts with _"


def test_heavy_libraries_are_imported_inside_functions():
    wrong = [
        f"{name_of(path)}:{node.lineno}"
        for path in modules()
        for node in at_import(tree_of(path))
        if roots(node) & HEAVY
    ]
    assert wrong == [], "they would be loaded by `triage --help`"


@pytest.mark.parametrize(
    ("library", "places"),
    [
        ("typer", ("triage/cli/", "triage/__main__.py")),
        ("rich", ("triage/report/terminal", "triage/report/_width.py", "triage/cli/")),
        ("pyarrow", ("triage/readers/", "triage/cli/convert.py")),
        ("socket", ()),
        ("urllib", ()),
        ("http", ()),
        ("pickle", ()),
    ],
)
def test_a_library_stays_in_its_rooms(library: str, places: tuple[str, ...]):
    users = [name_of(path) for path in modules() if any(library in roots(node) for node in ast.walk(tree_of(path)))]
    assert [user for user in users if not user.startswith(places or ("nowhere",))] == []


def test_what_is_imported_is_declared():
    import tomllib
    from importlib.metadata import packages_distributions

    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    declared = {name.partition(">")[0].strip().lower() for name in wanted}
    used = {root for path in modules() for node in ast.walk(tree_of(path)) for root in roots(node)}
    outside = {root for root in used if root not in {*sys.stdlib_module_names, "_typeshed", "triage"}}
    owners = packages_distributions()
    by_name = {root: {owner.lower() for owner in owners.get(root, [root])} for root in outside}
    assert {root: names for root, names in by_name.items() if not names & declared} == {}
    unused = declared - {name for names in by_name.values() for name in names}
    assert not unused, "declared in pyproject.toml and used nowhere"
