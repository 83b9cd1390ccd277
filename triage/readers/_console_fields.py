"""Finding the pairs of name and number in one line, in every form in which loggers write them.

Separate because the forms are few and shared by all grammars: `name: 1`, `name=1`, `name 1`, `[name] 1`, `'name': 1`,
cells between pipes, groups such as `loss[a=1, b=2]` and sections such as `[valid] a=1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from triage.readers._console_names import is_metric, whole_name
from triage.readers._console_numbers import average_pattern, is_whole_value, value_pattern


@dataclass(frozen=True, slots=True)
class Pair:
    """A name and where its number stands.

    Attributes:
        name: as written; `_avg` is appended for a smoothed value.
        at: where the name begins.
        start, end: where the digits of the value are.
    """

    name: str
    at: int
    start: int
    end: int


_PREFIXES: Final = re.compile(
    # Glog and absl: level letter, date, time, thread, file and line.
    r"^[IWEF]\d{4} \d\d:\d\d:\d\d[\d.]*\s+\d+ [^\]\n]{0,80}\]\s"
    # Everything up to the level of a log record, with the source location around it.
    r"|^.{0,120}?\b(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\b[\]|:\s-]*"
    r"(?:\[?[\w./-]+\.py:\d+(?::\w+)?\][\s:-]*)?(?:\|?\s*[\w.]+:[\w<>]+:\d+ - )?"
)
"""What stands before the message of a log record; numbers in it are dates, threads and source lines."""

_NAME: Final = r"[A-Za-z_][\w./@+-]*(?:\([\w/%. ]{1,20}\))?"
_WORDS: Final = (
    r"(?:(?:train(?:ing)?|val(?:id(?:ation)?)?|eval|test|dev|lm|tot(?:al)?|avg|average|mean|batch|step|running|"
    r"current|label|smooth|gen|disc|[gd])[ ]){0,2}[\w/.@-]*"
    r"(?:loss(?:es)?|nll|ppl|perplexity|lr|learning[ _]rate|grad(?:ient)?[ _]?norm|gnorm|norm|acc(?:uracy)?|acc@\d|"
    r"top\d|bpc|bpb|rank)(?:[_/]\w+)?"
)
_FORMS: Final = {
    "colons": rf"(?P<name>{_NAME})\s*:",
    "equals": rf"(?P<name>{_NAME})\s*:?=",
    "words": rf"(?<![\w/.-])(?P<name>(?i:{_WORDS}))(?=[\s|])",
    "brackets": r"\[(?P<name>[A-Za-z][\w ./-]{0,40})\]",
    "dict": r"(?P<q>[\"'])(?P<name>[^\"'\n]{1,120})(?P=q)\s*[:,]",
}
_ANY: Final = (
    rf"(?:(?P<q>[\"'])(?P<name>[^\"'\n]{{1,120}})(?P=q)\s*[:,]|(?P<name2>{_NAME})\s*(?::=?|=)"
    rf"|\[(?P<name3>[A-Za-z][\w ./-]{{0,40}})\]"
    rf"|(?<![\w/.-])(?P<name4>(?i:{_WORDS}))(?=\s))"
)
_PIPES: Final = r"(?:^|\|)\s*(?P<name>[A-Za-z][^|:=]{0,80}?)\s*(?::|=|\s)"
_GROUP: Final = re.compile(r"(\w+)\[([^\[\]]*)\]")

_SECTION: Final = re.compile(r"\[(train|valid|val|test|eval)\]")

_SMOOTHED_GROUPS: Final = {"loss": "", "tot_loss": "_avg"}
"""Groups of sub-losses, and what is appended to the names in them: icefall's running total is an average."""


@cache
def _pattern(form: str, *, decimal_comma: bool) -> re.Pattern[str]:
    value = value_pattern(decimal_comma=decimal_comma)
    average = average_pattern(decimal_comma=decimal_comma)
    if form == "pipes":
        return re.compile(rf"{_PIPES}\s*{value}{average}\s*(?:\([^)|]*\)\s*)?(?=\||$)")
    return re.compile(rf"{_ANY if form == 'any' else _FORMS[form]}\s*{value}{average}")


def pairs_of(text: str, form: str, *, decimal_comma: bool = False) -> Iterator[Pair]:
    """Yield the pairs of a line that may be metrics, in order.

    Args:
        text: one line.
        form: one of the forms of `_console_grammar.FIELDS` but "none".
        decimal_comma: numbers are written with a decimal comma.
    """
    begin = after_prefix(text)
    if form == "groups":
        yield from _grouped(text, begin, decimal_comma=decimal_comma)
        return
    if form == "sections":
        yield from _sections(text, begin, decimal_comma=decimal_comma)
        return
    yield from _scan(text, begin, len(text), form, decimal_comma=decimal_comma)


def after_prefix(text: str) -> int:
    """Where the message of a log record begins; 0 where there is no prefix."""
    found = _PREFIXES.match(text)
    return found.end() if found else 0


def _scan(text: str, begin: int, end: int, form: str, *, decimal_comma: bool) -> Iterator[Pair]:
    for found in _pattern(form, decimal_comma=decimal_comma).finditer(text, begin, end):
        group = found.lastgroup
        names = found.groupdict()
        key = next(k for k in ("name", "name2", "name3", "name4") if names.get(k) is not None)
        name, at = names[key].strip(), found.start(key)
        if form in ("colons", "equals", "any") and key in ("name", "name2") and names.get("q") is None:
            name, at = whole_name(text, at, name)
        if not is_metric(name) or not is_whole_value(text, found.end("value"), found["value"]):
            continue
        yield Pair(name, at, found.start("value"), found.end("value"))
        if group == "average" or names.get("average") is not None:
            yield Pair(f"{name}_avg", found.start("average"), found.start("average"), found.end("average"))


def _grouped(text: str, begin: int, *, decimal_comma: bool) -> Iterator[Pair]:
    """Yield the pairs in `loss[…]` and `tot_loss[…]`, and those outside of any group."""
    done = begin
    for group in _GROUP.finditer(text, begin):
        yield from _scan(text, done, group.start(), "colons", decimal_comma=decimal_comma)
        done = group.end()
        suffix = _SMOOTHED_GROUPS.get(group[1])
        if suffix is None:
            continue
        for pair in _scan(text, group.start(2), group.end(2), "equals", decimal_comma=decimal_comma):
            yield Pair(pair.name + suffix, pair.at, pair.start, pair.end)
    yield from _scan(text, done, len(text), "colons", decimal_comma=decimal_comma)


def _sections(text: str, begin: int, *, decimal_comma: bool) -> Iterator[Pair]:
    """Yield the pairs behind `[train]`, `[valid]` and the like, with the name of the section in front of theirs."""
    heads = list(_SECTION.finditer(text, begin))
    bounds = [*(head.start() for head in heads), len(text)]
    for head, end in zip(heads, bounds[1:], strict=True):
        for pair in _scan(text, head.end(), end, "equals", decimal_comma=decimal_comma):
            yield Pair(f"{head[1]}_{pair.name}", pair.at, pair.start, pair.end)
