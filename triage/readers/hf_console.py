"""The console of the Hugging Face Trainer: Python dictionaries between progress bars.

    4.x  {'loss': 2.9426, 'grad_norm': nan, 'learning_rate': 0.00155, 'epoch': 0.6}
    5.x  {'loss': '2.943', 'grad_norm': 'nan', 'learning_rate': '0.00155', 'epoch': '0.6'}

Neither is JSON, and a bare nan is not even Python, so the pairs are read by a pattern and nothing is evaluated. Bars
are glued in front with carriage returns; they are the only thing that tells the step (`_hf_bars.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from triage.errors import UnreadableError
from triage.model import Block, Notice
from triage.options import Limits
from triage.readers._contract import Reader, Source, Wanted
from triage.readers._flatten import Cuts, cut_notices
from triage.readers._hf_bars import BAR, Around, remember, steps_of
from triage.readers._hf_rows import WRITER, is_row, is_surely_row, is_training, part_closing_rows
from triage.readers._json_load import config_of
from triage.readers._json_text import token_number
from triage.readers._jsonl_lines import read_lines
from triage.readers._records import Columns, frame_of
from triage.readers._source import head_text

FORMAT: Final = "hf-console"

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08")
_QUOTES: Final = str.maketrans("‘’‚‛′“”„‟″", "'''''\"\"\"\"\"")
_DICT: Final = re.compile(r"\{\s*['\"‘’‛“”‟][^{}]*\}")
_JSON_START: Final = re.compile(r'\{\s*"')
_PAIR: Final = re.compile(
    r"""\s*(?P<quote>['"])(?P<key>[^'"]{1,200})(?P=quote)\s*:\s*
    (?P<value>'[^']*'|"[^"]*"|\w[\w.]*\([^()]*\)|\[[^\[\]]*\]|\([^()]*\)|[^\s,'"()\[\]]+)\s*(?:,|$)""",
    re.VERBOSE,
)
_SEGMENT_END: Final = re.compile(r"[\r\n]+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_WORDS: Final = {"None": None, "True": True, "False": False}


@dataclass(slots=True)
class _Console:
    """What was seen so far."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    around: list[Around] = field(default_factory=list)
    bars: dict[int, int] = field(default_factory=dict)
    is_cleared: bool = False
    awaits_bar: bool = False
    n_text: int = 0


def sniff(source: Source) -> bool:
    """Does the head hold a Python dictionary with a loss? One in plain double quotes would be JSON."""
    dicts = (found.group() for found in _DICT.finditer(head_text(source)) if not _JSON_START.match(found.group()))
    return any((row := read_dict(text.translate(_QUOTES))) and is_surely_row(row) for text in dicts)


def read(source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    """Yield all rows as one block: which bar is the training's is known only at the end."""
    console = _Console()
    notices: list[Notice] = []
    size = 0
    for lines in read_lines(source, limits):
        notices += lines.notices
        size = lines.size
        for segment in _SEGMENT_END.split(lines.text.decode("utf-8", "replace").translate(_QUOTES)):
            _take(segment, console)
    records = [
        row if step is None or "step" in row else {"step": step, **row}
        for row, step in zip(console.rows, steps_of(console.around), strict=True)
    ]
    rows, closing = part_closing_rows(records)
    if not rows:
        raise UnreadableError(
            "no row of a trainer in this text", path=source.path, hint="name the format with --format"
        )
    cuts: Cuts = Counter()
    columns = Columns(wanted, limits.columns)
    frame = frame_of(rows, columns, limits.depth, cuts)
    notices += [*cut_notices(cuts), *columns.notices()]
    if console.n_text:
        notices.append(Notice("console-text-skipped", console.n_text))
    if len(records) > len(rows):
        notices.append(Notice("summary-row-ignored", len(records) - len(rows), "train_loss"))
    meta = {"format": FORMAT, "writer": WRITER, "bytes": size, "config": config_of(closing, limits)}
    yield Block(frame, None, tuple(notices), meta)


def _take(segment: str, console: _Console) -> None:
    """Take what stands between two line ends: bars, rows, or text."""
    text = _ESCAPES.sub("", segment)
    if not text.strip():
        console.is_cleared = console.is_cleared or bool(text)
        return
    marks = [*BAR.finditer(text), *_DICT.finditer(text)]
    is_told = False
    start = 0
    for mark in sorted(marks, key=lambda found: found.start()):
        if mark.re is BAR:
            _take_bar(mark, text[start : mark.start()], console)
            is_told = True
        elif (row := read_dict(mark.group())) and is_row(row):
            console.rows.append(row)
            console.around.append(Around(dict(console.bars), None, is_training(row)))
            console.awaits_bar = console.is_cleared
            is_told = True
        start = mark.end()
    console.is_cleared = False
    console.n_text += not is_told


def _take_bar(bar: re.Match[str], before: str, console: _Console) -> None:
    if _LETTER.search(before.rpartition("]")[2]):
        return  # a bar with a name is not the training's: `Map:`, `Loading checkpoint shards:`
    done, total = int(bar["done"]), int(bar["total"])
    if console.awaits_bar:
        last = console.around[-1]
        console.around[-1] = Around(last.before, (done, total), last.is_training)
        console.awaits_bar = False
    remember(console.bars, done, total)


def read_dict(text: str) -> dict[str, Any] | None:
    """The pairs of a flat dictionary as Python prints it; None if it is anything else. Nothing is evaluated."""
    inside = text.strip()[1:-1].rstrip().rstrip(",")
    pairs: dict[str, Any] = {}
    position = 0
    while position < len(inside):
        pair = _PAIR.match(inside, position)
        if pair is None:
            return None
        pairs[pair["key"]] = _value(pair["value"])
        position = pair.end()
    return pairs or None


def _value(token: str) -> Any:
    if token[0] in "'\"":
        return token[1:-1]
    if token[0] in "[(":
        return [_value(item.strip()) for item in token[1:-1].split(",") if item.strip()]
    if token in _WORDS:
        return _WORDS[token]
    number = token_number(token)
    return token if number is None else number


READER: Final = Reader(FORMAT, sniff, read)
