"""Small files, full names, described functions, and a reason beside every number that decides something."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.tree import PACKAGE, modules, name_of, tree_of

MOST_LINES = 400
VAGUE = {
    "utils",
    "util",
    "helpers",
    "helper",
    "manager",
    "common",
    "misc",
    "process",
    "handler",
    "info",
    "base",
    "core",
}
THRESHOLD_ROOMS = ("signals", "detectors", "findings", "causes", "facts", "advice")
FEWEST_WORDS = 4
"""Fewer words than this are a name said again, no reason."""

MEANING = {"data": "the cause family of the data"}
"""File names that are vague elsewhere and mean something where they are."""


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_a_file_is_no_longer_than_a_room(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, "over 400 lines are two rooms"


def test_names_say_what_is_inside():
    stems = {name_of(path): path.stem.strip("_") for path in modules()}
    assert [name for name, stem in stems.items() if stem in VAGUE and stem not in MEANING] == []


def test_every_module_says_what_it_is_for():
    assert [name_of(path) for path in modules() if not ast.get_docstring(tree_of(path))] == []


def test_every_public_function_is_described():
    wrong = []
    for path in modules():
        for node in tree_of(path).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            if not ast.get_docstring(node):
                wrong.append(f"{name_of(path)}:{node.lineno} {node.name}")
    assert wrong == []


def constants(node: ast.stmt) -> list[str]:
    """Names in capitals that a statement sets."""
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
    names = [each for target in targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return [each.id for each in names if isinstance(each, ast.Name) and each.id.isupper()]


def holds_number(value: ast.expr | None) -> bool:
    """Is it a number, or a sequence or table of numbers? The comparisons of a rule stand in the rule."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and any(holds_number(argument) for argument in value.args)
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return holds_number(value.operand)
    if isinstance(value, ast.BinOp):
        return holds_number(value.left) or holds_number(value.right)
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return any(holds_number(each) for each in value.elts)
    return isinstance(value, ast.Dict) and any(holds_number(each) for each in value.values)


def undescribed(path: Path) -> Iterator[str]:
    """Constants without a docstring behind their group, or a comment beside or above them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    body = tree_of(path).body
    for place, node in enumerate(body):
        if not constants(node) or not holds_number(getattr(node, "value", None)):
            continue
        last = place
        while last + 1 < len(body) and constants(body[last + 1]) and body[last + 1].lineno == _after(body[last]):
            last += 1
        behind = body[last + 1] if last + 1 < len(body) else None
        told = ""
        if (
            isinstance(behind, ast.Expr)
            and isinstance(behind.value, ast.Constant)
            and behind.lineno == _after(body[last])
        ):
            told = str(behind.value.value)
        beside = " ".join(lines[node.lineno - 1 : node.end_lineno]).partition("#")[2]
        above = lines[node.lineno - 2].strip() if node.lineno > 1 else ""
        told = " ".join((told, beside, above if above.startswith("#") else ""))
        if len(re.findall(r"\w+", told)) < FEWEST_WORDS:
            yield f"{name_of(path)}:{node.lineno} {', '.join(constants(node))}"


def _after(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno + 1


def test_every_threshold_says_where_it_comes_from():
    rooms = [path for room in THRESHOLD_ROOMS for path in sorted((PACKAGE / room).glob("*.py"))]
    files = [*rooms, PACKAGE / "classify.py", PACKAGE / "incidents.py", PACKAGE / "pipeline.py"]
    assert [found for path in files for found in undescribed(path)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("LIMIT = 3.0\n", ["LIMIT"]),
        ("LIMIT = 3.0\n\n\n'''Three of them were enough in every log.'''\n", ["LIMIT"]),
        ("LIMIT = 3.0\n'''Limit.'''\n", ["LIMIT"]),
        ("LIMIT = 3.0\n'''Three were enough (science 3.1).'''\n", []),
        ("LEAST = 3\nMOST = 5\n'''Three were enough (science 3.1).'''\n", []),
        ("LEAST, MOST = 3, 5  # three were enough by science 3.1\n", []),
        ("# three were enough by science 3.1\nLIMIT = -3\n", []),
        ("NAMES = ('a', 'b')\nlimit = 3\n", []),
        ("RATIO = math.log(2)\n", ["RATIO"]),
    ],
)
def test_the_search_for_thresholds(tmp_path, monkeypatch, text, found):
    path = tmp_path / "rules.py"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr("tests.architecture.test_conventions.name_of", lambda path: path.name)
    assert [line.rpartition(" ")[2] for line in undescribed(path)] == found
