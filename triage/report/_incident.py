"""One incident in full: head line, numbers, picture, why; and in one line.

Separate because `analyze` shows it for the worst incidents and `spikes` shares the short form's words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from triage.model import Diagnosis, RunReport, TimelinePoint
from triage.report._advice import advice_lines
from triage.report._lines import BLANK, Line, Span, Style, indent, line, pairs, table, wrap
from triage.report._numbers import change, moment, number
from triage.report._picture import Words, picture, view_of
from triage.report._say import Say, counted, evidence_lines, signal_name
from triage.report._width import clean

STATUS_STYLES: Final[Mapping[str, Style]] = {
    "recovered": "good",
    "unresolved": "bad",
    "superseded": "dim",
    "accepted": "dim",
}

PICTURE_WIDTH: Final = 96
"""Widest picture in cells; wider ones only stretch the same buckets."""

MARGIN: Final = 3
"""Blanks before everything that belongs to an incident."""


def incident_lines(say: Say, n: int, found: Diagnosis, run: RunReport, width: int, *, extent: str) -> list[Line]:
    """Everything about one incident.

    Args:
        say: the words.
        n: its number in the order of the report.
        found: the incident.
        run: its run, for the series.
        width: cells per line.
        extent: how much of the checklist is printed (see `advice_lines`).
    """
    inner = width - MARGIN
    body = pairs(_facts(say, found), inner)
    view = view_of(run.series, found)
    if view is not None:
        words = Words(
            onset=say("headings", "onset"),
            peak=say("headings", "peak"),
            recovered=say("headings", "recovered"),
            log_scale=say("headings", "log-scale"),
        )
        body += [BLANK, *picture(view, found, min(inner, PICTURE_WIDTH), words)]
    if found.evidence:
        body += [BLANK, line(say("headings", "why"), style="strong")]
        body += indent(evidence_lines(say, found.evidence, inner - 2), 2)
    if len(found.timeline) > 1:
        body += [BLANK, line(say("headings", "timeline"), style="strong")]
        moved = [_moved(say, point) for point in found.timeline]
        body += indent(table(moved, right=frozenset({0}), head=False, width=inner - 2, spare=(3, 2)), 2)
    starts = run.source.step_first
    body += advice_lines(say, found.causes, found.checklist, found.restart, inner, extent=extent, log_starts=starts)
    return [*head_lines(say, n, found, width), *indent(body, MARGIN)]


def head_lines(say: Say, n: int, found: Diagnosis, width: int) -> list[Line]:
    """Number, class, status, signal and confidence."""
    style = STATUS_STYLES[found.status]
    tail = [say("statuses", f"{found.status}.name"), clean(found.signal)]
    if found.censored:
        tail.append(say("headings", "censored"))
    spans: list[Span] = [
        (f"{n}".ljust(MARGIN - 1) + " ", "strong"),
        (say("classes", f"{found.event_class}.name"), style),
        (" · " + " · ".join(tail), "plain"),
        (" · " + say("headings", f"confidence-{found.confidence}"), "dim"),
    ]
    return wrap(tuple(spans), width, hanging=MARGIN)


def short_line(say: Say, found: Diagnosis) -> list[Span]:
    """The cells of one incident in a list: class, status, signal, onset, peak, its size, recovery, points."""
    style = STATUS_STYLES[found.status]
    return [
        (say("classes", f"{found.event_class}.name"), style),
        (say("statuses", f"{found.status}.name"), style),
        (clean(found.signal), "plain"),
        (str(found.onset_step), "plain"),
        (str(found.peak_step), "plain"),
        (number(found.peak_value) or "", "plain"),
        (change(found.peak_value, found.baseline) or "–", "plain"),
        ("–" if found.recovered_step is None else str(found.recovered_step), "plain"),
        (str(found.n_points), "plain"),
    ]


def short_head(say: Say) -> list[Span]:
    """The head of a list of incidents."""
    names = ("class", "status", "signal", "onset", "peak", "value", "change", "recovered", "points")
    return [(say("headings", f"column-{name}"), "dim") for name in names]


RIGHT: Final = frozenset({3, 4, 5, 6, 7, 8})
"""Cells of `short_line` that hold numbers."""

SPARE: Final = (4, 6, 8, 1)
"""Cells of `short_line` that go first where the terminal is narrow: peak step, change, points, status."""


def _facts(say: Say, found: Diagnosis) -> list[tuple[str, Line]]:
    rows: list[tuple[str, Line]] = [
        (say("headings", "onset"), line(_onset(say, found))),
        (say("headings", "last-healthy"), _healthy(say, found)),
        (say("headings", "peak"), line(_peak(say, found))),
        (say("headings", "recovery"), _recovery(say, found)),
        (say("headings", "out-of-band"), line(_extent(say, found))),
    ]
    if found.first_nonfinite is not None:
        first = found.first_nonfinite
        text = say("headings", "signal-at-step", signal=signal_name(first.signal), step=first.step)
        rows.append((say("headings", "first-nonfinite"), line(text, style="bad")))
    if found.first_mover is not None:
        mover = found.first_mover
        lead = mover.lead_steps
        is_self = mover.signal == found.signal
        kind = "self" if is_self else "open" if lead is None else "together" if lead == 0 else "lead"
        text = say("headings", f"mover-{kind}", signal=signal_name(mover.signal), n=lead)
        rows.append((say("headings", "first-mover"), line(text)))
    return rows


def _onset(say: Say, found: Diagnosis) -> str:
    low, high = found.onset_range
    after = low if low is not None and high - low > 1 else None
    shape = say("headings", "abrupt" if found.onset_abrupt else "slow")
    return say("headings", "onset-text", step=found.onset_step, after=after, shape=shape, time=moment(found.onset_time))


def _healthy(say: Say, found: Diagnosis) -> Line:
    if found.last_healthy_step is None:
        return line(say("headings", "no-healthy"), style="warn")
    return line((say("headings", "at-step", step=found.last_healthy_step), "strong"))


def _peak(say: Say, found: Diagnosis) -> str:
    return say(
        "headings",
        "peak-text",
        value=number(found.peak_value),
        step=found.peak_step,
        baseline=number(found.baseline),
        change=change(found.peak_value, found.baseline),
    )


def _recovery(say: Say, found: Diagnosis) -> Line:
    if found.recovered_step is not None:
        after = found.recovered_step - found.onset_step
        return line(say("headings", "recovered-text", step=found.recovered_step, after=after), style="good")
    if found.status == "superseded":
        return line(say("headings", "superseded-text"))
    return line(say("headings", "censored-text" if found.censored else "not-recovered-text"), style="bad")


def _extent(say: Say, found: Diagnosis) -> str:
    excursions = counted(say, "n-excursions", found.n_excursions) if found.n_excursions > 1 else None
    return say(
        "headings",
        "extent-text",
        points=counted(say, "n-points", found.n_points),
        first=found.onset_step,
        last=found.end_step if found.end_step != found.onset_step else None,
        excursions=excursions,
    )


def _moved(say: Say, point: TimelinePoint) -> list[Span]:
    """The cells of one signal in the timeline: step, signal, how far it went, and that in its own noise."""
    z = None if point.z is None else number(point.z)
    ratio = None if point.ratio is None or not math.isfinite(point.ratio) else number(point.ratio)
    return [
        (say("headings", "at-step", step=point.step), "plain"),
        (signal_name(point.signal), "plain"),
        ("" if ratio is None else say("headings", "timeline-ratio", ratio=ratio), "plain"),
        ("" if z is None else f"z {z}", "dim"),
    ]
