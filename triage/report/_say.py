"""Words for the pieces of the terminal output: sentences by id, counts, evidence.

Separate so that every piece takes its words from `triage/texts` in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from triage.model import Evidence
from triage.report._lines import Line, Style, listed
from triage.report._numbers import number
from triage.report._width import clean
from triage.texts import has, text


@dataclass(frozen=True, slots=True)
class Say:
    """The sentences of one language: `say(kind, id, **placeholders)`."""

    lang: str

    def __call__(self, kind: str, id: str, /, **placeholders: object) -> str:  # noqa: A002 - as in texts
        """Give the sentence of an id."""
        return text(self.lang, kind, id, **placeholders)


MARKS: Final[Mapping[str, tuple[str, Style]]] = {
    "supports": ("+", "good"),
    "contradicts": ("−", "bad"),
    "missing": ("?", "warn"),
}
"""What stands before a piece of evidence."""


ABOUT: Final = frozenset({"finding", "incident", "run"})
"""What stands for a signal in evidence that speaks of a whole finding, incident or run rather than of a column."""


DERIVED: Final[Mapping[str, str]] = {"u_over_lr": "update_ratio/lr"}
"""Signals that no log holds, by what they are made of."""


def signal_name(signal: str) -> str:
    """A signal as a reader knows it: the column, or what a derived one is made of."""
    return DERIVED.get(signal) or clean(signal)


def counted(say: Say, id: str, n: int) -> str:  # noqa: A002 - as in texts
    """A count with its noun: "1 incident", "3 incidents", "3 个事件"."""
    return say("headings", id, n=n)


def values(detail: Mapping[str, Any]) -> dict[str, str | None]:
    """Placeholders of a notice or a step, cleaned and with short numbers; lists are joined."""
    return {str(name): _value(value) for name, value in detail.items()}


def evidence_text(say: Say, found: Evidence) -> str:
    """The sentence of one piece of evidence."""
    is_measured = found.signal is not None and found.signal not in ABOUT
    signal = signal_name(found.signal) if is_measured and found.signal is not None else None
    if found.verdict == "missing":
        kind_id = f"{found.id}.missing"
        if has("evidence", kind_id):
            return say("evidence", kind_id, signal=signal)
        return say("headings", "evidence-missing", signal=signal, id=found.id)
    numbers = {"observed": found.observed, "baseline": found.baseline, "threshold": found.threshold}
    shown = {name: number(value) for name, value in numbers.items()}
    if has("evidence", found.id):
        shown |= {f"{name}_percent": _percent(value) for name, value in numbers.items()}
    field = ".short" if not is_measured and has("evidence", f"{found.id}.short") else ""
    return say("evidence", found.id + field, signal=signal, **shown, step=found.step)


def evidence_lines(say: Say, evidence: Sequence[Evidence], width: int) -> list[Line]:
    """One line per piece of evidence, each behind its mark; what supports first, what is missing last."""
    order = list(MARKS)
    lines: list[Line] = []
    told: set[tuple[str, str]] = set()
    for found in sorted(evidence, key=lambda one: order.index(one.verdict)):
        text = evidence_text(say, found)
        if (found.verdict, text) in told:  # two rules may rest on the same fact
            continue
        told.add((found.verdict, text))
        style: Style = "dim" if found.verdict == "missing" else "plain"
        lines += listed(MARKS[found.verdict], ((text, style),), width)
    return lines


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{number(float(f'{100 * share:.3g}'))} %"


def _value(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(_value(item) or "–" for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{clean(name)} {_value(item) or '–'}" for name, item in value.items())
    return clean(value)
