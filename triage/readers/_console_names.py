"""Names of values on a console: which are metrics, which place a row, which are never read.

Separate because this is the list that keeps dates, memory, ports and progress out of the columns, for all grammars
alike.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

STEP_NAMES: Final = (
    "global_step",
    "global step",
    "num_updates",
    "total step",
    "total_step",
    "iteration",
    "iter",
    "step",
    "update",
    "it",
    "batch_idx",
    "batch",
)
"""Names of counters that are the step where no grammar says otherwise, best first (compared in lower case)."""

_TIME: Final = (
    r"eta|time|times|timing|elapsed|remaining|left|duration|wall|date|clock|secs?|seconds?|ms|dt|hours?|minutes?|mins|"
    r"runtime|latency|speed|\w+_cost"
)
_MACHINE: Final = (
    r"mem|memory|vram|maxmem|allocated|reserved|cached?|gpu|gpus|cuda|cpu|devices?|free|rss|pid|tid|port|host|node|nodes|"
    r"addr|address|worker|workers|thread|threads|version|seed|exit|exitcode|line|offset"
)
_PROGRESS: Final = (
    r"percent|percentage|progress|epochs|total_steps|max_steps|max_iters|max_iter|total_epochs|num_epochs|v_num|id|idx|"
    r"index"
)
_NEVER: Final = re.compile(rf"(?:^|[\s_./\-(])(?:{_TIME}|{_MACHINE}|{_PROGRESS})(?:$|[\s_./\-()])|time$", re.IGNORECASE)
_KEPT: Final = re.compile(r"(?:step|iter|iteration|batch)_time|data/\w+|.*(?:loss|norm|lr)$", re.IGNORECASE)
_SOURCE_FILE: Final = re.compile(
    r".*\.(?:py|pyx|cc|cpp|cu|cuh|c|h|hpp|rs|go|js|ts|so|sh|txt|log|json|yaml|pt|pth|ckpt)"
)
_PER_TIME: Final = re.compile(r".*(?:/|_per_)(?:s|sec|second|gpu|it|iter|step|batch)\w*", re.IGNORECASE)
_WHOLE_NEVER: Final = frozenset({"data", "speed", "ips", "fps", "model", "total", "world size", "world_size", "took"})

_LOSS: Final = re.compile(
    r"(?:^|[^a-z])loss(?:es)?(?:$|[^a-z])|loss$|(?:^|[\s_./-])"
    r"(?:nll|ce|cross[_ ]?entropy|objective|ppl|perplexity|bpc|bpb)(?:$|[\s_./-])"
)
_NOT_LOSS: Final = re.compile(
    r"loss[\s_/-]*(?:scale\w*|scaler|weights?|coef\w*|coeff\w*|type|func\w*|fn|mask|lambda|alpha|ratio|tokens?|factor|mult\w*|"
    r"reduction|margin|temperature|version|threshold|spike\w*)|(?:min|max|best|lowest|target|init\w*)[\s_/-]*loss[\s_/-]*scale|"
    r"lossless"
)
_GRADIENT: Final = re.compile(r"grad\w*[\s_./-]*(?:\w*[\s_./-])*norm|gnorm|norm[\s_./-]*grad")

_QUALIFIERS: Final = frozenset(
    (
        "train",
        "training",
        "trn",
        "tr",
        "val",
        "valid",
        "validation",
        "eval",
        "evaluation",
        "test",
        "dev",
        "lm",
        "mlm",
        "nll",
        "ce",
        "ctc",
        "att",
        "total",
        "tot",
        "avg",
        "average",
        "mean",
        "running",
        "current",
        "batch",
        "step",
        "iteration",
        "epoch",
        "grad",
        "gradient",
        "learning",
        "params",
        "param",
        "weight",
        "weights",
        "loss",
        "global",
        "label",
        "generator",
        "discriminator",
        "gen",
        "disc",
        "g",
        "d",
        "actor",
        "critic",
        "policy",
        "value",
        "reward",
        "kl",
        "aux",
        "main",
        "cls",
        "box",
        "mask",
        "l1",
        "l2",
        "mse",
        "mae",
        "smooth",
    )
)
"""Words that belong to a name of several words ("train loss"), as against what happens to stand before it."""

MOST_WORDS: Final = 4
"""Longest name of several words that is put together."""

_EVAL_WORD: Final = re.compile(
    r"(?:^|[^a-z])(?:val|valid|validation|validating|validate|eval|evaluation|evaluating|test|testing|dev|cv)(?:$|[^a-z])",
    re.IGNORECASE,
)


@cache
def is_loss(name: str) -> bool:
    """Say whether the name is that of a loss, or of a number that a loss turns into."""
    lower = _separate(name)
    return bool(_LOSS.search(lower)) and not _NOT_LOSS.search(lower)


@cache
def is_gradient(name: str) -> bool:
    """Say whether the name is that of a gradient norm."""
    return bool(_GRADIENT.search(_separate(name)))


@cache
def is_metric(name: str) -> bool:
    """Say whether a named number may become a column."""
    name = name.removesuffix(")")
    if _SOURCE_FILE.fullmatch(name) or name.lower() in _WHOLE_NEVER:
        return False
    if _KEPT.fullmatch(name):
        return True
    return not _NEVER.search(name) and not (_PER_TIME.fullmatch(name) and not _TOKENS.search(name))


_TOKENS: Final = re.compile(r"tok(?:en)?s?[_/]|wps|tps", re.IGNORECASE)


@cache
def is_evaluation(text: str) -> bool:
    """Say whether a name, or the words before the first value of a line, speak of held-out data."""
    return bool(_EVAL_WORD.search(text))


def whole_name(text: str, start: int, name: str) -> tuple[str, int]:
    """Put words before a name in front of it where they belong to it; returns the name and where it begins."""
    for _ in range(MOST_WORDS - 1):
        before = re.search(r"(?<![\w./-])([A-Za-z][\w./-]*)[ ]\Z", text[max(0, start - 40) : start])
        if not before or before[1].lower() not in _QUALIFIERS:
            break
        start -= len(before[0])
        name = f"{before[1]} {name}"
    return name, start


def _separate(name: str) -> str:
    """The name in lower case, with an underscore where CamelCase begins a word."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
