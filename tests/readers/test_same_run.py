"""One run written by the real writers in five formats says the same thing; and every prefix keeps its whole records."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.synth import curve, grad
from triage.model import RunReport
from triage.options import Options
from triage.pipeline import analyze
from triage.readers import read_runs

ROWS = 400
Row = dict[str, float]


def rows() -> list[Row]:
    """A decay, a spike of three points at 200, NaN from 330 on; in single precision, the coarsest of the formats."""
    loss, norm = curve(ROWS, 0.01), grad(ROWS)
    loss[200:203] *= np.array([4.0, 3.0, 1.5])
    norm[200:203] *= 30
    loss[330:] = np.nan
    norm[330:] = np.nan
    norm[329] = np.inf
    values = np.stack([loss, norm, np.full(ROWS, 3e-4)], axis=1).astype(np.float32)
    return [{"step": i, "loss": float(a), "grad_norm": float(b), "lr": float(c)} for i, (a, b, c) in enumerate(values)]


def as_jsonl(folder: Path) -> Path:
    path = folder / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    return path


def as_csv(folder: Path) -> Path:
    path = folder / "run.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["step", "loss", "grad_norm", "lr"])
        writer.writeheader()
        writer.writerows(rows())
    return path


def as_parquet(folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "run.parquet"
    pq.write_table(pa.Table.from_pylist(rows()), path)
    return path


def as_events(folder: Path) -> Path:
    writers = pytest.importorskip("tensorboardX")
    writer = writers.SummaryWriter(str(folder / "events"))
    for row in rows():
        for name in ("loss", "grad_norm", "lr"):
            writer.add_scalar(name, row[name], int(row["step"]))
    writer.close()
    return folder / "events"


WANDB = """
import json, sys, wandb
run = wandb.init(mode="offline", dir=sys.argv[1], project="p", settings=wandb.Settings(silent=True))
for line in sys.stdin:
    row = json.loads(line)
    run.log({k: v for k, v in row.items() if k != "step"}, step=row["step"])
run.finish()
wandb.teardown()
"""


def as_wandb(folder: Path) -> Path:
    pytest.importorskip("wandb")
    text = "".join(json.dumps(row) + "\n" for row in rows())
    environ = {**os.environ, "WANDB_MODE": "offline", "WANDB_ERROR_REPORTING": "false"}
    done = subprocess.run(
        [sys.executable, "-c", WANDB, str(folder)],
        input=text,
        text=True,
        capture_output=True,
        timeout=180,
        env=environ,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"wandb offline does not run here: {done.stderr[-200:]}")
    return next(folder.glob("wandb/offline-run-*/*.wandb"))


WRITERS: dict[str, Callable[[Path], Path]] = {
    "jsonl": as_jsonl,
    "csv": as_csv,
    "parquet": as_parquet,
    "tensorboard": as_events,
    "wandb": as_wandb,
}


def judged(path: Path) -> RunReport:
    report = analyze([str(path)], Options())
    assert len(report.runs) == 1, report.errors
    return report.runs[0]


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_says_the_same(name: str, tmp_path: Path) -> None:
    reference = judged(as_jsonl(tmp_path))
    run = judged(WRITERS[name](tmp_path))
    assert run.verdict == reference.verdict == "unresolved"
    told = [(d.event_class, d.status, d.onset_step, d.last_healthy_step) for d in run.diagnoses]
    assert told == [(d.event_class, d.status, d.onset_step, d.last_healthy_step) for d in reference.diagnoses]
    assert ("consecutive", "recovered", 200, 199) in told or ("single-step", "recovered", 200, 199) in told
    assert [d.event_class for d in run.diagnoses][-1] == "non-recovering"


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_holds_the_same_values(name: str, tmp_path: Path) -> None:
    frame = read_runs([str(WRITERS[name](tmp_path))], Options()).runs[0].frame
    for column in ("loss", "grad_norm", "lr"):
        got, wanted = frame[column].to_list(), [row[column] for row in rows()]
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            assert a is not None
            assert (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-6)
    assert frame["step"].to_list() == list(range(ROWS))


def few() -> bytes:
    """Twelve short lines with a NaN, an infinity and a late column."""
    lines = [{"step": i, "loss": 2.0 - 0.1 * i, "lr": 1e-3} for i in range(12)]
    lines[5]["loss"] = math.nan
    lines[7]["grad_norm"] = math.inf
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def points(data: bytes, path: Path) -> int:
    """Loss points that are read of `data`; -1 where it is refused."""
    path.write_bytes(data)
    result = read_runs([str(path)], Options())
    assert all(error.exit_code == 3 for error in result.errors)
    if not result.runs:
        return -1
    columns = result.runs[0].source.columns
    return columns["loss"].points if "loss" in columns else 0


def test_every_prefix_of_json_lines_keeps_its_whole_rows(tmp_path: Path) -> None:
    data = few()
    for cut in range(len(data) + 1):
        whole = data[:cut].count(b"\n")
        got = points(data[:cut], tmp_path / "cut.jsonl")
        if whole >= 2:  # two rows are the least that shows what a text is
            assert whole <= got <= whole + 1, cut


def test_every_prefix_of_gzip_keeps_what_unpacks(tmp_path: Path) -> None:
    import zlib

    packed = gzip.compress(few(), mtime=0)
    for cut in range(len(packed) + 1):
        plain = zlib.decompressobj(31).decompress(packed[:cut])
        whole = plain.count(b"\n")
        got = points(packed[:cut], tmp_path / "cut.jsonl.gz")
        if whole >= 2:
            assert whole <= got <= whole + 1, cut
