"""Progress bars: where one ends and other text is glued to it, what it counts, and which values it carries.

Separate because bars are the noisiest thing on a console: redrawn thousands of times, overwritten, and glued to
whatever another logger writes in between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

METER: Final = re.compile(
    r"(?P<percent>\d{1,3})%\s*(?:\|[^|\n]*\|)?\s*(?P<n>\d+)/(?P<total>\d+) \[(?P<meter>(?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]"
)
"""What tqdm draws: percent, bar, counter, and in brackets times, rate and the values that were handed to it."""

RICH: Final = re.compile(
    r"(?P<bar>[━╸╺╴─]{4,}[━╸╺╴─ ]*)\s*(?P<n>\d+)/(?P<total>\d+)\s+(?P<meter>\d+:\d\d:\d\d\s*•\s*[\d:-]+\s+[\d.]+it/s)"
)
"""What rich draws for Lightning: bar, counter, elapsed and remaining time, rate; the values follow."""

OTHER_WORK: Final = re.compile(
    r"\b(?:map|filter|tokeniz\w*|load\w*|download\w*|generat\w*|sav\w*|writ\w*|fetch\w*|convert\w*|pack\w*|shards?|upload\w*|"
    r"eval\w*|valid\w*|val|test\w*|predict\w*|sanity|infer\w*|rollouts?|prefetch\w*|process\w*|preprocess\w*|casting|merging|"
    r"group\w*|sampling|encoding|decoding|embedding|index\w*)\b",
    re.IGNORECASE,
)
"""Descriptions of bars that do not count training steps."""

_EPOCH: Final = re.compile(r"\bepoch\b[\s:=#\[]{0,3}(?P<epoch>\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Bar:
    """One state of a bar.

    Attributes:
        n, total: where the digits of the counter stand.
        epoch: where the digits of the epoch stand, where the description tells it.
        values: stretches of text that may hold values: the description, and what follows the rate.
        is_training: it counts training steps, as far as its description tells.
    """

    n: tuple[int, int]
    total: tuple[int, int]
    epoch: tuple[int, int] | None
    values: tuple[tuple[int, int], ...]
    is_training: bool


def bar_of(text: str) -> Bar | None:
    """Find the bar of a piece of text."""
    found = METER.search(text)
    if found is not None:
        # "00:05<00:05, 9.5it/s, loss=0.5": the values stand behind the second comma.
        meter = found["meter"]
        rate = re.search(r"(?:it/s|s/it|\?it/s|\w+/s|s/\w+)", meter)
        begin = found.start("meter") + (rate.end() if rate else len(meter))
        values: tuple[tuple[int, int], ...] = ((0, found.start()), (begin, found.end("meter")))
    else:
        found = RICH.search(text)
        if found is None:
            return None
        values = ((found.end(), len(text)),)
    description = text[: found.start()]
    epoch = _EPOCH.search(description)
    return Bar(
        n=found.span("n"),
        total=found.span("total"),
        epoch=epoch.span("epoch") if epoch else None,
        values=values,
        is_training=not OTHER_WORK.search(description),
    )


def has_bar(text: str) -> bool:
    """Say quickly whether a text may hold a bar."""
    return "%|" in text or "it/s" in text or "s/it" in text
