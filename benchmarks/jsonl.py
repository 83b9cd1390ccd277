"""How fast JSON lines are read, beside what a person would use instead.

    python benchmarks/jsonl.py --rows 1000000 --repeat 3 --kinds clean nan

Every reading is a process of its own, so that peaks of memory can be told apart; the readings of one file are
interleaved (A B C A B C …), and what counts are ratios within one table: CPU seconds of the read alone, imports not
counted. Every reader tells how many finite losses and how many loss scales it read; who fails or loses some is marked.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WANTED = ("step", "loss", "loss_scale")


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _row(i: int, rows: int, draw: random.Random) -> dict[str, Any]:
    return {
        "step": i,
        "loss": 2 + 2 * math.exp(-6 * i / rows) + draw.gauss(0, 0.05),
        "grad_norm": abs(draw.gauss(1, 0.3)),
        "lr": 3e-4 * min(1, i / 2000),
        "param_norm": 50 + 1e-5 * i + 1e-3 * draw.random(),
        "update_ratio": 1e-3 * draw.random(),
        "tokens": 4096 * i,
        "seq_len": draw.randint(32, 4096),
        "loss_scale": 65536.0,
        "clip_coef": draw.random(),
        "time": 1.7e9 + 0.31 * i,
        "epoch": i / 60000,
    }


def _lines(kind: str, rows: int) -> Iterator[str]:
    draw = random.Random(7)  # noqa: S311 - a fixed file, no secret
    for i in range(rows):
        row = _row(i, rows, draw)
        if kind == "nan" and i % 50 == 7:
            row["loss"] = row["grad_norm"] = math.nan
        if kind == "late" and i < 0.6 * rows:
            del row["loss_scale"]
        if kind == "mixed" and i % 10 == 0:
            row = {"step": i, "eval_loss": row["loss"], "eval_runtime": row["clip_coef"]}
        if kind == "nested":
            row = {"step": row.pop("step"), "train": {"loss": row.pop("loss"), "optim": row}}
        yield json.dumps(row)
        if kind == "garbage" and i % 100 == 0:
            yield f"WARNING: slow step {i}"


def write(path: Path, kind: str, rows: int) -> None:
    """Write one file of the given kind."""
    with path.open("w") as file:
        file.writelines(line + "\n" for line in _lines(kind, rows))


# ── readers: file → finite losses, loss scales ───────────────────────────────────────────────────────────────────────

Counts = tuple[int, int]


def _triage(path: Path, wanted: Callable[[str], bool]) -> Counts:
    from triage.options import Limits
    from triage.readers._source import open_path
    from triage.readers.jsonl import READER

    blocks = list(READER.read(open_path(path, Limits()), Limits(), wanted))
    columns = {name.rpartition("/")[2]: [] for block in blocks for name in block.frame.columns}
    for block in blocks:
        for name in block.frame.columns:
            columns[name.rpartition("/")[2]].append(block.frame[name])
    losses = sum(int(column.is_finite().sum()) for column in columns["loss"])
    return losses, sum(column.count() for column in columns["loss_scale"])


def read_triage(path: Path) -> Counts:
    """Read with triage, all columns."""
    return _triage(path, lambda _name: True)


def read_triage_three(path: Path) -> Counts:
    """Read with triage, three columns."""
    return _triage(path, lambda name: name.rpartition("/")[2] in WANTED)


def _polars_counts(frame: Any) -> Counts:
    if "train" in frame.columns:
        frame = frame.unnest("train").unnest("optim")
    scales = frame["loss_scale"].count() if "loss_scale" in frame.columns else 0
    return int(frame["loss"].is_finite().sum()), scales


def read_polars(path: Path) -> Counts:
    """Read with the polars NDJSON reader as it is."""
    import polars as pl

    return _polars_counts(pl.read_ndjson(path))


def read_rows(path: Path) -> Counts:
    """Read line by line with orjson; a failing line with the standard library; what fails there too is skipped."""
    import orjson
    import polars as pl

    rows = []
    with path.open("rb") as file:
        for line in file:
            try:
                rows.append(orjson.loads(line))
            except ValueError:
                try:
                    rows.append(json.loads(line))
                except ValueError:
                    continue
    names = dict.fromkeys(name for row in rows for name in row)
    return _polars_counts(pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, strict=False))


def read_pandas(path: Path) -> Counts:
    """Read with pandas."""
    import numpy as np
    import pandas as pd

    frame = pd.read_json(path, lines=True)
    if "train" in frame:
        losses, scales = frame["train"].str.get("loss"), frame["train"].str.get("optim").str.get("loss_scale")
    else:
        losses, scales = frame["loss"], frame["loss_scale"]
    return int(np.isfinite(losses.to_numpy(dtype=float)).sum()), int(scales.count())


READERS: dict[str, tuple[Callable[[Path], Counts], tuple[str, ...]]] = {
    "triage": (read_triage, ("polars", "orjson", "numpy", "triage.readers")),
    "triage, 3 columns": (read_triage_three, ("polars", "orjson", "numpy", "triage.readers")),
    "polars read_ndjson": (read_polars, ("polars",)),
    "orjson rows + fallback": (read_rows, ("polars", "orjson")),
    "pandas.read_json(lines=True)": (read_pandas, ("pandas",)),
}


# ── measuring ────────────────────────────────────────────────────────────────────────────────────────────────────────


def child(name: str, path: Path) -> None:
    """Read once and print CPU seconds, peak memory in MiB and what was counted."""
    reader, modules = READERS[name]
    for module in modules:
        importlib.import_module(module)
    start = time.process_time()
    try:
        counts = reader(path)
    except Exception as fault:  # noqa: BLE001 - that a reader fails is a result
        print(json.dumps({"fault": type(fault).__name__}))
        return
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    print(json.dumps({"seconds": seconds, "peak": peak, "counts": counts}))


def measure(path: Path, names: list[str], repeat: int) -> dict[str, list[dict[str, Any]]]:
    """Run all readers on a file in turn, `repeat` times."""
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _ in range(repeat):
        for name in names:
            command = [sys.executable, __file__, "--child", name, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            results[name].append(json.loads(done.stdout) if done.stdout else {"fault": "crash"})
    return results


def expected_counts(path: Path) -> Counts:
    """How many finite losses and how many loss scales were written, by the standard library."""
    losses = scales = 0
    with path.open() as file:
        for line in file:
            if line.startswith("{"):
                row = json.loads(line)
                row |= row.pop("train", {})
                row |= row.pop("optim", {})
                losses += math.isfinite(row.get("loss", math.nan))
                scales += "loss_scale" in row
    return losses, scales


def report(kind: str, path: Path, results: dict[str, list[dict[str, Any]]]) -> None:
    """Print one table in Markdown."""
    size = path.stat().st_size / 1e6
    expected = expected_counts(path)
    print(f"\n### {kind}: {size:.0f} MB\n")
    print("| reader | CPU s | MB/s of CPU | × triage | peak MiB | result |")
    print("|---|---|---|---|---|---|")
    own = statistics.median(run["seconds"] for run in results["triage"] if "seconds" in run)
    for name, runs in results.items():
        whole = [run for run in runs if "seconds" in run]
        if not whole:
            print(f"| {name} | | | | | fails: {runs[0]['fault']} |")
            continue
        seconds = statistics.median(run["seconds"] for run in whole)
        peak = statistics.median(run["peak"] for run in whole)
        lost = [written - read for written, read in zip(expected, whole[0]["counts"], strict=True)]
        verdict = f"loses {lost[0]} losses, {lost[1]} loss scales" if any(lost) else "ok"
        print(f"| {name} | {seconds:.2f} | {size / seconds:.0f} | {seconds / own:.2f} | {peak:.0f} | {verdict} |")


def main() -> None:
    """Write the files, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=3)
    kinds = ["clean", "nan", "late", "mixed", "nested", "garbage"]
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--without", nargs="*", choices=sorted(READERS), default=[], help="readers to leave out")
    parser.add_argument("--child", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]))
        return
    names = [
        n for n in READERS if n not in options.without and (importlib.util.find_spec("pandas") or "pandas" not in n)
    ]
    print(f"{options.rows} rows × 12 keys, median of {options.repeat}, interleaved; CPU seconds of the read alone")
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kinds:
            path = Path(folder) / f"{kind}.jsonl"
            write(path, kind, options.rows)
            report(kind, path, measure(path, names, options.repeat))
            path.unlink()


if __name__ == "__main__":
    main()
