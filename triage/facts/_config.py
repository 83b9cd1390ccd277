"""Named settings out of the config that a log carries, whatever its nesting and whoever wrote it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    # setting: last parts of its names, in order of preference (lower case, "-" read as "_")
    "clip": (
        "max_grad_norm",
        "gradient_clip_val",
        "gradient_clipping",
        "clip_grad",
        "grad_clip",
        "clip_norm",
        "clip_grad_norm",
        "global_clipnorm",
        "clipping_threshold",
        "max_norm",
    ),
    "warmup": (
        "warmup_steps",
        "num_warmup_steps",
        "lr_warmup_steps",
        "lr_warmup_iters",
        "warmup_iters",
        "warmup_updates",
        "warmup_num_steps",
    ),
    "adam_eps": ("adam_epsilon", "adam_eps", "epsilon", "eps"),
    "adam_beta1": ("adam_beta1", "beta1"),
    "adam_beta2": ("adam_beta2", "beta2"),
    "weight_decay": ("weight_decay",),
    "precision": ("mixed_precision", "precision", "amp_dtype", "torch_dtype", "dtype"),
    "fp16": ("fp16",),
    "bf16": ("bf16", "bfloat16"),
}

BETAS: Final = ("betas", "adam_betas")

HALF: Final = ("fp16", "float16", "half", "16-mixed", "16-true", "amp_fp16")
REDUCED: Final = ("bf16", "bfloat16", "fp8", "float8", "e4m3")
FULL: Final = ("fp32", "float32", "32-true", "32", "no", "64-true", "float64")


def setting(config: Mapping[str, Any], name: str) -> object | None:
    """The value of a setting; None = the config does not say."""
    found = dict(_leaves(config))
    if name in ("adam_beta1", "adam_beta2"):
        betas = next((found[key] for key in BETAS if key in found), None)
        if isinstance(betas, (list, tuple)) and len(betas) == 2:
            chosen: object = betas[name == "adam_beta2"]
            return chosen
    return next((found[key] for key in NAMES[name] if found.get(key) is not None), None)


def number(config: Mapping[str, Any], name: str) -> float | None:
    """A setting as a finite number; None = not there, or not a number."""
    value = setting(config, name)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        parsed = float(value)
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


def precision(config: Mapping[str, Any]) -> str | None:
    """fp16 | reduced (BF16, FP8) | full; None = the config does not say."""
    for name, kind in (("fp16", "fp16"), ("bf16", "reduced")):
        value = setting(config, name)
        if value is True or (isinstance(value, Mapping) and value.get("enabled") is True):
            return kind
    text = str(setting(config, "precision") or "").lower().removeprefix("torch.")
    for kind, words in (("reduced", REDUCED), ("fp16", HALF), ("full", FULL)):
        if any(text == word or (len(word) > 3 and word in text) for word in words):
            return kind
    return None


def _leaves(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(last part of the name, value) of every entry, deeper ones first so that the outermost name wins in a dict."""
    for value in config.values():
        if isinstance(value, Mapping):
            yield from _leaves(value)
    for key, value in config.items():
        yield str(key).replace("-", "_").lower().rpartition(".")[2].rpartition("/")[2], value
