"""Levels of a whole run: block medians, and what config says about it. Shared by several findings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from triage.signals import SignalTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

KNOWN_COUNTS: Final = (10, 100, 1000, 32000, 32768, 50257, 50304, 50432, 100277, 128256, 151936, 152064, 250880)
"""Class counts of common image sets and vocabularies of common tokenizers (science 4.3)."""

VOCABULARY_KEYS: Final = ("vocab_size", "padded_vocab_size", "num_classes", "num_labels", "n_classes")
CLIP_KEYS: Final = (
    "max_grad_norm",
    "gradient_clip_val",
    "clip_grad",
    "grad_clip",
    "clip_grad_norm",
    "clip",
    "clip_norm",
)
ACCUMULATION_KEYS: Final = (
    "gradient_accumulation_steps",
    "accumulate_grad_batches",
    "grad_accum_steps",
    "accumulation_steps",
    "accumulation",
    "update_freq",
)


def blocks(values: Array, count: int) -> Array:
    """Medians of `count` equal stretches of finite values; fewer where there are fewer values. (n,) to (<= count,)."""
    import numpy as np

    finite = values[np.isfinite(values)]
    parts = np.array_split(finite, min(count, len(finite))) if len(finite) else []
    return np.array([float(np.median(p)) for p in parts])


def setting(signals: SignalTable, keys: tuple[str, ...]) -> float | None:
    """The first of these settings that the log's config holds as a number, at any depth of its name."""
    for key in keys:
        for name, value in signals.table.source.config.items():
            if name.replace(".", "/").split("/")[-1].lower() == key and isinstance(value, int | float):
                return float(value)
    return None


def chance_levels(signals: SignalTable) -> tuple[float, ...]:
    """Cross entropy of guessing: ln V from the config, else ln of the common class counts."""
    count = setting(signals, VOCABULARY_KEYS)
    return (math.log(count),) if count is not None and count > 1 else tuple(math.log(k) for k in KNOWN_COUNTS)
