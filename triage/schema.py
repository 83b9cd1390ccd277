"""The canonical columns: name, unit, meaning, which way is bad; and the alias table that leads to them.

The aliases are data (`columns.toml`); a user adds to them with `--map` and the table `[aliases]` of `triage.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final


@dataclass(frozen=True, slots=True)
class Column:
    """One canonical column.

    Attributes:
        name: snake_case name, the same in code, output and JSON.
        unit: unit of the values, "" for a pure number.
        meaning: one sentence.
        worse: "up" or "down" where one direction is bad, "" where neither is.
    """

    name: str
    unit: str
    meaning: str
    worse: str = ""


COLUMNS: Final[tuple[Column, ...]] = (
    Column("step", "optimizer step", "one parameter update; `step_unit` says if it counts something else"),
    Column("time", "s", "wall-clock time of the row, or seconds since the start"),
    Column("epoch", "", "epoch, possibly fractional"),
    Column("rank", "", "worker that wrote the row"),
    Column("loss", "nats", "training loss as optimised", "up"),
    Column("grad_norm", "", "global L2 norm of the gradient before clipping", "up"),
    Column("lr", "", "learning rate of the main parameter group"),
    Column("update_norm", "", "L2 norm of the applied update", "up"),
    Column("param_norm", "", "global L2 norm of the parameters"),
    Column("update_ratio", "", "update norm over parameter norm", "up"),
    Column("loss_scale", "", "loss scale of mixed-precision training"),
    Column("clip_coef", "", "factor applied by clipping, 1 = not clipped"),
    Column("is_skipped", "", "1 where the optimizer step was skipped"),
    Column("nan_count", "", "non-finite steps in the logging interval"),
    Column("tokens", "tokens", "tokens consumed so far, or in this batch"),
    Column("seq_len", "tokens", "longest sequence of the batch"),
    Column("batch_size", "samples", "global batch size"),
    Column("label_tokens", "tokens", "tokens that count in the loss of this batch"),
    Column("samples", "samples", "samples consumed so far"),
    Column("eval_loss", "nats", "loss on held-out data; never mixed into `loss`", "up"),
    Column("eval_accuracy", "", "accuracy on held-out data", "down"),
    Column("eval_perplexity", "", "perplexity on held-out data", "up"),
    Column("accuracy", "", "accuracy on training data", "down"),
    Column("max_attn_logit", "", "largest attention logit", "up"),
    Column("head_norm", "", "L2 norm of the output layer"),
    Column("step_time", "s", "seconds per step"),
    Column("throughput", "tokens/s", "speed"),
)

BY_NAME: Final[Mapping[str, Column]] = {column.name: column for column in COLUMNS}

LOSS_LIKE: Final = re.compile(r"(^|[/_.\- ])(loss|nll|ce|cross[_ ]?entropy|objective)($|[/_.\- ]|\d)", re.IGNORECASE)
"""Names that look like a loss; used only to say which columns `--map` could take."""


@dataclass(frozen=True, slots=True)
class Alias:
    """One row of the alias table.

    Attributes:
        canonical: canonical column.
        exact: source names in order of preference, compared in lower case.
        patterns: regular expressions tried after the exact names, full match, case ignored.
        never: names and patterns (full match) that must not be taken although they fit.
    """

    canonical: str
    exact: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...] = ()
    never: tuple[re.Pattern[str], ...] = ()


@cache
def builtin_aliases() -> tuple[Alias, ...]:
    """The alias table of `columns.toml`, in its order."""
    text = resources.files("triage").joinpath("columns.toml").read_text(encoding="utf-8")
    return parse_aliases(tomllib.loads(text))


def parse_aliases(table: Mapping[str, object]) -> tuple[Alias, ...]:
    """Turn a parsed alias file (canonical → {exact, patterns, never}) into rows; raises ValueError with the place."""
    rows = []
    for canonical, entry in table.items():
        if not isinstance(entry, Mapping):
            raise ValueError(f"[{canonical}] is not a table")  # noqa: TRY004 - a fault of the file, not of the call
        unknown = set(entry) - {"exact", "patterns", "never"}
        if unknown:
            raise ValueError(f"[{canonical}] has unknown keys: {', '.join(sorted(unknown))}")
        rows.append(
            Alias(
                canonical,
                tuple(str(name).lower() for name in entry.get("exact", ())),
                tuple(re.compile(p, re.IGNORECASE) for p in entry.get("patterns", ())),
                tuple(re.compile(p, re.IGNORECASE) for p in entry.get("never", ())),
            )
        )
    return tuple(rows)
