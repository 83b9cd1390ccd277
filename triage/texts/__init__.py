"""Every sentence that a person reads, in English and Chinese side by side, looked up by kind and id.

Separate from the renderers so that detectors speak in ids and numbers only, and so that both languages can be compared
entry by entry. One TOML file per kind; an entry is a pair

    [evidence-id]
    en = "{signal} rose to {observed}[, threshold {threshold}]"
    zh = "{signal} 升至 {observed}[，阈值 {threshold}]"

or a table of such pairs (`name.en`, `name.zh`, `means.en`, …), reached as `text(lang, kind, "id.name")`. A part in
square brackets is left out where one of its placeholders is None; `{n:row|rows}` is the first word where n is 1, else
the second.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

LANGUAGES: Final = ("en", "zh")

KINDS: Final = (
    "causes",
    "classes",
    "conditions",
    "evidence",
    "exit-codes",
    "findings",
    "headings",
    "in-short",
    "messages",
    "notices",
    "restart",
    "statuses",
    "verdicts",
)
"""The kinds, each a file of this folder."""

UNKNOWN: Final = "?"
"""Stands for a placeholder outside brackets that has no value."""

_OPTIONAL: Final = re.compile(r"\[([^\[\]]*)\]")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::([^{}|]*)\|([^{}|]*))?\}")


def text(lang: str, kind: str, id: str, /, **placeholders: object) -> str:  # noqa: A002 - the word of the contract
    """Give the sentence of an id in one language.

    Args:
        lang: en | zh.
        kind: one of KINDS.
        id: kebab-case id, with `.field` where the entry has several sentences.
        placeholders: values, already formatted where the format matters; None = not known.

    Returns:
        The sentence; for an id without one, the id itself and the values that are known, so that nothing is lost.
    """
    sentence = entries(kind).get(id, {}).get(lang)
    if sentence is None:
        known = [f"{name} {value}" for name, value in placeholders.items() if value is not None]
        return f"{id} ({', '.join(known)})" if known else id
    return fill(sentence, placeholders)


def has(kind: str, id: str) -> bool:  # noqa: A002 - the word of the contract
    """Whether an id (with `.field`, where it has fields) has a sentence."""
    return id in entries(kind)


def ids(kind: str) -> tuple[str, ...]:
    """The ids of a kind in the order of its file, without fields."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in entries(kind)))


def template(lang: str, kind: str, id: str) -> str:  # noqa: A002 - the word of the contract
    """The sentence of an id with its placeholders still in it, for a page that explains it."""
    sentence = entries(kind).get(id, {}).get(lang, id)
    return _PLACEHOLDER.sub(lambda m: m.group(0) if m.group(2) is None else m.group(3), _OPTIONAL.sub(r"\1", sentence))


def placeholders_of(sentence: str) -> frozenset[str]:
    """The names of the placeholders in a sentence."""
    return frozenset(match.group(1) for match in _PLACEHOLDER.finditer(sentence))


def fill(sentence: str, values: Mapping[str, object]) -> str:
    """Put values into a sentence; a bracketed part goes where one of its values is None or absent."""

    def part(match: re.Match[str]) -> str:
        inner = match.group(1)
        return inner if all(values.get(name) is not None for name in placeholders_of(inner)) else ""

    def value(match: re.Match[str]) -> str:
        name, one, many = match.groups()
        found = values.get(name)
        if one is not None:
            return str(one if str(found) == "1" else many)
        return UNKNOWN if found is None else str(found)

    return _PLACEHOLDER.sub(value, _OPTIONAL.sub(part, sentence))


@cache
def entries(kind: str) -> Mapping[str, Mapping[str, str]]:
    """All sentences of a kind: id, or id.field → language → sentence; in the order of the file."""
    raw = tomllib.loads(resources.files("triage.texts").joinpath(f"{kind}.toml").read_text(encoding="utf-8"))
    flat: dict[str, Mapping[str, str]] = {}
    for name, entry in raw.items():
        _flatten(name, entry, flat)
    return flat


def _flatten(name: str, entry: Mapping[str, Any], into: dict[str, Mapping[str, str]]) -> None:
    sentences = {lang: sentence for lang, sentence in entry.items() if isinstance(sentence, str)}
    if sentences:
        into[name] = sentences
    for field, inner in entry.items():
        if isinstance(inner, Mapping):
            _flatten(f"{name}.{field}", inner, into)
