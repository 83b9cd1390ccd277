"""The line of every framework that has a grammar, and of many that have none: tests/cases/console/forms.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.readers._console import CASES, read_text, same, sniffs
from triage.readers._console_grammar import builtin_grammars, check_patterns, pattern_of
from triage.readers._console_numbers import NUMBER
from triage.readers._console_parse import Parser
from triage.readers._console_pieces import pieces_of, text_of
from triage.readers._console_templates import pattern_of as template_of

FORMS: list[dict[str, Any]] = tomllib.loads((CASES / "forms.toml").read_text(encoding="utf-8"))["form"]


@pytest.mark.parametrize("form", FORMS, ids=[form["id"] for form in FORMS])
def test_form(form: dict[str, Any], tmp_path: Path) -> None:
    assert sniffs(tmp_path, form["text"])
    got = read_text(tmp_path, form["text"])
    assert got.meta.get("writer") == form.get("writer")
    assert got.meta.get("step_column") == form.get("step")
    wanted = form["rows"]
    assert len(got.rows) == len(wanted), got.rows
    for row, want in zip(got.rows, wanted, strict=True):
        for name, value in want.items():
            assert name in row, f"{name} is not in {row}"
            assert same(row[name], value), f"{name}: {row[name]} is not {value}"
    for name in form.get("absent", ()):
        assert not any(name.lower() in column.lower() for row in got.rows for column in row), name
    assert [[e["kind"], e["step"]] for e in got.events] == [
        [k, None if s < 0 else s] for k, s in form.get("events", [])
    ]


def test_every_grammar_has_a_form() -> None:
    """Every grammar is met by a line of a form or of a copied case."""
    texts = [form["text"] for form in FORMS]
    texts += [text_of(path.read_bytes()) for path in sorted(CASES.glob("*.txt"))]
    parser = Parser(builtin_grammars())
    seen = set()
    for text in texts:
        for piece in pieces_of(text, 1).texts:
            reading = parser.read(piece)
            if reading.grammar is not None:
                seen.add(reading.grammar.id)
    missing = {grammar.id for grammar in builtin_grammars().lines} - seen
    assert not missing


def test_every_pattern_compiles_and_every_id_is_told_apart() -> None:
    grammars = builtin_grammars()
    check_patterns(grammars, "built-in")
    ids = [grammar.id for grammar in grammars.lines]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("form", FORMS, ids=[form["id"] for form in FORMS])
def test_counters_are_whole_numbers(form: dict[str, Any]) -> None:
    """A group that takes a comma too many would make a template that matches no line, and the reader slow."""
    whole = pattern_of(rf"(?:{NUMBER})")
    parser = Parser(builtin_grammars())
    for piece in pieces_of(form["text"], 1).texts:
        reading = parser.read(piece)
        for cell in reading.cells:
            if cell.name != "@time":
                assert whole.fullmatch(piece[cell.start : cell.end]), (cell.name, piece)
        assert template_of(piece, reading).startswith("^")
