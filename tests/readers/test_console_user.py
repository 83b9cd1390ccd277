"""Grammars in a file of the user's own, and the recipe of docs/grammars.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.readers._console import read_text, same
from triage.errors import UsageError
from triage.options import Limits
from triage.readers._console_grammar import builtin_grammars, read_grammars, user_grammars
from triage.readers._source import open_path
from triage.readers.console import reader_with

RECIPE = (Path(__file__).parents[2] / "docs" / "grammars.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```(\w+)\n(.*?)```", RECIPE, re.DOTALL)
GRAMMAR = next(text for kind, text in EXAMPLES if kind == "toml" and "[[grammar]]" in text)
MESSAGE = next(text for kind, text in EXAMPLES if kind == "toml" and "[[message]]" in text)
LOG = next(text for kind, text in EXAMPLES if kind == "text")


def write(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_reads_its_log(tmp_path: Path) -> None:
    own = user_grammars(write(tmp_path, GRAMMAR + MESSAGE))
    got = read_text(tmp_path, LOG, grammars=own)
    assert got.meta["writer"] == "Sonde"
    assert got.meta["step_column"] == "tick"
    assert got.meta["aliases"] == {"badness": "loss", "pull": "grad_norm"}
    wanted = [
        {"tick": 100, "badness": 2.31, "pull": 0.8, "is_skipped": 0.0},
        {"tick": 200, "badness": 2.19, "pull": 0.7, "is_skipped": 0.0},
        {"tick": 300, "is_skipped": 1.0, "loss_scale": 32768.0},
        {"tick": 400, "badness": 2.2, "pull": 0.9, "is_skipped": 0.0},
    ]
    assert len(got.rows) == len(wanted)
    for row, want in zip(got.rows, wanted, strict=True):
        assert {k: v for k, v in row.items() if not any(same(v, w) for w in [want.get(k)])} == {}, row
        assert row.keys() == want.keys()
    assert [(event["kind"], event["step"]) for event in got.events] == [("overflow", 300)]


def test_without_it_the_log_is_not_console_text(tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    path.write_text(LOG, encoding="utf-8")
    source = open_path(path, Limits())
    own = reader_with(user_grammars(write(tmp_path, GRAMMAR)))
    assert own.name == "console"
    assert own.sniff(source)
    assert not reader_with(builtin_grammars()).sniff(source)


def test_own_grammars_come_first(tmp_path: Path) -> None:
    entry = """
[[grammar]]
id = "ours"
writer = "Ours"
needs = ["iter ", ": loss "]
line = 'iter (?P<step>\\d+): loss (?P<our_loss>NUMBER)'
fields = "none"
"""
    log = "".join(f"iter {i}: loss {3 - i / 10:.4f}, time 12.3ms\n" for i in range(5))
    got = read_text(tmp_path, log, grammars=user_grammars(write(tmp_path, entry)))
    assert got.meta["writer"] == "Ours"
    assert same(got.column("our_loss")[-1], 2.6)
    assert "our_loss" not in read_text(tmp_path, log).rows[0]


def test_a_group_that_is_no_number_is_no_column(tmp_path: Path) -> None:
    entry = """
[[grammar]]
id = "ours"
writer = "Ours"
needs = ["tick "]
line = 'tick (?P<step>\\d+) on (?P<host>\\S+) badness (?P<badness>NUMBER)'
fields = "none"
"""
    own = user_grammars(write(tmp_path, entry))
    got = read_text(tmp_path, "tick 1 on node-7 badness 2.5\ntick 2 on node-8 badness nan\n", grammars=own)
    assert [sorted(row) for row in got.rows] == [["badness", "step"]] * 2


LINE = "id = 'a'\nneeds = ['a']\nline = 'a'\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[grammar]\n", "Expected"),
        ("[[grammars]]\n", "unknown table 'grammars'"),
        ("grammar = 3\n", "not iterable"),
        ("[[grammar]]\nneeds = ['a']\nline = 'a'\n", "a grammar has no `id`"),
        ("[[grammar]]\nid = 'a'\nneeds = ['a']\n", "grammar 'a' has no `line`"),
        ("[[grammar]]\nid = 'a'\nneeds = ['a']\nline = 3\n", "`line` is not a text"),
        ("[[grammar]]\nid = 'a'\nline = 'a'\n", "needs no literal"),
        ("[[grammar]]\nid = 'a'\nneeds = [3]\nline = 'a'\n", "`needs` is not a list of texts"),
        (f"[[grammar]]\n{LINE}lines = 'a'\n", "unknown key 'lines'"),
        (f"[[grammar]]\n{LINE}kind = 'rows'\n", "kind is 'rows', not one of row, eval"),
        (f"[[grammar]]\n{LINE}fields = 'comma'\n", "fields is 'comma', not one of any, pipes"),
        ("[[grammar]]\nid = 'a'\nneeds = ['a']\nline = '(a'\n", "the pattern '(a'"),
        ("[[message]]\nkind = 'overflow'\nneeds = ['a']\n", "a message has no `line`"),
        ("[[message]]\nkind = 'overflow'\nline = 'a'\n", "needs no literal"),
        ("[[message]]\nkind = 'crash'\nneeds = ['a']\nline = 'a'\n", "kind 'crash', not one of overflow"),
        ("[[message]]\nneeds = ['a']\nline = 'a'\nmarks = { is_skipped = 'x' }\n", "could not convert"),
    ],
)
def test_a_faulty_file_is_a_usage_error(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        user_grammars(write(tmp_path, text))
    assert says in str(caught.value)
    assert caught.value.path == str(tmp_path / "own.toml")
    assert caught.value.hint == "see docs/grammars.md"


def test_a_file_that_is_not_there_or_not_text_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        user_grammars(tmp_path / "none.toml")
    (tmp_path / "own.toml").write_bytes(b"\xff\xfe[[")
    with pytest.raises(UsageError):
        user_grammars(tmp_path / "own.toml")


def test_one_literal_may_stand_without_brackets() -> None:
    (grammar,) = read_grammars("[[grammar]]\nid = 'a'\nneeds = 'tick '\nline = 'a'\nstep = 'tick'\n", "x").lines
    assert grammar.needs == ("tick ",)
    assert grammar.step == ("tick",)
