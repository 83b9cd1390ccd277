"""What was found in a block, line by line: texts become numbers, and what places a line goes into arrays.

Separate because rows, messages and steps all start from these arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from triage.readers._console_names import is_evaluation, is_loss
from triage.readers._console_numbers import to_numbers
from triage.readers._console_readings import ROLES
from triage.readers._console_steps import UNKNOWN, Lines
from triage.readers._console_templates import Found

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ONCE: Final = frozenset({"exception", "checkpoint", "resume", "oom", "comm-failure"})
"""Kinds of messages of which every worker prints its own copy."""

WEAK_WITH_STEP: Final = 2
WEAK_WITHOUT: Final = 3
"""Lines without a grammar that must share their columns: one line is a remark, not a series; without a counter, two
are."""

BARE_SHARE: Final = 0.8
BARE_LINES: Final = 5
BARE_RISING: Final = 0.9
"""Two bare columns are steps and losses only in a text that consists of them, and where the first one counts up."""

Numbers = dict[str, tuple["Array", "Array"]]
"""Name → numbers, and where they are there."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The lines of a block that say something, by kind.

    Attributes:
        found: kinds of lines.
        spans: per kind, the positions of its lines among all of them in order.
        numbers: per kind, its metrics.
        places: (lines,) places among the pieces of the block, ascending.
        lines: arrays over all lines in order.
    """

    found: tuple[Found, ...]
    spans: tuple[Array, ...]
    numbers: tuple[Numbers, ...]
    places: Array
    lines: Lines

    def where(self, test: Callable[[Found], bool]) -> Array:
        """Lines whose kind passes a test."""
        return _where(self.found, self.spans, len(self.places), test)


def believable(
    found: Sequence[Found], pieces: int, seen: Counter[frozenset[str]], lone: Counter[str], *, has_rows: bool = False
) -> list[Found]:
    """Leave out what only looks like rows: lone lines without a grammar, and bare numbers among other text.

    Args:
        found: kinds of lines of a block.
        pieces: how many pieces of text the block has.
        seen: columns → lines that had them so far; moved on.
        lone: counts what is left out, by the id of its notice.
        has_rows: the text held rows before: then a lone line stays that holds a number which is not finite.
    """
    for f in found:
        if f.reading.is_weak:
            seen[_columns(f)] += len(f.places)
    is_bare = _is_bare([f for f in found if f.reading.kind == "bare"], pieces)
    kept = []
    for f in found:
        names = {cell.name for cell in f.reading.cells}
        if f.reading.kind == "bare":
            if is_bare:
                kept.append(replace(f, reading=replace(f.reading, kind="row")))
            continue
        has_counter = not names.isdisjoint(("@step", "@inner", "@epoch"))
        is_lone = f.reading.is_weak and seen[_columns(f)] < (WEAK_WITH_STEP if has_counter else WEAK_WITHOUT)
        if is_lone and not (has_rows and _is_odd(f)):
            lone["lone-values"] += len(f.places)
            continue
        kept.append(f)
    return kept


def _is_odd(found: Found) -> bool:
    """Say whether a number of these lines is NaN or infinite."""
    texts = (text for name, column in found.columns.items() if not name.startswith("@") for text in column.to_list())
    return any("n" in (text or "").lower() for text in texts)


def _is_bare(found: Sequence[Found], pieces: int) -> bool:
    """Say whether a text consists of two bare columns, the first of which counts up."""
    import numpy as np

    count = sum(len(f.places) for f in found)
    if count < max(BARE_LINES, BARE_SHARE * pieces):
        return False
    places = np.concatenate([f.places for f in found])
    steps = np.concatenate([_numbers(f.columns["@step"], is_role=True, decimal_comma=False)[0] for f in found])
    return bool(np.mean(np.diff(steps[np.argsort(places)]) > 0) >= BARE_RISING)


def _columns(found: Found) -> frozenset[str]:
    return frozenset(cell.name for cell in found.reading.cells if not cell.name.startswith("@"))


def batch_of(found: Sequence[Found], *, decimal_comma: bool, has_steps: bool) -> Batch:
    """Lay the lines of a block in order.

    Args:
        found: kinds of lines.
        decimal_comma: numbers are written with a decimal comma.
        has_steps: rows before this block told their steps.
    """
    import numpy as np

    count = sum(len(f.places) for f in found)
    places = np.concatenate([f.places for f in found]) if found else np.zeros(0, dtype=np.int64)
    order = np.argsort(places, kind="stable")
    at = np.empty(count, dtype=np.int64)
    at[order] = np.arange(count)
    ends = np.cumsum([len(f.places) for f in found]).tolist()
    spans = tuple(at[end - len(f.places) : end] for f, end in zip(found, ends, strict=True))
    has_steps = has_steps or any(_tells_step(f) for f in found)
    roles = {role: np.full(count, UNKNOWN, dtype=np.int64) for role in ROLES}
    numbers: list[Numbers] = []
    for f, span in zip(found, spans, strict=True):
        prefix = _prefix(f, has_steps=has_steps)
        mine: Numbers = {}
        for name, texts in f.columns.items():
            if name == "@time":
                continue
            values, there = _numbers(texts, is_role=name.startswith("@"), decimal_comma=decimal_comma)
            if name.startswith("@"):
                roles[name[1:]][span] = values
            else:
                own = prefix.strip("_") and name.lower().startswith(prefix.strip("_"))
                mine[name if own or name == "epoch" else prefix + name] = (values, there)
        numbers.append(mine)
    return Batch(tuple(found), spans, tuple(numbers), places[order], _lines(found, spans, count, roles))


def _numbers(texts: Any, *, is_role: bool, decimal_comma: bool) -> tuple[Array, Array]:
    import numpy as np
    import polars as pl

    values = to_numbers(texts, decimal_comma=decimal_comma and not is_role)
    there = values.is_not_null().to_numpy()
    if not is_role:
        return values.cast(pl.Float64).fill_null(float("nan")).to_numpy(), there
    whole = values.cast(pl.Int64, strict=False)
    return np.where(whole.is_not_null().to_numpy(), whole.fill_null(0).to_numpy(), UNKNOWN), there


def _tells_step(found: Found) -> bool:
    names = {cell.name for cell in found.reading.cells}
    return found.reading.kind == "row" and not names.isdisjoint(("@step", "@inner"))


def _prefix(found: Found, *, has_steps: bool) -> str:
    """Means over an epoch get names of their own where the log has rows of single steps as well."""
    if not has_steps:
        return ""
    if found.reading.kind == "summary":
        return "train_"
    names = {cell.name for cell in found.reading.cells}
    is_mean = found.reading.grammar is None and "@epoch" in names and names.isdisjoint(("@step", "@inner", "@n"))
    return "epoch_" if is_mean and found.reading.kind == "row" else ""


def _lines(found: Sequence[Found], spans: Sequence[Array], count: int, roles: Mapping[str, Array]) -> Lines:
    def where(test: Callable[[Found], bool]) -> Array:
        return _where(found, spans, count, test)

    return Lines(
        roles=roles,
        is_row=where(lambda f: f.reading.kind in ("row", "state", "bar", "head", "item")),
        is_eval=where(lambda f: f.reading.kind in ("eval", "summary")),
        is_bar=where(lambda f: f.reading.kind == "bar"),
        is_message=where(lambda f: f.reading.kind == "message"),
        is_next=where(_is_next),
        is_once=where(lambda f: f.reading.message is not None and f.reading.message.kind in ONCE),
        uses_bar=where(lambda f: f.reading.grammar is not None and f.reading.grammar.uses_bar != ""),
        wants_behind=where(lambda f: f.reading.grammar is not None and f.reading.grammar.uses_bar == "behind"),
        has_loss=where(trains),
        is_aside=where(_is_aside),
        is_state=where(lambda f: f.reading.kind == "state"),
    )


def _where(found: Sequence[Found], spans: Sequence[Array], count: int, test: Callable[[Found], bool]) -> Array:
    import numpy as np

    flags = np.zeros(count, dtype=bool)
    for f, span in zip(found, spans, strict=True):
        if test(f):
            flags[span] = True
    return flags


def trains(found: Found) -> bool:
    """Say whether lines of a kind hold a training loss."""
    if found.reading.kind not in ("row", "state", "bar", "item", "head"):
        return False
    return any(is_loss(cell.name) and not is_evaluation(cell.name) for cell in found.reading.cells)


def _is_aside(found: Found) -> bool:
    grammar = found.reading.grammar
    if grammar is None or grammar.uses_bar or found.reading.kind != "row":
        return False
    return not any(cell.name in ("@step", "@inner", "@epoch", "epoch") for cell in found.reading.cells)


def _is_next(found: Found) -> bool:
    message, grammar = found.reading.message, found.reading.grammar
    return (message is not None and message.is_next) or (grammar is not None and grammar.is_next)
