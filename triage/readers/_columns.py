"""Which source column is which canonical one.

Separate from the assembly because this is pure name work: the same for a file of three columns and one of five
thousand.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from triage.errors import UsageError
from triage.options import Options
from triage.readers._contract import Wanted
from triage.schema import BY_NAME, LOSS_LIKE, Alias, builtin_aliases

AXES: Final = frozenset({"step", "time", "epoch", "rank"})
"""Columns that place a row; which candidate serves is decided by its values, not by its name alone."""

COUNTERS: Final = frozenset({"step", "epoch", "rank", "samples", "tokens"})
"""Columns of whole numbers that must stay exact: they may become the step."""

EVAL_NAME: Final = re.compile(
    r"(?:.*[./_ -])?(?:eval|evaluation|val|valid|validation|test|dev|heldout|holdout)(?:[./_ -].*)?", re.IGNORECASE
)
"""Names of numbers taken on held-out data."""

BOOKKEEPING: Final = re.compile(
    r"(?:.*[./_ -])?(?:_?(?:run)?time(?:stamp)?|date(?:time)?|_step|wall.*|duration|elapsed\w*|eta|remaining\w*|"
    r"percentage|index|total_steps|max_steps|hostname|pid)(?:[./_ -].*)?",
    re.IGNORECASE,
)
"""Names of numbers that a tracker adds by itself; they say nothing about the training."""

NEAR_NAMES: Final = 5
"""How many near names a message about an unknown column lists."""

_OWN, _USER, _WRITER, _EXACT, _NORMAL, _PATTERN = range(6)
_SEPARATORS: Final = re.compile(r"[\s./:\-]+")

_Place = tuple[int, int]
"""How well a name fits a canonical column: kind of match, then position in the list; smaller is better."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The outcome of matching source names to canonical columns.

    Attributes:
        chosen: canonical -> source name.
        candidates: canonical -> all source names that fit, best first (the chosen one among them).
        loss_like: names that look like a training loss, where none was chosen.
    """

    chosen: Mapping[str, str]
    candidates: Mapping[str, tuple[str, ...]]
    loss_like: tuple[str, ...]


def choose(points: Mapping[str, int], options: Options, writer: Mapping[str, str]) -> Naming:
    """Choose a source column for every canonical one.

    Args:
        points: source name -> how many numbers it holds, in the order of the source.
        options: `mapping` wins over everything, `aliases` over the writer's and the built-in ones.
        writer: source name -> canonical, as the reader of the format knows it.

    Returns:
        The names. Of several that fit, the first in the order of preference that holds numbers is chosen; the first of
        all where none does.

    Raises:
        UsageError: `mapping` names a column twice, one that is not canonical, or one that is not in the log.
    """
    mapping = _checked_mapping(points, options)
    fits: dict[str, list[tuple[_Place, str]]] = {}
    for name in points:
        for canonical, place in _places(name, mapping, options.aliases, writer).items():
            fits.setdefault(canonical, []).append((place, name))
    chosen: dict[str, str] = dict(mapping)
    taken = set(mapping.values())
    candidates: dict[str, tuple[str, ...]] = {}
    for canonical in BY_NAME:
        # Of names that fit equally well the fuller one is the series.
        names = [name for _, name in sorted(fits.get(canonical, ()), key=lambda fit: (fit[0], -points[fit[1]]))]
        if not names:
            continue
        candidates[canonical] = tuple(names)
        if canonical in chosen:
            continue
        free = [name for name in names if name not in taken]
        best = next((name for name in free if points[name]), free[0] if free else None)
        if best is not None:
            chosen[canonical] = best
            taken.add(best)
    loss_like = (
        () if "loss" in chosen else tuple(n for n in points if points[n] and n not in taken and looks_like_loss(n))
    )
    return Naming(chosen, candidates, loss_like)


def looks_like_loss(name: str) -> bool:
    """Say whether a name looks like a training loss that `--map` could take."""
    return bool(LOSS_LIKE.search(name)) and not EVAL_NAME.fullmatch(name)


@cache
def is_counter(name: str) -> bool:
    """Say whether a name is that of a column that counts (steps, epochs, samples, tokens) or numbers the workers."""
    return not COUNTERS.isdisjoint(_places(name, {}, {}, {}))


def is_step(name: str) -> bool:
    """Say whether a name is that of a step."""
    return "step" in _places(name, {}, {}, {})


def canonical_wanted(options: Options) -> Wanted:
    """The column selection that takes only what could become a canonical column, or the column to be judged."""
    own = {*options.mapping.values(), *options.aliases, options.signal}

    @cache
    def wanted(name: str) -> bool:
        return name in own or bool(_places(name, {}, {}, {})) or bool(LOSS_LIKE.search(name))

    return wanted


def best_first(names: Iterable[str], options: Options) -> list[str]:
    """Order names so that those that can become canonical columns come first; the order is otherwise kept."""
    wanted = canonical_wanted(options)
    return sorted(names, key=lambda name: not wanted(name))


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """The names most like `name`, best first."""
    by_lower = {other.lower(): other for other in names}
    close = difflib.get_close_matches(name.lower(), by_lower, NEAR_NAMES, cutoff=0.4)
    return [by_lower[lower] for lower in close]


def _checked_mapping(points: Mapping[str, int], options: Options) -> dict[str, str]:
    owner: dict[str, str] = {}
    for canonical, source in options.mapping.items():
        if canonical not in BY_NAME:
            near = near_names(canonical, BY_NAME) or list(BY_NAME)
            raise UsageError(f"--map {canonical}=…: there is no column {canonical!r}", hint=f"one of {', '.join(near)}")
        if source in owner:
            raise UsageError(
                f"--map takes {source!r} twice, as {owner[source]} and as {canonical}", hint="leave one of them out"
            )
        owner[source] = canonical
        if source not in points:
            near = near_names(source, points) or list(points)[:NEAR_NAMES]
            raise UsageError(
                f"--map {canonical}={source}: the log has no column {source!r}",
                hint=f"near it: {', '.join(near)}" if near else "the log has no columns",
            )
    return dict(options.mapping)


def _places(
    name: str, mapping: Mapping[str, str], user: Mapping[str, str], writer: Mapping[str, str]
) -> dict[str, _Place]:
    """The canonical columns that a name fits, each with how well; only the best kind of match counts."""
    for canonical, source in mapping.items():
        if source == name:
            return {canonical: (_OWN, 0)}
    for kind, table in ((_USER, user), (_WRITER, writer)):
        if told := table.get(name) or table.get(name.lower()):
            return {told: (kind, 0)}
    lower = name.lower()
    exact, normal, patterns = _tables()
    if found := exact.get(lower):
        return {canonical: (_EXACT, place) for canonical, place in found}
    if found := normal.get(_normal(lower)):
        return {canonical: (_NORMAL, place) for canonical, place in found}
    places: dict[str, _Place] = {}
    for canonical, whole, alias in patterns:
        if whole.fullmatch(lower) and not any(never.fullmatch(lower) for never in alias.never):
            place = next(i for i, pattern in enumerate(alias.patterns) if pattern.fullmatch(lower))
            places[canonical] = (_PATTERN, place)
    return places


def _normal(name: str) -> str:
    return _SEPARATORS.sub("_", name.strip())


_Exact = dict[str, list[tuple[str, int]]]
_Patterns = tuple[tuple[str, re.Pattern[str], Alias], ...]


@cache
def _tables() -> tuple[_Exact, _Exact, _Patterns]:
    """The built-in aliases, turned for look-up: exact names, normal forms, and one pattern per canonical column."""
    exact: _Exact = {}
    normal: _Exact = {}
    patterns = []
    for alias in builtin_aliases():
        seen: set[str] = set()
        for place, name in enumerate(alias.exact):
            exact.setdefault(name, []).append((alias.canonical, place))
            if (form := _normal(name)) not in seen:
                seen.add(form)
                normal.setdefault(form, []).append((alias.canonical, place))
        if alias.patterns:
            # One alternation first: five thousand columns meet thirty tables.
            whole = "|".join(f"(?:{pattern.pattern})" for pattern in alias.patterns)
            patterns.append((alias.canonical, re.compile(whole, re.IGNORECASE), alias))
    return exact, normal, tuple(patterns)
