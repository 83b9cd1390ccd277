"""One step under the glass, as `inspect --at STEP` prints it.

Separate because each command's view is a file.
"""

from __future__ import annotations

from typing import Final

from triage.model import Decision, StepValues, StepView
from triage.report._lines import BLANK, Line, Span, Style, indent, line, pairs, table
from triage.report._numbers import number
from triage.report._say import Say
from triage.report._width import clean, clip
from triage.schema import BY_NAME
from triage.texts import has

COLUMNS_SHOWN: Final = 8
"""Columns of the table of neighbours; the judged ones come first."""

_STATES: Final[dict[str, Style]] = {"calm": "good", "in event": "bad", "recovering": "warn"}


def step_lines(say: Say, view: StepView, width: int) -> list[Line]:
    """The step, the numbers around it, and each decision with what it was made from."""
    head = say("headings", "step-head", run=clean(view.run_id), step=view.step, row=view.row, segment=view.segment)
    lines = [line(head, style="strong"), BLANK, *indent(_neighbours(say, view, width - 2), 2)]
    for decision in view.decisions:
        lines += [BLANK, *_decision(say, decision, width)]
    if not view.decisions:
        lines += [BLANK, line(say("headings", "no-decisions"), style="warn")]
    return lines


def _neighbours(say: Say, view: StepView, width: int) -> list[Line]:
    judged = [decision.signal for decision in view.decisions]
    here = StepValues(view.step, view.row, view.segment, view.values)
    rows = sorted([*view.neighbours, here], key=lambda one: one.row)
    logged = dict.fromkeys(name for one in rows for name in one.values)
    known = [name for name in BY_NAME if name in logged]
    names = [name for name in dict.fromkeys([*judged, *known, *logged]) if name in logged]
    shown = names[:COLUMNS_SHOWN]
    cells: list[list[Span]] = [[("", "dim"), (say("headings", "column-step"), "dim")]]
    cells[0] += [(clip(clean(name), 16), "dim") for name in shown]
    for one in rows:
        is_this = one.row == view.row
        style: Style = "strong" if is_this else "plain"
        row: list[Span] = [("→" if is_this else " ", "accent"), (str(one.step), style)]
        row += [(number(one.values.get(name)) or "·", style) for name in shown]
        cells.append(row)
    last = len(shown) + 1
    lines = table(cells, right=frozenset(range(1, last + 1)), width=width, spare=range(last, 2, -1))
    if len(shown) < len(names):
        lines.append(line(say("headings", "other-columns", n=len(names) - len(shown)), style="dim"))
    return lines


def _decision(say: Say, found: Decision, width: int) -> list[Line]:
    state = f"state-{found.state.replace(' ', '-')}"
    head: Line = (
        (clean(found.signal), "strong"),
        (" · ", "dim"),
        (say("headings", state) if has("headings", state) else clean(found.state), _STATES.get(found.state, "plain")),
        (" · " + say("headings", "accepted" if found.accepted else "not-accepted"), "dim"),
    )
    rows: list[tuple[str, Line]] = [(say("headings", "column-value"), line((number(found.value) or "–", "strong")))]
    for name, value in (
        ("prediction", found.prediction),
        ("scale", found.scale),
        ("z", found.z),
        ("z-open", found.z_open),
        ("excess", found.excess),
        ("record", found.record),
    ):
        rows.append((say("headings", f"decision-{name}"), line(number(value) or "–")))
    tiers: list[Span] = []
    for tier, opens in found.tier_results.items():
        tiers += [("  ", "plain")] if tiers else []
        tiers.append((("✓ " if opens else "– ") + clean(tier), "bad" if opens else "dim"))
    if tiers:
        rows.append((say("headings", "decision-tiers"), tuple(tiers)))
    return [head, *indent(pairs(rows, width - 2), 2)]
