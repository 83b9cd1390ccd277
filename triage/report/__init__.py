"""The renderers: a report in, text out. A new output format is one new file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from triage.report import json, terminal
from triage.report._contract import PIPED_WIDTH, Look, Renderer

__all__ = ["BY_NAME", "PIPED_WIDTH", "RENDERERS", "Look", "Renderer"]

RENDERERS: Final[tuple[Renderer, ...]] = (terminal.RENDERER, json.RENDERER)
"""Every output format; the first is the default."""

BY_NAME: Final[Mapping[str, Renderer]] = {renderer.name: renderer for renderer in RENDERERS}
