"""Small runs for one thing each: 400 healthy rows, and what is done to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.helpers.synth import grad, noise, run
from triage.model import RunTable

Array = np.ndarray
Columns = dict[str, Any]

N = 400
AT = 250
"""The row at which things happen."""


def flat(n: int = N, level: float = 2.0, sd: float = 0.01, seed: int = 0) -> Array:
    """A loss that has arrived: constant level, lognormal noise."""
    return level * np.exp(noise("gauss", n, sd, seed))


def healthy(n: int = N, **more: Any) -> Columns:
    """Loss, gradient norm, lr and update ratio of a run that has arrived at its level, all of them calm."""
    return {
        "loss": flat(n),
        "grad_norm": grad(n, seed=3),
        "lr": np.full(n, 3e-4),
        "update_ratio": 3e-3 * np.exp(noise("gauss", n, 0.02, 7)),
        **more,
    }


def only(c: Columns, *names: str) -> Columns:
    """Some of the columns."""
    return {name: c[name] for name in names}


def spike(c: Columns, at: int = AT, width: int = 1, by: float = 3.0, name: str = "loss") -> Columns:
    """Multiply `width` rows from `at` on."""
    values = np.array(c[name], dtype=float)
    values[at : at + width] *= by
    return {**c, name: values}


def lift(c: Columns, at: int = AT, by: float = 1.3, name: str = "loss") -> Columns:
    """Multiply all rows from `at` on."""
    return spike(c, at, N * 10, by, name)


def put(c: Columns, name: str, at: int | slice, value: Any) -> Columns:
    """Set rows of a column."""
    values = np.array(c[name], dtype=float)
    values[at] = value
    return {**c, name: values}


def sparse(n: int, rows: Mapping[int, float] | dict[int, float]) -> Array:
    """A column that is logged in some rows only."""
    values = np.full(n, None, dtype=object)
    for row, value in rows.items():
        values[row] = value
    return values


def evals(values: list[float], n: int = N) -> Array:
    """Evaluations at even distances, the last in the last row."""
    every = n // len(values)
    return sparse(n, {(k + 1) * every - 1: value for k, value in enumerate(values)})


def twice(first: Columns, second: Columns, at: int, config: Mapping[str, Any] | None = None) -> RunTable:
    """Two attempts: the first up to its end, the second from step `at` on with its own values."""
    n, m = len(first["loss"]), len(second["loss"])
    joined = {name: np.concatenate([first[name], second[name]]) for name in first}
    step = np.concatenate([np.arange(n), at + np.arange(m)])
    return run(joined, step=step, segment=np.repeat([0, 1], [n, m]), config=config)


Make = Callable[[], RunTable]
