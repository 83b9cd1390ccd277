"""Splices of all text cases: no exception, no hang, both readings equal, no number out of a trap."""

from __future__ import annotations

import random
import time
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.readers._console import CASES, read_text
from triage.errors import UnreadableError
from triage.readers._console_grammar import builtin_grammars
from triage.readers._console_parse import Parser
from triage.readers._console_pieces import pieces_of, text_of
from triage.readers._console_templates import Found, Templates

MARK = 71828182
"""A number that stands nowhere but in the traps."""

TRAPS = (
    f"eta: {MARK}:02:03\n",
    f"progress: {MARK}% of all\n",
    f"loss: {MARK}%\n",
    f"saved to /runs/{MARK}/loss={MARK}.pt\n",
    f"memory: {MARK} MiB, max_mem: {MARK}, gpu_mem: {MARK}MB\n",
    f"pid: {MARK} port: {MARK}\n",
    f"dt: {MARK}ms | {MARK} tok/s | {MARK} it/s\n",
    f'[rank0]: File "/a/loss_{MARK}.py", line {MARK}, in step\n',
    f"took {MARK} seconds, remaining: {MARK} s\n",
    f"v_num: {MARK} seed: {MARK} version: {MARK}.0.1\n",
    f"Elapsed time: {MARK} hours, date 2026-11-30, {MARK}/{MARK}/{MARK}\n",
)


@cache
def texts() -> tuple[str, ...]:
    """All cases and forms."""
    forms = tomllib.loads((CASES / "forms.toml").read_text(encoding="utf-8"))["form"]
    return (*(text_of(path.read_bytes()) for path in sorted(CASES.glob("*.txt"))), *(form["text"] for form in forms))


def splice(draw: random.Random, traps: bool) -> str:
    """Stretches of several cases, cut anywhere, glued or on lines of their own, with traps between whole lines."""
    parts = []
    for _ in range(draw.randint(2, 8)):
        text = draw.choice(texts())
        if draw.random() < 0.6:
            lines = text.splitlines(keepends=True)
            start = draw.randrange(len(lines))
            part = "".join(lines[start : start + draw.randint(1, 12)])
            parts.append(part if part.endswith("\n") or not traps else part + "\n")
        elif traps:
            continue
        else:
            start = draw.randrange(len(text))
            parts.append(text[start : start + draw.randint(1, 1500)])
        if traps:
            parts.append(draw.choice(TRAPS))
    return "".join(parts)


def _rows(found: list[Found]) -> dict[int, Any]:
    told = {}
    for kind in found:
        names = [cell.name for cell in kind.reading.cells]
        for index, place in enumerate(kind.places.tolist()):
            told[place] = (kind.reading.key(), tuple(kind.columns[name][index] for name in names))
    return told


def fast_and_careful(text: str) -> Iterator[tuple[str, Any, Any]]:
    """Lines on which the two readings differ."""
    pieces = pieces_of(text, 1).texts
    fast = _rows(Templates(Parser(builtin_grammars())).read(pieces))
    careful = _rows(Templates(Parser(builtin_grammars()), is_fast=False).read(pieces))
    for place in sorted({*fast, *careful}):
        if fast.get(place) != careful.get(place):
            yield pieces[place], fast.get(place), careful.get(place)


@pytest.mark.parametrize("text", texts(), ids=range(len(texts())))
def test_fast_reading_is_the_careful_one(text: str) -> None:
    assert list(fast_and_careful(text)) == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_splices(seed: int, tmp_path: Path) -> None:
    text = splice(random.Random(seed), traps=False)  # noqa: S311 - a seeded test
    began = time.process_time()
    try:
        got = read_text(tmp_path, text)
    except UnreadableError:
        return
    assert time.process_time() - began < 5
    for block in got.blocks:
        assert block.frame.height == len(block.frame)
    assert list(fast_and_careful(text)) == []


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_no_number_comes_out_of_a_trap(seed: int, tmp_path: Path) -> None:
    text = splice(random.Random(seed), traps=True)  # noqa: S311 - a seeded test
    try:
        got = read_text(tmp_path, text)
    except UnreadableError:
        return
    for row in got.rows:
        assert not any(isinstance(value, int | float) and value == MARK for value in row.values()), (row, text)


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=400))
def test_any_text(text: str) -> None:
    parser = Parser(builtin_grammars())
    for piece in pieces_of(text, 1).texts:
        reading = parser.read(piece)
        for cell in reading.cells:
            assert 0 <= cell.at <= cell.start < cell.end <= len(piece)


@pytest.mark.parametrize(
    "line",
    [
        "loss " * 20_000,
        "loss: " * 20_000,
        "=" * 100_000,
        "|" * 100_000,
        "[" * 100_000,
        "1" * 100_000,
        "a.b/" * 30_000,
        "step " * 20_000,
        "{'" * 50_000,
        "nan " * 30_000,
        "1," * 50_000,
        " " * 100_000 + "loss",
        "é" * 50_000,
        "100%|" * 20_000,
        "Epoch " * 20_000 + "1/2",
    ],
    ids=range(15),
)
def test_long_lines_do_not_hang(line: str) -> None:
    began = time.process_time()
    pieces = pieces_of(line + "\n", 1)
    Templates(Parser(builtin_grammars())).read(pieces.texts)
    assert time.process_time() - began < 5


def test_results_without_a_known_section_are_no_pairs(tmp_path: Path) -> None:
    text = "".join(f"step {i} loss {2 - i / 100:.2f}\n" for i in range(20))
    cut = "[host] 2026-03-01 10:00:00,1 (trainer:1) INFO: 3epoch results: [tra\n"
    got = read_text(tmp_path, text + cut)
    assert [row["loss"] for row in got.rows if "loss" in row][:2] == [2.0, 1.99]
