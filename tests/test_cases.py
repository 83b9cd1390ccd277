"""Small logs with a known truth, read and judged as a user would: class, verdict, onset, and what is said of them now.

A folder of tests/cases with a `case.toml` is a case: `input`, and under [truth] what is true of the log whatever the
tool says. `expected.json` is what it says today, without texts; UPDATE_GOLDEN=1 writes it anew.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.golden import check_golden
from tests.helpers.verdicts import matches
from triage.model import CLASSES, Report
from triage.options import Options
from triage.pipeline import analyze
from triage.report.json import to_json

FOLDER = Path(__file__).parent / "cases"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/case.toml"))
DIGITS = 6
LEFT_OUT = frozenset({"text", "how", "detail", "checklist", "series", "would_decide", "options", "path", "bytes"})
"""Words, pictures, settings and places: what is said with the numbers, not the numbers."""
KEYS = frozenset(
    {"class", "verdict", "status", "onset", "last_healthy", "stride", "causes", "findings", "notices", "never_likely"}
)


def spec(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name / "case.toml").read_text(encoding="utf-8"))


@cache
def report_of(name: str) -> Report:
    return analyze([str(FOLDER / name / spec(name)["input"])], Options())


def differences(truth: dict[str, Any], report: Report) -> Iterator[str]:
    """Each way in which a report departs from the truth of its log."""
    (run,) = report.runs
    stride = truth.get("stride", 1)
    worst = sorted(run.diagnoses, key=lambda d: CLASSES.index(d.event_class))[-1:]
    got = worst[0].event_class if worst else "healthy"
    if got != truth["class"]:
        yield f"class {got}"
    if report.verdict != truth["verdict"]:
        yield f"verdict {report.verdict}"
    for d in worst:
        if "status" in truth and d.status != truth["status"]:
            yield f"status {d.status}"
        if "onset" in truth and not truth["onset"][0] - stride <= d.onset_step <= truth["onset"][1] + stride:
            yield f"onset {d.onset_step}"
        healthy = d.last_healthy_step
        if "last_healthy" in truth and not (
            healthy is not None and truth["last_healthy"][0] <= healthy <= truth["last_healthy"][1]
        ):
            yield f"last healthy {healthy}"
    subjects = worst or [f for f in run.findings if f.causes]
    if "causes" in truth and not any(s.causes and s.causes[0].id in truth["causes"] for s in subjects):
        yield f"first cause {[s.causes[0].id for s in subjects if s.causes]}"
    likely = {c.id for s in (*run.diagnoses, *run.findings) for c in s.causes if c.confidence == "likely"}
    if wrong := sorted(c for c in likely if matches(c, truth.get("never_likely", ()))):
        yield f"likely {wrong}"
    if missing := set(truth.get("findings", ())) - {f.id for f in run.findings}:
        yield f"no finding {missing}"
    if missing := set(truth.get("notices", ())) - {n.id for n in run.notices}:
        yield f"no notice {missing}"


def normalised(value: Any) -> Any:
    """A report without words and places, numbers to six digits."""
    if isinstance(value, dict):
        return {key: normalised(item) for key, item in value.items() if key not in LEFT_OUT}
    if isinstance(value, list):
        return [normalised(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_found(name):
    case = spec(name)
    wrong = list(differences(case["truth"], report_of(name)))
    if "known_failure" in case:
        assert wrong, "the known failure is mended: take it out of case.toml"
        pytest.xfail(case["known_failure"])
    assert wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_the_report_is_as_before(name):
    report = report_of(name)
    body = {"verdict": report.verdict, "exit_code": report.exit_code, "runs": normalised(to_json(report.runs))}
    for run in body["runs"]:
        run["notices"] = [[notice["id"], notice["count"]] for notice in run["notices"]]
    check_golden(FOLDER / name / "expected.json", json.dumps(body, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_the_case_is_well_formed(name):
    case = spec(name)
    assert case.keys() <= {"title", "origin", "input", "known_failure", "truth"}
    assert case["truth"].keys() <= KEYS
    assert all(case[key] for key in ("title", "origin", "input"))
    assert (FOLDER / name / case["input"]).exists()


def test_the_cases_cover_classes_statuses_and_formats():
    truths = [spec(name)["truth"] for name in NAMES]
    runs = [run for name in NAMES for run in report_of(name).runs]
    assert {t["class"] for t in truths} == {*CLASSES, "healthy"}
    assert {d.status for run in runs for d in run.diagnoses} >= {"recovered", "unresolved", "superseded"}
    assert {r.verdict for r in runs} == {"healthy", "recovered", "undetermined", "unresolved"}
    formats = {run.source.format for run in runs}
    assert formats >= {"jsonl", "csv", "parquet", "tensorboard", "wandb", "mlflow", "hf-trainer-state", "console"}
