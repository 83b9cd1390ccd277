"""The rows of the Hugging Face Trainer: which of them belong to the series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

WRITER: Final = "transformers"

CLOSING_MARK: Final = "train_runtime"
"""A key that only the closing row has."""


def part_closing_rows(records: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], dict[str, Any]]:
    """The rows of the series, and what the closing rows say about the whole run (the last one wins)."""
    rows = [record for record in records if CLOSING_MARK not in record]
    closing: dict[str, Any] = {}
    for record in records:
        if CLOSING_MARK in record:
            closing |= {key: value for key, value in record.items() if key not in ("step", "epoch")}
    return rows, closing
