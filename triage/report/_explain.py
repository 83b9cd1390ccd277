"""What an id means, and the lists of ids, as `explain` prints them.

Separate because each command's view is a file. It only reads `triage/texts`;
the decision table and the checklists are handed in.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triage.errors import UsageError
from triage.model import ChecklistStep
from triage.report._guide import branch_lines, list_lines
from triage.report._lines import BLANK, Line, Span, indent, line, pairs, table, width_of, wrap
from triage.report._say import Say
from triage.texts import has, ids, template

LISTS: Final = (
    "classes",
    "statuses",
    "verdicts",
    "findings",
    "causes",
    "evidence",
    "notices",
    "exit-codes",
    "checklists",
)
"""Every list that `explain` prints, in this order."""

_NOUNS: Final[Mapping[str, str]] = {
    "classes": "class",
    "statuses": "status",
    "verdicts": "verdict",
    "findings": "finding",
    "causes": "cause",
    "evidence": "evidence",
    "notices": "notice",
    "exit-codes": "exit-code",
    "checklists": "checklist",
}
_FIELDS: Final = ("found", "first", "do", "signs", "against")
"""What is said of an id beyond what it means, where there is a sentence."""

SHORTEST: Final = 3
"""Letters of an unknown id from which on ids that contain it are named; fewer fit everything."""

Decisions = Sequence[tuple[str, str, str]]
"""The decision table: condition, class, status."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The checklists, which live in another room.

    Attributes:
        branches: ids of the checklists, each for a class or a finding.
        lists: ids of the other lists.
        title: id, language → its title.
        steps: id, language → its steps, with nothing known about a log.
    """

    branches: tuple[str, ...]
    lists: tuple[str, ...]
    title: Callable[[str, str], str]
    steps: Callable[[str, str], Sequence[ChecklistStep]]


def explained_lines(say: Say, id: str | None, decisions: Decisions, shelf: Shelf, width: int) -> list[Line]:  # noqa: A002
    """Explain an id, or print a list.

    Raises:
        UsageError: there is no such id; the hint names near ones.
    """
    if id is None:
        lines: list[Line] = []
        for name in LISTS:
            lines += [
                line(name, style="strong"),
                *indent(wrap(line(", ".join(_ids(shelf, name))), width - 2), 2),
                BLANK,
            ]
        return [*lines, line(say("headings", "explain-usage"), style="dim")]
    wanted = id.strip().lower()
    if wanted in LISTS:
        return _list(say, wanted, decisions, shelf, width)
    found = [name for name in LISTS if wanted in _ids(shelf, name)]
    if not found:
        every = list(dict.fromkeys([*LISTS, *(one for name in LISTS for one in _ids(shelf, name))]))
        near = difflib.get_close_matches(wanted, every, n=3)
        near += [one for one in every if len(wanted) >= SHORTEST and wanted in one and one not in near][:3]
        hint = f"did you mean {' or '.join(near)}?" if near else f"lists: {', '.join(LISTS)}"
        raise UsageError(f"there is no id {id!r}", hint=hint)
    lines = []
    for name in found:
        lines += [BLANK] if lines else []
        lines += _checklist(say, wanted, shelf, width) if name == "checklists" else _one(say, name, wanted, width)
    return lines


def _ids(shelf: Shelf, name: str) -> tuple[str, ...]:
    return (*shelf.branches, *shelf.lists) if name == "checklists" else ids(name)


def _list(say: Say, name: str, decisions: Decisions, shelf: Shelf, width: int) -> list[Line]:
    if name == "checklists":
        lines: list[Line] = []
        for heading, found in (("branches", shelf.branches), ("lists", shelf.lists)):
            lines += [BLANK] if lines else []
            lines += wrap(line(say("headings", f"explain-{heading}"), style="strong"), width)
            lines += indent(pairs([(one, line(shelf.title(one, say.lang))) for one in found], width - 2), 2)
        return lines
    rows = [(one, line(_meaning(say, name, one))) for one in ids(name)]
    lines = pairs(rows, width)
    if name == "classes" and decisions:
        cells: list[list[Span]] = [
            [
                (str(n), "dim"),
                (say("classes", f"{event_class}.name"), "strong"),
                (say("statuses", f"{status}.name"), "plain"),
                (say("conditions", condition), "plain"),
            ]
            for n, (condition, event_class, status) in enumerate(decisions, 1)
        ]
        lines += [BLANK, line(say("headings", "explain-decision-table"), style="strong")]
        lines += indent(_wrapped_table(cells, width - 2), 2)
    if name in ("evidence", "notices"):
        lines += [BLANK, line(say("headings", "explain-placeholders"), style="dim")]
    return lines


def _wrapped_table(rows: Sequence[Sequence[Span]], width: int) -> list[Line]:
    """A table whose last column wraps under itself."""
    heads = table([row[:-1] for row in rows], head=False)
    margin = max(width_of(found) for found in heads) + 2
    lines: list[Line] = []
    for head, row in zip(heads, rows, strict=True):
        lines += wrap((*head, (" " * (margin - width_of(head)), "plain"), row[-1]), width, hanging=margin)
    return lines


def _meaning(say: Say, name: str, one: str) -> str:
    for field in ("means", "text"):
        if has(name, f"{one}.{field}"):
            return say(name, f"{one}.{field}")
    return template(say.lang, name, one)


def _one(say: Say, name: str, one: str, width: int) -> list[Line]:
    head: list[Span] = [(one, "strong"), (f" · {say('headings', f'explain-{_NOUNS[name]}')}", "dim")]
    title = f"{one}.name"
    if name != "verdicts" and has(name, title) and say(name, title) != one:
        head.append((f" · {say(name, title)}", "plain"))
    lines = [*wrap(tuple(head), width), *wrap(line(_meaning(say, name, one)), width)]
    rows = [
        (say("headings", f"explain-{field}"), line(say(name, f"{one}.{field}")))
        for field in _FIELDS
        if has(name, f"{one}.{field}")
    ]
    if rows:
        lines += [BLANK, *pairs(rows, width)]
    if name in ("evidence", "notices"):
        lines += [BLANK, line(say("headings", "explain-placeholders"), style="dim")]
    return lines


def _checklist(say: Say, one: str, shelf: Shelf, width: int) -> list[Line]:
    """A checklist or list with its steps."""
    is_branch = one in shelf.branches
    kind = say("headings", "explain-checklist" if is_branch else "explain-list")
    head: Line = ((one, "strong"), (f" · {kind} · ", "dim"), (shelf.title(one, say.lang), "plain"))
    steps = shelf.steps(one, say.lang)
    body = branch_lines(say, steps, width) if is_branch else list_lines(say, steps, width)
    return [*wrap(head, width), BLANK, *body]
