"""The frozen values that a checklist file is read into. Separate from the loading so that each reads at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["log", "experiment", "action", "verify"]
Operator = Literal["==", ">=", "<=", ">", "<"]


@dataclass(frozen=True, slots=True)
class Text:
    """The same text in both languages."""

    en: str
    zh: str

    def in_language(self, lang: str) -> str:
        """The text in `lang` (en | zh)."""
        return self.zh if lang == "zh" else self.en


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison: is this statistic of this signal on that side of the value?"""

    signal: str
    statistic: str
    operator: Operator
    value: float


@dataclass(frozen=True, slots=True)
class Condition:
    """Comparisons joined by all or any; nothing deeper."""

    join: Literal["all", "any"]
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One step as it stands in the file; the attributes are those of the module's docstring."""

    id: str
    kind: Kind
    text: Text
    short: Text | None = None
    seeds: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    yes: Text | None = None
    no: Text | None = None
    yes_if: Condition | None = None
    no_if: Condition | None = None
    confirm: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    when: Condition | None = None

    def conditions(self) -> tuple[Condition, ...]:
        """All conditions of the step."""
        return tuple(c for c in (self.when, self.yes_if, self.no_if) if c is not None)


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch or a list: its title and its steps, in order."""

    id: str
    title: Text
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Statistic:
    """One row of the closed list of numbers that conditions may name.

    Attributes:
        name: snake_case name.
        unit: unit, or "0 or 1".
        signals: signals that have it; "metric" = every metric column.
        means: what it is, with {signal}.
        says: a sentence with {signal} and {value}; None for numbers that are 0 or 1.
        says_one, says_zero, says_negative, says_infinite: the sentence for 1, 0, less and infinity, where it differs.
    """

    name: str
    unit: str
    signals: tuple[str, ...]
    means: Text
    says: Text | None
    says_one: Text | None
    says_zero: Text | None
    says_negative: Text | None
    says_infinite: Text | None


@dataclass(frozen=True, slots=True)
class Signal:
    """The name of a signal in sentences, and the columns that it is made of."""

    name: Text
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placeholder:
    """How a placeholder is written when its value is known (with {value}), and when it is not."""

    means: str
    known: Text
    unknown: Text


@dataclass(frozen=True, slots=True)
class Framework:
    """What turns a missing column on in one framework, and its calls for clipping and unscaling."""

    name: str
    match: tuple[str, ...]
    clip: Text
    unscale: Text
    columns: Mapping[str, Text]


@dataclass(frozen=True, slots=True)
class Carrier:
    """A point of the guides that something other than a step carries."""

    seeds: tuple[str, ...]
    by: str
    text: Text
