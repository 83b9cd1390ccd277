"""Hugging Face `trainer_state.json`: the whole history of a run at a checkpoint, with what it was told to do.

Rows with a `loss` are training, rows with `eval_*` keys evaluation; the closing row carries `train_loss`, the mean over
the run, which is no loss at any step: it goes to the configuration (science 9.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from triage.errors import UnreadableError
from triage.model import Block, Notice
from triage.options import Limits
from triage.readers._contract import Reader, Source, Wanted
from triage.readers._flatten import Cuts, cut_notices
from triage.readers._hf_rows import WRITER, part_closing_rows
from triage.readers._json_load import config_of, load
from triage.readers._records import Columns, frame_of
from triage.readers._source import head_text

FORMAT: Final = "hf-trainer-state"

BOOKKEEPING: Final = frozenset(
    {"log_history", "stateful_callbacks", "is_local_process_zero", "is_world_process_zero", "is_hyper_param_search"}
)
"""Keys beside the history that say nothing about the training."""


def sniff(source: Source) -> bool:
    """Does the head hold the key of the history?"""
    text = head_text(source)
    return text.lstrip().startswith("{") and '"log_history"' in text


def read(source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    """Yield the history as one block; raises UnreadableError where it is empty."""
    document = load(source)
    state = document.values[0]
    history = state.get("log_history") if isinstance(state, dict) else None
    records = [row for row in history if isinstance(row, dict)] if isinstance(history, list) else []
    rows, closing = part_closing_rows(records)
    if not rows:
        raise UnreadableError(
            "the trainer state holds no logged row", path=source.path, hint="has the run logged anything yet?"
        )
    cuts: Cuts = Counter()
    columns = Columns(wanted, limits.columns)
    frame = frame_of(rows, columns, limits.depth, cuts)
    beside = {name: value for name, value in state.items() if name not in BOOKKEEPING}
    meta = {
        "format": FORMAT,
        "writer": WRITER,
        "step_column": "step",
        "bytes": document.size,
        "config": config_of(closing, limits) | config_of(beside, limits),
    }
    notices = [*document.notices, *cut_notices(cuts), *columns.notices()]
    if len(records) > len(rows):
        notices.append(Notice("summary-row-ignored", len(records) - len(rows), "train_loss"))
    yield Block(frame, None, tuple(notices), meta)


READER: Final = Reader(FORMAT, sniff, read)
