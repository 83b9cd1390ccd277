"""MLflow's database and store of files: the same run read from both, and what each of them hides."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.errors import UnreadableError
from triage.options import Limits, Options
from triage.readers import mlflow, read_runs
from triage.readers._contract import everything
from triage.readers._mlflow_store import folder_source
from triage.readers._source import open_path, open_stream

SHARED = Path(__file__).parents[3] / "shared" / "cases" / "formats"

LARGEST = 1.7976931348623157e308

Logged = tuple[str, float, int, int]
"""Metric, value, milliseconds, step."""


def logged(steps=range(10), start: int = 1_700_000_000_000, apart: int = 1000) -> list[Logged]:
    """A loss and a gradient norm for each step, logged by two calls some milliseconds apart."""
    values: list[Logged] = []
    for place, step in enumerate(steps):
        values.append(("train/loss", math.nan if step == 7 else 2.0 - step / 100, start + place * apart, step))
        values.append(("grad_norm", math.inf if step == 7 else 1.0, start + place * apart + 3, step))
    return values


def write_database(
    path: Path,
    runs: dict[str, list[Logged]],
    *,
    names: dict[str, str] | None = None,
    status: str = "FINISHED",
    deleted: frozenset[str] = frozenset(),
) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(
            """
            CREATE TABLE runs (run_uuid VARCHAR(32) PRIMARY KEY, name VARCHAR(250), status VARCHAR(9),
                               start_time BIGINT, lifecycle_stage VARCHAR(20));
            CREATE TABLE params (key VARCHAR(250), value VARCHAR(8000), run_uuid VARCHAR(32));
            CREATE TABLE metrics (key VARCHAR(250) NOT NULL, value FLOAT NOT NULL, timestamp BIGINT NOT NULL,
                                  run_uuid VARCHAR(32) NOT NULL, step BIGINT DEFAULT '0' NOT NULL,
                                  is_nan BOOLEAN DEFAULT '0' NOT NULL,
                                  CONSTRAINT metric_pk PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
            """
        )
        for number, (run, values) in enumerate(runs.items()):
            name = (names or {}).get(run, f"name of {run}")
            stage = "deleted" if run in deleted else "active"
            database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", (run, name, status, 1000 * number, stage))
            database.execute("INSERT INTO params VALUES ('lr', '0.001', ?)", (run,))
            database.execute("INSERT INTO params VALUES ('opt', 'adam w', ?)", (run,))
            for metric, value, time, step in values:
                is_nan = math.isnan(value)
                kept = 0.0 if is_nan else max(-LARGEST, min(LARGEST, value))
                database.execute(
                    "INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", (metric, kept, time, run, step, is_nan)
                )
        database.commit()
    return path


def write_store(folder: Path, values: list[Logged], *, status: int = 3, stage: str = "active", end: str = "\n") -> Path:
    (folder / "metrics").mkdir(parents=True)
    for metric, value, time, step in values:
        path = folder / "metrics" / metric
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"{time} {value} {step}{end}")
    (folder / "params").mkdir()
    (folder / "params" / "lr").write_text("0.001")
    (folder / "params" / "opt").write_text("adam w")
    (folder / "meta.yaml").write_text(
        f"end_time: null\nlifecycle_stage: {stage}\nrun_id: {folder.name}\nrun_name: 'name of a'\nstart_time: 0\n"
        f"status: {status}\n"
    )
    return folder


def blocks(path: Path, limits: Limits | None = None) -> list:
    limits = limits or Limits()
    source = folder_source(path) if path.is_dir() else open_path(path, limits)
    assert mlflow.READER.sniff(source)
    return list(mlflow.READER.read(source, limits, everything))


def notices_of(found: list) -> dict:
    return {notice.id: notice for block in found for notice in block.notices}


def rows_of(found: list, run: str | None = None) -> list[tuple]:
    frames = [block.frame for block in found if block.frame.height and (run is None or block.run == run)]
    assert len(frames) == 1
    return frames[0].select("_step", "train/loss", "grad_norm").rows()


# ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_both_stores_give_the_same_rows(tmp_path):
    database = blocks(write_database(tmp_path / "mlflow.db", {"a": logged()}))
    store = blocks(write_store(tmp_path / "mlruns" / "0" / "a", logged()))
    assert [str(row) for row in rows_of(database)] == [str(row) for row in rows_of(store)]
    rows = rows_of(store)
    assert [row[0] for row in rows] == list(range(10))
    assert math.isnan(rows[7][1])
    assert rows[7][2] == math.inf
    for found in (database, store):
        assert found[0].meta["config"] == {"lr": 0.001, "opt": "adam w"}
        assert found[0].meta["step_column"] == "_step"
        assert found[0].run == "name of a"
        assert not notices_of(found)


def test_a_step_logged_twice_keeps_both_values_in_the_order_of_time(tmp_path):
    values = logged(range(6)) + logged(range(3, 8), start=1_700_000_100_000)
    for path in (write_database(tmp_path / "m.db", {"a": values}), write_store(tmp_path / "a", values)):
        assert [row[0] for row in rows_of(blocks(path))] == [*range(6), *range(3, 8)]
        run = read_runs([str(path)], Options()).runs[0]
        assert run.frame["segment"].to_list() == [0] * 6 + [1] * 5
        assert run.frame["loss"].null_count() == 0


def test_without_steps_a_row_is_a_round_of_metrics(tmp_path):
    values = [
        (metric, float(place), 1_700_000_000_000 + 10 * place + shift, 0)
        for place in range(5)
        for shift, metric in enumerate(("train/loss", "grad_norm"))
    ]
    for path in (write_database(tmp_path / "m.db", {"a": values}), write_store(tmp_path / "a", values)):
        assert rows_of(blocks(path)) == [(0, float(place), float(place)) for place in range(5)]


def test_what_mlflow_measures_by_itself_is_left_out_and_counted(tmp_path):
    values = logged() + [("system/cpu_utilization_percentage", 5.0, 1_700_000_000_000 + n, n) for n in range(4)]
    for path in (write_database(tmp_path / "m.db", {"a": values}), write_store(tmp_path / "a", values)):
        found = blocks(path)
        assert len(rows_of(found)) == 10
        assert notices_of(found)["system-metrics-skipped"].count == 4


@pytest.mark.parametrize(
    ("status", "number", "notice"), [("RUNNING", 1, "run-not-finished"), ("FAILED", 4, "run-failed")]
)
def test_how_the_run_ended(tmp_path, status, number, notice):
    for path in (
        write_database(tmp_path / "m.db", {"a": logged()}, status=status),
        write_store(tmp_path / "a", logged(), status=number),
    ):
        assert notices_of(blocks(path))[notice].detail == {"status": status}


# ── the database ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.shared
def test_the_labelled_database():
    folder = SHARED / "mlflow__sqlite"
    if not folder.exists():
        pytest.skip("the labelled cases are not here")
    truth = json.loads((SHARED / "mlflow__sqlite.case.json").read_text())["truth"]
    run = read_runs([str(folder / "mlflow.db.xz")], Options()).runs[0]
    points = run.frame.select("step", "loss").drop_nulls()
    assert points.height == truth["loss_rows"]
    assert points["loss"].is_nan().sum() == truth["nan_loss"]
    assert points["loss"].is_infinite().sum() == truth["inf_loss"]
    assert run.frame["grad_norm"].is_nan().sum() == truth["nan_grad_norm"]
    finite = points.filter(points["loss"].is_finite())
    step, loss = truth["max_finite_loss"]
    assert finite.filter(finite["loss"] == finite["loss"].max()).rows() == [(step, loss)]


def test_several_runs_are_several_tables_in_the_order_of_their_start(tmp_path):
    path = write_database(
        tmp_path / "m.db",
        {"b": logged(), "a": logged(range(5)), "c": logged(range(6))},
        names={"a": "x", "c": "x", "b": ""},
    )
    found = blocks(path)
    assert list(dict.fromkeys(block.run for block in found)) == ["b", "x-a", "x-c"]
    assert [len(rows_of(found, run)) for run in ("b", "x-a", "x-c")] == [10, 5, 6]
    assert [run.run_id for run in read_runs([str(path)], Options()).runs] == ["b", "x-a", "x-c"]


def test_runs_in_the_bin_are_left_out_and_counted(tmp_path):
    path = write_database(tmp_path / "m.db", {"a": logged(), "b": logged()}, deleted=frozenset("a"))
    found = blocks(path)
    assert {block.run for block in found} == {"name of b"}
    assert notices_of(found)["deleted-runs"].count == 1


def test_runs_without_metrics_are_counted(tmp_path):
    path = write_database(tmp_path / "m.db", {"a": logged(), "b": [], "c": []})
    found = blocks(path)
    assert {block.run for block in found} == {"name of a"}
    assert notices_of(found)["runs-without-rows"].count == 2


def test_many_values_come_in_several_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(mlflow, "VALUES", 7)
    path = write_database(tmp_path / "m.db", {"a": logged(range(50))})
    run = read_runs([str(path)], Options()).runs[0]
    assert run.frame["step"].to_list() == list(range(50))
    assert run.frame["loss"].null_count() == run.frame["grad_norm"].null_count() == 0


def test_packed_and_from_standard_input(tmp_path):
    path = write_database(tmp_path / "m.db", {"a": logged()})
    packed = tmp_path / "m.db.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain = read_runs([str(path)], Options()).runs[0].frame
    assert read_runs([str(packed)], Options()).runs[0].frame.equals(plain)
    assert read_runs(["-"], Options(), stdin=io.BytesIO(path.read_bytes())).runs[0].frame.equals(plain)


def test_a_database_that_is_being_written_is_read_without_a_lock(tmp_path):
    path = write_database(tmp_path / "m.db", {"a": logged()})
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert len(rows_of(blocks(path))) == 10
        writer.execute("ROLLBACK")


def test_values_in_the_write_ahead_log_are_read(tmp_path):
    path = write_database(tmp_path / "m.db", {"a": logged(range(9))})
    with contextlib.closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO metrics VALUES ('train/loss', 1.0, 1700000100000, 'a', 9, 0)")
        writer.commit()
        assert [row[0] for row in rows_of(blocks(path))] == list(range(10))


def test_the_database_is_not_touched(tmp_path):
    path = write_database(tmp_path / "m.db", {"a": logged()})
    before = (path.stat().st_mtime_ns, path.read_bytes())
    blocks(path)
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before
    assert list(tmp_path.iterdir()) == [path]


def test_old_tables_without_step_and_mark(tmp_path):
    path = tmp_path / "m.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT)")
        for n in range(3):
            database.execute("INSERT INTO metrics VALUES ('loss', ?, ?, 'abc')", (2.0 - n, n))
        database.commit()
    found = blocks(path)
    assert found[0].run == "abc"
    assert found[0].frame["loss"].to_list() == [2, 1, 0]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("CREATE TABLE studies (id INTEGER)", "without MLflow's table of metrics"),
        ("CREATE TABLE metrics (key, value, timestamp, run_uuid)", "holds no metrics yet"),
        ("CREATE VIEW metrics AS SELECT 1 AS key, 2 AS value, 3 AS timestamp, 4 AS run_uuid", "without MLflow's table"),
    ],
)
def test_databases_that_hold_nothing_to_read(tmp_path, schema, words):
    path = tmp_path / "m.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(schema)
    with pytest.raises(UnreadableError, match=words) as fault:
        blocks(path)
    assert fault.value.hint


def test_every_kind_of_cut_database_is_a_clear_error_or_rows(tmp_path):
    whole = write_database(tmp_path / "m.db", {"a": logged(range(300))}).read_bytes()
    assert len(whole) > 8 * 4096
    path = tmp_path / "cut.db"
    for cut in (16, 100, 101, 4095, 4096, 5000, 8192, 12_288, 20_000, len(whole) - 4096, len(whole) - 1):
        path.write_bytes(whole[:cut])
        found = []
        with contextlib.suppress(UnreadableError):
            found = blocks(path)
        rows = sum(block.frame.height for block in found)
        assert not found or rows == 300 or "database-damaged" in notices_of(found)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_behind_the_signature_are_a_clear_error(rubbish):
    with pytest.raises(UnreadableError) as fault:
        list(mlflow.READER.read(open_stream(io.BytesIO(mlflow.SIGNATURE + rubbish), Limits()), Limits(), everything))
    assert fault.value.hint


# ── the store of files ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tree_of_runs_is_several_runs(tmp_path):
    for name in ("a", "b"):
        write_store(tmp_path / "mlruns" / "0" / name, logged())
    (tmp_path / "mlruns" / "0" / "meta.yaml").write_text("artifact_location: x\nname: Default\n")
    result = read_runs([str(tmp_path)], Options())
    assert not result.errors
    assert len(result.runs) == 2
    assert all(run.source.format == "mlflow" for run in result.runs)
    assert all(run.frame["step"].to_list() == list(range(10)) for run in result.runs)


@pytest.mark.parametrize("line", ["1700000000000 0.5", "1700000000000 0.5 0", "1700000000000 0.5 0 data 1f3a"])
def test_lines_of_all_versions(tmp_path, line):
    folder = write_store(tmp_path / "a", [])
    (folder / "metrics" / "loss").write_text(line + "\n")
    assert blocks(folder)[0].frame.rows(named=True) == [{"_step": 0, "_timestamp": 1_700_000_000_000, "loss": 0.5}]


def test_a_cut_file_of_a_metric_and_lines_that_are_none_are_counted(tmp_path):
    folder = write_store(tmp_path / "a", [])
    whole = "".join(f"{1_700_000_000_000 + n} nan {n}\n" for n in range(12))
    for cut in range(len(whole) + 1):
        (folder / "metrics" / "loss").write_text(whole[:cut])
        found = blocks(folder)
        lines = whole[:cut].count("\n")
        assert found[0].frame.height == lines
        rest = len(whole[:cut].rpartition("\n")[2])
        assert notices_of(found).get("torn-tail", None) == (found[0].notices[0] if rest else None)
        assert not rest or found[0].notices[0].count == rest
    (folder / "metrics" / "loss").write_text("oops\n1700000000000 x 3\n\n1700000000000 inf 3\n")
    found = blocks(folder)
    assert found[0].frame["loss"].to_list() == [math.inf]
    assert notices_of(found)["skipped-lines"].count == 2
    assert notices_of(found)["skipped-lines"].where == "loss"


def test_a_deleted_run_that_is_named_is_read_and_said(tmp_path):
    found = blocks(write_store(tmp_path / "a", logged(), stage="deleted"))
    assert len(rows_of(found)) == 10
    assert "deleted-run" in notices_of(found)


def test_links_out_of_the_store_are_not_followed(tmp_path):
    folder = write_store(tmp_path / "a", logged())
    secret = tmp_path / "secret"
    secret.write_text("1700000000000 1 1\n")
    (folder / "metrics" / "link").symlink_to(secret)
    (folder / "params" / "link").symlink_to(secret)
    found = blocks(folder)
    assert "link" not in found[0].frame.columns
    assert "link" not in found[0].meta["config"]


def test_a_run_without_metrics_is_an_empty_block(tmp_path):
    folder = write_store(tmp_path / "a", [])
    assert blocks(folder)[0].frame.height == 0
    shutil.rmtree(folder / "metrics")
    assert not mlflow.READER.sniff(folder_source(folder))
