"""The promises of a RunTable, for made-up logs and for all that blocks can hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.errors import UnreadableError, UsageError
from triage.model import Block, Notice, RunTable
from triage.options import Limits, Options
from triage.readers._gather import collect
from triage.readers._table import RunInput, build

NAN = float("nan")
INF = float("inf")


def table(*rows: dict[str, Any], options: Options | None = None, **meta: Any) -> RunTable:
    return tables([Block(pl.DataFrame(list(rows), infer_schema_length=None), meta=meta)], options=options)


def tables(*sources: list[Block], options: Options | None = None, ranks: tuple[int | None, ...] = ()) -> RunTable:
    options = options or Options()
    parts = []
    for i, blocks in enumerate(sources):
        parts += collect(blocks, options, rank=ranks[i] if ranks else None).values()
    return build(RunInput("run", "log", "test", parts), options)


def ids(run: RunTable) -> dict[str, int]:
    return {notice.id: notice.count for notice in run.notices}


def column(run: RunTable, name: str) -> list[float | None]:
    return run.frame[name].to_list()


def points(run: RunTable, name: str) -> list[float]:
    return run.frame[name].drop_nulls().to_list()


# ── names and cells ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_canonical_columns_come_first_and_others_keep_their_name() -> None:
    run = table(
        {"mfu": 1.0, "train/loss": 2.0, "lr": 0.1, "global_step": 5, "note": "a"}, {"global_step": 6, "note": "b"}
    )
    assert run.frame.columns == ["row", "segment", "step", "loss", "lr", "mfu"]
    assert run.frame.schema["row"] == pl.Int64
    assert run.frame.schema["segment"] == pl.Int32
    assert run.frame.schema["step"] == pl.Int64
    assert all(kind == pl.Float64 for name, kind in run.frame.schema.items() if name not in ("row", "segment", "step"))
    assert run.source.columns["loss"].source == "train/loss"
    assert run.source.columns["step"].source == "global_step"
    assert ids(run) == {"text-columns-dropped": 1}


def test_null_and_nan_are_two_things() -> None:
    run = table({"step": 0, "loss": NAN, "acc": None}, {"step": 1, "loss": INF, "acc": NAN}, {"step": 2, "loss": 1.0})
    info = run.source.columns["loss"]
    assert (info.points, info.nonfinite, info.inferred, info.first_step, info.last_step, info.last) == (
        3,
        2,
        0,
        0,
        2,
        1.0,
    )
    assert run.source.columns["accuracy"].points == 1
    assert column(run, "accuracy")[0] is None


def test_texts_that_are_numbers() -> None:
    run = table(*({"step": str(i), "loss": text} for i, text in enumerate(["2.5", "nan", "None", "1,234.5", "inf"])))
    assert points(run, "loss")[0] == 2.5
    assert math.isnan(points(run, "loss")[1])
    assert points(run, "loss")[2:] == [1234.5, INF]
    assert column(run, "step") == [0, 1, 2, 3, 4]


def test_text_in_a_column_of_numbers_is_counted() -> None:
    run = table(*({"step": i, "loss": "diverged!" if i == 3 else "2.0"} for i in range(10)))
    assert ids(run) == {"text-in-number-column": 1, "inferred-nan": 1}
    assert (run.source.columns["loss"].points, run.source.columns["loss"].inferred) == (10, 1)


def test_constant_text_is_config() -> None:
    run = table(*({"step": i, "loss": 1.0, "optimizer": "adamw"} for i in range(3)), config={"seed": 1})
    assert run.source.config == {"seed": 1, "optimizer": "adamw"}
    assert ids(run) == {}


def test_what_a_batch_was_made_of_is_kept_as_messages() -> None:
    run = table(*({"step": i, "loss": 1.0, "data_source": "web" if i < 2 else "code"} for i in range(4)))
    assert [(m["step"], m["text"]) for m in run.messages] == [(0, "data_source=web"), (2, "data_source=code")]
    assert ids(run) == {"text-columns-dropped": 1}


def test_names_that_the_table_needs_for_itself() -> None:
    run = table({"step": 0, "row": 7, "segment": 8, "loss": 1.0}, {"step": 1, "row": 9, "segment": 9, "loss": 1.0})
    assert column(run, "source/row") == [7, 9]
    assert column(run, "row") == [0, 1]


def test_a_source_column_cannot_pose_as_a_canonical_one() -> None:
    run = table(*({"step": i, "loss": 1.0, "main": 5.0} for i in range(3)), options=Options(mapping={"loss": "main"}))
    assert points(run, "loss") == [5.0] * 3
    assert points(run, "source/loss") == [1.0] * 3
    assert ids(run) == {"shadowed-column": 1}


def test_time_that_goes_up_and_down_is_the_time_of_a_step() -> None:
    run = table(*({"step": i, "loss": 1.0, "time": 0.05 + 0.01 * (i % 2)} for i in range(10)))
    assert "time" not in run.frame.columns
    assert run.frame["step_time"].len() == 10
    clock = table(*({"step": i, "loss": 1.0, "_timestamp": 1.7e12 + 500 * i} for i in range(3)))
    assert points(clock, "time") == [1.7e9, 1.7e9 + 0.5, 1.7e9 + 1]
    assert clock.source.time_last == 1.7e9 + 1
    text = table(*({"step": i, "loss": 1.0, "timestamp": f"1970-01-01 00:00:0{i}"} for i in range(3)))
    assert points(text, "time") == [0.0, 1.0, 2.0]


def test_columns_beyond_the_limit_are_counted_and_the_loss_is_kept() -> None:
    rows = [{**{f"m{i}": 1.0 for i in range(30)}, "step": s, "loss": 2.0} for s in range(3)]
    run = table(*rows, options=Options(limits=Limits(columns=10)))
    assert run.frame.width == 3 + 9
    assert points(run, "loss") == [2.0] * 3
    assert ids(run) == {"columns-over-limit": 22}


def test_blocks_may_differ_in_columns_and_types() -> None:
    blocks = [
        Block(pl.DataFrame({"step": [0, 1], "loss": [3, 2]})),
        Block(pl.DataFrame({"step": [2.0, 3.0], "loss": ["nan", "1.5"], "lr": [0.1, 0.1]})),
        Block(pl.DataFrame({"step": [2**53 + 1], "loss": [1.0]})),
    ]
    run = tables(blocks)
    assert column(run, "step") == [0, 1, 2, 3, 2**53 + 1]
    assert column(run, "lr") == [None, None, 0.1, 0.1, None]
    assert run.source.columns["loss"].nonfinite == 1


def test_nested_cells_are_counted() -> None:
    run = tables([Block(pl.DataFrame({"step": [0, 1], "loss": [1.0, 1.0], "hist": [[1, 2], [3]]}))])
    assert ids(run) == {"nested-columns-dropped": 2}


# ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_global_step_wins_over_the_count_of_log_calls() -> None:
    run = table(*({"_step": i, "train/global_step": 10 * i, "train/loss": 1.0} for i in range(4)))
    assert column(run, "step") == [0, 10, 20, 30]
    assert run.source.step_unit == "optimizer step"


def test_an_axis_that_is_missing_from_the_losses_is_passed_over() -> None:
    rows = [{"_step": i, "loss": 1.0} for i in range(6)] + [{"_step": 6, "trainer/global_step": 6, "eval_loss": 1.0}]
    assert column(table(*rows), "step") == list(range(7))


def test_a_counter_that_agrees_and_never_goes_back_wins() -> None:
    rows: list[dict[str, Any]] = [{"step": i, "iter": i, "loss": 1.0} for i in range(1, 5)]
    rows.insert(2, {"step": 1, "accuracy": 0.5})
    run = table(*rows)
    assert run.source.columns["step"].source == "iter"
    assert run.source.segments == 1


def test_epochs_samples_and_tokens_as_steps() -> None:
    keras = table(*({"epoch": i, "loss": 1.0} for i in range(4)))
    assert (keras.source.step_unit, column(keras, "step")) == ("epoch", [0, 1, 2, 3])
    assert column(keras, "epoch") == [0, 1, 2, 3]
    samples = table(*({"consumed_samples": 256 * i, "loss": 1.0} for i in range(4)))
    assert samples.source.step_unit == "sample"
    tokens = table(*({"num_tokens": 4096 * i, "loss": 1.0} for i in range(4)))
    assert tokens.source.step_unit == "token"
    assert ids(tokens) == {"step-unit": 1}
    monitor = table(*({"step": 64 * i, "Train/Samples/train_loss": 1.0} for i in range(4)))
    assert monitor.source.step_unit == "sample"


def test_an_epoch_that_holds_many_rows_is_no_step() -> None:
    run = table(*({"epoch": i // 5, "loss": 1.0} for i in range(20)))
    assert run.source.step_unit == "row"
    assert column(run, "step") == list(range(20))
    assert ids(run) == {"step-missing": 20}


def test_a_step_that_never_moves_is_no_step() -> None:
    run = table(*({"step": 0, "loss": float(i)} for i in range(5)))
    assert points(run, "loss") == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_float_steps() -> None:
    assert column(table({"step": 0.0, "loss": 1.0}, {"step": 100.0, "loss": 1.0}), "step") == [0, 100]
    broken = table({"step": 0.5, "loss": 1.0}, {"step": 1.5, "loss": 1.0})
    assert broken.source.step_unit == "row"


def test_the_step_of_the_writer_and_the_step_by_hand() -> None:
    rows = [{"step": i, "tick": 7 * i, "loss": 1.0} for i in range(4)]
    assert column(table(*rows, step_column="tick"), "step") == [0, 7, 14, 21]
    assert column(table(*rows, options=Options(mapping={"step": "tick"})), "step") == [0, 7, 14, 21]
    with pytest.raises(UsageError, match="no whole numbers"):
        table(*({"step": i, "x": i + 0.5, "loss": 1.0} for i in range(4)), options=Options(mapping={"step": "x"}))


def test_a_resume_opens_a_segment() -> None:
    run = table(*({"step": i, "loss": 1.0} for i in [*range(40), *range(30, 70)]))
    assert run.source.segments == 2
    assert run.frame["step"].to_list() == [*range(40), *range(30, 70)]
    assert ids(run) == {"new-segment": 1}


def test_rows_of_one_step_become_one() -> None:
    run = table(
        {"step": 4, "lr": 0.1},
        {"step": 4, "loss": 2.0},
        {"step": 9, "lr": 0.2},
        {"step": 9, "loss": 3.0, "lr": 0.3},
        {"step": 9, "loss": NAN},
        {"step": 9, "loss": 2.5},
    )
    assert column(run, "step") == [4, 9]
    assert column(run, "lr") == [0.1, 0.3]
    assert math.isnan(points(run, "loss")[1])
    assert ids(run) == {"duplicate-steps": 4, "conflicting-cells": 3}
    assert column(run, "row") == [0, 2]


def test_a_closing_summary_is_no_loss() -> None:
    rows: list[dict[str, Any]] = [{"step": i, "loss": 2.0} for i in range(5)]
    run = table(*rows, {"loss": 0.0, "eval_loss": 1.5})
    assert points(run, "loss") == [2.0] * 5
    assert column(run, "eval_loss") == [None, None, None, None, 1.5]
    assert ids(run) == {"summary-row-ignored": 1, "duplicate-steps": 1}


def test_a_nan_in_a_closing_summary_stays_visible() -> None:
    rows: list[dict[str, Any]] = [{"step": i, "loss": 2.0} for i in range(5)]
    run = table(*rows, {"loss": NAN})
    assert run.source.columns["loss"].nonfinite == 0
    assert run.source.columns["summary/loss"].nonfinite == 1


def test_the_mean_of_a_run_is_no_loss() -> None:
    rows: list[dict[str, Any]] = [{"step": i, "eval_loss": 2.0} for i in range(1, 4)]
    run = table(*rows, {"step": 3, "train_loss": 2.2, "train_runtime": 9.0})
    assert "loss" not in run.frame.columns
    assert points(run, "train_loss") == [2.2]


def test_marked_evaluation_rows_are_no_training_rows() -> None:
    rows = [{"step": i, "split": "train", "loss": 2.0} for i in range(6)]
    rows[2:2] = [{"step": 1, "split": "val", "loss": 9.0}]
    run = table(*rows)
    assert points(run, "loss") == [2.0] * 6
    assert points(run, "eval_loss") == [9.0]
    assert ids(run)["evaluation-rows-marked"] == 1


# ── guesses ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_dropped_nan_comes_back_and_is_listed() -> None:
    rows = [
        {"step": i, "loss": 2.0 if i < 8 else None, "grad_norm": 1.0 if i < 8 else None, "lr": 0.1} for i in range(10)
    ]
    run = table(*rows)
    assert run.inferred == {"loss": (8, 9), "grad_norm": (8, 9)}
    assert all(math.isnan(column(run, name)[row]) for name, where in run.inferred.items() for row in where)
    assert run.source.columns["loss"].nonfinite == 2
    assert run.source.columns["loss"].inferred == 2
    assert ids(run) == {"inferred-nan": 4}


def test_padding_is_taken_out() -> None:
    run = table(*({"step": i, "loss": 2.0 if i % 10 == 0 else NAN, "lr": 0.1} for i in range(41)))
    assert run.source.columns["loss"].points == 5
    assert run.source.columns["loss"].nonfinite == 0
    assert run.inferred == {}
    assert ids(run) == {"padding-nan": 36}


# ── ranks and several files ──────────────────────────────────────────────────────────────────────────────────────────


def test_ranks_in_one_file() -> None:
    rows = [
        {"rank": rank, "step": step, "loss": NAN if (rank, step) == (2, 3) else step + rank / 10, "mfu": 1.0}
        for step in range(5)
        for rank in (2, 0, 1)
    ]
    run = table(*rows)
    assert points(run, "loss") == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert points(run, "loss@rank1") == [0.1, 1.1, 2.1, 3.1, 4.1]
    assert run.source.columns["loss@rank2"].nonfinite == 1
    assert "mfu@rank1" not in run.frame.columns
    notice = next(n for n in run.notices if n.id == "ranks-in-one-file")
    assert notice.count == 3
    assert notice.detail["main"] == 0
    assert notice.detail["nonfinite"] == {"loss@rank2": 1}


def test_ranks_in_files_that_restart() -> None:
    def of_rank(rank: int) -> list[Block]:
        steps = [*range(10), *range(5, 12)]
        return [Block(pl.DataFrame({"step": steps, "loss": [rank + s / 100 for s in steps]}))]

    run = tables(of_rank(1), of_rank(0), ranks=(1, 0))
    assert run.source.segments == 2
    assert column(run, "step") == [*range(10), *range(5, 12)]
    assert points(run, "loss") == [s / 100 for s in [*range(10), *range(5, 12)]]
    assert points(run, "loss@rank1") == [1 + s / 100 for s in [*range(10), *range(5, 12)]]


def test_a_metric_called_rank_is_no_worker() -> None:
    run = table(*({"step": i, "loss": 2.0, "rank": i * 3 % 17} for i in range(20)))
    assert points(run, "loss") == [2.0] * 20
    assert run.frame["rank"].len() == 20
    fraction = table(*({"step": i, "loss": 2.0, "rank": 0.5 + i % 2} for i in range(20)))
    assert points(fraction, "rank") == [0.5, 1.5] * 10


def test_the_rank_that_logs_the_loss_is_the_main_one() -> None:
    rows = [{"rank": rank, "step": step, "loss": 2.0 if rank == 3 else None} for step in range(4) for rank in (0, 3)]
    run = table(*rows)
    assert points(run, "loss") == [2.0] * 4


def test_a_file_without_a_loss_lies_beside_the_others() -> None:
    train = [Block(pl.DataFrame({"step": [0, 10, 20, 30], "loss": [4.0, 3.0, 2.0, 1.0]}))]
    evals = [Block(pl.DataFrame({"step": [10, 30], "eval_loss": [3.5, 1.5]}))]
    run = tables(train, evals)
    assert run.source.segments == 1
    assert column(run, "eval_loss") == [None, 3.5, None, 1.5]


def test_files_with_a_loss_follow_one_another() -> None:
    first = [Block(pl.DataFrame({"step": [0, 1, 2], "loss": [4.0, 3.0, 2.0]}), meta={"bytes": 10, "dropped": 1})]
    second = [Block(pl.DataFrame({"step": [1, 2], "loss": [2.0, 1.0]}), meta={"bytes": 5, "dropped": 2})]
    run = tables(first, second)
    assert run.source.segments == 2
    assert run.source.bytes == 15
    assert run.source.dropped == 3


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_events_are_kept_with_their_row() -> None:
    events = [{"step": 2, "kind": "overflow", "text": "skip"}, {"step": 99, "kind": "x", "text": "y"}]
    run = table(*({"step": i, "loss": 1.0} for i in range(4)), text_events=events)
    assert [(m["row"], m["kind"]) for m in run.messages] == [(2, "overflow"), (None, "x")]


def test_notices_of_blocks_are_added_up() -> None:
    frame = pl.DataFrame({"step": [0], "loss": [1.0]})
    later = pl.DataFrame({"step": [1], "loss": [1.0]})
    run = tables(
        [Block(frame, notices=(Notice("skipped-lines", 2),)), Block(later, notices=(Notice("skipped-lines", 3),))]
    )
    assert ids(run) == {"skipped-lines": 5}


def test_nothing_to_read() -> None:
    with pytest.raises(UnreadableError, match="no row"):
        tables([Block(pl.DataFrame())])


CELLS = st.one_of(st.none(), st.floats(-9, 9), st.sampled_from([NAN, INF, -INF, 0.0]), st.integers(-(2**60), 2**60))
TEXTS = st.sampled_from(["nan", "1,234", "", "-", "x", "2.5", "train", "val", "1970-01-01 00:00:01"])
NAMES = st.sampled_from(
    [
        "step",
        "_step",
        "epoch",
        "loss",
        "train/loss",
        "eval_loss",
        "lr",
        "grad_norm",
        "time",
        "rank",
        "row",
        "split",
        "m",
        "source",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.dictionaries(NAMES, st.one_of(CELLS, TEXTS), min_size=1, max_size=6), min_size=1, max_size=25),
    st.integers(1, 4),
)
def test_promises(rows: list[dict[str, Any]], pieces: int) -> None:
    typed = [
        {name: cell if isinstance(cell, str) else (None if cell is None else float(cell)) for name, cell in row.items()}
        for row in rows
    ]
    blocks = []
    for piece in np.array_split(np.arange(len(typed)), pieces):
        names = list(dict.fromkeys(name for i in piece for name in typed[i]))
        if names:
            columns = [_column(name, [typed[i].get(name) for i in piece]) for name in names]
            blocks.append(Block(pl.DataFrame(columns)))
    try:
        run = tables(blocks)
    except UnreadableError:
        return
    frame = run.frame
    assert (frame["row"].diff().drop_nulls() > 0).all()
    assert (frame["segment"].diff().drop_nulls() >= 0).all()
    within = frame.with_columns(gap=pl.col("step").diff().over("segment"))["gap"].drop_nulls()
    assert (within > 0).all()
    for name, where in run.inferred.items():
        assert all(math.isnan(frame[name][row]) for row in where)
    for name, info in run.source.columns.items():
        held = frame[name].drop_nulls()
        assert info.points == len(held)
        assert info.nonfinite == (int((~held.is_finite()).sum()) if held.dtype == pl.Float64 else 0)
    assert len(set(frame.columns)) == frame.width


def _column(name: str, cells: list[Any]) -> pl.Series:
    if any(isinstance(cell, str) for cell in cells):
        return pl.Series(
            name, [cell if cell is None or isinstance(cell, str) else repr(cell) for cell in cells], dtype=pl.String
        )
    return pl.Series(name, cells, dtype=pl.Float64)
