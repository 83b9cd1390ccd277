"""How fast an event file is read, side by side with TensorBoard's own EventAccumulator and with tbparse.

    python benchmarks/tensorboard.py [--scalars 1000000] [--tags 10] [--style simple|tensor|mixed] [--rounds 3]
        [--peer PYTHON]

PEER is an interpreter with tensorboard and tbparse in it (default: this one). Every round runs all readers one after
another, each in a new process; what counts is the ratio within a round. CPU seconds (user and system), since wall time
says nothing on a shared machine. Both peers are told to keep every point, and all readers must agree on the number of
scalars, on the losses and on the NaN among them. Styles: what PyTorch writes, what TensorFlow 2 writes, and the first
with a histogram after every 50 scalars.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LOSS = "train/loss"

WRITE = """
import math, random, struct, sys
from crc32c import crc32c
from tensorboardX.proto import event_pb2
path, scalars, tags, style = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
chance = random.Random(1)
names = ["train/loss", *(f"train/metric_{n}" for n in range(tags - 1))]
def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
def write(file, event):
    data = event.SerializeToString()
    length = struct.pack("<Q", len(data))
    file.write(length + masked(length) + data + masked(data))
with open(path, "wb") as file:
    write(file, event_pb2.Event(wall_time=1.7e9, file_version="brain.Event:2"))
    for n in range(scalars):
        step = n // tags
        event = event_pb2.Event(wall_time=1.7e9 + n / 100, step=step)
        value = event.summary.value.add(tag=names[n % tags])
        number = math.nan if step % 1000 == 7 else 2 + chance.gauss(0, 0.1)
        if style == "tensor":
            value.tensor.dtype = 1
            value.tensor.tensor_shape.SetInParent()
            value.tensor.tensor_content = struct.pack("<f", number)
            value.metadata.plugin_data.plugin_name = "scalars"
        else:
            value.simple_value = number
            value.metadata.SetInParent()
        write(file, event)
        if style == "mixed" and n % 50 == 49:
            event = event_pb2.Event(wall_time=1.7e9 + n / 100, step=step)
            event.summary.value.add(tag="weights").histo.bucket.extend(chance.random() for _ in range(60))
            write(file, event)
"""

CLOCK = """
import json, math, resource, sys, time
path, begin, end, peak = sys.argv[1], 0.0, 0.0, 0.0
def start():
    global begin
    begin = time.process_time()
def stop():
    global end, peak
    end = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def answer(scalars, losses):
    finite = [loss for loss in losses if not math.isnan(loss)]
    print(json.dumps({"read": end - begin, "whole": end, "mib": peak, "scalars": scalars,
                      "total": round(math.fsum(finite), 6), "nans": len(losses) - len(finite)}))
"""

BOUND = """
start()
with open(path, "rb") as file:
    while block := file.read(1 << 20):
        block.count(10)
stop()
answer(0, [])
"""

TRIAGE = """
from pathlib import Path
import crc32c, google.protobuf.descriptor_pb2, google.protobuf.message_factory, numpy, polars
from triage.options import Limits
from triage.readers import _tfevents_writers, tensorboard
from triage.readers._contract import everything
from triage.readers._source import open_path
{change}
start()
blocks = list(tensorboard.READER.read(open_path(Path(path), Limits()), Limits(), everything))
stop()
frames = [block.frame.drop("step", "wall_time") for block in blocks if block.frame.height]
answer(sum(frame.count().sum_horizontal()[0] for frame in frames),
       [loss for frame in frames for loss in frame["train/loss"].drop_nulls()])
"""

BY_PROTOBUF = "_tfevents_writers.read_fast = lambda records, facts, _: _tfevents_writers.read_plain(records, facts)"

ACCUMULATOR = """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
guidance = {"scalars": 0, "tensors": 0, "histograms": 1, "images": 1, "audio": 1}
start()
events = EventAccumulator(path, size_guidance=guidance).Reload()
scalars = {tag: [event.value for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
for tag in events.Tags()["tensors"]:
    scalars[tag] = [tensor_util.make_ndarray(event.tensor_proto).item() for event in events.Tensors(tag)]
stop()
answer(sum(map(len, scalars.values())), scalars["train/loss"])
"""

TBPARSE = """
from tbparse import SummaryReader
start()
table = SummaryReader(path, event_types={"tensors"} if sys.argv[2] == "tensor" else {"scalars"})
rows = table.tensors if sys.argv[2] == "tensor" else table.scalars
stop()
answer(len(rows), [float(value) for value in rows[rows["tag"] == "train/loss"]["value"]])
"""


def measure(python: str, code: str, path: Path, style: str) -> dict[str, float]:
    """Run one reader in a new process and return what it printed."""
    out = subprocess.run([python, "-c", CLOCK + code, str(path), style], check=False, capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"a reader failed:\n{out.stderr}")
    printed: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
    return printed


def main() -> None:
    """Write the file, let every reader read it in turn, and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--scalars", type=int, default=1_000_000)
    options.add_argument("--tags", type=int, default=10)
    options.add_argument("--style", choices=("simple", "tensor", "mixed"), default="simple")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--peer", default=sys.executable, help="interpreter with tensorboard and tbparse")
    given = options.parse_args()
    readers = {
        "bound: read and count a byte": (sys.executable, BOUND),
        "triage": (sys.executable, TRIAGE.format(change="")),
        "triage, protobuf alone": (sys.executable, TRIAGE.format(change=BY_PROTOBUF)),
        "EventAccumulator": (given.peer, ACCUMULATOR),
        "tbparse": (given.peer, TBPARSE),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.out.tfevents.1700000000.host.1.0"
        shape = [str(given.scalars), str(given.tags), given.style]
        subprocess.run([sys.executable, "-c", WRITE, str(path), *shape], check=True)
        rounds = [
            {name: measure(python, code, path, given.style) for name, (python, code) in readers.items()}
            for _ in range(given.rounds)
        ]
        size = path.stat().st_size
    report(rounds, size, given.scalars, given.style)


def report(rounds: list[dict[str, dict[str, float]]], size: int, scalars: int, style: str) -> None:
    """Print medians and the ratios within the rounds; stop where the readers do not agree."""
    read = [name for name in rounds[0] if not name.startswith("bound")]
    answers = {tuple(turn[name][key] for key in ("scalars", "total", "nans")) for turn in rounds for name in read}
    if len(answers) != 1 or next(iter(answers))[0] != scalars:
        sys.exit(f"the readers do not agree: {answers}")
    print(f"{scalars:,} scalars ({style}), {size / 1e6:.0f} MB, {len(rounds)} rounds, CPU seconds (medians)\n")
    print("| reader | read s | scalars/s | whole s | peak MiB | read against triage | whole against triage |")
    print("|---|---|---|---|---|---|---|")
    for name in rounds[0]:
        seconds, whole, mib = (
            statistics.median(turn[name][key] for turn in rounds) for key in ("read", "whole", "mib")
        )
        ratios = [
            statistics.median(turn[name][key] / turn["triage"][key] for turn in rounds) for key in ("read", "whole")
        ]
        speed = f"{scalars / seconds:,.0f}" if name in read else "-"
        print(f"| {name} | {seconds:.2f} | {speed} | {whole:.2f} | {mib:.0f} | {ratios[0]:.1f} | {ratios[1]:.1f} |")


if __name__ == "__main__":
    main()
