"""Is a source console text of a training job? By its rows, not by its words.

Separate because the question is asked of every file that no other reader knows: a page about training, a
configuration or the output of an installer must not be taken, and a log that begins with a thousand lines of warnings
must.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from triage.errors import UnreadableError
from triage.readers._console_grammar import Grammars
from triage.readers._console_lines import believable, trains
from triage.readers._console_numbers import has_decimal_commas
from triage.readers._console_parse import Parser
from triage.readers._console_pieces import pieces_of, text_of
from triage.readers._console_templates import Found, Templates
from triage.readers._contract import HEAD_BYTES, Source
from triage.readers._source import head_text

PRINTABLE: Final = 0.95
"""Share of printable characters that makes a head a text."""

DOCUMENTS: Final = frozenset(
    (".py", ".md", ".rst", ".tex", ".ipynb", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".sh", ".c", ".cc", ".cpp", ".h")
) | {".cu", ".js", ".ts", ".java", ".go", ".rs", ".html", ".htm", ".xml"}
DOCUMENT_SHARE: Final = 0.5
"""Endings of names of source code and documents, which quote rows; only one that consists of rows is a log."""

PEEK_BYTES: Final = 2 << 20
"""How much of a file is looked at where its head holds no row: configurations and warnings before the first row are
long."""

_MARKUP: Final = re.compile(r"\s*(?:<(?:!DOCTYPE|html|\?xml|svg)|[{\[]\s*\n\s*\")", re.IGNORECASE)
"""The beginning of a web page or of a JSON document over several lines: other readers' business."""


def is_console(source: Source, grammars: Grammars) -> bool:
    """Is it text in which some grammar, or the fallback, finds training rows or messages that tell of one?"""
    head = head_text(source)
    if not _is_text(head) or _MARKUP.match(head):
        return False
    share = DOCUMENT_SHARE if PurePath(source.name).suffix.lower() in DOCUMENTS else 0.0
    if holds_rows(head, grammars, share=share):
        return True
    if share or len(source.head) < HEAD_BYTES or source.size is None:
        return False
    return any(holds_rows(text, grammars) for text in _further(source))


def _is_text(head: str) -> bool:
    sample = head[:4096]
    shown = sum(char.isprintable() or char in "\r\n\t\b\x1b" for char in sample)
    return bool(sample) and "\ufffd" not in sample[:64] and shown >= PRINTABLE * len(sample)


def _further(source: Source) -> Iterator[str]:
    """What follows the head, and the end of a plain file."""
    try:
        with source.open() as stream:
            yield text_of(stream.read(PEEK_BYTES))
        if source.local is not None and source.size is not None and source.size > PEEK_BYTES:
            with source.local.open("rb") as file:
                file.seek(source.size - HEAD_BYTES)
                yield text_of(file.read()).partition("\n")[2]
    except (OSError, UnreadableError):
        return


def holds_rows(text: str, grammars: Grammars, *, share: float = 0.0) -> bool:
    """Say whether a text holds training rows, or messages of a training job.

    Args:
        text: some of the text.
        grammars: what is tried.
        share: least share of its lines that must be rows.
    """
    pieces = pieces_of(text, 1)
    found = Templates(Parser(grammars, has_decimal_commas(text))).read(pieces.texts)
    kept = believable(found, len(pieces.texts), Counter(), Counter())
    rows = sum(len(f.places) for f in kept if trains(f) or (f.reading.kind in ("row", "eval") and f.reading.grammar))
    if rows and rows >= share * sum(1 for piece in pieces.texts if piece.strip()):
        return True
    return not share and any(_is_telling(f) for f in kept)


def _is_telling(found: Found) -> bool:
    """Say whether a message is one that only a training job prints."""
    message = found.reading.message
    return message is not None and bool(message.marks or (message.nan and message.kind == "exception"))
