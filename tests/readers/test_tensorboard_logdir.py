"""Folders of event files: what is one run, what is another, and what its columns are called."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.helpers import event_files as ev
from triage.model import RunTable
from triage.options import Options
from triage.readers import read_runs
from triage.readers._tfevents_logdir import IGNORED, Head, rename_for, runs_of

T0 = 1.7e9


def write(
    folder: Path,
    values: Iterable[tuple[int, dict[str, float]]],
    *,
    wall: float = T0,
    name: str = "",
    cut: int = 0,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    data = ev.file_of([ev.header(wall), *ev.scalars(values, wall=wall)], with_header=False)
    path = folder / (name or f"events.out.tfevents.{int(wall)}.host.1.0")
    path.write_bytes(data[: len(data) - cut])
    return path


def losses(steps: Iterable[int], value: float = 1.0, tag: str = "loss") -> list[tuple[int, dict[str, float]]]:
    return [(step, {tag: value}) for step in steps]


def read(path: Path) -> dict[str, RunTable]:
    result = read_runs([str(path)], Options())
    assert not result.errors
    return {table.run_id: table for table in result.runs}


def only(path: Path) -> RunTable:
    tables = read(path)
    assert len(tables) == 1, list(tables)
    return next(iter(tables.values()))


def steps(table: RunTable) -> list[int]:
    return table.frame["step"].to_list()


def notice_ids(table: RunTable) -> set[str]:
    return {notice.id for notice in table.notices}


def test_files_of_one_folder_follow_each_other_by_time_and_not_by_name(tmp_path: Path) -> None:
    write(tmp_path, losses(range(30, 60), 2.0), wall=T0 + 100, name="events.out.tfevents.9.a.1.0")
    write(tmp_path, losses(range(40), 1.0), wall=T0, name="events.out.tfevents.10.b.1.0")
    table = only(tmp_path)
    assert steps(table) == [*range(40), *range(30, 60)]
    assert table.frame["segment"].to_list() == [0] * 40 + [1] * 30


def test_a_cut_file_does_not_hide_the_one_after_it(tmp_path: Path) -> None:
    first = write(tmp_path, losses(range(10)), cut=5)
    write(tmp_path, losses(range(9, 20)), wall=T0 + 50)
    table = only(tmp_path)
    assert steps(table) == list(range(20))
    torn = next(notice for notice in table.notices if notice.id == "torn-tail")
    assert torn.where == str(first)


def test_an_empty_file_beside_costs_nothing(tmp_path: Path) -> None:
    write(tmp_path, losses(range(5)))
    (tmp_path / "events.out.tfevents.1.host.2.0").write_bytes(b"")
    assert steps(only(tmp_path)) == list(range(5))


@pytest.mark.parametrize(("train", "val"), [("train", "val"), ("training", "validation"), ("Train", "Test")])
def test_writers_of_training_and_validation_are_one_run(tmp_path: Path, train: str, val: str) -> None:
    write(tmp_path / "exp" / train, losses(range(20), 1.0))
    write(tmp_path / "exp" / val, losses(range(4, 20, 5), 3.0), wall=T0 + 0.45)
    table = only(tmp_path)
    assert steps(table) == list(range(20))
    assert table.frame["loss"].to_list() == [1.0] * 20
    assert table.frame.filter(table.frame["eval_loss"].is_not_null())["step"].to_list() == [4, 9, 14, 19]
    assert table.source.columns["eval_loss"].source == "eval/loss"


def test_keras_epochs_of_both_writers_stand_at_the_batches_of_training(tmp_path: Path) -> None:
    train, val = [], []
    for epoch in range(3):
        begin = T0 + 10 * epoch
        train += [ev.event(begin + i, 16 * epoch + 8 * i, ev.simple("batch_loss", 1.0)) for i in (1, 2)]
        val.append(ev.event(begin + 3, epoch, ev.simple("epoch_loss", 2.0)))
        if epoch == 1:
            val.append(ev.event(begin + 2.9, 32, ev.simple("evaluation_loss_vs_iterations", 2.0)))
        train.append(ev.event(begin + 3.1, epoch, ev.simple("epoch_loss", 1.5)))
    for folder, payloads in (("train", train), ("validation", val)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "events.out.tfevents.1.host.v2").write_bytes(ev.file_of(payloads))
    table = only(tmp_path)
    assert steps(table) == [8, 16, 24, 32, 40, 48]
    assert table.source.columns["loss"].source == "batch_loss"
    assert table.frame["eval_loss"].to_list() == [None, 2.0, None, 2.0, None, 2.0]


def test_the_steps_of_deepspeed_count_samples(tmp_path: Path) -> None:
    write(tmp_path, losses(range(256, 2560, 256), tag="Train/Samples/train_loss"))
    table = only(tmp_path)
    assert table.source.step_unit == "sample"
    assert table.source.columns["loss"].source == "Train/Samples/train_loss"


def test_the_second_copy_of_megatron_is_left_out(tmp_path: Path) -> None:
    values = [(step, {"lm loss": 2.0}) for step in range(1, 9)]
    copies = [(8 * step, {"lm loss vs samples": 2.0}) for step in range(1, 9)]
    write(tmp_path, [row for pair in zip(values, copies, strict=True) for row in pair])
    table = only(tmp_path)
    assert steps(table) == list(range(1, 9))
    assert table.source.columns["loss"].source == "lm loss"
    assert "other-axis" in notice_ids(table)


def test_add_scalars_of_torch_is_one_run(tmp_path: Path) -> None:
    write(tmp_path, losses(range(5), 0.1, "lr"))
    write(tmp_path / "a_loss_train", losses(range(5), 1.0, "a/loss"), wall=T0 + 0.01)
    write(tmp_path / "a_loss_val", losses(range(5), 2.0, "a/loss"), wall=T0 + 0.02)
    write(tmp_path / "a_loss_policy", losses(range(5), 3.0, "a/loss"), wall=T0 + 0.03)
    table = only(tmp_path)
    assert {"lr", "loss", "eval_loss", "a/loss/policy"} <= set(table.frame.columns)
    assert (
        table.frame.select("lr", "loss", "eval_loss", "a/loss/policy").rows()
        == [pytest.approx((0.1, 1.0, 2.0, 3.0))] * 5
    )


def test_add_scalars_and_hparams_of_tensorboardx_are_one_run(tmp_path: Path) -> None:
    writers = pytest.importorskip("tensorboardX")
    with writers.SummaryWriter(str(tmp_path / "exp")) as writer:
        for step in range(4):
            writer.add_scalar("lr", 0.5, step)
            writer.add_scalars("loss", {"train": 1.0, "val": 2.0}, step)
        writer.add_hparams({"width": 8}, {"best": 1.0})
    table = only(tmp_path)
    assert table.frame.select("loss", "lr", "eval_loss").rows() == [(1.0, 0.5, 2.0)] * 4
    assert "hparams-run-ignored" in notice_ids(table)


def test_experiments_below_a_folder_with_a_file_of_its_own_stay_apart(tmp_path: Path) -> None:
    write(tmp_path / "logs", losses(range(5), 1.0))
    write(tmp_path / "logs" / "exp1", losses(range(6), 2.0))
    write(tmp_path / "logs" / "exp2" / "train", losses(range(7), 3.0))
    write(tmp_path / "logs" / "exp2" / "val", losses(range(7), 4.0))
    tables = read(tmp_path)
    assert sorted(table.frame.height for table in tables.values()) == [5, 6, 7]
    assert sorted("eval_loss" in table.frame.columns for table in tables.values()) == [False, False, True]


def test_versions_of_lightning_are_runs(tmp_path: Path) -> None:
    write(tmp_path / "lightning_logs" / "version_0", losses(range(5), 1.0))
    write(tmp_path / "lightning_logs" / "version_1", losses(range(6), 2.0))
    assert sorted(table.frame.height for table in read(tmp_path).values()) == [5, 6]


def test_workers_that_log_the_same_tags_at_one_time_are_ranks_and_no_restarts(tmp_path: Path) -> None:
    for rank in range(3):
        write(
            tmp_path, losses(range(20), float(rank)), wall=T0 + 0.01 * rank, name=f"events.out.tfevents.1.host.{rank}.0"
        )
    table = only(tmp_path)
    assert steps(table) == list(range(20))
    assert table.source.segments == 1
    assert table.frame["loss"].to_list() == [0.0] * 20
    assert table.frame["loss@rank2"].to_list() == [2.0] * 20


def test_workers_that_restart_together_keep_their_ranks(tmp_path: Path) -> None:
    for start, begin in ((0, T0), (15, T0 + 100)):
        for rank in range(2):
            name = f"events.out.tfevents.{start}.host.{rank}.0"
            write(tmp_path, losses(range(start, start + 20), float(rank)), wall=begin + 0.01 * rank, name=name)
    table = only(tmp_path)
    assert table.source.segments == 2
    assert steps(table) == [*range(20), *range(15, 35)]


def test_writers_of_different_tags_in_one_folder_share_the_rows(tmp_path: Path) -> None:
    write(tmp_path, losses(range(20), 1.0), name="events.out.tfevents.1.host.1.0")
    write(tmp_path, losses(range(20), 0.5, "grad_norm"), wall=T0 + 0.05, name="events.out.tfevents.1.host.1.1")
    table = only(tmp_path)
    assert steps(table) == list(range(20))
    assert table.frame["grad_norm"].to_list() == [0.5] * 20


SERIES = Head(frozenset({"loss"}), has_series=True)


@pytest.mark.parametrize(
    ("heads", "runs"),
    [
        ({"": SERIES}, {"": ""}),
        ({"train": SERIES, "val": SERIES}, {"train": "", "val": ""}),
        ({"a/train": SERIES, "a/val": SERIES, "b": SERIES}, {"a/train": "a", "a/val": "a", "b": "b"}),
        ({"": SERIES, "loss_x": SERIES, "loss/y": SERIES}, {"": "", "loss_x": "", "loss/y": ""}),
        ({"loss_x": SERIES}, {"loss_x": "loss_x"}),
        ({"": SERIES, "lr_sweep": SERIES}, {"": "", "lr_sweep": "lr_sweep"}),
        ({"": SERIES, "1796062097.32": Head(frozenset({"m"}), has_series=False)}, {"": "", "1796062097.32": IGNORED}),
        ({"": SERIES, "1796062097": SERIES}, {"": "", "1796062097": "1796062097"}),
        ({"1796062097": Head(frozenset(), has_series=False)}, {"1796062097": "1796062097"}),
    ],
)
def test_which_folders_are_runs(heads: dict[str, Head], runs: dict[str, str | None]) -> None:
    assert runs_of(heads) == runs


@pytest.mark.parametrize(
    ("folder", "tag", "name"),
    [
        ("", "loss", "loss"),
        ("train", "loss", "loss"),
        ("validation", "loss", "eval/loss"),
        ("val", "val_loss", "val_loss"),
        ("loss_train", "loss", "loss"),
        ("a_loss_val", "a/loss", "eval/a/loss"),
        ("a_loss_policy", "a/loss", "a/loss/policy"),
        ("a/loss/policy", "a/loss", "a/loss/policy"),
        ("loss_policy", "other", "other"),
    ],
)
def test_what_tags_are_called(folder: str, tag: str, name: str) -> None:
    assert rename_for(folder)(tag) == name
