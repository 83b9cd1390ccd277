"""The trainer state of Hugging Face."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest

from tests.helpers.json_sources import blocks_of, counts_of, source_of
from triage.errors import UnreadableError
from triage.options import Limits
from triage.readers import hf_state
from triage.readers._source import open_path

READER = hf_state.READER
FORMATS = Path(__file__).parents[2].parent / "shared" / "cases" / "formats"

HISTORY = [
    {"epoch": 0.1, "grad_norm": 1.0, "learning_rate": 1e-3, "loss": 3.5, "step": 5},
    {"epoch": 0.2, "grad_norm": float("nan"), "learning_rate": 1e-3, "loss": 0.0, "step": 10},
    {"epoch": 0.2, "eval_loss": float("nan"), "eval_runtime": 0.1, "step": 10},
    {"epoch": 0.2, "train_loss": 1.75, "train_runtime": 3.0, "total_flos": 1.0, "step": 10},
]
STATE = {"best_metric": None, "epoch": 0.2, "is_world_process_zero": True, "log_history": HISTORY} | {
    "logging_steps": 5,
    "max_steps": 60,
    "stateful_callbacks": {"TrainerControl": {"args": {}}},
    "train_batch_size": 8,
}


def test_rows_and_what_the_run_was_told() -> None:
    text = json.dumps(STATE, indent=2)
    assert READER.sniff(source_of(text, "trainer_state.json"))
    (block,) = blocks_of(READER, text)
    assert block.frame["step"].to_list() == [5, 10, 10]
    assert math.isnan(block.frame["grad_norm"][1])
    assert math.isnan(block.frame["eval_loss"][2])
    assert block.meta["writer"] == "transformers"
    assert block.meta["step_column"] == "step"
    assert block.meta["config"]["max_steps"] == 60
    assert block.meta["config"]["train_batch_size"] == 8
    assert not {"stateful_callbacks", "is_world_process_zero", "best_metric"} & set(block.meta["config"])


def test_the_mean_of_the_closing_row_is_no_point() -> None:
    (block,) = blocks_of(READER, json.dumps(STATE))
    assert "train_loss" not in block.frame.columns
    assert block.meta["config"]["train_loss"] == 1.75
    assert counts_of([block]) == {"summary-row-ignored": 1}


def test_a_state_cut_at_its_end_keeps_its_rows() -> None:
    text = json.dumps(STATE, indent=2)
    blocks = blocks_of(READER, text[: text.index('"eval_runtime"')])
    assert blocks[0].frame["step"].to_list() == [5, 10, None]
    assert "torn-tail" in counts_of(blocks)


@pytest.mark.parametrize("text", ['{"log_history": []}', '{"log_history": 5}', '{"log_history": [1]}'])
def test_an_empty_history_is_a_clear_error(text: str) -> None:
    assert READER.sniff(source_of(text))
    with pytest.raises(UnreadableError, match="no logged row"):
        blocks_of(READER, text)


def _states() -> list[Path]:
    return sorted(FORMATS.glob("hf_trainer__*/trainer_state.json")) if FORMATS.exists() else []


@pytest.mark.shared
@pytest.mark.parametrize("path", _states(), ids=lambda path: path.parent.name)
def test_labelled_states(path: Path) -> None:
    truth = json.loads((FORMATS / f"{path.parent.name}.case.json").read_text())["truth"]
    source = open_path(path, Limits())
    assert READER.sniff(source)
    (block,) = READER.read(source, Limits(), lambda _name: True)
    rows = block.frame.filter(pl.col("loss").is_not_null())
    # After a resume the state holds one clean series; the labels count the rows of both parts.
    assert rows.height == truth.get("distinct_steps", truth["loss_rows"])
    assert rows["loss"].is_nan().sum() == truth["nan_loss"]
    assert rows["grad_norm"].is_nan().sum() == truth["nan_grad_norm"]
    step, loss = truth["last3"][-1]
    assert rows["step"][-1] == step
    assert math.isnan(rows["loss"][-1]) if loss == "NaN" else rows["loss"][-1] == pytest.approx(loss, rel=1e-6)
