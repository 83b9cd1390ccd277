"""The report for a person at a terminal: coloured where it may be, plain text where it is piped.

Colours are the eight basic ones and only underline what the words and marks already say, so that light and dark
terminals and colour-blind readers see the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from triage.model import Report, StepView
from triage.report._contract import Look, Renderer
from triage.report._explain import Decisions, Shelf, explained_lines
from triage.report._inspect import inspect_lines
from triage.report._lines import Line, Style, plain, shown
from triage.report._say import Say
from triage.report._settings import Rows, settings_lines
from triage.report._spikes import spikes_lines
from triage.report._step import step_lines
from triage.report._whole import report_lines
from triage.report._width import clean

__all__ = ["RENDERER", "Shelf", "clean", "render", "render_explained", "render_settings", "render_step", "text_of"]

_VIEWS: Final = {"analyze": report_lines, "spikes": spikes_lines, "inspect": inspect_lines}

_COLOURS: Final[Mapping[Style, str]] = {
    "plain": "",
    "strong": "bold",
    "dim": "dim",
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "accent": "cyan",
}

_ASCII: Final = str.maketrans(
    {
        **{chr(0x2800 + dots): "*" for dots in range(1, 256)},
        **dict(zip("┤│└─▲●◆×✓✗·–−←→…", "|||-^o#xyn*--<>~", strict=True)),
    }
)
"""What stands for the drawn characters where the output can carry ASCII only."""


def render(report: Report, look: Look) -> str:
    """Give the report as text for a terminal of `look.width` cells."""
    view = _VIEWS.get(str(report.options.get("command")), report_lines)
    return text_of(view(Say(look.lang), report, look.width), look)


def render_step(view: StepView, look: Look) -> str:
    """Give what `inspect --at` shows as text for a terminal."""
    return text_of(step_lines(Say(look.lang), view, look.width), look)


def render_explained(id: str | None, decisions: Decisions, shelf: Shelf, look: Look) -> str:  # noqa: A002 - as in texts
    """Give what `explain` shows; raises UsageError for an unknown id."""
    return text_of(explained_lines(Say(look.lang), id, decisions, shelf, look.width), look)


def render_settings(rows: Rows, look: Look) -> str:
    """Give what `config` shows: every setting with its value and origin."""
    return text_of(settings_lines(Say(look.lang), rows, look.width), look)


def text_of(lines: Sequence[Line], look: Look) -> str:
    """Turn styled lines into text, with ANSI colours where the look has them."""
    if not look.is_unicode:
        lines = [tuple((text.translate(_ASCII), style) for text, style in found) for found in lines]
    if not look.is_coloured:
        return "".join(f"{plain(found)}\n" for found in lines)
    import io

    from rich.console import Console
    from rich.text import Text

    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=look.width, _environ={})
    with console.capture() as capture:
        for found in lines:
            styled = Text.assemble(*((shown(text), _COLOURS[style]) for text, style in found))
            console.print(styled, soft_wrap=True, highlight=False)
    return capture.get()


RENDERER: Final = Renderer(name="terminal", suffixes=(".txt",), render=render)
