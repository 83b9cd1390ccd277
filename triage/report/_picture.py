"""The little picture of an incident: one signal around its onset, drawn in braille from the report's thinned series.

Separate from the terminal renderer because it is the one place that draws. It draws from the report only, so that a
saved report shows the same picture as the run that made it.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.model import Diagnosis, Series
from triage.report._lines import Line, Span, indent, joined, wrap
from triage.report._numbers import number
from triage.report._width import cells, clean, pad

HEIGHT: Final = 6
"""Rows of the plot; enough to tell a step from a slope, little enough to show three incidents on one screen."""

BEFORE: Final = 24
AFTER: Final = 16
"""Buckets shown before the onset and after the end at least; as many as the incident is wide where it is wider."""

MOST_BUCKETS: Final = 4_000
"""Buckets drawn at most; past it the incident itself is cut at the right, its head stays."""

_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Braille: bit of each dot by row and column of a cell."""

_BRAILLE: Final = 0x2800
"""First of the braille characters; the dots are added to it."""

ONSET: Final = "▲"
PEAK: Final = "●"
BACK: Final = "◆"
NOT_FINITE: Final = "×"


@dataclass(frozen=True, slots=True)
class View:
    """The stretch of a series that is drawn; parallel tuples, one entry per bucket.

    Attributes:
        steps: first step of each bucket.
        low, high: least and largest finite value; None for a bucket without one.
        bad_steps: steps with NaN or ±inf inside the stretch.
    """

    steps: tuple[int, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    bad_steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """The words in a picture, in the language of the report."""

    onset: str
    peak: str
    recovered: str
    log_scale: str


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a step and a value stand in the plot.

    Attributes:
        first, last: steps at the left and the right edge.
        low, high: values at the bottom and the top.
        is_log: heights are proportional to the logarithm.
        columns: cells from left to right.
    """

    first: int
    last: int
    low: float
    high: float
    is_log: bool
    columns: int

    def column(self, step: int, per_cell: int = 1) -> int:
        """Column of a step, in cells or in dots (`per_cell` of 2), held inside the plot."""
        most = self.columns * per_cell - 1
        return min(most, max(0, round((step - self.first) / max(1, self.last - self.first) * most)))

    def row(self, value: float, per_cell: int = 1) -> int:
        """Row of a value from the top, in cells or in dots (`per_cell` of 4); the middle where all values are equal."""
        most = HEIGHT * per_cell - 1
        if self.high == self.low:
            height = 0.5
        elif self.is_log:
            height = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:  # halves keep the difference finite where the values are near the largest double
            height = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return min(most, max(0, round((1 - height) * most)))

    def holds(self, value: float | None) -> bool:
        """Whether a value stands inside the plot."""
        return value is not None and math.isfinite(value) and self.low <= value <= self.high

    def shows(self, step: int | None) -> bool:
        """Whether a step stands inside the plot."""
        return step is not None and self.first <= step <= self.last


def view_of(series: Sequence[Series], diagnosis: Diagnosis) -> View | None:
    """Cut the stretch around an incident out of the series of its signal; None where there is nothing to draw."""
    for found in series:
        if found.column != diagnosis.signal or found.segment not in (None, diagnosis.segment):
            continue
        begin, stop = _attempt(found, diagnosis)
        steps = found.step[begin:stop]
        if len(steps) < 2:
            return None
        onset = _bucket(steps, diagnosis.onset_step)
        end = diagnosis.end_step if diagnosis.recovered_step is None else diagnosis.recovered_step
        wide = max(0, _bucket(steps, end) - onset)
        left = max(0, onset - max(BEFORE, min(wide // 2, MOST_BUCKETS // 4)))
        right = min(len(steps), onset + wide + 1 + max(AFTER, wide // 3), left + MOST_BUCKETS)
        limit = steps[right] if right < len(steps) else math.inf
        return View(
            steps[left:right],
            found.min[begin:stop][left:right],
            found.max[begin:stop][left:right],
            tuple(step for step in found.nonfinite_steps if steps[left] <= step < limit),
        )
    return None


def picture(view: View, diagnosis: Diagnosis, width: int, words: Words) -> list[Line]:
    """Draw a stretch: caption, plot, axis with the marks, the steps at its ends, legend.

    Args:
        view: what to draw.
        diagnosis: its onset, peak and recovery are marked, its baseline stands on the scale.
        width: cells per line.
        words: the words for the marks.
    """
    frame = _frame(view, diagnosis)
    notches = _notches(frame, diagnosis)
    margin = max(cells(text) for text in notches.values())
    frame = replace(frame, columns=max(12, width - margin - 2))
    rows = _plotted(view, frame, diagnosis)
    caption: list[Span] = [(clean(diagnosis.signal), "strong")]
    if frame.is_log:
        caption.append((f"  {words.log_scale}", "dim"))
    lines: list[Line] = [tuple(caption)]
    for n, row in enumerate(rows):
        edge = "┤" if n in notches else "│"
        lines.append(((pad(notches.get(n, ""), margin, right=True) + " " + edge, "dim"), *joined(row)))
    lines.append(((" " * (margin + 1) + "└", "dim"), *joined(_axis(frame, diagnosis))))
    left, right = str(frame.first), str(frame.last)
    between = " " * max(1, frame.columns - len(left) - len(right))
    lines.append(((" " * (margin + 2) + left + between + right, "dim"),))
    lines += indent(wrap(_legend(view, diagnosis, words), width - margin - 2), margin + 2)
    return lines


def _attempt(series: Series, diagnosis: Diagnosis) -> tuple[int, int]:
    """Bounds of the segment in a series that runs over all of them: a step that goes back opens the next one."""
    if series.segment is not None:
        return 0, len(series.step)
    marks = [n for n in range(1, len(series.step)) if series.step[n] <= series.step[n - 1]]
    bounds = [0, *marks, len(series.step)]
    n = min(diagnosis.segment, len(bounds) - 2)
    return bounds[n], bounds[n + 1]


def _bucket(steps: Sequence[int], step: int) -> int:
    """The bucket that holds a step."""
    return max(0, bisect.bisect_right(steps, step) - 1)


def _frame(view: View, diagnosis: Diagnosis) -> Frame:
    values = [value for value in (*view.low, *view.high) if value is not None]
    if values and diagnosis.baseline is not None and math.isfinite(diagnosis.baseline):
        values.append(diagnosis.baseline)
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    last = max(view.steps[-1], *view.bad_steps) if view.bad_steps else view.steps[-1]
    return Frame(view.steps[0], last, low, high, is_log=low > 0, columns=0)


def _notches(frame: Frame, diagnosis: Diagnosis) -> dict[int, str]:
    """Labels of the scale by plot row: top, bottom and the baseline."""
    if frame.high == frame.low:
        return {frame.row(frame.low): number(frame.high) or ""}
    notches = {0: number(frame.high) or "", HEIGHT - 1: number(frame.low) or ""}
    if diagnosis.baseline is not None and frame.holds(diagnosis.baseline):
        notches.setdefault(frame.row(diagnosis.baseline), number(diagnosis.baseline) or "")
    return notches


def _plotted(view: View, frame: Frame, diagnosis: Diagnosis) -> list[list[Span]]:
    """The plot as cells: the lines, × where the signal was not finite, and the peak."""
    rows: list[list[Span]] = [
        [(chr(_BRAILLE + dots) if dots else " ", "plain") for dots in row] for row in _dotted(view, frame)
    ]
    for at in _bad_columns(view, frame):
        rows[0][at] = (NOT_FINITE, "bad")
    if frame.shows(diagnosis.peak_step) and frame.holds(diagnosis.peak_value):
        rows[frame.row(diagnosis.peak_value)][frame.column(diagnosis.peak_step)] = (PEAK, "bad")
    return rows


def _bad_columns(view: View, frame: Frame) -> set[int]:
    """Columns with a non-finite value; those between two of them too where nothing finite was logged in between."""
    columns: set[int] = set()
    finite = [step for step, low in zip(view.steps, view.low, strict=True) if low is not None]
    before: int | None = None
    for step in view.bad_steps:
        at = frame.column(step)
        is_joined = before is not None and bisect.bisect(finite, before) == bisect.bisect(finite, step)
        columns.update(range(frame.column(before) if is_joined and before is not None else at, at + 1))
        before = step
    return columns


def _dotted(view: View, frame: Frame) -> list[list[int]]:
    """Braille dots of the plot: minima and maxima of the buckets as two joined lines, the stretch between them filled.

    A line ends where a bucket holds a non-finite value or none at all.
    """
    grid = [[0] * frame.columns for _ in range(HEIGHT)]
    bad = frozenset(view.bad_steps)
    before: tuple[tuple[int, int], tuple[int, int]] | None = None
    for step, low, high in zip(view.steps, view.low, view.high, strict=True):
        if low is None or high is None:
            before = None
            continue
        x = frame.column(step, per_cell=2)
        here = ((x, frame.row(low, per_cell=4)), (x, frame.row(high, per_cell=4)))
        if before is not None:
            _stroke(grid, before[0], here[0])
            _stroke(grid, before[1], here[1])
        _stroke(grid, *here)
        before = None if step in bad else here
    return grid


def _stroke(grid: list[list[int]], start: tuple[int, int], stop: tuple[int, int]) -> None:
    """Draw a straight line of dots into the grid."""
    length = max(abs(stop[0] - start[0]), abs(stop[1] - start[1]), 1)
    for n in range(length + 1):
        x = round(start[0] + (stop[0] - start[0]) * n / length)
        y = round(start[1] + (stop[1] - start[1]) * n / length)
        grid[y // 4][x // 2] |= _DOTS[y % 4][x % 2]


def _axis(frame: Frame, diagnosis: Diagnosis) -> list[Span]:
    """The axis with onset and recovery; two marks of one cell stand side by side."""
    marks: dict[int, Span] = {}
    if frame.shows(diagnosis.onset_step):
        marks[frame.column(diagnosis.onset_step)] = (ONSET, "bad")
    if diagnosis.recovered_step is not None and frame.shows(diagnosis.recovered_step):
        at = frame.column(diagnosis.recovered_step)
        marks.setdefault(at + 1 if at in marks and at + 1 < frame.columns else at, (BACK, "good"))
    return [marks.get(at, ("─", "dim")) for at in range(frame.columns)]


def _legend(view: View, diagnosis: Diagnosis, words: Words) -> Line:
    parts: list[Span] = [(ONSET, "bad"), (f" {words.onset} {diagnosis.onset_step}", "dim")]
    if math.isfinite(diagnosis.peak_value):
        parts += [("   ", "plain"), (PEAK, "bad"), (f" {words.peak} {diagnosis.peak_step}", "dim")]
    if diagnosis.recovered_step is not None:
        parts += [("   ", "plain"), (BACK, "good"), (f" {words.recovered} {diagnosis.recovered_step}", "dim")]
    if view.bad_steps:
        parts += [("   ", "plain"), (NOT_FINITE, "bad"), (" NaN/inf", "dim")]
    return tuple(parts)
