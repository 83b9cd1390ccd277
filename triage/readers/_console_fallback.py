"""Lines that no grammar fits: bars that carry values, and pairs of which one is a loss or a gradient norm.

Separate because this is the tolerant end of the reader: everything here is a guess, and marked as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from triage.readers._console_bars import Bar
from triage.readers._console_counters import Mark, counters_of, rank_of
from triage.readers._console_fields import Pair, after_prefix, pairs_of
from triage.readers._console_names import is_evaluation, is_gradient, is_loss
from triage.readers._console_readings import NOTHING, Cell, Reading, in_order, stamp_of

DEAD_WORDS: Final = re.compile(r"\bNamespace\(|\bConfig\(|\bArguments\(|^\s*(?:import|def|class|return|#|//)\b")
"""Lines of configuration and source code, in which numbers with the names of metrics are settings."""


def read_bar(text: str, bar: Bar, *, decimal_comma: bool) -> Reading | None:
    """A state of a bar: a counter for what comes after it, and a row where it carries values."""
    if not bar.is_training:
        return Reading("nothing")
    cells = {"@n": Cell("@n", bar.n[0], *bar.n), "@total": Cell("@total", bar.total[0], *bar.total)}
    if bar.epoch is not None:
        cells["@epoch"] = Cell("@epoch", bar.epoch[0], *bar.epoch)
    for start, end in bar.values:
        for pair in pairs_of(text[:end], "any", decimal_comma=decimal_comma):
            if pair.start >= start and pair.name.lower() not in ("epoch", "step", "global_step", "v_num"):
                cells.setdefault(pair.name, Cell(pair.name, pair.at, pair.start, pair.end))
    return Reading("bar", in_order([*cells.values()]))


def read_pairs(text: str, *, decimal_comma: bool) -> Reading:
    """The fallback: pairs of which one is a loss or a gradient norm, with whatever counts in the line."""
    begin = after_prefix(text)
    pairs = list(pairs_of(text, "any", decimal_comma=decimal_comma))
    values = [p for p in pairs if is_loss(p.name) or is_gradient(p.name)]
    if not values or DEAD_WORDS.search(text):
        return NOTHING
    first = values[0]
    marks, step_name = counters_of(text, begin, first.at)
    marks += _own_counters(text, pairs, marks)
    rank = rank_of(text)
    taken = [(start, end) for _, start, end in (*marks, *([rank] if rank else ()))]
    prefix = "eval/" if is_evaluation(text[begin : first.at]) else ""
    cells: dict[str, Cell] = {f"@{role}": Cell(f"@{role}", start, start, end) for role, start, end in marks}
    if rank:
        cells["@rank"] = Cell("@rank", rank[1], rank[1], rank[2])
    for pair in pairs:
        lower = pair.name.lower()
        if any(pair.start < end and start < pair.end for start, end in taken) or lower.endswith("epoch"):
            continue
        name = prefix + pair.name if prefix and not is_evaluation(pair.name) else pair.name
        cells.setdefault(name, Cell(name, pair.at, pair.start, pair.end))
    kind = "eval" if prefix else "row"
    return Reading(kind, in_order([*cells.values(), *stamp_of(text)]), step_name=step_name, is_weak=True)


def _own_counters(text: str, pairs: Sequence[Pair], marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Counters under names such as `train_step`, where nothing else counts."""
    if any(role in ("step", "inner") for role, _, _ in marks):
        return ()
    for pair in pairs:
        if re.fullmatch(r"\w*[_/.](?:global_)?(?:step|iter|iteration|num_updates)", pair.name.lower()):
            value = text[pair.start : pair.end]
            if value.isdigit():
                return (("step", pair.start, pair.end),)
    return ()
