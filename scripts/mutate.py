"""Flip every comparison of the judgement in turn and see whether a test notices.

    python scripts/mutate.py [FILE ...] [--only TEXT] [--jobs 2] [--list]

Each comparison of the files in `tests/mutation_subset.txt` is replaced by its neighbour (`<` by `<=`) and by its
opposite (`<` by `>=`), each `and` by `or`, each `&` by `|`, in a copy of the project; the tests named there must then
fail. What survives is printed; what `docs/mutation.md` argues for is set aside. Exit code 1 if a survivor is not argued
for, or if an argued one is noticed after all.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final, cast

ROOT: Final = Path(__file__).resolve().parents[1]
SUBSET: Final = ROOT / "tests" / "mutation_subset.txt"
ARGUED: Final = ROOT / "docs" / "mutation.md"
SECONDS: Final = 120
"""A mutant whose tests take longer has made a loop that does not end: noticed."""

SIGNS: Final[dict[type[ast.AST], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "and",
    ast.Or: "or",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}
BECOMES: Final[dict[type[ast.AST], tuple[type[ast.AST], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one operator.

    Attributes:
        path: source file, relative to the root.
        place: name of the function or constant that holds it.
        line: of the expression.
        text: the expression as it stands.
        site: number of the operator in the file, in the order of the walk.
        new: what it becomes.
    """

    path: str
    place: str
    line: int
    text: str
    site: int
    new: type[ast.AST]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names it across changes of line numbers: file, place, expression, new sign."""
        return self.path, self.place, self.text, SIGNS[self.new]


def operators(tree: ast.AST) -> Iterator[tuple[ast.AST, int, type[ast.AST]]]:
    """Every operator in order, those of annotations left out: the node that holds it, its number there, its type."""
    stated = {id(part) for node in ast.walk(tree) for note in _annotations(node) for part in ast.walk(note)}
    for node in ast.walk(tree):
        if id(node) in stated:
            continue
        if isinstance(node, ast.Compare):
            yield from ((node, i, type(op)) for i, op in enumerate(node.ops))
        elif isinstance(node, ast.BoolOp | ast.BinOp):
            yield node, 0, type(node.op)


def _annotations(node: ast.AST) -> list[ast.AST]:
    """The types that a node states."""
    found = (getattr(node, name, None) for name in ("annotation", "returns"))
    return [note for note in found if isinstance(note, ast.AST)]


def places(tree: ast.Module) -> dict[int, str]:
    """Identity of each node → name of the innermost function, class or constant around it."""
    out: dict[int, str] = {}

    def visit(node: ast.AST, name: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not name:
            name = node.target.id
        out[id(node)] = name
        for child in ast.iter_child_nodes(node):
            visit(child, name)

    visit(tree, "")
    return out


def mutants(path: str) -> list[Mutant]:
    """Every change that can be made in one file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    named = places(tree)
    return [
        Mutant(path, named[id(node)], getattr(node, "lineno", 0), ast.unparse(node), site, new)
        for site, (node, _, kind) in enumerate(operators(tree))
        for new in BECOMES.get(kind, ())
    ]


def mutated(mutant: Mutant) -> str:
    """The source with the change made."""
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
    node, number, _ = list(operators(tree))[mutant.site]
    new = mutant.new()
    if isinstance(node, ast.Compare):
        node.ops[number] = cast("ast.cmpop", new)
    else:
        cast("ast.BinOp", node).op = cast("ast.operator", new)
    return ast.unparse(tree)


def subset() -> dict[str, list[str]]:
    """Source file → tests, from the list."""
    rows = [line.split(":", 1) for line in SUBSET.read_text(encoding="utf-8").splitlines() if ":" in line]
    return {name.strip(): tests.split() for name, tests in rows if not name.startswith("#")}


def argued() -> set[tuple[str, str, str, str]]:
    """The survivors that the page argues for: rows of its tables, code in backticks."""
    if not ARGUED.exists():
        return set()
    cells = [re.findall(r"`` ?(.*?) ?``|`(.*?)`", line) for line in ARGUED.read_text(encoding="utf-8").splitlines()]
    rows = [[a or b for a, b in found] for found in cells if len(found) >= 4]
    return {(row[0], row[1], row[2], row[3]) for row in rows if row[0].endswith(".py")}


def copy(into: Path) -> None:
    """What the tests need of the project."""
    for name in ("triage", "tests"):
        shutil.copytree(ROOT / name, into / name, ignore=shutil.ignore_patterns("__pycache__", "cases"))
    shutil.copy(ROOT / "pyproject.toml", into)


def is_noticed(folder: Path, tests: Sequence[str]) -> bool:
    """Do the tests fail in this copy?"""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "POLARS_MAX_THREADS": "1"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def try_all(todo: Sequence[Mutant], tests: dict[str, list[str]], jobs: int) -> list[Mutant]:
    """The mutants that no test noticed."""
    survivors: list[Mutant] = []
    with tempfile.TemporaryDirectory() as base, ThreadPoolExecutor(jobs) as pool:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            folder = Path(base) / str(number)
            folder.mkdir()
            copy(folder)
            free.put(folder)
        for path in {m.path for m in todo}:
            folder = free.get()
            if is_noticed(folder, tests[path]):
                raise SystemExit(f"the tests of {path} fail without any change")
            free.put(folder)

        def attempt(mutant: Mutant) -> None:
            folder = free.get()
            target = folder / mutant.path
            whole = target.read_text(encoding="utf-8")
            target.write_text(mutated(mutant), encoding="utf-8")
            if not is_noticed(folder, tests[mutant.path]):
                survivors.append(mutant)
                print(
                    f"survives: {mutant.path}:{mutant.line} {mutant.place}: {mutant.text}  →  {SIGNS[mutant.new]}",
                    flush=True,
                )
            target.write_text(whole, encoding="utf-8")
            free.put(folder)

        list(pool.map(attempt, todo))
    return survivors


def main() -> int:
    """Try every mutant; see the text at the top."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("files", nargs="*", help="source files; default: every file of the list")
    parser.add_argument("--only", default="", help="expressions that hold this text")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print the mutants and try none")
    options = parser.parse_args()
    tests = subset()
    todo = [m for path in options.files or tests for m in mutants(path) if options.only in m.text]
    if options.list:
        print("\n".join(f"{m.path}:{m.line} {m.place}: {m.text}  →  {SIGNS[m.new]}" for m in todo))
        return 0
    survivors = try_all(todo, tests, options.jobs)
    known = argued()
    open_ones = sorted({m.key for m in survivors} - known)
    stale = sorted((known & {m.key for m in todo}) - {m.key for m in survivors})
    print(f"{len(todo)} mutants, {len(survivors)} survive, {len(open_ones)} of them without an argument")
    for label, keys in (("not argued for", open_ones), ("argued for, but noticed", stale)):
        for key in keys:
            print(f"{label}: " + " | ".join(f"`{part}`" for part in key))
    return 1 if open_ones or stale else 0


if __name__ == "__main__":
    sys.exit(main())
