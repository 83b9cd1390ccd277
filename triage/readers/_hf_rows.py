"""What a row of the Hugging Face Trainer is, in a trainer state and on the console alike.

Separate because both readers must set the same rows aside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.readers._cells import is_number

WRITER: Final = "transformers"

CLOSING_MARK: Final = "train_runtime"
"""A key that only the closing row has."""

SURE_KEYS: Final = frozenset({"loss", "eval_loss", "train_loss", "epoch"})
"""One of these is in every row that the trainer logs."""

ROW_KEYS: Final = SURE_KEYS | {"learning_rate", "grad_norm", "reward"}
ROW_PREFIXES: Final = ("eval_", "train_", "rewards/")


def is_row(record: Mapping[str, Any]) -> bool:
    """Does this dictionary look like what the trainer logs?"""
    return any((key in ROW_KEYS or key.startswith(ROW_PREFIXES)) and is_numeric(record[key]) for key in record)


def is_surely_row(record: Mapping[str, Any]) -> bool:
    """Can this dictionary be nothing else, so that it tells the format of a file?"""
    return any(key in SURE_KEYS and is_numeric(cell) for key, cell in record.items())


def is_numeric(cell: Any) -> bool:
    """Is this cell a number, or a text that reads as one?"""
    return type(cell) in (int, float) or (isinstance(cell, str) and is_number(cell))


def is_training(record: Mapping[str, Any]) -> bool:
    """Was this row logged in a training step?"""
    return "loss" in record or "learning_rate" in record


def part_closing_rows(records: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], dict[str, Any]]:
    """The rows of the series, and what the closing rows say about the whole run (the last one wins)."""
    rows = [record for record in records if CLOSING_MARK not in record]
    closing: dict[str, Any] = {}
    for record in records:
        if CLOSING_MARK in record:
            closing |= {key: value for key, value in record.items() if key not in ("step", "epoch")}
    return rows, closing
