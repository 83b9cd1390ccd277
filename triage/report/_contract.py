"""The contract of a renderer: what it is given and what it gives back.

Separate from the renderers so that each of them is one file that imports only this folder's shared pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from triage.model import Report

PIPED_WIDTH: Final = 100
"""Cells per line where the output is no terminal and COLUMNS is not set: saved output is the same everywhere."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a report is shown; never what it says.

    Attributes:
        lang: en | zh.
        width: terminal cells per line.
        is_coloured: ANSI colours may be used.
        is_unicode: the output can carry braille, box drawing and Chinese; else plain ASCII is used for the pictures.
    """

    lang: str = "en"
    width: int = PIPED_WIDTH
    is_coloured: bool = False
    is_unicode: bool = True


@dataclass(frozen=True, slots=True)
class Renderer:
    """One output format.

    Attributes:
        name: as given to `--format`.
        suffixes: file names with these endings get this format where `--format` is not given.
        render: the whole text, newline at the end included. Says what the report holds and computes no diagnosis.
            Which part is shown is in `report.options["command"]` (analyze | spikes | inspect), so that a saved report
            shows the same as the run that made it.
    """

    name: str
    suffixes: tuple[str, ...]
    render: Callable[[Report, Look], str]
