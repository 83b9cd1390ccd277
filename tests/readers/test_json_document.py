"""One JSON document: every shape that holds a run, whole and torn."""

from __future__ import annotations

import json
import math
from pathlib import Path

import polars as pl
import pytest

from tests.helpers.json_sources import blocks_of, counts_of, source_of
from triage.errors import UnreadableError
from triage.options import Limits
from triage.readers import json_document
from triage.readers._source import open_path

READER = json_document.READER
CASES = Path(__file__).parents[2].parent / "shared" / "cases"

ROWS = [{"step": i, "loss": 3.0 - i / 10, "lr": 1e-3} for i in range(12)]
COLUMNS = {"loss": [3.0, 2.5, float("nan"), 2.0], "lr": [1, 1, 1, 1]}


def _only(data: object, name: str = "log.json") -> pl.DataFrame:
    text = data if isinstance(data, str) else json.dumps(data)
    assert READER.sniff(source_of(text, name))
    (block,) = blocks_of(READER, text, name)
    return block.frame


@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_rows(indent: int | None) -> None:
    frame = _only(json.dumps(ROWS, indent=indent))
    assert frame["step"].to_list() == list(range(12))
    assert frame.columns == ["step", "loss", "lr"]


def test_bare_tokens_inside_a_document() -> None:
    loss = _only('[{"step": 1, "loss": NaN},\n {"step": 2, "loss": -inf}, {"step": 3, "loss": nan}, {"step": 4}]')[
        "loss"
    ]
    assert loss.is_nan().to_list() == [True, False, True, None]
    assert loss[1] == -math.inf


def test_one_document_after_another() -> None:
    text = "\n".join(json.dumps(row, indent=1) for row in ROWS)
    assert _only(text)["step"].to_list() == list(range(12))


def test_columns_with_a_configuration_beside_them() -> None:
    text = json.dumps(COLUMNS | {"name": "a", "args": {"lr": 0.1}, "params": {"epochs": 4}})
    (block,) = blocks_of(READER, text)
    assert block.frame["loss"].is_nan().to_list() == [False, False, True, False]
    assert block.meta["config"] == {"name": "a", "lr": 0.1, "epochs": 4}


@pytest.mark.parametrize("wrapped", [{"history": COLUMNS}, {"history": {"train": COLUMNS}}, {"train": COLUMNS}])
def test_columns_inside_objects(wrapped: dict[str, object]) -> None:
    name = "train/loss" if "train" in json.dumps(wrapped) else "loss"
    assert _only(wrapped)[name].count() == 4


def test_columns_of_another_length_are_left_out_and_counted() -> None:
    text = json.dumps({"losses": [1.5] * 20, "grad_norms": [2.5] * 20, "val_losses": [1.0, 2.0]})
    (block,) = blocks_of(READER, text)
    assert block.frame.columns == ["losses", "grad_norms"]
    (notice,) = block.notices
    assert (notice.id, notice.count, notice.where) == ("uneven-columns", 2, "val_losses")
    assert block.meta["aliases"] == {"losses": "loss", "grad_norms": "grad_norm"}


def test_rows_under_a_key() -> None:
    (block,) = blocks_of(READER, json.dumps({"max_steps": 100, "config": {"seed": 1}, "metrics": ROWS}))
    assert block.frame.height == 12
    assert block.meta["config"] == {"max_steps": 100, "seed": 1}


def test_training_and_evaluation_lists_come_into_one_order() -> None:
    evaluation = [{"step": 3, "loss": 2.9}, {"step": 9, "loss": 2.2}]
    frame = _only({"train": ROWS, "val": evaluation})
    assert frame["step"].is_sorted()
    assert frame["val/loss"].drop_nulls().to_list() == [2.9, 2.2]
    assert frame["loss"].count() == 12


def test_lists_without_a_common_step_are_left_out_and_counted() -> None:
    text = json.dumps({"train": ROWS, "samples": [{"text": "a"}, {"text": "b"}]})
    assert counts_of(blocks_of(READER, text)) == {"rows-of-other-lists": 2}


@pytest.mark.parametrize("orient", ["columns", "index", "split", "records"])
def test_exports_of_pandas(orient: str) -> None:
    by_row = {
        "columns": {name: {str(i): row[name] for i, row in enumerate(ROWS)} for name in ROWS[0]},
        "index": {str(i): row for i, row in enumerate(ROWS)},
        "split": {"columns": list(ROWS[0]), "index": [], "data": [list(row.values()) for row in ROWS]},
        "records": ROWS,
    }
    frame = _only(by_row[orient])
    assert frame["step"].to_list() == list(range(12))
    assert frame["loss"].to_list() == [row["loss"] for row in ROWS]


def test_a_downloaded_tag() -> None:
    data = [[1.5 + i, i * 10, value] for i, value in enumerate([2.5, "NaN", "Infinity", "-Infinity"])]
    frame = _only(data, "run-a-tag-train_loss.json")
    assert frame.columns == ["wall_time", "step", "train_loss"]
    assert math.isnan(frame["train_loss"][1])
    assert frame["train_loss"].to_list()[2:] == [math.inf, -math.inf]
    assert counts_of(blocks_of(READER, json.dumps(data))) == {}


def test_a_download_of_as_many_points_as_are_kept_is_a_sample() -> None:
    data = json.dumps([[1.5 + i, i * 3, 2.5] for i in range(1000)])
    assert counts_of(blocks_of(READER, data)) == {"sampled-export": 1000}


def test_golden_values() -> None:
    values = {
        "lm loss": {"start_step": 1, "end_step": 9, "step_interval": 4, "values": {"1": 2.5, "5": "nan", "9": 2.25}},
        "num-zeros": {"start_step": 1, "end_step": 9, "step_interval": 4, "values": [7, 8, 9]},
    }
    (block,) = blocks_of(READER, json.dumps(values))
    assert block.frame.rows() == [(1, 2.5, 7), (5, None, 8), (9, 2.25, 9)]
    assert counts_of([block]) == {"padding-nan": 1}
    assert (block.meta["writer"], block.meta["step_column"]) == ("Megatron-LM", "step")


def test_several_runs_in_a_list() -> None:
    runs = [{"config": {"lr": lr, "seed": 0}, "history": ROWS, "summary": {"t": lr}} for lr in (0.1, 0.2)]
    blocks = blocks_of(READER, json.dumps(runs))
    assert [block.run for block in blocks] == ["00:lr=0.1", "01:lr=0.2"]
    assert [block.meta["config"]["lr"] for block in blocks] == [0.1, 0.2]
    named = [{"name": name, "history": ROWS} for name in ("a", "b")] + [{"name": "empty", "history": []}]
    blocks = blocks_of(READER, json.dumps(named))
    assert [block.run for block in blocks] == ["a", "b"]
    assert counts_of(blocks) == {"runs-without-rows": 1}


def test_several_runs_by_name() -> None:
    blocks = blocks_of(READER, json.dumps({"adam": COLUMNS, "sgd": COLUMNS}))
    assert [block.run for block in blocks] == ["adam", "sgd"]
    blocks = blocks_of(READER, json.dumps({"config": {"betas": [0.9, 0.99]}, "a": {"log": ROWS}, "b": {"log": ROWS}}))
    assert [(block.run, block.frame.height) for block in blocks] == [("a", 12), ("b", 12)]
    assert _only({"train": COLUMNS, "val": COLUMNS}).columns == ["train/loss", "train/lr", "val/loss", "val/lr"]


@pytest.mark.parametrize("cut", [1, 5, 30, 60, 200])
@pytest.mark.parametrize("data", [ROWS, {"seed": 1, "log": ROWS}], ids=["list", "under-a-key"])
def test_a_torn_document_keeps_all_whole_items(data: object, cut: int) -> None:
    text = json.dumps(data, indent=1)[:-cut]
    blocks = blocks_of(READER, text)
    assert sum(block.frame.height for block in blocks) >= 12 - cut // 30 - 1
    rows = [row for block in blocks for row in block.frame.iter_rows(named=True)]
    assert all(row[name] in (None, ROWS[i][name]) for i, row in enumerate(rows) for name in row)
    counts = counts_of(blocks)
    assert counts.pop("torn-tail", 0) <= len('"loss": 2.9000000000000004')
    assert counts == {"unclosed-document": 1}


@pytest.mark.parametrize(
    "text",
    [
        '{"hidden_size": 768, "eos_token_id": [1, 2]}',
        '{\n "architectures": ["X"],\n "rope_scaling": {"factor": 2.0}\n}',
        '{\n "added_tokens": [{"id": 0, "content": "<s>"}, {"id": 1, "content": "</s>"}]\n}',
        '{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.5}\n',
        '{"log_history": [{"loss": 2.5, "step": 1}, {"loss": 2.4, "step": 2}]}',
        "[]",
        "{}",
        "text",
        "",
    ],
)
def test_what_is_no_document_of_a_run(text: str) -> None:
    assert not READER.sniff(source_of(text))


def test_a_document_without_a_table_is_a_clear_error() -> None:
    with pytest.raises(UnreadableError, match="nothing in it is a table"):
        blocks_of(READER, '{"a": "b"}')
    with pytest.raises(UnreadableError, match="looks like JSON but is not"):
        blocks_of(READER, "[")


# ── real writers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(path: Path) -> list[tuple[str | None, pl.DataFrame, dict[str, int]]]:
    source = open_path(path, Limits())
    assert READER.sniff(source)
    blocks = list(READER.read(source, Limits(), lambda _name: True))
    return [(block.run, block.frame, counts_of([block])) for block in blocks]


@pytest.mark.shared
@pytest.mark.skipif(not CASES.exists(), reason="the labelled cases are not there")
def test_labelled_documents() -> None:
    for name in ("jsonl__json_array/metrics.json", "jsonl__json_columns/history.json"):
        ((_, frame, counts),) = _read(CASES / "formats" / name)
        assert (frame["loss"].count(), frame["loss"].is_nan().sum(), counts) == (60, 10, {})
        assert frame["step"].to_list() == list(range(60))
    ((_, frame, counts),) = _read(next((CASES / "formats" / "tensorboard_ui__download_run1").glob("*.json")))
    assert (frame["train_loss"].count(), frame["train_loss"].is_nan().sum(), counts) == (60, 10, {})
    ((_, frame, counts),) = _read(next((CASES / "formats" / "tensorboard_ui__download_long").glob("*.json")))
    assert (frame.height, counts) == (1000, {"sampled-export": 1000})


@pytest.mark.shared
@pytest.mark.skipif(not CASES.exists(), reason="the labelled cases are not there")
def test_public_documents() -> None:
    public = CASES / "public"
    ((_, frame, counts),) = _read(next((public / "72_megatron_mixtral_a100_spikes").glob("golden*.json")))
    assert frame["step"].to_list() == [1, *range(5, 24_001, 5)]
    assert counts == {"padding-nan": 5 * 1707}
    assert frame["lm loss"].null_count() == 1707
    runs = _read(next((public / "45_stepback_cifar10_lion_21runs").glob("cifar*.json")))
    assert len({run for run, _, _ in runs}) == 21
    assert all(frame.height == 50 for _, frame, _ in runs)
    ((_, frame, counts),) = _read(next((public / "41_gptopt_adamw_2e2_blowup").glob("adamw*.json")))
    assert (frame["losses"].count(), counts) == (1906, {"uneven-columns": 16})
