"""The only place that wires the stages together: paths → tables → signals → events → diagnoses → report.

Every stage is a pure function of the one before and the options; this file calls them in order and adds up the
verdict and the exit code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO, Final

from triage.advice import Checkpoint, missing_metrics, plan, questions
from triage.causes import causes_of
from triage.classify import classify
from triage.detectors import DETECTORS, detect
from triage.detectors.excursion import decisions
from triage.errors import ExitCode, UnreadableError, UsageError
from triage.facts import facts
from triage.findings import find, remarks
from triage.model import (
    VERDICTS,
    Diagnosis,
    Facts,
    Finding,
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
from triage.readers.context import single, with_batches, with_checkpoints
from triage.report._order import worst_first
from triage.resolve import branch_of, resolve
from triage.signals import SignalTable, build
from triage.signals.thin import thin
from triage.signals.timeline import first_mover, timeline

WITNESSES: Final = frozenset({"loss_scale", "is_skipped", "grad_norm"})
"""Signals that can be judged without a loss (definitions 9)."""
EXPLAINED: Final = 100
"""Incidents, worst first, and findings that get causes, a checklist and a plan, where `--max-incidents` is not higher:
as many as are listed. Each takes a look at the whole log, so that a log of ten thousand would take hours."""
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
    runs = tuple(judge(table, options) for table in in_context(result.runs, options))
    return assemble(runs, result.errors, options)


def in_context(tables: tuple[RunTable, ...], options: Options) -> tuple[RunTable, ...]:
    """The runs with what stands beside their log: checkpoints, and columns per batch."""

    def read_one(path: str) -> RunTable:
        found = read_runs([path], replace(options, mapping={}, join=False))
        return single(path, found.runs, tuple(e.message for e in found.errors))

    if options.batches is not None and tables:
        tables = with_batches(tables, options.batches, read_one)
    return with_checkpoints(tables, options.checkpoints) if options.checkpoints is not None else tables


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
            StepValues(int(signals.step[r]), r, int(signals.segment[r]), _values(signals, r))
            for r in around
            if r != row
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
    events = detect(signals, options)
    diagnoses = classify(signals, events)
    findings = find(signals, events, diagnoses)
    worst = sorted(number - 1 for number, _ in worst_first(diagnoses)[: max(EXPLAINED, options.max_incidents)])
    around = [facts(table, diagnoses[n]) for n in worst]
    explained = {n: _explained(signals, diagnoses[n], f, findings, options) for n, f in zip(worst, around, strict=True)}
    diagnoses = tuple(explained.get(n, d) for n, d in enumerate(diagnoses))
    findings = tuple(
        _answered(signals, finding, findings, options, is_context=bool(diagnoses)) if n < EXPLAINED else finding
        for n, finding in enumerate(findings)
    )
    return RunReport(
        run_id=table.run_id,
        verdict=verdict_of(signals, diagnoses, findings),
        source=table.source,
        diagnoses=diagnoses,
        findings=findings,
        questions=questions([explained[n] for n in worst], around),
        missing_metrics=missing_metrics(signals, options.lang),
        series=thin(signals, diagnoses),
        not_judged=not_judged(signals),
        notices=(*table.notices, *remarks(signals, findings)),
    )


def _explained(
    signals: SignalTable, d: Diagnosis, numbers: Facts, findings: Sequence[Finding], options: Options
) -> Diagnosis:
    """A diagnosis with its timeline, causes, checklist and restart plan."""
    points = timeline(signals, d)
    d = replace(d, timeline=points, first_mover=first_mover(signals, d, points))
    d = replace(d, causes=causes_of(signals, d, numbers, findings))
    return replace(
        d,
        checklist=resolve(branch_of(d.event_class), numbers, options.lang),
        restart=plan(signals, d, checkpoints_of(signals.table, options)),
    )


def _answered(
    signals: SignalTable, finding: Finding, findings: Sequence[Finding], options: Options, *, is_context: bool
) -> Finding:
    """A finding with its causes and checklist."""
    numbers = facts(signals.table, finding)
    causes = causes_of(signals, finding, numbers, findings, is_context=is_context)
    return replace(finding, causes=causes, checklist=resolve(branch_of(finding.id), numbers, options.lang))


def checkpoints_of(table: RunTable, options: Options) -> tuple[Checkpoint, ...]:
    """The saved states that are known: named in the log or in a folder, else by their interval."""
    known = [
        Checkpoint(int(m["step"]), str(m.get("text") or f"step {m['step']}"))
        for m in table.messages
        if m.get("kind") == "checkpoint" and m.get("step") is not None
    ]
    every, last = options.checkpoint_every, table.source.step_last
    if not known and every is not None and last is not None:
        known = [Checkpoint(step, f"step {step}") for step in range(every, last + 1, every)]
    return tuple(known)


def verdict_of(signals: SignalTable, diagnoses: Sequence[Diagnosis], findings: Sequence[Finding]) -> Verdict:
    """The verdict of a run (definitions 8)."""
    if any(d.status == "unresolved" for d in diagnoses) or any(f.severity == "error" for f in findings):
        return "unresolved"
    if not can_be_judged(signals):
        return "undetermined"
    return "recovered" if diagnoses else "healthy"


def can_be_judged(signals: SignalTable) -> bool:
    """Is there a signal with at least two points: a loss, or one that carries findings of its own?"""
    names = {j.name for j in signals.judged} | (WITNESSES & signals.logged.keys())
    return any(int(signals.logged[name].sum()) >= 2 for name in names)


def not_judged(signals: SignalTable) -> tuple[NotJudged, ...]:
    """Detectors that lack a column, with the columns any one of which would do."""
    return tuple(
        NotJudged(detector.id, needed)
        for detector in DETECTORS
        for needed in detector.needs
        if not any(name in signals.columns for name in needed) and not signals.judged
    )


def exit_code(runs: Sequence[RunReport], errors: Sequence[ReadError], options: Options) -> ExitCode:
    """The exit code of the gate: 3 over 1 over 4 over 0 (definitions 9)."""
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
