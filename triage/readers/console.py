"""Console text: whatever a training job printed, in any of the line grammars under `grammars/`.

One tolerant reader, stretch by stretch, and each stretch goes through five hands:

    pieces      what was written at once: colours, redraws and wraps undone          _console_pieces.py templates
    what kind of line each piece is, by grammar, message or fallback     _console_templates.py, _console_parse.py
    lines       texts become numbers, one entry a line                               _console_lines.py rows
    what belongs together, and to which step                             _console_rows.py, _console_steps.py blocks
    frames, notices and facts about the source                           _console_blocks.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from triage.errors import UnreadableError
from triage.model import Block
from triage.options import Limits
from triage.readers._console_blocks import Run, blocks_of
from triage.readers._console_grammar import Grammars, builtin_grammars
from triage.readers._console_numbers import has_decimal_commas
from triage.readers._console_parse import Parser
from triage.readers._console_pieces import hold_last_bar, text_of
from triage.readers._console_sniff import is_console
from triage.readers._console_stretches import stretches
from triage.readers._console_templates import Templates
from triage.readers._contract import HEAD_BYTES, Reader, Source, Wanted
from triage.readers._records import Columns


def reader_with(grammars: Grammars) -> Reader:
    """The reader with other grammars than those that come with triage (see `read_grammars` and `join_grammars`)."""
    return Reader(
        "console",
        lambda source: is_console(source, grammars),
        lambda source, limits, wanted: read(source, limits, wanted, grammars),
    )


def sniff(source: Source) -> bool:
    """Is it text in which some grammar, or the fallback, finds training rows or messages that tell of one?"""
    return is_console(source, builtin_grammars())


def read(source: Source, limits: Limits, wanted: Wanted, grammars: Grammars | None = None) -> Iterator[Block]:
    """Yield the rows of every stretch of text, in order; memory is that of one stretch.

    Raises:
        UnreadableError: nothing in the text is a row.
    """
    templates = Templates(Parser(grammars or builtin_grammars()))
    run = Run(templates, Columns(wanted, limits.columns))
    has_rows = is_begun = False
    held = ""
    for stretch in stretches(source, limits):
        text = held + text_of(stretch.text)
        text, held = (text, "") if stretch.is_last else hold_last_bar(text)
        if not is_begun and text:
            is_begun = True
            templates.parser.decimal_comma = has_decimal_commas(text[:HEAD_BYTES])
            run.memory.counts["decimal-commas"] += templates.parser.decimal_comma
        for block in blocks_of(text, stretch, run):
            has_rows = has_rows or block.frame.height > 0
            yield block
        if stretch.is_last and not has_rows:
            raise UnreadableError(
                "text without a line that tells a loss or a gradient norm",
                path=source.path,
                hint="give the log that the training job printed; docs/grammars.md tells how to add its form",
            )


READER: Final = Reader("console", sniff, read)
