"""A saved report in the other language: the sentences that it carries are said again from its numbers.

Everything else in a report is ids and numbers, which the renderers put into words themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from triage.checklists import Branch, framework_of, load_branch
from triage.model import Checklist, Diagnosis, Facts, Finding, Report, RunReport
from triage.resolve._step import resolved
from triage.resolve._words import how_to_log

_Advised = TypeVar("_Advised", Diagnosis, Finding)


def in_language(report: Report, lang: str) -> Report:
    """The same report, said in `lang` (en | zh)."""
    runs = tuple(_run(run, lang) for run in report.runs)
    return replace(report, options={**report.options, "lang": lang}, runs=runs)


def _run(run: RunReport, lang: str) -> RunReport:
    framework = framework_of(run.source.writer, run.source.format)
    return replace(
        run,
        diagnoses=tuple(_advised(found, framework, lang) for found in run.diagnoses),
        findings=tuple(_advised(found, framework, lang) for found in run.findings),
        missing_metrics=tuple(
            replace(one, how=how_to_log(one.column, framework, lang) or one.how) for one in run.missing_metrics
        ),
    )


def _advised(found: _Advised, framework: str | None, lang: str) -> _Advised:
    if found.checklist is None:
        return found
    return replace(found, checklist=resolve_again(found.checklist, framework, lang))


def resolve_again(checklist: Checklist, framework: str | None, lang: str) -> Checklist:
    """The same steps and answers in another language, from what the steps themselves carry.

    A step that this version does not know stays as it is.

    Args:
        checklist: as `resolve` made it, also in an earlier run.
        framework: who wrote the log; None = not known.
        lang: en | zh.
    """
    try:
        branch = load_branch(checklist.id)
    except KeyError:
        return checklist
    known = {step.id: step for step in branch.steps}
    facts = _facts_of(checklist, branch, framework)
    answers = {step.id: step.answer for step in checklist.steps}
    steps = [
        replace(resolved(branch, known[old.id], facts, answers, lang), evidence_ids=old.evidence_ids)
        if old.id in known and "words" in old.detail
        else old
        for old in checklist.steps
    ]
    return replace(checklist, steps=tuple(steps))


def _facts_of(checklist: Checklist, branch: Branch, framework: str | None) -> Facts:
    """The facts that the steps of a checklist carry: enough to say them again."""
    numbers: dict[str, Any] = {}
    values: dict[str, str] = {}
    missing: set[str] = set()
    causes: set[str] = set()
    for step in checklist.steps:
        numbers |= step.detail.get("numbers", {})
        values |= step.detail.get("values", {})
        missing |= set(step.detail.get("missing", ()))
        causes |= set(step.detail.get("confirmed_by", ()))
    return Facts(
        columns=frozenset(column for step in branch.steps for column in step.needs) - missing,
        statistics={(k.rpartition(".")[0], k.rpartition(".")[2]): float(v) for k, v in numbers.items()},
        placeholders=values,
        framework=framework,
        confirmed_causes=frozenset(causes),
    )
