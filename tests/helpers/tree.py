"""The files of the project, and what stands in them, for the tests that look at the house itself."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "triage"
TEXT = {".py", ".toml", ".md", ".json", ".jsonl", ".txt", ".yml", ".yaml", ".cfg", ".ini", ""}
SKIPPED = {".git", ".venv", "build", "dist", "__pycache__"}


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that belongs to the project: what git tracks, else (in an unpacked archive) what lies there."""
    try:
        found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        paths = [ROOT / name for name in found.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [
            path
            for path in ROOT.rglob("*")
            if path.is_file() and not any(part in SKIPPED or part.endswith("_cache") for part in path.parts)
        ]
    return tuple(path for path in paths if path.is_file())


def text_files() -> Iterator[tuple[str, str]]:
    """(path from the root, text) of every text file of the project."""
    for path in project_files():
        if path.suffix in TEXT:
            yield name_of(path), path.read_text(encoding="utf-8", errors="replace")


def name_of(path: Path) -> str:
    """Path from the root, with slashes."""
    return path.relative_to(ROOT).as_posix()


def modules() -> list[Path]:
    """Every Python file of the package."""
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def import_module(path: Path) -> ModuleType:
    """The module that a file of the package is."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


def imported(node: ast.AST, package: str = "") -> list[str]:
    """Names of the modules that an import statement loads, with the names that it takes from them."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = node.module or package
        return [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return []


def at_import(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run when a module is imported; not those under TYPE_CHECKING."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if isinstance(node, ast.If):
            is_typing = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            waiting += node.orelse if is_typing else [*node.body, *node.orelse]
        elif isinstance(node, ast.ClassDef | ast.Try | ast.With):
            waiting += node.body


@cache
def sections(page: str) -> frozenset[str]:
    """Numbers of the headings of a page in docs/, as `4` or `3.1`."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^#{2,3} (\d+(?:\.\d+)?) ", text, re.MULTILINE))


def code_blocks(name: str) -> list[tuple[str, str]]:
    """(language, code) of every block of a Markdown file: fenced ones, and indented ones without a language."""
    text = (ROOT / name).read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"(?:(?<=\n\n)|\A)((?: {4}.*\n)+)", rest)
    return [*fenced, *(("", re.sub(r"^ {4}", "", block, flags=re.MULTILINE)) for block in indented)]
