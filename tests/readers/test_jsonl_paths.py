"""The two paths of JSON lines give the same cells: property tests with the tolerant path as the yardstick."""

from __future__ import annotations

import json
import math
from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.readers import _jsonl_layout as layout_path
from triage.readers._contract import everything
from triage.readers._jsonl_layout import layout_of, read_layouts
from triage.readers._jsonl_rows import read_rows
from triage.readers._records import Columns, columns_of, stack

DEPTH = 16

NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.integers(0, 100).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["NaN", "Infinity", "-Infinity", "1e5", "1E-3", "-0", "-0.0", "9007199254740993", "1e999"]),
)
LOOSE = st.sampled_from(["nan", "-nan", "inf", "-inf", "+1", ".5", "1.", "007", "nan(ind)", "None", "True", "1_0", "x"])
WORDS = st.sampled_from(["null", "true", "false"])
TEXTS = st.one_of(
    st.sampled_from(
        ['"nan"', '"2.5"', '"1,234"', '""', '" "', '"a, b"', '"{x}"', '"\\u00e9"', '"é"', '"a\\"b"', '"tab\t"']
    ),
    st.text(max_size=6).map(json.dumps),
)
SCALARS = st.one_of(NUMBERS, NUMBERS, WORDS, TEXTS, LOOSE)
KEYS = st.sampled_from(["step", "loss", "lr", "a/b", "x, y", "é", "grad_norm", "", "a"])
SPACES = st.sampled_from([("", ""), (" ", " "), (" ", "")])


def _json(keys: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def join(pairs: list[tuple[str, str]], spaces: tuple[str, str]) -> str:
        after_comma, after_colon = spaces
        return "{" + f",{after_comma}".join(f'"{k}":{after_colon}{v}' for k, v in pairs) + "}"

    return st.builds(join, st.lists(st.tuples(keys, values), min_size=1, max_size=5), SPACES)


NESTED = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]"),
        _json(st.sampled_from(["loss", "lr", "_type", "b"]), inner),
    ),
    max_leaves=4,
)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """A few kinds of rows, each with values of its own kind per key, with rubbish between."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = {"numbers": NUMBERS, "scalars": SCALARS, "nested": NESTED}
        keys = draw(st.lists(KEYS, min_size=1, max_size=5))
        values = [kinds[draw(st.sampled_from(sorted(kinds)))] for _ in keys]
        comma, colon = draw(SPACES)
        for _ in range(draw(st.integers(1, 8))):
            cells = (f'"{key}":{colon}{draw(value)}' for key, value in zip(keys, values, strict=True))
            lines.append(draw(st.sampled_from(["", "", "", "INFO "])) + "{" + f",{comma}".join(cells) + "}")
    rubbish = st.sampled_from(
        ["", "text", "[1, 2]", "null", '{"step": 1', '{"a":1}{"b":2}', '{"a":1,"b":2} tail', "{}", '[{"a": 1}]', "\x00"]
    )
    lines += draw(st.lists(rubbish, max_size=3))
    lines = draw(st.permutations(lines))
    text = "\n".join(lines) + draw(st.sampled_from(["", "\n"]))
    cut = draw(st.integers(0, 12))
    return text.encode()[: len(text.encode()) - cut] if cut > 9 else text.encode()


def _tolerant(text: bytes) -> tuple[pl.DataFrame, int]:
    rows = read_rows(enumerate(text.split(b"\n"), 1))
    cuts: Counter[str] = Counter()
    columns = columns_of(rows.records, Columns(everything, 5_000), DEPTH, cuts)
    return stack([(rows.lines, columns)], cuts), rows.skipped


def _fast(text: bytes) -> tuple[pl.DataFrame, int, int]:
    cuts: Counter[str] = Counter()
    columns = Columns(everything, 5_000)
    n_lines = text.count(b"\n") + (not text.endswith(b"\n"))
    parts, left = read_layouts(text, range(1, n_lines + 1), columns, DEPTH, cuts)
    taken = sum(len(numbers) for numbers, _ in parts)
    rows = read_rows(left)
    parts.append((rows.lines, columns_of(rows.records, columns, DEPTH, cuts)))
    return stack(parts, cuts), rows.skipped, taken


def _cells(frame: pl.DataFrame) -> dict[str, tuple[str, list[object]]]:
    def cell(value: object) -> object:
        return "NaN" if isinstance(value, float) and math.isnan(value) else value

    return {column.name: (str(column.dtype), [cell(value) for value in column]) for column in frame}


@pytest.fixture
def _eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_path, "MIN_LINES", 1)
    monkeypatch.setattr(layout_path, "MIN_SHARE", 1)


@pytest.mark.usefixtures("_eager")
@settings(max_examples=200, deadline=None)
@given(logs())
def test_both_paths_give_the_same_cells(text: bytes) -> None:
    expected, skipped = _tolerant(text)
    frame, left_skipped, _ = _fast(text)
    assert _cells(frame) == _cells(expected)
    assert left_skipped == skipped


@pytest.mark.usefixtures("_eager")
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["step", "loss", "lr", "grad_norm", "x"]),
            st.one_of(st.none(), st.integers(-(2**60), 2**60), st.floats()),
            min_size=1,
        ),
        min_size=1,
        max_size=40,
    )
)
def test_every_cell_that_was_written_is_read(records: list[dict[str, float | None]]) -> None:
    text = "\n".join(map(json.dumps, records)).encode()
    frame, skipped, _ = _fast(text)
    assert skipped == 0
    assert frame.height == len(records)
    for name in {key for record in records for key in record}:
        written = [record.get(name) for record in records]
        read = frame[name].to_list()
        as_float = frame[name].dtype == pl.Float64
        assert [_same(a, b, as_float=as_float) for a, b in zip(written, read, strict=True)].count(False) == 0


def _same(written: float | None, read: float | None, *, as_float: bool) -> bool:
    if written is None or read is None:
        return written is read
    if isinstance(written, float) and math.isnan(written):
        return math.isnan(read)
    return (float(written) if as_float else written) == read


@pytest.mark.usefixtures("_eager")
def test_clean_lines_never_reach_the_tolerant_path() -> None:
    lines = [
        f'{{"step": {i}, "loss": {"NaN" if i % 7 == 0 else i / 3}, "opt": {{"lr": [1e-3, {i}], "name": "adam"}}}}'
        for i in range(64)
    ]
    frame, skipped, taken = _fast("\n".join(lines).encode())
    assert (taken, skipped, frame.height) == (64, 0, 64)
    assert frame.columns == ["step", "loss", "opt/lr", "opt/lr/1", "opt/name"]
    assert frame["loss"].is_nan().sum() == 10


@pytest.mark.usefixtures("_eager")
def test_two_layouts_and_rubbish_keep_their_order() -> None:
    lines = []
    for i in range(60):
        lines += [f'{{"step": {i}, "loss": 1.5}}', f'{{"step": {i}, "eval_loss": 2.5}}'] if i % 3 == 0 else []
        lines.append(f'{{"step": {i}, "loss": 2.0}}')
    lines.insert(7, "Traceback (most recent call last):")
    frame, skipped, taken = _fast("\n".join(lines).encode())
    assert skipped == 1
    assert taken == frame.height == len(lines) - 1
    assert frame["step"].is_sorted()
    assert frame["eval_loss"].count() == 20


@pytest.mark.parametrize(
    "line",
    [
        '{"a": "x\\"y"}',  # a backslash
        '{"a": 1, "a": 2}',  # a key twice
        '{"a": "x, y"}',  # a comma inside a value
        '{"a": [1, 2, 3, 4, 5, 6, 7, 8, 9]}',  # more items than become columns
        "{}",
        "[1]",
        "text",
        '{"a": 1',
    ],
)
def test_lines_without_a_layout(line: str) -> None:
    assert layout_of(line, DEPTH) is None


def test_a_torn_value_is_not_taken_for_the_next_lines_cells() -> None:
    # One process breaks into the string of another: the cells look right, the loss belongs to step 2.
    whole = '{"step": 1, "msg": "a", "loss": 3.0}'
    broken = '{"step": 1, "msg": "a{"step": 2, "loss": 3.0}'
    text = "\n".join([whole] * 600 + [broken] + [whole] * 600).encode()
    frame, _, taken = _fast(text)
    assert taken == 1200
    assert frame.filter(pl.col("step") == 2).height == 1
