"""Synthetic runs with known truth: the curve and the noise of the scenario table, straight into a RunTable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from triage.model import RunTable, SourceInfo

Array = np.ndarray


def decay(n: int = 2000) -> Array:
    """The scenario table's curve: 1.8 + 9 (1 + t/8)^-0.6."""
    return 1.8 + 9.0 * (1.0 + np.arange(n) / 8.0) ** -0.6


def noise(kind: str, n: int, sd: float, seed: int = 0, rho: float = 0.0) -> Array:
    """Noise of log loss with standard deviation `sd`: gauss, t3, t4, gumbel; AR(1) where rho > 0."""
    rng = np.random.default_rng(seed)
    if kind == "gauss":
        e = rng.standard_normal(n)
    elif kind in ("t3", "t4"):
        nu = int(kind[1])
        e = rng.standard_t(nu, n) / np.sqrt(nu / (nu - 2))
    elif kind == "gumbel":
        e = (rng.gumbel(size=n) - 0.5772) / (np.pi / np.sqrt(6))
    else:
        raise ValueError(kind)
    if rho:
        out = np.empty(n)
        out[0] = e[0]
        for i in range(1, n):
            out[i] = rho * out[i - 1] + np.sqrt(1 - rho * rho) * e[i]
        e = out
    return sd * e


def curve(n: int = 2000, sd: float = 0.01, kind: str = "gauss", seed: int = 0, rho: float = 0.0) -> Array:
    """A healthy loss: decay times noise."""
    return decay(n) * np.exp(noise(kind, n, sd, seed, rho))


def grad(n: int = 2000, level: float = 0.2, sd: float = 0.1, seed: int = 1) -> Array:
    """A healthy gradient norm: lognormal around a level."""
    return level * np.exp(noise("gauss", n, sd, seed))


def run(
    columns: Mapping[str, Array],
    *,
    segment: Array | None = None,
    step: Array | None = None,
    config: Mapping[str, Any] | None = None,
) -> RunTable:
    """A RunTable of the given columns; NaN stays logged NaN, None entries of object arrays are not logged."""
    n = len(next(iter(columns.values())))
    steps = np.arange(n) if step is None else step
    segments = np.zeros(n, dtype=int) if segment is None else segment
    frame = pl.DataFrame(
        {
            "row": np.arange(n),
            "segment": segments.astype(np.int32),
            "step": steps.astype(np.int64),
            **{name: pl.Series(list(values), dtype=pl.Float64) for name, values in columns.items()},
        }
    )
    info = SourceInfo(
        path="synthetic",
        format="synthetic",
        writer=None,
        rows=n,
        bytes=None,
        dropped=0,
        step_unit="optimizer step",
        step_first=int(steps[0]),
        step_last=int(steps[-1]),
        time_first=None,
        time_last=None,
        segments=int(segments.max()) + 1,
        config=dict(config or {}),
        columns={},
    )
    return RunTable("synthetic", frame, {}, info)
