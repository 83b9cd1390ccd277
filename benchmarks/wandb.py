"""How fast a W&B run file is read, side by side with the client's own Python reader (the last one, in wandb 0.19.11).

    python benchmarks/wandb.py --client PYTHON [--rows 100000] [--metrics 10] [--rounds 3]

PYTHON is an interpreter of its own with wandb 0.19.11 in it; it writes the run (offline) and reads it back. Every round
runs all readers one after another, each in a new process; what counts is the ratio within a round. CPU seconds (user
and system), since wall time says nothing on a shared machine. All readers must agree on rows, losses and NaN.

The client's reader has no notion of a row: a script that wants the history has to decode and pass over two summary
records for each. The last columns give the ratio to one that also reads their values, and to one that reads history
alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WRITE = """
import math, os, random, sys
os.environ["WANDB_SILENT"] = "true"
import wandb
run = wandb.init(mode="offline", dir=sys.argv[1], project="benchmark")
chance = random.Random(1)
names = [f"train/metric_{n}" for n in range(int(sys.argv[3]) - 1)]
for step in range(int(sys.argv[2])):
    row = {name: chance.gauss(1, 0.3) for name in names}
    row["train/loss"] = math.nan if step % 1000 == 7 else 2 + chance.gauss(0, 0.1)
    run.log(row)
run.finish()
wandb.teardown()
"""

CLOCK = """
import json, math, resource, sys, time
path, begin = sys.argv[1], 0.0
rows, total, nans = 0, 0.0, 0
def start():
    global begin
    begin = time.process_time()
def stop():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"read": time.process_time() - begin, "whole": time.process_time(), "mib": peak,
                      "rows": rows, "total": round(total, 6), "nans": nans}))
"""

BOUND = """
start()
with open(path, "rb") as file:
    while block := file.read(1 << 20):
        block.count(10)
stop()
"""

CLIENT = """
every_value = {every_value}
from wandb.proto import wandb_internal_pb2
from wandb.sdk.internal.datastore import DataStore
start()
store = DataStore()
store.open_for_scan(path)
while (payload := store.scan_data()) is not None:
    record = wandb_internal_pb2.Record()
    record.ParseFromString(payload)
    kind = record.WhichOneof("record_type")
    if kind == "summary" and every_value:
        for item in record.summary.update:
            json.loads(item.value_json)
    if kind != "history":
        continue
    rows += 1
    cells = {{item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}}
    loss = cells["train/loss"]
    if math.isnan(loss):
        nans += 1
    else:
        total += loss
stop()
"""

TRIAGE = """
from pathlib import Path
import google.protobuf, numpy, polars
from triage.options import Limits
from triage.readers import wandb
from triage.readers._contract import everything
from triage.readers._source import open_path
{change}
start()
for block in wandb.READER.read(open_path(Path(path), Limits()), Limits(), everything):
    if block.frame.height:
        loss = block.frame["train/loss"]
        rows += block.frame.height
        nans += int(loss.is_nan().sum())
        total += loss.fill_nan(None).sum()
stop()
"""

BY_PROTOBUF = "wandb.scanned = lambda *given: (([], {}), numpy.arange(len(given[1])))"


def measure(python: str, code: str, path: Path) -> dict[str, float]:
    """Run one reader in a new process and return what it printed."""
    out = subprocess.run([python, "-c", CLOCK + code, str(path)], check=True, capture_output=True, text=True)
    printed: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
    return printed


def main() -> None:
    """Write the run, let every reader read it in turn, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--client", required=True, help="interpreter with wandb 0.19.11")
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--metrics", type=int, default=10)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    readers = {
        "bound: read and count a byte": (sys.executable, BOUND),
        "triage": (sys.executable, TRIAGE.format(change="")),
        "triage, protobuf alone": (sys.executable, TRIAGE.format(change=BY_PROTOBUF)),
        "wandb 0.19.11 DataStore, every value": (given.client, CLIENT.format(every_value=True)),
        "wandb 0.19.11 DataStore, history alone": (given.client, CLIENT.format(every_value=False)),
    }
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [given.client, "-c", WRITE, folder, str(given.rows), str(given.metrics)],
            check=True,
            capture_output=True,
            env={**os.environ, "WANDB_MODE": "offline"},
        )
        path = next(Path(folder).rglob("*.wandb"))
        rounds = [
            {name: measure(python, code, path) for name, (python, code) in readers.items()} for _ in range(given.rounds)
        ]
        size = path.stat().st_size
    report(rounds, size, given.rows, given.metrics)


def report(rounds: list[dict[str, dict[str, float]]], size: int, rows: int, metrics: int) -> None:
    """Print medians and the ratios within the rounds; stop where the readers do not agree."""
    read = [name for name in rounds[0] if not name.startswith("bound")]
    answers = {tuple(turn[name][key] for key in ("rows", "total", "nans")) for turn in rounds for name in read}
    if len(answers) != 1 or next(iter(answers))[0] != rows:
        sys.exit(f"the readers do not agree: {answers}")
    every, alone = read[-2:]
    print(f"{rows:,} rows x {metrics} metrics, {size / 1e6:.0f} MB, {len(rounds)} rounds, CPU seconds (medians)\n")
    print("| reader | read s | rows/s | whole s | peak MiB | every value: read, whole | history alone: read, whole |")
    print("|---|---|---|---|---|---|---|")
    for name in rounds[0]:
        seconds, whole, mib = (
            statistics.median(turn[name][key] for turn in rounds) for key in ("read", "whole", "mib")
        )
        ratios = [
            ", ".join(
                f"{statistics.median(turn[old][key] / turn[name][key] for turn in rounds):.1f}"
                for key in ("read", "whole")
            )
            for old in (every, alone)
        ]
        speed = f"{rows / seconds:,.0f}" if name in read else "-"
        print(f"| {name} | {seconds:.2f} | {speed} | {whole:.2f} | {mib:.0f} | {ratios[0]} | {ratios[1]} |")


if __name__ == "__main__":
    main()
