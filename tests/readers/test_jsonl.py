"""JSON lines as trainers, crashes and terminals leave them."""

from __future__ import annotations

import json
import math
import resource
import time
from pathlib import Path

import polars as pl
import pytest

from tests.helpers.json_sources import blocks_of, counts_of, source_of
from triage.errors import UnreadableError
from triage.options import Limits
from triage.readers import jsonl
from triage.readers._source import open_path

READER = jsonl.READER
FORMATS = Path(__file__).parents[2].parent / "shared" / "cases" / "formats"


def _frame(data: bytes | str, limits: Limits | None = None) -> pl.DataFrame:
    return pl.concat([b.frame for b in blocks_of(READER, data, limits=limits) if b.frame.width], how="diagonal_relaxed")


def _counts(data: bytes | str, limits: Limits | None = None) -> dict[str, int]:
    return counts_of(blocks_of(READER, data, limits=limits))


def _rows(n: int) -> str:
    return "".join(f'{{"step": {i}, "loss": {3 - i / n}}}\n' for i in range(n))


# ── what a value is ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_bare_non_finite_tokens_of_all_printers() -> None:
    tokens = [
        "NaN",
        "nan",
        "-nan",
        "NAN",
        "nan(ind)",
        "-nan(snan)",
        "Infinity",
        "inf",
        "+inf",
        "-inf",
        "-Infinity",
        "1e999",
    ]
    loss = _frame("".join(f'{{"step": {i}, "loss": {t}}}\n' for i, t in enumerate(tokens)))["loss"]
    assert loss.dtype == pl.Float64
    assert loss.null_count() == 0
    assert loss.is_nan().to_list() == [True] * 6 + [False] * 6
    assert loss.tail(6).to_list() == [math.inf, math.inf, math.inf, -math.inf, -math.inf, math.inf]


def test_null_absent_and_nan_are_three_things() -> None:
    loss = _frame('{"step": 0, "loss": null}\n{"step": 1}\n{"step": 2, "loss": NaN}\n{"step": 3, "loss": 1}\n')["loss"]
    assert loss.is_null().to_list() == [True, True, False, False]
    assert math.isnan(loss[2])


def test_a_column_that_is_null_throughout_is_still_there() -> None:
    frame = _frame('{"step": 0, "loss": null}\n{"step": 1, "loss": null}\n')
    assert frame["loss"].dtype == pl.Float64
    assert frame["loss"].null_count() == 2


@pytest.mark.parametrize("n", [4, 20_000])
def test_integers_beyond_two_to_the_53_stay_exact(n: int) -> None:
    base = 9_007_199_254_740_993
    frame = _frame("".join(f'{{"step": {base + 3 * i}, "loss": 1.5}}\n' for i in range(n)))
    assert frame["step"].to_list() == [base + 3 * i for i in range(n)]


@pytest.mark.parametrize("n", [1, 20_000])
def test_an_integer_that_a_column_of_fractions_cannot_hold_is_counted(n: int) -> None:
    text = '{"x": 0.5}\n' * n + '{"x": 9007199254740993}\n' + '{"x": 2}\n'
    assert _counts(text) == {"integers-rounded": 1}


@pytest.mark.parametrize("n", [2, 20_000])
def test_numbers_and_texts_that_read_as_numbers_are_one_column(n: int) -> None:
    lines = [
        '{"step": 1, "loss": 2.5}',
        '{"step": 2, "loss": "nan"}',
        '{"step": 3, "loss": "1,234"}',
        '{"step": 4, "loss": ""}',
    ]
    loss = _frame("\n".join(lines * n))["loss"]
    assert loss.dtype == pl.Float64
    assert loss.is_nan().sum() == n
    assert loss.null_count() == n
    assert loss.drop_nulls().drop_nans().unique().sort().to_list() == [2.5, 1234.0]


def test_numbers_beside_a_word_are_kept_as_text() -> None:
    loss = _frame('{"loss": 2.5}\n{"loss": "diverged"}\n{"loss": NaN}\n{"loss": 3}\n')["loss"]
    assert loss.to_list() == ["2.5", "diverged", "nan", "3"]


def test_texts_alone_stay_text() -> None:
    frame = _frame('{"loss": "2.943", "name": "a"}\n{"loss": "nan", "name": " "}\n')
    assert frame["loss"].to_list() == ["2.943", "nan"]
    assert frame["name"].to_list() == ["a", None]


def test_booleans_are_zero_and_one() -> None:
    assert _frame('{"skipped": true}\n{"skipped": false}\n')["skipped"].to_list() == [1, 0]


def test_of_a_key_written_twice_the_last_wins() -> None:
    assert _frame('{"loss": 1.0, "loss": 2.0}\n')["loss"].to_list() == [2.0]


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [1, 20_000])
def test_nesting_becomes_names(n: int) -> None:
    line = '{"step": 1, "train": {"loss": 2.5, "opt": {"lr": [0.1, 0.2], "b": [0.9, 0.95], "eps": [1e-8]}}, "e": {}}\n'
    frame = _frame(line * n)
    assert frame.columns == [
        "step", "train/loss", "train/opt/lr", "train/opt/lr/1", "train/opt/b/0", "train/opt/b/1", "train/opt/eps",
    ]  # fmt: skip
    assert frame.height == n
    assert _counts(line * n) == {"first-of-list": n}


def test_long_lists_media_and_depth_are_cut_and_counted() -> None:
    deep = '{"a": ' * 20 + "1" + "}" * 20
    text = f'{{"step": 1, "hist": {list(range(64))}, "img": {{"_type": "image-file", "size": 3}}, "deep": {deep}}}\n'
    assert _frame(text).columns == ["step", *(f"hist/{i}" for i in range(8))]
    assert _counts(text) == {"list-cut": 56, "media-skipped": 1, "depth-limit": 1}


@pytest.mark.parametrize("late", [5, 120, 30_000])
def test_a_column_that_comes_late_is_there(late: int) -> None:
    text = _rows(late) + "".join(f'{{"step": {late + i}, "loss": 1, "grad_norm": {i}.5}}\n' for i in range(7))
    frame = _frame(text)
    assert frame.height == late + 7
    assert frame["grad_norm"].count() == 7
    assert frame["grad_norm"].tail(7).null_count() == 0


def test_a_hundred_thousand_keys_keep_the_loss_and_count_the_rest() -> None:
    record = {f"layer_{i}": i for i in range(100_000)} | {"loss": 2.5, "step": 3}
    frame = _frame(json.dumps(record), Limits(columns=1_000))
    assert frame.width == 1_002
    assert frame["loss"].to_list() == [2.5]
    assert _counts(json.dumps(record), Limits(columns=1_000)) == {"column-limit": 99_000}


def test_keys_that_hold_the_step_do_not_exhaust_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = "".join(f'{{"loss_at_{i}": {i}.5, "step": {i}}}\n' for i in range(60_000))
    frame = _frame(text)
    assert frame["step"].to_list() == list(range(60_000))
    assert _counts(text)["column-limit"] > 50_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2 << 20  # KiB


# ── what stands between the rows ─────────────────────────────────────────────────────────────────────────────────────

BETWEEN = """Namespace(lr=0.003, bs=8)
{not json}
[1, 2, 3]
42
"just a string"
null

{"step": 0, "loss": 3.9}
Traceback (most recent call last):
RuntimeError: {"step": 41} oops
2026-11-30 17:59:37,856 | INFO | trainer | {"step": 1, "loss": 3.8}
{"step": 2, "loss": 3.7}{"step": 3, "loss": 3.6}

INFO:root:{"step": 4, "loss": nan}
[{"step": 5, "loss": 3.4}, {"step": 6, "loss": 3.3}]
{"step": 7, "loss": 3.2},
\x1b[32m{"step": 8, "loss": 3.1}\x1b[0m
{"step": 9, "loss": 3.0} (trainer.py:33)
"""


def test_text_between_and_around_the_rows() -> None:
    blocks = blocks_of(READER, BETWEEN)
    frame = blocks[0].frame
    assert frame["step"].to_list() == list(range(10))
    assert math.isnan(frame["loss"][4])
    (notice,) = blocks[0].notices
    assert (notice.id, notice.count, notice.where) == ("skipped-lines", 8, "line 1")
    assert blocks[0].meta["dropped"] == 8


def test_a_line_torn_by_another_process_is_put_together() -> None:
    text = '{"rank": 0, "step": 5, "lo{"rank": 1, "step": 5, "loss": 3.8}\nss": 3.9}\n'
    text += '{"rank": 0, "step": 6, "loss": 3.7}\n'
    frame = _frame(text)
    assert frame.rows() == [(1, 5, 3.8), (0, 5, 3.9), (0, 6, 3.7)]
    assert _counts(text) == {"rejoined-lines": 1}


def test_a_head_whose_rest_never_came_is_skipped_and_counted() -> None:
    text = '{"step": 5, "loss": 3.\n{"step": 6, "loss": 3.7}\ntext\n'
    assert _frame(text).rows() == [(6, 3.7)]
    assert _counts(text) == {"skipped-lines": 2}


def test_the_inside_of_a_broken_object_is_no_row() -> None:
    text = '{"step": 5, "cfg": {"loss": 1, "b": 2}, "x": <tensor>}\n{"step": 6, "loss": 3.7}\n'
    text += '{"step": 7, "train": {"loss": 1, "b": 2}'
    assert _frame(text).rows() == [(6, 3.7)]
    assert _counts(text) == {"skipped-lines": 1, "torn-tail": 40}


@pytest.mark.parametrize("cut", range(1, 25))
def test_a_torn_last_line_costs_only_itself(cut: int) -> None:
    whole = '{"step": 9, "loss": 3.25}'
    text = _rows(9) + whole[:-cut]
    assert _frame(text)["step"].to_list() == list(range(9))
    assert _counts(text) == {"torn-tail": len(whole) - cut}


def test_a_last_line_without_line_feed_is_a_row() -> None:
    assert _frame(_rows(3).rstrip("\n")).height == 3
    assert _counts(_rows(3).rstrip("\n")) == {}


def test_zero_bytes_of_a_power_loss() -> None:
    text = _rows(3).encode() + b"\0" * 4096 + b'{"step": 3, "loss": 1}\n' + b"\0" * 10
    assert _frame(text)["step"].to_list() == [0, 1, 2, 3]
    assert _counts(text) == {"zero-bytes": 4106}


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        lambda text: b"\xff\xfe" + text.replace("\n", "\r\n").encode("utf-16-le"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: text.encode("utf-16-le"),
    ],
    ids=["bom-crlf", "utf-16-le", "utf-16-be", "utf-16-le-without-mark"],
)
def test_encodings(encode: object) -> None:
    data = encode(_rows(12_000))  # type: ignore[operator]
    assert READER.sniff(source_of(data))
    assert _frame(data)["step"].to_list() == list(range(12_000))
    assert _counts(data) == {}


def test_bytes_that_are_no_text_cost_one_cell() -> None:
    text = b'{"step": 1, "note": "\xff\xfe", "loss": 2.5}\n'
    assert _frame(text)["loss"].to_list() == [2.5]
    assert _counts(text) == {"encoding-replaced": 2}


def test_a_line_without_end_is_skipped_and_counted() -> None:
    long = '{"step": 1, "blob": "' + "x" * 3_000_000 + '"}\n'
    text = _rows(5) + long + _rows(5)
    blocks = blocks_of(READER, text, limits=Limits(line_bytes=100_000))
    assert pl.concat([b.frame for b in blocks if b.frame.width])["step"].to_list() == [*range(5), *range(5)]
    (notice,) = (n for b in blocks for n in b.notices)
    assert (notice.id, notice.count, notice.where) == ("long-lines", 1, "line 6")


@pytest.mark.slow
def test_a_line_of_a_hundred_megabytes_is_passed_over_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with path.open("w") as file:
        file.write(_rows(5))
        for _ in range(100):
            file.write("x" * 1_000_000)
        file.write("\n" + _rows(5))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    blocks = list(READER.read(open_path(path, Limits()), Limits(), lambda _name: True))
    assert counts_of(blocks) == {"long-lines": 1}
    assert sum(b.frame.height for b in blocks) == 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10  # KiB


@pytest.mark.parametrize(
    "line",
    [
        '{"a":' * 200_000,
        '{"' * 500_000,
        '{"log": "' + '\\"' * 500_000,
        '{"a": 1, ' * 100_000,
        "[" * 100_000 + "1," * 100_000,
        '{"a": ' + " " * 1_000_000,
        '{"a": -' + "9" * 1_000_000,
    ],
    ids=["objects", "keys", "escaped quotes", "pairs", "lists", "blanks", "digits"],
)
def test_hostile_lines_take_linear_time(line: str) -> None:
    text = line + "\n" + _rows(2)
    start = time.process_time()
    assert _frame(text).height == 2
    assert time.process_time() - start < 10


def test_no_object_at_all_is_a_clear_error() -> None:
    with pytest.raises(UnreadableError, match="no JSON object"):
        blocks_of(READER, "text\n[1]\n")


# ── what the reader says about the source ────────────────────────────────────────────────────────────────────────────


def test_only_wanted_columns_are_delivered() -> None:
    text = _rows(20_000)
    blocks = blocks_of(READER, text, wanted=lambda name: name == "loss")
    assert {name for block in blocks for name in block.frame.columns} == {"loss"}
    assert sum(block.frame.height for block in blocks) == 20_000


def test_writers_are_known_by_their_columns() -> None:
    text = '{"current_steps": 5, "total_steps": 60, "loss": 3.9, "percentage": 8.3}\n'
    meta = blocks_of(READER, text)[0].meta
    assert (meta["format"], meta["writer"], meta["step_column"]) == ("jsonl", "LLaMA-Factory", "current_steps")


@pytest.mark.parametrize(
    ("text", "is_lines"),
    [
        (_rows(3), True),
        ('{"train_grad_norm": NaN}\n', True),
        (BETWEEN, True),
        ('ts INFO {"step": 1, "loss": 2}\nts INFO {"step": 2, "loss": 2}\n' + "banner\n" * 9, True),
        ('[\n {"step": 1, "loss": 2.5}\n]', False),
        ('{\n "loss": [1.0, 2.0]\n}', False),
        ("step,loss\n1,2\n", False),
        ("iter 1: loss 2.5\n", False),
        ("{'loss': 2.5, 'epoch': 1}\n", False),
        ('{"prompt": "a", "answer": "b"}\n{"prompt": "a", "answer": "b"}\n', False),
        ('{"hidden_size": 768, "vocab_size": 50257}\n', False),
        ("", False),
    ],
)
def test_sniff(text: str, is_lines: bool) -> None:
    assert READER.sniff(source_of(text)) is is_lines


# ── real writers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _cases() -> list[str]:
    truth = FORMATS / "truth.jsonl"
    if not truth.exists():
        return []
    lines = [json.loads(line) for line in truth.read_text().splitlines()]
    return [
        line["path"] for line in lines if line["format"] == "jsonl" and line["path"].endswith(("jsonl", "log", "gz"))
    ]


@pytest.mark.shared
@pytest.mark.parametrize("path", _cases())
def test_labelled_cases(path: str) -> None:
    truth = json.loads((FORMATS / f"{path.partition('/')[0]}.case.json").read_text())
    source = open_path(FORMATS / path, Limits())
    assert READER.sniff(source)
    blocks = list(READER.read(source, Limits(), lambda _name: True))
    frame = pl.concat([b.frame for b in blocks if b.frame.width], how="diagonal_relaxed")
    tags = {canonical: name for name, canonical in truth.get("tags", {}).items()}
    loss = next((c for c in (tags.get("loss"), "loss", "train/loss") if c in frame.columns), None)
    assert loss is not None
    values = frame[loss].cast(pl.Float64)
    expected = truth["truth"]
    if "null_for_nan" in path:
        assert values.null_count() == expected["nan_loss"] + expected["inf_loss"]
        return
    lost = {"killed_half_line": 3, "gz_two_members_truncated": 1}
    n_lost = next((n for name, n in lost.items() if name in path), 0)
    n_summary = 1 if "mixed_non_json" in path else 0
    assert values.count() == expected["loss_rows"] - n_lost + n_summary
    assert values.is_nan().sum() == max(0, expected["nan_loss"] - n_lost)
