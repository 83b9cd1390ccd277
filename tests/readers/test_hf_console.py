"""The console of the Hugging Face Trainer: dictionaries between bars."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.json_sources import blocks_of, counts_of, source_of
from triage.errors import UnreadableError
from triage.options import Limits
from triage.readers import hf_console
from triage.readers._source import open_path
from triage.readers.hf_console import read_dict

READER = hf_console.READER
FORMATS = Path(__file__).parents[2].parent / "shared" / "cases" / "formats"


def _bar(done: int, total: int, name: str = "") -> str:
    return f"\r{name} {100 * done // total:2}%|▊         | {done}/{total} [00:00<00:02, 18.92it/s]"


def _written(row: str, done: int, total: int) -> str:
    """How tqdm prints a row: the bar is cleared, the row written, the bar drawn again."""
    return "\r" + " " * 40 + "\r" + row + "\n" + _bar(done, total)


def _frame(text: str) -> pl.DataFrame:
    (block,) = blocks_of(READER, text, "console.log")
    return block.frame


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'loss': 2.5, 'epoch': 1}", {"loss": 2.5, "epoch": 1}),
        ("{'loss': '2.943', 'lr': '5e-05'}", {"loss": "2.943", "lr": "5e-05"}),
        ("{\"loss\": inf, 'x': -inf}", {"loss": math.inf, "x": -math.inf}),
        ("{'a': None, 'b': True, 'c': 'x, y'}", {"a": None, "b": True, "c": "x, y"}),
        ("{'loss': tensor(2.5, device='cuda:0'), 'acc': 0.5}", {"loss": "tensor(2.5, device='cuda:0')", "acc": 0.5}),
        ("{'loss': tensor(2.5), 'acc': np.float64(0.5)}", {"loss": "tensor(2.5)", "acc": "np.float64(0.5)"}),
        ("{'betas': (0.9, 0.95), 'lr': [1e-3],}", {"betas": [0.9, 0.95], "lr": [1e-3]}),
        ("{'a': 1 'b': 2}", None),
        ("{'a'}", None),
        ("{}", None),
        ("{__import__('os')}", None),
    ],
)
def test_read_dict(text: str, expected: dict[str, object] | None) -> None:
    assert read_dict(text) == expected


@given(st.text(max_size=60))
def test_read_dict_takes_any_text(text: str) -> None:
    assert read_dict("{'a': " + text + "}") is None or True


def test_bare_nan_and_texts_of_version_5() -> None:
    frame = _frame("{'loss': 2.5, 'grad_norm': nan, 'epoch': 0.1}\n{'loss': 0.0, 'grad_norm': inf, 'epoch': 0.2}\n")
    assert math.isnan(frame["grad_norm"][0])
    assert frame["grad_norm"][1] == math.inf
    assert _frame("{'loss': '0', 'grad_norm': 'nan', 'epoch': '0.1'}\n")["grad_norm"].to_list() == ["nan"]


def test_typographic_quotes() -> None:
    text = "{‘loss’: 1.5, ‘epoch’: 0.1}\n{“loss”: 1.4, “epoch”: 0.2}\n"
    assert READER.sniff(source_of(text))
    assert _frame(text)["loss"].to_list() == [1.5, 1.4]


def test_wrapped_numbers_become_numbers_beside_plain_ones() -> None:
    text = "{'loss': 2.5, 'epoch': 1}\n{'loss': tensor(nan), 'epoch': 2}\n{'loss': np.float64(2.0), 'epoch': 3}\n"
    loss = _frame(text)["loss"]
    assert math.isnan(loss[1])
    assert (loss[0], loss[2]) == (2.5, 2.0)


def test_the_bar_tells_the_step() -> None:
    text = "banner\n" + _bar(0, 60) + "warning glued to the bar"
    for step in (5, 10):
        text += _bar(step, 60) + _written(f"{{'loss': {step}.5, 'epoch': 0.1}}", step, 60)
    assert _frame(text)["step"].to_list() == [5, 10]
    assert counts_of(blocks_of(READER, text)) == {"console-text-skipped": 1}


def test_a_bar_that_was_drawn_too_seldom_is_corrected_by_the_next() -> None:
    text = (
        _bar(41, 80)
        + _written("{'loss': 2.8, 'epoch': 0.84}", 42, 80)
        + _written("{'loss': 2.7, 'epoch': 0.9}", 45, 80)
    )
    assert _frame(text)["step"].to_list() == [42, 45]


def test_a_row_that_is_merely_printed_takes_the_bar_before_it() -> None:
    text = _bar(5, 60) + "\n{'loss': 2.8, 'epoch': 0.1}\n" + _bar(6, 60)
    assert _frame(text)["step"].to_list() == [5]


def test_evaluation_has_a_bar_of_its_own() -> None:
    text = _bar(20, 60) + _written("{'loss': 3.0, 'epoch': 0.4}", 20, 60)
    text += "\n" + _bar(0, 4) + _bar(4, 4) + "\x1b[A" + _written("\x1b[A{'eval_loss': 3.1, 'epoch': 0.4}", 20, 60)
    text += _bar(0, 1, "Writing model shards:") + _bar(1, 1, "Writing model shards:") + "\n" + _bar(25, 60)
    text += _written("{'loss': 2.9, 'epoch': 0.5}", 25, 60)
    assert _frame(text)["step"].to_list() == [20, 20, 25]


def test_a_killed_console_keeps_its_last_row() -> None:
    text = _bar(35, 400) + "\r" + " " * 40 + "\r{'loss': 2.8, 'epoch': 0.7}\n"
    assert _frame(text)["step"].to_list() == [35]


def test_without_bars_there_is_no_step() -> None:
    assert "step" not in _frame("{'loss': 2.8, 'epoch': 0.7}\n").columns


def test_the_closing_row_is_set_aside() -> None:
    text = "{'loss': 2.8, 'epoch': 1.0}\n{'train_runtime': 3.5, 'train_loss': 1.35, 'epoch': 1.6}\n"
    (block,) = blocks_of(READER, text)
    assert block.frame.columns == ["loss", "epoch"]
    assert block.meta["config"]["train_loss"] == 1.35
    assert counts_of([block]) == {"summary-row-ignored": 1}


@pytest.mark.parametrize(
    ("text", "is_console"),
    [
        ("{'loss': 2.8, 'epoch': 0.7}\n", True),
        ("[rank0]: {'eval_loss': nan, 'epoch': 0.7}\n", True),
        ('{"loss": 2.8, "epoch": 0.7}\n', False),
        ("{'lr': 0.1, 'train_subset': 'train', 'epochs': 5}\n", False),
        ("loss: 2.5\n", False),
        ("", False),
    ],
)
def test_sniff(text: str, is_console: bool) -> None:
    assert READER.sniff(source_of(text)) is is_console


def test_text_without_rows_is_a_clear_error() -> None:
    with pytest.raises(UnreadableError, match="no row of a trainer"):
        blocks_of(READER, "hello\n")


def _consoles() -> list[Path]:
    return sorted(FORMATS.glob("hf_trainer__*/console*.log")) if FORMATS.exists() else []


@pytest.mark.shared
@pytest.mark.parametrize("path", _consoles(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_labelled_consoles_agree_with_the_state(path: Path) -> None:
    source = open_path(path, Limits())
    assert READER.sniff(source)
    (block,) = READER.read(source, Limits(), lambda _name: True)
    rows = [row for row in block.frame.iter_rows(named=True) if row["loss"] is not None]
    truth = json.loads((FORMATS / f"{path.parent.name}.case.json").read_text())["truth"]
    if "resumed" not in path.parent.name:
        assert len(rows) == truth["loss_rows"]
    states = [path.parent / "trainer_state.json", *sorted(path.parent.glob("checkpoint-*/trainer_state.json"))]
    history = json.loads(next(state for state in states if state.exists()).read_text())["log_history"]
    losses = {row["step"]: row["loss"] for row in history if "loss" in row}
    # The rows of the first part behind the checkpoint are no longer in the state of the resumed run.
    compared = [row for row in rows if row["step"] in losses and not (path.stem == "console" and row["step"] > 40)]
    assert len(compared) >= min(4, len(rows))
    for row in compared:
        assert float(row["loss"]) == pytest.approx(losses[row["step"]], rel=2e-3, nan_ok=True)
