"""A million rows in one command: `triage analyze` beside pandas and a rolling z-score, same file, same run.

    python benchmarks/analyze.py [--rows 1000000] [--repeat 3]

Whole processes, interleaved A B A B; CPU seconds (user + system) and peak memory of each child as the operating
system counts them. Needs the `bench` extra. Prints a Markdown table; medians are quoted, ratios are
taken pair by pair.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PANDAS = """
import sys, pandas as pd
frame = pd.read_json(sys.argv[1], lines=True)
loss = frame["loss"]
mean, spread = loss.rolling(128).mean().shift(), loss.rolling(128).std().shift()
z = (loss - mean) / spread
print(frame.loc[z > 6, "step"].tolist()[:20])
"""


def write(path: Path, rows: int, extra: int) -> None:
    """A decaying loss with one spike in the middle, gradient norm, lr, and `extra` more numbers a row."""
    rng = np.random.default_rng(0)
    step = np.arange(rows)
    loss = (1.8 + 9 * (1 + step / 8) ** -0.6) * np.exp(0.02 * rng.standard_normal(rows))
    grad = 0.2 * np.exp(0.1 * rng.standard_normal(rows))
    loss[rows // 2] *= 3
    grad[rows // 2] *= 50
    lr = 3e-4 * np.minimum(1, (step + 1) / 1000)
    more = rng.standard_normal((rows, extra))
    names = [f"metric_{k}" for k in range(extra)]
    with path.open("w", encoding="utf-8") as file:
        for i in range(rows):
            tail = "".join(f', "{name}": {value:.6g}' for name, value in zip(names, more[i], strict=True))
            file.write(f'{{"step": {i}, "loss": {loss[i]:.6g}, "grad_norm": {grad[i]:.6g}, "lr": {lr[i]:.6g}{tail}}}\n')


def cost(command: list[str]) -> tuple[float, float]:
    """(CPU seconds, peak MiB) of one child process."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print("| file | command | CPU s | peak MiB | CPU ratio | memory ratio |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for keys in (4, 12):
            path = Path(folder) / f"{keys}.jsonl"
            write(path, options.rows, keys - 4)
            ours = [sys.executable, "-m", "triage", "analyze", str(path)]
            theirs = [sys.executable, "-c", PANDAS, str(path)]
            pairs = [(cost(ours), cost(theirs)) for _ in range(options.repeat)]
            name = f"{options.rows:,} rows, {keys} keys, {path.stat().st_size / 1e6:.0f} MB"
            cpu = [statistics.median(p[i][0] for p in pairs) for i in (0, 1)]
            memory = [statistics.median(p[i][1] for p in pairs) for i in (0, 1)]
            ratio = statistics.median(b[0] / a[0] for a, b in pairs)
            less = statistics.median(b[1] / a[1] for a, b in pairs)
            print(
                f"| {name} | triage analyze | {cpu[0]:.2f} | {memory[0]:.0f} | {ratio:.1f} x less | {less:.1f} x less |"
            )
            print(f"| | pandas read_json + rolling z | {cpu[1]:.2f} | {memory[1]:.0f} | 1 | 1 |")


if __name__ == "__main__":
    main()
