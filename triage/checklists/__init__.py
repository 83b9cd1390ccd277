"""The checklists as data: branches, lists, and the tables that they lean on. Loads and checks; decides nothing.

A file is one branch (`single-step.toml`) or one list (`lists/pilot.toml`):

    id, title {en, zh}
    [[step]]
    id          kebab-case, unique within the file, stable
    kind        log | experiment | action | verify
    en, zh      the text, with the placeholders of placeholders.toml, the same ones in both languages. Lines stay lines:
                one that starts with blanks is a row of a small table, one that starts with "- " an outcome
    short       {en, zh}: the question, experiment or action in one short line, for a list
    seeds       numbered points of the two guides that this step carries
    needs       log: columns that would answer it; a missing one is named in the text
    yes, no     log: {en, zh}, what the answer means
    yes_if      log: a condition; it holds = yes
    no_if       log: a condition; it holds = no. Without it, no = the yes condition is known to be false
    confirm     action: steps of the same file, all of which must say yes first
    causes      action: a confirmed cause that stands in for them; "*" = any
    tests       experiment: causes, or families ending in "/", that it tests before any other; with one of them in the
                lead it is the first to run
    when        a condition; known to be false = the step is left out

A condition is `all` or `any` over comparisons {signal, statistic, operator, value}, one level deep; the statistics are
the closed list of statistics.toml. Separate from `triage.resolve` so that the data can be walked without resolving it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from triage.checklists._values import (
    Branch,
    Carrier,
    Comparison,
    Condition,
    Framework,
    Placeholder,
    Signal,
    Statistic,
    Step,
    Text,
)

KINDS: Final = ("log", "experiment", "action", "verify")
OPERATORS: Final = ("==", ">=", "<=", ">", "<")

BRANCHES: Final = (
    "single-step",
    "consecutive",
    "non-recovering",
    "first-step-nan",
    "divergence",
    "nan-inf",
    "gradient-explosion",
    "performance-drop",
    "resume",
    "parallel",
    "amp",
)
"""Every branch, the four of the classes first; one file each."""

LISTS: Final = (
    "ten-steps",
    "sorting-questions",
    "what-to-log",
    "recommended-set-up",
    "pilot",
    "monitors",
    "is-it-fixed",
    "mechanism",
)
"""Every list; one file each under lists/."""

GENERIC_FRAMEWORK: Final = "pytorch"
"""The framework whose settings are given where the log does not say which one wrote it."""

__all__ = [
    "BRANCHES",
    "GENERIC_FRAMEWORK",
    "KINDS",
    "LISTS",
    "OPERATORS",
    "Branch",
    "Carrier",
    "Comparison",
    "Condition",
    "Framework",
    "Placeholder",
    "Signal",
    "Statistic",
    "Step",
    "Text",
    "all_branches",
    "branch_map",
    "framework_of",
    "load_branch",
    "load_carriers",
    "load_frameworks",
    "load_phrases",
    "load_placeholders",
    "load_signals",
    "load_statistics",
]


@cache
def load_branch(branch_id: str) -> Branch:
    """The branch or list of this id; raises KeyError for an unknown one, ValueError with the place for a bad file."""
    if branch_id in BRANCHES:
        name = f"{branch_id}.toml"
    elif branch_id in LISTS:
        name = f"lists/{branch_id}.toml"
    else:
        raise KeyError(branch_id)
    table = _table(name)
    steps = tuple(_step(row, name) for row in table["step"])
    return Branch(table["id"], _text(table["title"], name), steps)


def all_branches() -> Iterator[Branch]:
    """Every branch, then every list."""
    return (load_branch(name) for name in BRANCHES + LISTS)


@cache
def branch_map() -> Mapping[str, str]:
    """Class or finding id → branch id."""
    table = _table("branches.toml")
    return {**table["class"], **table["finding"]}


_SAYS: Final = ("says", "says_one", "says_zero", "says_negative", "says_infinite")


@cache
def load_statistics() -> Mapping[str, Statistic]:
    """The closed list of statistics, by name."""
    out = {}
    for name, row in _table("statistics.toml").items():
        says = (_optional(row.get(key), name) for key in _SAYS)
        out[name] = Statistic(name, row["unit"], tuple(row["signals"]), _text(row["means"], name), *says)
    return out


@cache
def load_signals() -> Mapping[str, Signal]:
    """Names of signals in sentences; a canonical column that is not here goes by its own name."""
    table = _table("signals.toml")
    return {k: Signal(_text(row["name"], k), tuple(row.get("columns", (k,)))) for k, row in table.items()}


@cache
def load_placeholders() -> Mapping[str, Placeholder]:
    """The placeholders that texts may use, by name."""
    table = _table("placeholders.toml")
    return {k: Placeholder(row["means"], _text(row["known"], k), _text(row["unknown"], k)) for k, row in table.items()}


@cache
def load_frameworks() -> tuple[Framework, ...]:
    """The settings of each framework; more special ones stand first, the generic one last."""
    out = []
    for name, row in _table("settings.toml").items():
        columns = {column: _text(text, f"{name}.{column}") for column, text in row["columns"].items()}
        clip, unscale = _text(row["clip"], name), _text(row["unscale"], name)
        out.append(Framework(name, tuple(row["match"]), clip, unscale, columns))
    return tuple(out)


def framework_of(*names: str | None) -> str | None:
    """The framework that one of these writer or format names speaks of, the first name first; None = not known."""
    for name in names:
        for framework in load_frameworks():
            if name and any(part in name.lower() for part in framework.match):
                return framework.name
    return None


@cache
def load_phrases() -> Mapping[str, Text]:
    """The frames around a step, by name."""
    return {name: _text(row, name) for name, row in _table("phrases.toml").items()}


@cache
def load_carriers() -> tuple[Carrier, ...]:
    """Points of the guides that a command, a finding or a cause carries."""
    rows = _table("carried.toml")["carrier"]
    return tuple(Carrier(tuple(row["seeds"]), row["by"], _text(row, row["by"])) for row in rows)


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(__name__).joinpath(name).read_text(encoding="utf-8"))


def _text(row: Mapping[str, Any], where: str) -> Text:
    if not row.get("en") or not row.get("zh"):
        raise ValueError(f"{where}: a text needs en and zh")
    return Text(row["en"].strip("\n"), row["zh"].strip("\n"))


def _optional(row: Mapping[str, Any] | None, where: str) -> Text | None:
    return None if row is None else _text(row, where)


def _condition(row: Mapping[str, Any] | None, where: str) -> Condition | None:
    if row is None:
        return None
    if len(row) != 1 or not set(row) <= {"all", "any"}:
        raise ValueError(f"{where}: a condition is exactly one of all, any")
    ((join, comparisons),) = row.items()
    parsed = tuple(Comparison(c["signal"], c["statistic"], c["operator"], float(c["value"])) for c in comparisons)
    if not parsed or any(c.operator not in OPERATORS for c in parsed):
        raise ValueError(f"{where}: a condition needs comparisons with one of {', '.join(OPERATORS)}")
    return Condition("all" if join == "all" else "any", parsed)


_KEYS: Final = frozenset(
    {
        "id",
        "kind",
        "en",
        "zh",
        "short",
        "seeds",
        "needs",
        "yes",
        "no",
        "yes_if",
        "no_if",
        "confirm",
        "causes",
        "tests",
        "when",
    }
)


def _step(row: Mapping[str, Any], name: str) -> Step:
    where = f"{name}: {row.get('id')}"
    if row.get("kind") not in KINDS:
        raise ValueError(f"{where}: kind is one of {', '.join(KINDS)}")
    if unknown := set(row) - _KEYS:
        raise ValueError(f"{where}: unknown keys {', '.join(sorted(unknown))}")
    return Step(
        id=row["id"],
        kind=row["kind"],
        text=_text(row, where),
        short=_optional(row.get("short"), where),
        seeds=tuple(row.get("seeds", ())),
        needs=tuple(row.get("needs", ())),
        yes=_optional(row.get("yes"), where),
        no=_optional(row.get("no"), where),
        yes_if=_condition(row.get("yes_if"), where),
        no_if=_condition(row.get("no_if"), where),
        confirm=tuple(row.get("confirm", ())),
        causes=tuple(row.get("causes", ())),
        tests=tuple(row.get("tests", ())),
        when=_condition(row.get("when"), where),
    )
