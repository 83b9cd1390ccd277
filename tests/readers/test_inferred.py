"""Blanks that are NaN, and NaN that are blanks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import triage
from triage.readers._inferred import inferred_nan, padding_nan

NAN = float("nan")


def rows_of(frame: pl.DataFrame, column: str = "loss") -> list[int]:
    return np.flatnonzero(inferred_nan(frame).get(column, np.zeros(frame.height, dtype=bool))).tolist()


def frame(loss: list[float | None], **others: list[float | None]) -> pl.DataFrame:
    columns = {"loss": loss, "lr": [0.1] * len(loss), **others}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))


def test_a_tail_of_blanks_is_nan() -> None:
    assert rows_of(frame([3.0, 2.9, 2.8, None, None, None])) == [3, 4, 5]


def test_a_single_blank_among_many_is_nan() -> None:
    assert rows_of(frame([3.0] * 15 + [None] + [2.9] * 15)) == [15]


def test_a_column_that_is_blank_throughout_is_nan() -> None:
    assert rows_of(frame([None, None, None])) == [0, 1, 2]
    only_evaluation = pl.DataFrame(
        {"loss": [None, None], "eval_loss": [1.0, 2.0]}, schema_overrides={"loss": pl.Float64}
    )
    assert rows_of(only_evaluation) == []


def test_a_sparse_column_is_not_logged() -> None:
    assert rows_of(frame([2.0 if i % 10 == 0 else None for i in range(100)])) == []
    assert rows_of(frame([2.0 if i % 3 else None for i in range(99)])) == []


def test_blanks_on_a_grid_are_a_habit_of_the_logger() -> None:
    assert rows_of(frame([None if i % 50 == 49 else 2.0 for i in range(400)])) == []


def test_a_writer_that_writes_nan_does_not_write_it_as_a_blank() -> None:
    assert rows_of(frame([3.0, 2.9, 2.8, 2.7, None, None, NAN])) == []


def test_a_row_without_training_metrics_is_no_training_row() -> None:
    held = pl.DataFrame(
        {"loss": [3.0] * 20 + [None], "lr": [0.1] * 20 + [None], "time": [1.0] * 21},
        schema=dict.fromkeys(["loss", "lr", "time"], pl.Float64),
    )
    assert rows_of(held) == []


def test_evaluation_rows_that_repeat_lr_are_no_training_rows() -> None:
    loss = [None if i % 7 == 6 else 2.0 for i in range(30)]
    loss[6], loss[13] = None, None
    evals = [1.0 if cell is None else None for cell in loss]
    assert rows_of(frame(loss, eval_loss=evals)) == []


def test_an_evaluation_beside_a_blank_loss_does_not_hide_it() -> None:
    evals = [1.0 if i % 5 == 4 else None for i in range(30)]
    assert rows_of(frame([2.0] * 20 + [None] * 10, eval_loss=evals)) == list(range(20, 30))


def test_the_gradient_norm_goes_with_the_loss() -> None:
    held = frame([3.0] * 10 + [None] * 3, grad_norm=[1.0] * 10 + [None] * 3)
    assert rows_of(held, "grad_norm") == [10, 11, 12]
    sparse = frame([3.0] * 10 + [None] * 3, grad_norm=[1.0, None] * 5 + [None] * 3)
    assert rows_of(sparse, "grad_norm") == []


def padded(values: list[float | None], *, is_loss: bool = True) -> list[int] | None:
    found = padding_nan(pl.Series(values, dtype=pl.Float64), is_loss=is_loss)
    return None if found is None else np.flatnonzero(found).tolist()


def test_nan_between_recorded_points_is_padding() -> None:
    grid = [2.0 if i % 5 == 0 else NAN for i in range(21)]
    assert padded(grid) == [i for i in range(21) if i % 5]


def test_nan_where_a_value_was_due_stays() -> None:
    grid = [2.0 if i % 5 == 0 and i < 15 else NAN for i in range(23)]
    assert padded(grid) == [i for i in range(23) if i not in (0, 5, 10, 15, 20)]


def test_the_first_recorded_step_may_be_one_more() -> None:
    assert padded([1.0, NAN, NAN, 1.0, NAN, NAN, NAN, 1.0, NAN, NAN, NAN, 1.0]) == [1, 2, 4, 5, 6, 8, 9, 10]


@pytest.mark.parametrize(
    "values",
    [
        [2.0] * 10 + [NAN] * 10,
        [2.0, 2.0, NAN, 2.0, 2.0, NAN, 2.0, 2.0, NAN],
        [2.0, NAN, 2.0, NAN, 2.0],
        [2.0, NAN, NAN, 2.0, NAN, NAN, NAN, NAN, 2.0, NAN, NAN, 2.0],
        [2.0, None, NAN, None, 2.0, None, None, None, 2.0, None, None, None, 2.0],
    ],
    ids=["tail", "every third", "too few", "uneven", "blanks between"],
)
def test_nan_of_a_loss_that_is_no_grid_stays(values: list[float | None]) -> None:
    assert padded(values) is None


def test_other_columns_may_be_recorded_at_uneven_distances() -> None:
    values = [NAN] * 40
    for place in (4, 10, 18, 24):
        values[place] = 1.0
    assert padded(values) is None
    found = padded(values, is_loss=False)
    assert found is not None
    assert 39 not in found, "the end shows that values were due"
    assert 5 in found


def bare(**columns: list[float | None]) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64))


def test_rows_blank_throughout_are_nan_where_nothing_could_have_stayed_finite() -> None:
    loss = [3.0] * 20 + [None] * 5
    assert rows_of(bare(loss=loss)) == [20, 21, 22, 23, 24]
    both = bare(loss=loss, grad_norm=[1.0] * 20 + [None] * 5, time=[1.0] * 25)
    assert rows_of(both) == rows_of(both, "grad_norm") == [20, 21, 22, 23, 24]
    assert rows_of(bare(loss=[3.0] * 20 + [None])) == [20]
    assert rows_of(bare(loss=loss, loss_scale=[64.0] * 20 + [None] * 5)) == []  # a scale is never NaN
    assert rows_of(bare(loss=loss, accuracy=[0.5] * 20 + [None] * 5)) == []
    assert rows_of(bare(loss=[3.0, None] * 20)) == []


def test_rows_that_hold_a_message_are_no_training_rows() -> None:
    held = np.array([False] * 20 + [True])
    assert inferred_nan(bare(loss=[3.0] * 20 + [None]), held) == {}


@pytest.mark.parametrize("said", ['"message": "saved"', '"files": ["a", "b"]', '"event": "end"'])
def test_a_closing_message_is_no_nan(tmp_path: Path, said: str) -> None:
    log = tmp_path / "log.jsonl"
    lines = [f'{{"step": {step}, "loss": {2.0 + step % 3 / 100}}}' for step in range(60)]
    log.write_text("\n".join([*lines, f'{{"step": 60, {said}}}']) + "\n", encoding="utf-8")
    run = triage.analyze(log).runs[0]
    assert run.verdict == "healthy"
    assert run.source.columns["loss"].nonfinite == 0


@pytest.mark.parametrize("blank", ['{"step": %d, "loss": null}', '{"step": %d, "loss": null, "grad_norm": null}'])
def test_a_nan_that_became_null_in_the_last_row_fails_the_gate(tmp_path: Path, blank: str) -> None:
    log = tmp_path / "log.jsonl"
    extra = ', "grad_norm": 1.0' if "grad_norm" in blank else ""
    lines = [f'{{"step": {step}, "loss": {2.0 + step % 3 / 100}{extra}}}' for step in range(60)]
    log.write_text("\n".join([*lines, blank % 60]) + "\n", encoding="utf-8")
    report = triage.analyze(log)
    assert (report.exit_code, report.runs[0].source.columns["loss"].inferred) == (1, 1)


def test_zeros_beside_gradients_that_became_null_hide_a_nan(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = [f'{{"step": {s}, "loss": {2.0 + s % 3 / 100}, "grad_norm": 1.0, "lr": 0.1}}' for s in range(60)]
    lines += [f'{{"step": {s}, "loss": 0.0, "grad_norm": null, "lr": 0.1}}' for s in range(60, 80)]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = triage.analyze(log).runs[0]
    assert (run.verdict, [f.id for f in run.findings], run.diagnoses[0].onset_step) == (
        "unresolved",
        ["hidden-nan"],
        60,
    )
