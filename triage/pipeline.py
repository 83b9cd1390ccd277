"""The only place that wires the stages together: paths → tables → signals → events → diagnoses → report.

Every stage is a pure function of the one before and the options; this file calls them in order and adds up the
verdict and the exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO, Final

from triage.classify import classify
from triage.detectors import DETECTORS, detect
from triage.detectors.excursion import decisions
from triage.errors import ExitCode, UnreadableError, UsageError
from triage.model import (
    VERDICTS,
    Diagnosis,
    NotJudged,
    ReadError,
    Report,
    RunReport,
    RunTable,
    StepValues,
    StepView,
    Verdict,
)
from triage.options import Options
from triage.readers import read_runs
from triage.signals import SignalTable, build
from triage.signals.thin import thin

NEIGHBOURS: Final = 4
"""Rows before and after a step that `inspect --at` shows beside it."""


def analyze(paths: Sequence[str], options: Options, *, stdin: BinaryIO | None = None) -> Report:
    """Read the logs at `paths` and say what happened in each run.

    Args:
        paths: files, directories, globs, or "-"; empty = standard input or the current directory.
        options: every setting.
        stdin: the bytes behind "-".

    Raises:
        UsageError: the options do not fit the log (a column mapped twice, an unknown signal).
    """
    result = read_runs(paths, options, stdin=stdin)
    runs = tuple(judge(table, options) for table in result.runs)
    return assemble(runs, result.errors, options)


def explain_step(path: str, step: int, options: Options, *, stdin: BinaryIO | None = None) -> StepView:
    """One step of the first run at `path` under the glass: its numbers, its neighbours and every decision made there.

    Raises:
        UnreadableError: nothing could be read.
        UsageError: the log has no such step; the hint names the nearest ones.
    """
    import numpy as np

    result = read_runs([path], options, stdin=stdin)
    if not result.runs:
        first = result.errors[0]
        raise UnreadableError(first.message, path=first.path, hint=first.hint)
    signals = build(result.runs[0], options)
    found = np.flatnonzero(signals.step == step)
    if not len(found):
        near = np.unique(signals.step)
        at = int(np.searchsorted(near, step))
        names = ", ".join(str(int(s)) for s in near[max(0, at - 2) : at + 2])
        raise UsageError(f"step {step} is not in the log", path=path, hint=f"near steps: {names}")
    row = int(found[-1])
    around = range(max(0, row - NEIGHBOURS), min(len(signals.step), row + NEIGHBOURS + 1))
    return StepView(
        run_id=result.runs[0].run_id,
        step=step,
        row=row,
        segment=int(signals.segment[row]),
        values=_values(signals, row),
        decisions=decisions(signals, row, options),
        neighbours=tuple(
            StepValues(int(signals.step[r]), r, int(signals.segment[r]), _values(signals, r)) for r in around if r != row
        ),
    )


def _values(signals: SignalTable, row: int) -> dict[str, float]:
    """Logged values of one row."""
    return {name: float(values[row]) for name, values in signals.columns.items() if signals.logged[name][row]}


def assemble(runs: Sequence[RunReport], errors: Sequence[ReadError], options: Options) -> Report:
    """Put the runs together: the worst verdict, and the exit code of the gate."""
    verdict: Verdict = max((r.verdict for r in runs), key=VERDICTS.index, default="undetermined")
    return Report(verdict, int(exit_code(runs, errors, options)), options.as_json(), tuple(runs), tuple(errors))


def judge(table: RunTable, options: Options) -> RunReport:
    """Everything said about one run."""
    signals = build(table, options)
    diagnoses = classify(signals, detect(signals, options))
    return RunReport(
        run_id=table.run_id,
        verdict=verdict_of(signals, diagnoses),
        source=table.source,
        diagnoses=diagnoses,
        series=thin(signals, diagnoses),
        not_judged=not_judged(signals),
        notices=table.notices,
    )


def verdict_of(signals: SignalTable, diagnoses: Sequence[Diagnosis]) -> Verdict:
    """The verdict of a run (DESIGN 4)."""
    if any(d.status == "unresolved" for d in diagnoses):
        return "unresolved"
    if not can_be_judged(signals):
        return "undetermined"
    return "recovered" if diagnoses else "healthy"


def can_be_judged(signals: SignalTable) -> bool:
    """Is there a signal with at least two points?"""
    return any(int(signals.logged[j.name].sum()) >= 2 for j in signals.judged)  # noqa: PLR2004 - DESIGN 6, code 4


def not_judged(signals: SignalTable) -> tuple[NotJudged, ...]:
    """Detectors that lack a column, with the columns any one of which would do."""
    return tuple(
        NotJudged(detector.id, needed)
        for detector in DETECTORS
        for needed in detector.needs
        if not any(name in signals.columns for name in needed) and not signals.judged
    )


def exit_code(runs: Sequence[RunReport], errors: Sequence[ReadError], options: Options) -> ExitCode:
    """The exit code of the gate: 3 over 1 over 4 over 0 (DESIGN 6)."""
    if any(e.exit_code == ExitCode.UNREADABLE for e in errors):
        return ExitCode.UNREADABLE
    if any(fails(run, options.fail_on) for run in runs):
        return ExitCode.GATE
    undetermined = any(e.exit_code == ExitCode.UNDETERMINED for e in errors)
    if undetermined or any(run.verdict == "undetermined" for run in runs):
        return ExitCode.UNDETERMINED
    return ExitCode.OK


def fails(run: RunReport, fail_on: str) -> bool:
    """Is this run at or above what the gate fails on?"""
    if fail_on == "never":
        return False
    if run.verdict == "unresolved":
        return True
    warned = any(f.severity == "warning" for f in run.findings)
    return fail_on == "any" and (run.verdict == "recovered" or warned)


def without_advice(report: Report) -> Report:
    """The report of `triage spikes`: only the diagnoses."""
    return replace(report, runs=tuple(replace(r, findings=(), questions=(), missing_metrics=()) for r in report.runs))
