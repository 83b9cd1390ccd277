"""The sample logs and ten faults: what is printed now, in both languages, and whether its answers are the log's.

tests/cases/faults/answers.toml holds the answers as they were worked out from the logs by hand. The tests below hold
the checklists to them, and the numbers to plain arithmetic on the rows. UPDATE_GOLDEN=1 writes the pages anew.
"""

from __future__ import annotations

import json
import math
import statistics
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.golden import check_golden
from triage.model import Checklist, ChecklistStep, Diagnosis, Report
from triage.options import Options
from triage.pipeline import analyze
from triage.report import Look
from triage.report._order import worst_first
from triage.report._width import cells
from triage.report.json import dumps, loads
from triage.report.terminal import render
from triage.resolve import branch_of, in_language

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden" / "logs"
ANSWERS: dict[str, dict[str, Any]] = tomllib.loads(
    (ROOT / "tests" / "cases" / "faults" / "answers.toml").read_text(encoding="utf-8")
)
LOGS = sorted(
    str(path.relative_to(ROOT).with_suffix(""))
    for folder in ("sample_logs", "tests/cases/faults")
    for path in (ROOT / folder).glob("*.jsonl")
)
FIRST_LINES = 40
"""What a reader sees without scrolling."""

LABELS = {
    "en": ("what happened", "from which step", "safe to go back to", "first experiment", "not yet"),
    "zh": ("发生了什么", "从哪一步起", "可安全退回", "先做的实验", "先不要做"),
}
"""The five questions, as they stand in the output."""


@cache
def report_of(name: str, lang: str = "en", checklist: str = "short") -> Report:
    """The report of a log; its path is the name, so that the page is the same everywhere."""
    from dataclasses import replace

    report = analyze([str(ROOT / f"{name}.jsonl")], Options(lang=lang, checklist=checklist))
    runs = tuple(replace(run, source=replace(run.source, path=f"{Path(name).name}.jsonl")) for run in report.runs)
    return replace(report, options={**report.options, "command": "analyze"}, runs=runs)


def checklists_of(name: str) -> Iterator[tuple[str, Checklist]]:
    (run,) = report_of(name).runs
    for n, found in enumerate(run.diagnoses, 1):
        assert found.checklist is not None
        yield f"incident {n}", found.checklist
    for finding in run.findings:
        if finding.severity != "info":
            assert finding.checklist is not None
            yield finding.id, finding.checklist


def answered(name: str) -> Iterator[tuple[str, ChecklistStep]]:
    for of, checklist in checklists_of(name):
        yield from ((of, step) for step in checklist.steps if step.kind == "log" and step.answer != "unknown")


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", LOGS)
def test_pages(name: str, lang: str):
    check_golden(GOLDEN / f"{Path(name).name}.{lang}.txt", render(report_of(name, lang), Look(lang)))


@pytest.mark.parametrize("name", ["sample_logs/single-step", "tests/cases/faults/case_120"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_full_pages_at_80_columns(name: str, lang: str):
    page = render(report_of(name, lang, "full"), Look(lang, 80))
    check_golden(GOLDEN / f"{Path(name).name}.full-80.{lang}.txt", page)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize("extent", ["short", "full"])
@pytest.mark.parametrize("name", LOGS)
def test_no_line_is_wider_than_the_terminal(name: str, extent: str, width: int):
    for lang in ("en", "zh"):
        for line in render(report_of(name, lang, extent), Look(lang, width)).splitlines():
            assert cells(line) <= width, line


# ── from a saved report ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("extent", ["short", "full"])
@pytest.mark.parametrize("name", LOGS)
def test_a_saved_report_prints_what_the_direct_run_prints_in_either_language(name: str, extent: str):
    direct = {lang: report_of(name, lang, extent) for lang in ("en", "zh")}
    for written in ("en", "zh"):
        saved = loads(dumps(direct[written]))
        for shown in ("en", "zh"):
            look = Look(shown, 80)
            said = saved if written == shown else in_language(saved, shown)
            assert render(said, look) == render(direct[shown], look)


# ── the answers ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ANSWERS)
def test_the_branch_is_that_of_the_class_or_the_finding(name: str):
    (run,) = report_of(name).runs
    wanted = [branch_of(d.event_class) for d in run.diagnoses]
    wanted += [branch_of(f.id) for f in run.findings if f.severity != "info"]
    got = [checklist.id for _, checklist in checklists_of(name)]
    assert got == wanted == ANSWERS[name]["branch"]


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_the_one_worked_out_by_hand(name: str):
    by_hand = {
        (about["of"], step): answer
        for about in ANSWERS[name]["about"]
        for answer in ("yes", "no")
        for step in about.get(answer, {})
    }
    assert {(of, step.id): step.answer for of, step in answered(name)} == by_hand


@pytest.mark.parametrize("name", LOGS)
def test_every_log_has_its_answers_worked_out(name: str):
    assert name in ANSWERS or not list(answered(name))


@pytest.mark.parametrize("name", ANSWERS)
def test_the_numbers_are_those_of_plain_arithmetic(name: str):
    """Within half: the level follows a trend, a median does not."""
    rows = [json.loads(line) for line in (ROOT / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    (run,) = report_of(name).runs
    checked = 0
    for of, step in answered(name):
        if not of.startswith("incident"):
            continue
        for key, value in step.detail.get("numbers", {}).items():
            plain = plainly(key, rows, run.diagnoses[int(of.split()[1]) - 1])
            if plain is None:
                continue
            checked += 1
            assert value == plain or math.isclose(value, plain, rel_tol=0.5), (step.id, key, value, plain)
    assert checked or all(found.row_onset < 8 for found in run.diagnoses), "an early onset leaves nothing to compute"


NAMES = {"lr": ("lr", "learning_rate"), "seq_len": ("seq_len_max",), "is_skipped": ("skipped",)}


def plainly(key: str, rows: list[dict[str, Any]], about: Diagnosis) -> float | None:
    """A statistic of a checklist, computed from the rows in the plainest way; None = not one that is plain."""
    signal, _, statistic = key.rpartition(".")
    names = NAMES.get(signal, (signal,))

    def value_of(row: dict[str, Any]) -> float:
        if signal == "u_over_lr":
            return float(row["update_ratio"]) / float(row["lr"])
        return float(next(row[one] for one in names if row.get(one) is not None))

    if not any(one in rows[0] for one in names) and not (signal == "u_over_lr" and "update_ratio" in rows[0]):
        return None
    at = next(n for n, row in enumerate(rows) if row.get("step", row.get("iteration")) == about.onset_step)
    end = next(n for n, row in enumerate(rows) if row.get("step", row.get("iteration")) == about.end_step)
    values = [value_of(row) for row in rows]
    before = [v for v in values[:at] if math.isfinite(v)]
    since = [v for v in values[end + 1 :] if math.isfinite(v)][:32]
    level = statistics.median(before[-32:]) if before else math.nan
    if statistic == "points_before":
        return float(len(before))
    if statistic == "nonfinite_after":
        segment = values[at : end + 1] if about.status == "superseded" else values[at:]
        return sum(not math.isfinite(v) for v in segment) / len(segment)
    if statistic == "ratio_at_onset":
        return values[at] / level if math.isfinite(values[at]) else math.inf
    if statistic == "value_at_onset":
        return values[at]
    if statistic == "level_before":
        return level
    if statistic == "settled_ratio":
        return statistics.median(since) / level
    if statistic == "jump_ratio":
        steps = [b / a for a, b in zip(values[max(0, at - 8) : at], values[max(1, at - 7) : at + 1], strict=True)]
        largest = max(steps, key=lambda ratio: abs(math.log(ratio)))
        return largest if abs(math.log(largest)) > math.log(1.2) else 1.0
    return None


# ── five questions ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", LOGS)
def test_the_first_lines_answer_five_questions(name: str, lang: str):
    (run,) = report_of(name, lang).runs
    page = render(report_of(name, lang), Look(lang)).splitlines()
    first = "\n".join(page[:FIRST_LINES])
    if not run.diagnoses and not any(f.severity != "info" for f in run.findings):
        assert run.verdict == "healthy"
        return
    labels = [line.split("  ")[1].strip() for line in page[:FIRST_LINES] if line.startswith("  ") and line[2] != " "]
    assert [label for label in labels if label in LABELS[lang]] == list(LABELS[lang])
    if run.diagnoses:
        worst = worst_first(run.diagnoses)[0][1]
        assert str(worst.onset_step) in first
        assert worst.last_healthy_step is None or str(worst.last_healthy_step) in first


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", LOGS)
def test_no_internal_name_reaches_the_reader(name: str, lang: str):
    report = report_of(name, lang, "full")
    page = render(report, Look(lang))
    assert "u_over_lr" not in page
    for run in report.runs:
        for found in (*run.diagnoses, *run.findings):
            steps = () if found.checklist is None else found.checklist.steps
            keys = {key for step in steps for key in step.detail.get("numbers", {})}
            assert not [key for key in keys if key in page]
            assert not [step.id for step in steps if f"`{step.id}`" in page]
            plan = getattr(found, "restart", None)
            assert plan is None or not [item for item in (*plan.reasons, plan.change_first) if str(item) in page]
