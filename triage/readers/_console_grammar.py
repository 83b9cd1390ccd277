"""The table of line grammars: what a framework's console line looks like, as data.

Separate because adding a framework is an entry in a TOML file under `grammars/` (or in a file of the user's own),
never code. The keys of an entry are documented in `docs/grammars.md`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from triage.errors import UsageError
from triage.readers._console_numbers import NUMBER

KINDS: Final = ("row", "eval", "head", "item", "state", "summary", "ignore")
"""row: a training row · eval: a row on held-out data · head: opens a record of several lines · item: one value of it
· state: a bar that is redrawn, of which the last state of an epoch counts · summary: means over an epoch · ignore:
never read."""

FIELDS: Final = ("any", "pipes", "colons", "equals", "words", "brackets", "dict", "groups", "sections", "none")
"""How the pairs of a line are written; `any` takes every form but pipes, groups and sections."""

EVENTS: Final = ("overflow", "checkpoint", "resume", "nan-warning", "ctc-length", "oom", "comm-failure", "exception")
"""Kinds of messages."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """One line grammar.

    Attributes:
        id: kebab-case.
        writer: the framework as printed; "" for the generic fallback.
        needs: all of these must be in the line, as they are.
        any_of: one of these must be in the line; empty = no such demand.
        line: searched for in the line. Groups named step, epoch, inner (place in the epoch), length (of the epoch),
            total (declared last step), rank, split (train, val …), key and value (a column and its number) have their
            meaning; any other named group is a column.
        kind: one of KINDS.
        fields: one of FIELDS.
        step: name of the step column; names of fields that are the step, best first.
        prefix: put before every name.
        rename: name → name.
        skip: names that are not read.
        aliases: source name → canonical column, handed on to the table.
        loss: names of the loss, where the framework leaves a NaN loss out: without it beside a non-finite gradient the
            loss is NaN; 0 beside a skipped step is no loss.
        skipped: name of the count of skipped steps that `loss` goes with.
        uses_bar: "before" or "behind": the step is that of the progress bar there; "" = it is not told by a bar.
        epoch_base: number of the first epoch; None = told by the first one seen.
        is_next: a row without a step belongs to the step after the last one.
    """

    id: str
    writer: str
    needs: tuple[str, ...]
    any_of: tuple[str, ...]
    line: str
    kind: str = "row"
    fields: str = "any"
    step: tuple[str, ...] = ()
    prefix: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    skip: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    loss: tuple[str, ...] = ()
    skipped: str = ""
    uses_bar: str = ""
    epoch_base: int | None = None
    is_next: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One kind of message that says something about a step.

    Attributes:
        kind: one of EVENTS; "" = only its columns are of use.
        needs: all of these must be in the line, in lower case.
        line: searched for, case ignored. Groups: step, epoch; every other named group is a column.
        marks: column → number that the message stands for.
        nan: columns that are NaN at this step ("loss" stands for the main loss).
        is_next: the message is about the step after the last one, not about the last one.
    """

    kind: str
    needs: tuple[str, ...]
    line: str
    marks: Mapping[str, float] = field(default_factory=dict)
    nan: tuple[str, ...] = ()
    is_next: bool = False


@dataclass(frozen=True, slots=True)
class Grammars:
    """All grammars in the order in which they are tried, and all messages."""

    lines: tuple[Grammar, ...]
    messages: tuple[Message, ...]
    hints: tuple[str, ...]
    """Lower-case literals; a line that holds none of them holds nothing of interest."""


HINTS: Final = ("loss", "norm", "step", "iter", "epoch", "nan", "%|", "ppl", "perplexity", "batch")
"""Words without which no grammar-free line can be a row, a counter or a bar."""


def read_grammars(text: str, origin: str) -> Grammars:
    """Read a grammar file.

    Args:
        text: TOML with tables `grammar` and `message`.
        origin: how the file is named in a fault.

    Raises:
        UsageError: not TOML, an unknown key, kind or pattern, or an entry that lacks one.
    """
    try:
        document = tomllib.loads(text)
        unknown = set(document) - {"grammar", "message"}
        lines = tuple(map(_line_of, document.get("grammar", [])))
        messages = tuple(map(_message_of, document.get("message", [])))
    except (ValueError, AttributeError, TypeError, KeyError) as fault:
        raise _unusable(origin, str(fault)) from fault
    if unknown:
        raise _unusable(origin, f"unknown table {min(unknown)!r}")
    return Grammars(lines, messages, _hints(lines, messages))


def _unusable(origin: str, reason: str) -> UsageError:
    return UsageError(f"the grammar file cannot be used: {reason}", path=origin, hint="see docs/grammars.md")


@cache
def builtin_grammars() -> Grammars:
    """The grammars that come with triage."""
    folder = resources.files("triage.readers").joinpath("grammars")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return join_grammars([read_grammars(file.read_text(encoding="utf-8"), file.name) for file in files])


def user_grammars(path: Path) -> Grammars:
    """A file of the user's own, in front of the grammars that come with triage.

    Raises:
        UsageError: the file cannot be read, or an entry of it cannot be used.
    """
    try:
        own = read_grammars(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else str(fault)
        raise _unusable(str(path), reason or type(fault).__name__) from fault
    check_patterns(own, str(path))
    return join_grammars([own, builtin_grammars()])


def join_grammars(parts: Sequence[Grammars]) -> Grammars:
    """Put several files together; the grammars of the first are tried first."""
    lines = tuple(line for part in parts for line in part.lines)
    messages = tuple(message for part in parts for message in part.messages)
    return Grammars(lines, messages, _hints(lines, messages))


def _hints(lines: Sequence[Grammar], messages: Sequence[Message]) -> tuple[str, ...]:
    hints = dict.fromkeys(HINTS)
    for grammar in lines:
        for words in grammar.any_of or grammar.needs[:1]:
            hints[words.lower()] = None
    for message in messages:
        hints[message.needs[0]] = None
    # A hint that holds another one adds nothing.
    return tuple(hint for hint in hints if not any(other != hint and other in hint for other in hints))


def _line_of(entry: Mapping[str, Any]) -> Grammar:
    where = _text(entry, "id", "a grammar")
    known = {
        *("id", "writer", "needs", "any_of", "line", "kind", "fields", "step", "prefix", "rename", "skip", "aliases"),
        *("loss", "skipped", "uses_bar", "epoch_base", "is_next"),
    }
    if unknown := set(entry) - known:
        raise ValueError(f"grammar {where!r} has the unknown key {min(unknown)!r}")
    kind, fields = entry.get("kind", "row"), entry.get("fields", "any")
    if kind not in KINDS:
        raise ValueError(f"grammar {where!r}: kind is {kind!r}, not one of {', '.join(KINDS)}")
    if fields not in FIELDS:
        raise ValueError(f"grammar {where!r}: fields is {fields!r}, not one of {', '.join(FIELDS)}")
    needs, any_of = _texts(entry, "needs"), _texts(entry, "any_of")
    if not needs and not any_of:
        raise ValueError(f"grammar {where!r} needs no literal: give `needs` or `any_of`")
    return Grammar(
        id=where,
        writer=entry.get("writer", ""),
        needs=needs,
        any_of=any_of,
        line=_text(entry, "line", f"grammar {where!r}"),
        kind=kind,
        fields=fields,
        step=_texts(entry, "step"),
        prefix=entry.get("prefix", ""),
        rename=dict(entry.get("rename", {})),
        skip=frozenset(_texts(entry, "skip")),
        aliases=dict(entry.get("aliases", {})),
        loss=_texts(entry, "loss"),
        skipped=entry.get("skipped", ""),
        uses_bar=entry.get("uses_bar", ""),
        epoch_base=entry.get("epoch_base"),
        is_next=bool(entry.get("is_next", False)),
    )


def _message_of(entry: Mapping[str, Any]) -> Message:
    kind = entry.get("kind", "")
    if kind and kind not in EVENTS:
        raise ValueError(f"a message has the kind {kind!r}, not one of {', '.join(EVENTS)}")
    if unknown := set(entry) - {"kind", "needs", "line", "marks", "nan", "is_next"}:
        raise ValueError(f"a message has the unknown key {min(unknown)!r}")
    line, needs = _text(entry, "line", "a message"), tuple(word.lower() for word in _texts(entry, "needs"))
    if not needs:
        raise ValueError(f"the message {line!r} needs no literal: give `needs`")
    marks = {str(name): float(number) for name, number in entry.get("marks", {}).items()}
    return Message(kind, needs, line, marks, _texts(entry, "nan"), bool(entry.get("is_next", False)))


def _text(entry: Mapping[str, Any], key: str, owner: str) -> str:
    if key not in entry:
        raise ValueError(f"{owner} has no `{key}`")
    if not isinstance(entry[key], str) or not entry[key]:
        raise ValueError(f"{owner}: `{key}` is not a text")
    return str(entry[key])


def _texts(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A text, or a list of them."""
    given = entry.get(key, ())
    texts = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(text, str) and text for text in texts):
        raise ValueError(f"`{key}` is not a list of texts")
    return texts


@cache
def pattern_of(text: str, *, ignore_case: bool = False) -> re.Pattern[str]:
    """Compile a pattern of a grammar, when it is first needed; the word NUMBER in it stands for any number."""
    return re.compile(text.replace("NUMBER", NUMBER), re.IGNORECASE if ignore_case else 0)


def check_patterns(grammars: Grammars, origin: str) -> None:
    """Compile every pattern of a file that a user wrote.

    Raises:
        UsageError: one cannot be compiled.
    """
    patterns = [(entry.line, False) for entry in grammars.lines] + [(entry.line, True) for entry in grammars.messages]
    for text, ignore_case in patterns:
        try:
            pattern_of(text, ignore_case=ignore_case)
        except re.error as fault:
            raise _unusable(origin, f"the pattern {text!r}: {fault}") from fault
