"""Train a two-layer network on y = sin(x) seven times, well and badly, and write each run's log.

    python sample_logs/make.py [DIRECTORY]

Pure numpy, seeded: the same numbers on every machine. Each log is what a plain training loop writes, one JSON object a
line: step, loss, grad_norm (before clipping), lr, update_ratio and, where clipping is on, clip_coef. The healthy run
falls from 0.67 to 0.033 in 400 steps; at lr 1.0 the loss passes 1e51 at step 16 and is not finite from step 91 on; with
clipping at 1.0 the same lr stays finite throughout. The mechanism is told by `triage explain mechanism`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HIDDEN = 32
BATCH = 64
Weights = list[np.ndarray]


@dataclass(frozen=True)
class Recipe:
    """How one run is trained.

    Attributes:
        steps: number of steps.
        lr: learning rate (SGD).
        clip: largest gradient norm; None = no clipping.
        spoil: changes the targets of a step; the identity by default.
        poison: step at which the input holds a NaN; None = never.
        start: weights to start from; None = fresh ones.
        first_step: number of the first step.
    """

    steps: int
    lr: float
    clip: float | None = None
    spoil: Callable[[int, np.ndarray], np.ndarray] = lambda _step, y: y
    poison: int | None = None
    start: Weights | None = None
    first_step: int = 0


def fresh(rng: np.random.Generator) -> Weights:
    """Weights of a 1-32-1 tanh network."""
    return [
        rng.normal(0, 1.0, (1, HIDDEN)),
        np.zeros(HIDDEN),
        rng.normal(0, 0.3 / np.sqrt(HIDDEN), (HIDDEN, 1)),
        np.zeros(1),
    ]


def gradients(weights: Weights, x: np.ndarray, y: np.ndarray) -> tuple[float, Weights]:
    """Mean squared error and its gradients."""
    w1, b1, w2, b2 = weights
    hidden = np.tanh(x @ w1 + b1)
    error = hidden @ w2 + b2 - y
    loss = float(np.mean(error**2))
    back = 2 * error / len(x)
    inner = (back @ w2.T) * (1 - hidden**2)
    return loss, [x.T @ inner, inner.sum(axis=0), hidden.T @ back, back.sum(axis=0)]


def norm(arrays: Weights) -> float:
    """Global L2 norm."""
    return float(np.sqrt(sum(float(np.sum(a * a)) for a in arrays)))


def train(recipe: Recipe, seed: int = 0) -> Iterator[tuple[dict[str, float], Weights]]:
    """Yield a log row and the weights after each step."""
    rng = np.random.default_rng(seed)
    weights = fresh(rng)
    batches = np.random.default_rng(seed + 1)
    for step in range(recipe.first_step + recipe.steps):
        x = batches.uniform(-np.pi, np.pi, (BATCH, 1))
        if step < recipe.first_step:
            continue  # the data position is restored: the batches already seen are passed over
        if recipe.start is not None and step == recipe.first_step:
            weights = [w.copy() for w in recipe.start]
        y = recipe.spoil(step, np.sin(x))
        if recipe.poison is not None and step >= recipe.poison:
            x = x.copy()
            x[0] = np.nan
        loss, grads = gradients(weights, x, y)
        size = norm(grads)
        factor = 1.0 if recipe.clip is None else min(1.0, recipe.clip / max(size, 1e-12))
        update = [recipe.lr * factor * g for g in grads]
        row = {
            "step": step,
            "loss": loss,
            "grad_norm": size,
            "lr": recipe.lr,
            "update_ratio": norm(update) / norm(weights),
        }
        if recipe.clip is not None:
            row["clip_coef"] = factor
        weights = [w - u for w, u in zip(weights, update, strict=True)]
        yield row, weights


def spoiled(first: int, last: int, factor: float) -> Callable[[int, np.ndarray], np.ndarray]:
    """Targets multiplied by `factor` from step `first` to `last`."""
    return lambda step, y: y * factor if first <= step <= last else y


def bursts(step: int, y: np.ndarray) -> np.ndarray:
    """Four bad batches, twelve steps apart."""
    return y * 2.0 if step in (240, 252, 264, 276) else y


def write(path: Path, rows: list[dict[str, float]]) -> None:
    """One JSON object a line, six significant digits; NaN and Infinity as Python writes them."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({k: v if k == "step" else float(f"{v:.6g}") for k, v in row.items()}) + "\n")


def main(folder: Path) -> None:
    """Write the seven logs."""
    runs = {
        "healthy": Recipe(400, 0.01),
        "single-step": Recipe(400, 0.01, clip=1.0, spoil=spoiled(250, 250, 2.0)),
        "consecutive": Recipe(400, 0.01, clip=1.0, spoil=bursts),
        "non-recovering": Recipe(160, 1.0),
        "clipped": Recipe(400, 1.0, clip=1.0),
        "first-step-nan": Recipe(60, 0.01, poison=0),
    }
    with np.errstate(over="ignore", invalid="ignore"):
        for name, recipe in runs.items():
            write(folder / f"{name}.jsonl", [row for row, _ in train(recipe)])
        rows, kept = [], None
        for row, weights in train(Recipe(300, 0.01)):
            if row["step"] == 200:  # the checkpoint of step 200
                kept = weights
            rows.append(row)
        bad = [row for row, _ in train(Recipe(60, 3.0, start=weights, first_step=300))]
        again = [row for row, _ in train(Recipe(300, 0.005, start=kept, first_step=201))]
        write(folder / "restart.jsonl", [*rows, *bad, *again])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
