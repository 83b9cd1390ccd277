"""How fast console text is read, format by format.

    python benchmarks/console.py --megabytes 100 --kinds megatron bars

Every reading is a process of its own: CPU seconds of the read alone (imports and the sniff not counted), megabytes per
CPU second, and the peak memory of the whole process, first for a tenth of the text and then for all of it (flat:
no stretch is kept).
"""

from __future__ import annotations

import argparse
import itertools
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PROSE = (
    "The old harbour was quiet when the ferry came in, and nobody looked up from the nets. ",
    "She kept a list of every step that led from the gate to the well, though it lost its use. ",
    "He said that the normal price of salt had gone up again, and that winter would be long. ",
)


def _loss(i: int, draw: random.Random) -> float:
    return 2 + 8 / (1 + i / 50) ** 0.5 + draw.gauss(0, 0.02)


def megatron(draw: random.Random) -> Iterator[str]:
    """Cells between pipes, 340 characters."""
    for i in itertools.count(1):
        yield (
            f" [2026-11-30 {i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}.456518] iteration {i:8d}/  900000 | "
            f"consumed samples: {i * 512:12d} | elapsed time per iteration (ms): {draw.gauss(512, 9):.1f} | "
            f"throughput per GPU (TFLOP/s/GPU): {draw.gauss(400, 9):.1f} | learning rate: {3e-4 * draw.random():.6E} | "
            f"global batch size:   512 | lm loss: {_loss(i, draw):.6E} | loss scale: 1.0 | "
            f"grad norm: {abs(draw.gauss(1, 0.2)):.3f} | params "
            f"norm: 62.407 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        )


def llmc(draw: random.Random) -> Iterator[str]:
    """Short lines, 40 characters."""
    for i in itertools.count():
        yield f"s:{i} trl:{_loss(i, draw):.4f} lr:{3e-4 * draw.random():.6f} norm:{abs(draw.gauss(1, 0.2)):.2f}\n"


def nanogpt(draw: random.Random) -> Iterator[str]:
    """Lines of prose between the rows: samples that the model writes."""
    for i in itertools.count():
        yield f"iter {i}: loss {_loss(i, draw):.4f}, time {draw.gauss(267, 3):.2f}ms, mfu {draw.gauss(8, 1):.2f}%\n"
        if i % 100 == 0:
            yield f"step {i}: train loss {_loss(i, draw):.4f}, val loss {_loss(i, draw):.4f}\n"
            yield "saving checkpoint to out\n"
        yield draw.choice(PROSE) + draw.choice(PROSE) + "\n"


def bars(draw: random.Random) -> Iterator[str]:
    """A bar redrawn at every step, a dictionary at every tenth."""
    for i in itertools.count(1):
        bar = "█" * (i // 90_000 % 10)
        yield f"\r {i // 9000 % 100:2d}%|{bar:<10}| {i}/900000 [{i // 60}:{i % 60:02}<9:15, {draw.gauss(9, 1):.2f}it/s]"
        if i % 10 == 0:
            loss, norm = _loss(i, draw), abs(draw.gauss(1, 0.2))
            yield (
                f"\r{'':60}\r{{'loss': {loss:.4f}, 'grad_norm': {norm}, 'learning_rate': {draw.random()}, "
                f"'epoch': {i / 1e4:.2f}}}\n"
            )


def lightning(draw: random.Random) -> Iterator[str]:
    """A bar that carries the loss."""
    for i in itertools.count(1):
        epoch, n = divmod(i, 5000)
        yield (
            f"\rEpoch {epoch}: {n // 50:3d}%|{'█' * (n // 500):<10}| {n}/5000 [{n // 60:02}:{n % 60:02}<08:01, "
            f"{draw.gauss(9, 1):.2f}it/s, v_num=3, train_loss_step={_loss(i, draw):.3f}]"
        )


def titan(draw: random.Random) -> Iterator[str]:
    """Colours between the fields."""
    for i in itertools.count(1):
        yield (
            f"[titan] 2026-11-30 18:21:{i % 60:02},033 - root - INFO - \x1b[31mstep: {i:2}  \x1b[32mloss: "
            f"{_loss(i, draw):8.5f}  \x1b[38;2;180;60;0mgrad_norm: {abs(draw.gauss(1, 0.2)):7.4f}  \x1b[36mmemory: "
            f"12.30GiB(15.50%)  \x1b[34mtps: {draw.gauss(12_346, 99):,.0f}  \x1b[0mtflops: 123.40  mfu: 12.5%\x1b[39m\n"
        )


def olmo(draw: random.Random) -> Iterator[str]:
    """Records over several lines."""
    for i in itertools.count(1):
        yield (
            f"2026-11-30 18:21:{i % 60:02}.000\tnode-0:0\tolmo.train:979\tINFO\t[step={i}/900000,epoch=0]\n"
            f"    optim/total_grad_norm={abs(draw.gauss(1, 0.2)):.3f}\n"
            f"    train/CrossEntropyLoss={_loss(i, draw):.3f}\n"
            f"    train/Perplexity={draw.gauss(900, 9):,.1f}\n    throughput/total_tokens={i * 4_194_304:,d}\n"
        )


def warnings(draw: random.Random) -> Iterator[str]:
    """Mostly messages of a loss scaler and other noise with numbers in it."""
    for i in itertools.count(1):
        scale = 2 ** draw.randint(10, 16)
        yield (
            f"[2026-11-30 18:21:{i % 60:02},903] [INFO] [loss_scaler.py:188:update_scale] [deepspeed] OVERFLOW! Rank "
            f"0 Skipping step. Attempted loss scale: {scale}, reducing to {scale // 2}\n"
            f"[rank{draw.randint(0, 7)}]:[W1130 18:21:{i % 60:02}.642800673 ProcessGroupNCCL.cpp:4115] step {i} took "
            f"{draw.gauss(3, 1):.2f} s on device {draw.randint(0, 7)}\n"
        )
        if i % 10 == 0:
            yield f"steps: {i} loss: {_loss(i, draw):.4f} iter time (s): 0.512 samples/sec: 1000.1\n"


KINDS: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "megatron": megatron,
    "llm.c": llmc,
    "nanogpt": nanogpt,
    "bars": bars,
    "lightning": lightning,
    "titan": titan,
    "olmo": olmo,
    "warnings": warnings,
}


def write(path: Path, kind: str, size: int) -> None:
    """Write about `size` bytes of one kind."""
    written = 0
    with path.open("w") as file:
        for text in KINDS[kind](random.Random(7)):  # noqa: S311 - a fixed file, no secret
            written += len(text.encode())
            file.write(text)
            if written >= size:
                return


def read(path: Path) -> tuple[int, int, float, float]:
    """Read a file; returns rows, losses, CPU seconds, and the peak memory in MiB."""
    import polars as pl

    from triage.options import Limits
    from triage.readers import console
    from triage.readers._contract import everything
    from triage.readers._source import open_path

    pl.DataFrame({"a": [1.0]}).select(pl.col("a").sum())  # the library's own start-up is not what is measured
    source = open_path(path, Limits())
    if not console.READER.sniff(source):
        raise SystemExit(f"{path} is not taken for console text")
    rows = losses = 0
    began = _cpu()
    for block in console.READER.read(source, Limits(), everything):
        rows += block.frame.height
        names = [name for name in block.frame.columns if "loss" in name.lower() or name == "trl"]
        losses += sum(len(block.frame[name]) - block.frame[name].null_count() for name in names[:1])
    seconds = _cpu() - began
    return rows, losses, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(*read(options.read))
        return
    print(f"{'kind':<10} {'MB':>6} {'rows':>9} {'losses':>9} {'CPU s':>7} {'MB/s':>6} {'MiB, a tenth':>13} {'MiB':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kinds:
            path = Path(folder) / "train.log"
            results = []
            for share in (0.1, 1.0):
                write(path, kind, int(options.megabytes * 1e6 * share))
                done = subprocess.run(
                    [sys.executable, __file__, "--read", str(path)], capture_output=True, text=True, check=True
                )
                results.append([float(word) for word in done.stdout.split()])
            (_, _, _, small), (rows, losses, seconds, peak) = results
            size = path.stat().st_size / 1e6
            print(
                f"{kind:<10} {size:6.0f} {rows:9.0f} {losses:9.0f} {seconds:7.2f} {size / seconds:6.0f} {small:13.0f} "
                f"{peak:6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"{time.monotonic() - began:.0f} s in all", file=sys.stderr)
