"""CSV and parquet: our readers beside polars alone, on the same file in the same run.

    python benchmarks/tables.py [--rows 1000000] [--columns 16] [--repeat 3]

CPU seconds of the read alone, in fresh interleaved processes (A B A B), imports done before; the ratio is taken pair by
pair. Our figure holds the whole way to a RunTable: sniffing, aliases, steps, segments, coalescing, inferred NaN.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

OURS = """
import json, resource, sys, time
import polars, numpy, pyarrow
from triage.options import Options
from triage.readers import csv, parquet, read_runs
started = time.process_time()
run = read_runs([sys.argv[1]], Options()).runs[0]
print(json.dumps([time.process_time() - started, run.frame.height, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""
THEIRS = """
import json, resource, sys, time
import polars, numpy, pyarrow
started = time.process_time()
frame = polars.read_csv(sys.argv[1]) if sys.argv[1].endswith("csv") else polars.read_parquet(sys.argv[1])
print(json.dumps([time.process_time() - started, frame.height, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""


def write(folder: Path, rows: int, columns: int) -> list[Path]:
    """The same table as CSV and parquet."""
    import polars as pl

    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"step": np.arange(rows), "loss": 2 + rng.standard_normal(rows) * 0.02, "grad_norm": rng.random(rows)}
        | {f"metric_{k}": rng.standard_normal(rows) for k in range(columns - 3)}
    )
    paths = [folder / "run.csv", folder / "run.parquet"]
    frame.write_csv(paths[0])
    frame.write_parquet(paths[1])
    return paths


def cost(code: str, path: Path) -> tuple[float, int, float]:
    """(CPU seconds, rows, peak MiB) of one read in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    seconds, rows, peak = json.loads(done.stdout)
    return seconds, rows, peak / 1024


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print("| file | reader | read CPU s | peak MiB | ratio to polars |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in write(Path(folder), options.rows, options.columns):
            pairs = [(cost(OURS, path), cost(THEIRS, path)) for _ in range(options.repeat)]
            if any(a[1] != b[1] for a, b in pairs):
                raise SystemExit(f"{path.name}: the readers disagree on the number of rows")
            ratio = statistics.median(a[0] / b[0] for a, b in pairs)
            for i, name in enumerate(("triage", "polars")):
                seconds = statistics.median(p[i][0] for p in pairs)
                peak = statistics.median(p[i][2] for p in pairs)
                told = f"{ratio:.2f} x" if i == 0 else "1"
                size = f"{path.suffix[1:]}, {path.stat().st_size / 1e6:.0f} MB"
                print(f"| {size} | {name} | {seconds:.2f} | {peak:.0f} | {told} |")


if __name__ == "__main__":
    main()
