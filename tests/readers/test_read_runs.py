"""From paths to tables: the whole readers' room, and what the writers of the labelled logs wrote."""

from __future__ import annotations

import io
import json
import math
import random
from pathlib import Path

import polars as pl
import pytest

from triage.errors import UsageError
from triage.model import RunTable
from triage.options import Limits, Options
from triage.readers import READERS, ReadResult, read_runs

SHARED = Path(__file__).resolve().parents[3] / "shared" / "cases"
FORMATS = SHARED / "formats"
READ_HERE = frozenset(
    "csv wandb_export keras lightning hf_trainer jsonl tensorboard_ui detectron2 mmengine llamafactory".split()  # noqa: SIM905
)


def read(*paths: Path | str, **options) -> ReadResult:
    return read_runs([str(path) for path in paths], Options(**options))


def curve(path: Path, *, start: float = 4.0, steps: range = range(60), name: str = "loss", **more: float) -> None:
    rows = [{"step": s, name: round(start * 0.97**s + 0.01 * ((s * 7) % 5), 6), **more} for s in steps]
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_csv(path)


def ids(run: RunTable) -> set[str]:
    return {notice.id for notice in run.notices}


def test_several_paths_are_several_runs(tmp_path: Path) -> None:
    curve(tmp_path / "a.csv")
    curve(tmp_path / "b.csv", start=5.0)
    result = read(tmp_path / "a.csv", tmp_path / "b.csv")
    assert [run.run_id for run in result.runs] == ["a.csv", "b.csv"]
    assert result.picked == ()


def test_ids_are_told_apart(tmp_path: Path) -> None:
    curve(tmp_path / "x/m.csv")
    curve(tmp_path / "y/m.csv")
    assert [run.run_id for run in read(tmp_path / "x/m.csv", tmp_path / "y/m.csv").runs] == ["m.csv", "m.csv (2)"]


def test_joined_files_of_training_and_evaluation_are_one_run(tmp_path: Path) -> None:
    curve(tmp_path / "train.csv")
    curve(tmp_path / "val.csv", start=4.5, steps=range(0, 60, 10))
    (run,) = read(tmp_path / "train.csv", tmp_path / "val.csv", join=True).runs
    assert run.source.segments == 1
    assert run.source.columns["loss"].points == 60
    assert run.source.columns["eval_loss"].points == 6


def test_joined_files_of_a_restart_follow_one_another(tmp_path: Path) -> None:
    curve(tmp_path / "part1.csv", steps=range(40))
    curve(tmp_path / "part2.csv", steps=range(30, 60))
    (run,) = read(tmp_path / "part1.csv", tmp_path / "part2.csv", join=True).runs
    assert run.source.segments == 2
    assert run.source.columns["loss"].points == 70


def test_another_record_of_a_run_is_not_another_run(tmp_path: Path) -> None:
    curve(tmp_path / "csv/version_0/metrics.csv", lr=0.1)
    rounded = pl.read_csv(tmp_path / "csv/version_0/metrics.csv").select("step", pl.col("loss").round(3))
    (tmp_path / "other").mkdir()
    rounded.head(50).write_csv(tmp_path / "tb.csv")
    curve(tmp_path / "other/metrics.csv", start=9.0)
    result = read(tmp_path)
    assert [Path(run.source.path).name for run in result.runs] == ["metrics.csv", "metrics.csv"]
    assert "other-records-of-run" in ids(result.runs[0])
    assert result.picked == tuple(run.source.path for run in result.runs)


def test_what_a_search_passes_over_is_told(tmp_path: Path) -> None:
    curve(tmp_path / "run/metrics.csv")
    (tmp_path / "run/broken.parquet").write_bytes(b"PAR1" + bytes(50))
    (tmp_path / "stats.csv").write_text("city,inhabitants\n1,5\n2,7\n")
    (tmp_path / "notes.json").write_text('{"title": "x", "numbers": [1, 2]}')
    (run,) = read(tmp_path).runs
    assert {"file-not-read", "files-without-metrics"} <= ids(run)
    assert read(tmp_path).errors == ()
    (alone,) = read(tmp_path / "stats.csv").runs
    assert alone.frame.height == 2, "what is named outright stays"


def test_a_broken_log_in_a_folder_of_its_own_is_an_error(tmp_path: Path) -> None:
    curve(tmp_path / "a/metrics.csv")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/metrics.parquet").write_bytes(b"PAR1" + bytes(50))
    result = read(tmp_path)
    assert [run.run_id for run in result.runs] == ["a"]
    assert [Path(error.path or "").name for error in result.errors] == ["metrics.parquet"]


def test_the_record_with_steps_and_digits_is_believed(tmp_path: Path) -> None:
    curve(tmp_path / "b.csv")
    whole = pl.read_csv(tmp_path / "b.csv")
    whole.select(pl.col("loss").round(3), lr=pl.lit(0.1)).write_csv(tmp_path / "a.csv")
    (run,) = read(tmp_path).runs
    assert Path(run.source.path).name == "b.csv"
    killed = whole.head(40)
    killed.write_csv(tmp_path / "b.csv")
    (run,) = read(tmp_path).runs
    assert Path(run.source.path).name == "a.csv", "a third more losses outweigh the steps"


def test_equal_runs_in_folders_of_their_own_are_two(tmp_path: Path) -> None:
    curve(tmp_path / "seed0/m.csv")
    curve(tmp_path / "seed1/m.csv")
    assert [run.run_id for run in read(tmp_path).runs] == ["seed0", "seed1"]


def test_a_mapping_must_fit_one_of_the_runs(tmp_path: Path) -> None:
    curve(tmp_path / "a.csv", name="objective_value")
    curve(tmp_path / "b.csv")
    result = read(tmp_path / "a.csv", tmp_path / "b.csv", mapping={"loss": "objective_value"})
    assert [run.run_id for run in result.runs] == ["a.csv"]
    assert [(error.exit_code, "objective_value" in error.message) for error in result.errors] == [(2, True)]
    with pytest.raises(UsageError, match="no column"):
        read(tmp_path / "b.csv", mapping={"loss": "objective_value"})


def test_standard_input_and_a_packed_file(tmp_path: Path) -> None:
    curve(tmp_path / "a.csv")
    result = read_runs([], Options(), stdin=io.BytesIO((tmp_path / "a.csv").read_bytes()))
    assert [(run.run_id, run.source.path) for run in result.runs] == [("stdin", "-")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"\n \n", "nothing but blanks"),
        (bytes((i * i * 31 + 7 * i) % 251 for i in range(5000)), "no format"),
        (b"step,loss\n", "no row"),
        (b"The loss is low.\nThe sun is up.\n", "no format"),
        (b"PK\x03\x04" + bytes(50), "zip archive"),
        (b"PAR1" + bytes(50), "not complete"),
        (b'"Name","State"\n"a","1"\n', "one row for every run"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_a_hint(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "metrics.csv"
    if content is not None:
        path.write_bytes(content)
    result = read(path)
    assert result.runs == ()
    (error,) = result.errors
    assert message in error.message
    assert error.exit_code == 3
    assert error.path == str(path)
    assert error.hint


def test_one_bad_path_does_not_hide_the_others(tmp_path: Path) -> None:
    curve(tmp_path / "a.csv")
    result = read(tmp_path / "a.csv", tmp_path / "gone.csv")
    assert len(result.runs) == len(result.errors) == 1


def test_a_table_without_a_loss_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("step,reward\n0,1\n1,2\n")
    (run,) = read(tmp_path / "m.csv").runs
    assert run.frame.columns == ["row", "segment", "step", "reward"]


def test_a_very_long_line(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(b"step,loss,note\n0,2.5,a\n1,2.4," + b"x" * (3 << 20) + b"\n2,2.3,b\n")
    (run,) = read(path, limits=Limits(line_bytes=1 << 20)).runs
    assert run.frame["step"].to_list() == [0, 2]
    assert "long-lines" in ids(run)


def test_very_many_columns(tmp_path: Path) -> None:
    names = [f"m{i}" for i in range(20_000)]
    rows = "".join(f"{s},2.5," + ",".join("1" for _ in names) + "\n" for s in range(3))
    (tmp_path / "m.csv").write_text(f"step,loss,{','.join(names)}\n{rows}")
    (run,) = read(tmp_path / "m.csv").runs
    assert run.frame.width == 2 + Options().limits.columns
    assert run.source.columns["loss"].points == 3
    assert [(n.id, n.count) for n in run.notices] == [("columns-over-limit", 15_002)]


def test_any_bytes_give_a_table_or_an_error(tmp_path: Path) -> None:
    """Byte-level damage of a good table never raises."""
    curve(tmp_path / "good.csv", lr=0.1)
    good = (tmp_path / "good.csv").read_bytes()
    dice = random.Random(7)  # noqa: S311 - damage, no secret
    for _ in range(150):
        bad = bytearray(good)
        for _ in range(dice.randint(1, 6)):
            place = dice.randrange(len(bad))
            match dice.randrange(3):
                case 0:
                    bad[place] = dice.randrange(256)
                case 1:
                    del bad[place : place + dice.randint(1, 200)]
                case _:
                    bad[place:place] = dice.randbytes(dice.randint(1, 5))
        (tmp_path / "bad.csv").write_bytes(bad)
        result = read(tmp_path / "bad.csv")
        assert len(result.runs) + len(result.errors) == 1


def test_readers_have_names_of_their_own() -> None:
    assert len({reader.name for reader in READERS}) == len(READERS)


# ── labelled logs ────────────────────────────────────────────────────────────────────────────────────────────────────


def truths(folder: str) -> list[dict]:
    index = SHARED / folder / "truth.jsonl"
    return [json.loads(line) for line in index.read_text().splitlines()] if index.exists() else []


def labelled(folder: str, keep) -> list:
    found = [pytest.param(truth, id=truth["case"]) for truth in truths(folder) if keep(truth)]
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="the labelled logs are not here"))]


@pytest.mark.shared
@pytest.mark.parametrize(
    "truth", labelled("formats", lambda truth: truth["format"] in READ_HERE and truth["confidence"] == "high")
)
def test_what_the_writer_wrote_of_the_loss(truth: dict) -> None:
    result = read(FORMATS / truth["path"])
    if "exit" in truth:
        assert result.runs == ()
        assert {error.exit_code for error in result.errors} <= set(truth["exit"])
        return
    assert result.errors == ()
    (run,) = result.runs
    if not truth["reading"]:
        return
    loss = run.source.columns["loss"]
    assert loss.points == truth["reading"]["loss_points"]
    assert loss.nonfinite == truth["reading"]["loss_nonfinite"]
    step, value = truth["reading"]["loss_last"]
    wanted = float(value)
    assert loss.last is not None
    assert (math.isnan(loss.last) and math.isnan(wanted)) or math.isclose(loss.last, wanted, rel_tol=1e-4)
    assert step is None or loss.last_step == step


@pytest.mark.shared
@pytest.mark.parametrize("truth", labelled("public", lambda truth: truth["format"] == "table"))
def test_public_tables_are_read(truth: dict) -> None:
    result = read(SHARED / "public" / truth["path"])
    assert result.errors == ()
    assert result.runs


@pytest.mark.shared
@pytest.mark.parametrize("truth", labelled("faults", lambda truth: truth["variant"] not in ("full", "cut"))[::4])
def test_variants_of_names_and_spellings(truth: dict) -> None:
    """Every loss of the file arrives at its step, whatever the keys are called and however NaN is spelled."""
    path = SHARED / "faults" / truth["path"]
    want = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        name = next((n for n in ("loss", "train/loss", "train_loss") if n in row), None)
        step = next(row[n] for n in ("step", "iteration", "_step") if n in row)
        if name is not None:
            want[step] = float("nan") if row[name] is None else float(row[name])
    (run,) = read(path).runs
    held = run.frame.filter(pl.col("loss").is_not_null())
    assert held["step"].to_list() == list(want)
    for got, value in zip(held["loss"], want.values(), strict=True):
        assert got == value or (math.isnan(got) and math.isnan(value))
