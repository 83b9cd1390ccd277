"""The block under the verdict: true for every class and status, for findings, several incidents and several runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.helpers import reports
from triage.model import Diagnosis, Evidence, Facts, Finding, FirstMover, NonFinite, RunReport
from triage.report import Look
from triage.report._in_short import subject
from triage.report._width import cells
from triage.report.terminal import render
from triage.resolve import branch_of, in_language, resolve
from triage.texts import ids

LABELS = ("what happened", "from which step", "suspect", "safe to go back to", "first experiment", "not yet")
LABELS_ZH = ("发生了什么", "从哪一步起", "最可疑", "可安全退回", "先做的实验", "先不要做")
NAN = math.nan


def block(*runs: RunReport, lang: str = "en", width: int = 100) -> list[str]:
    """The lines from the verdict up to the first blank line after the block."""
    lines = render(in_language(reports.report(*runs), lang), Look(lang, width)).splitlines()
    heading = "概要" if lang == "zh" else "In short"
    at = next(n for n, line in enumerate(lines) if line.startswith(heading))
    return lines[at : lines.index("", at)]


def answer(lines: list[str], label: str) -> str:
    """What stands beside a label, its lines joined."""
    at = next(n for n, line in enumerate(lines) if line.strip().startswith(label))
    rest = []
    for line in lines[at + 1 :]:
        if line[2] != " ":
            break
        rest.append(line.strip())
    return " ".join([lines[at].strip().removeprefix(label).strip(), *rest])


def found(**changes: Any) -> Diagnosis:
    base = reports.diagnosis(**changes)
    return replace(base, checklist=resolve(branch_of(base.event_class), Facts(), "en"))


ILL: dict[str, tuple[Diagnosis, str]] = {
    "point": (found(), "loss jumped from 2.4 to 9.31 (×3.88) for 2 points and fell back by itself by step 5130"),
    "nonfinite-point": (found(peak_value=NAN, n_points=1), "loss was NaN for 1 point and then went on as before"),
    "several": (
        found(event_class="consecutive", n_excursions=4, end_step=5400),
        "loss jumped 4 times between steps 5110 and 5400, up to 9.31 (×3.88)",
    ),
    "long": (found(event_class="consecutive", n_points=30), "loss was out of its band for 30 points, up to 9.31"),
    "nonfinite-points": (
        found(event_class="consecutive", peak_value=math.inf, n_excursions=2),
        "loss left its band 2 times between steps 5110 and 5120, +inf included",
    ),
    "lost": (
        found(event_class="non-recovering", status="unresolved", recovered_step=None),
        "loss left its level of 2.4, reached 9.31 (×3.88), and did not come back (non-recovering)",
    ),
    "nonfinite-after": (
        found(event_class="non-recovering", status="unresolved", recovered_step=None, peak_value=NAN, peak_step=5300),
        "loss left its level, turned NaN at step 5300, and did not come back",
    ),
    "nonfinite-at-once": (
        found(event_class="non-recovering", status="unresolved", recovered_step=None, peak_value=NAN),
        "loss turned NaN at step 5110 and stayed lost",
    ),
    "plateau": (
        found(
            event_class="non-recovering",
            status="unresolved",
            recovered_step=None,
            evidence=(Evidence("level-shift", "loss", 3.1, 2.4),),
        ),
        "loss settled on another level: 3.1 instead of 2.4",
    ),
    "back-to-start": (
        found(event_class="non-recovering", status="unresolved", evidence=(Evidence("back-to-start", "loss", 10.2),)),
        "loss fell back to where it had started: 10.2",
    ),
    "slow-rise": (
        found(event_class="non-recovering", status="unresolved", evidence=(Evidence("slow-rise", "loss", 2.9, 2.4),)),
        "loss rose slowly from 2.4 to 2.9 and did not turn",
    ),
    "censored": (
        found(event_class="non-recovering", status="unresolved", recovered_step=None, censored=True),
        "did not come back, as far as the log goes (non-recovering)",
    ),
    "superseded": (
        found(event_class="non-recovering", status="superseded", recovered_step=None),
        "did not come back; a later attempt trained the same steps in health",
    ),
    "first-step": (
        found(event_class="first-step-nan", status="unresolved", peak_value=NAN, peak_step=1, last_healthy_step=None),
        "loss was NaN at step 1, at the very start, and stayed so",
    ),
    "first-step-gradient": (
        found(
            event_class="first-step-nan",
            status="unresolved",
            last_healthy_step=None,
            first_nonfinite=NonFinite("grad_norm", 1),
        ),
        "grad_norm was non-finite at the very start, and loss never recovered from it",
    ),
}


@pytest.mark.parametrize("kind", ILL)
def test_every_way_of_being_ill_has_its_sentence_and_all_labels(kind: str):
    about, sentence = ILL[kind]
    lines = block(reports.run(diagnoses=(about,), verdict="unresolved"), width=140)
    assert sentence in answer(lines, "what happened")
    assert [line[2:].split("  ")[0] for line in lines[1:] if line[2] != " "] == list(LABELS)
    chinese = block(reports.run(diagnoses=(about,), verdict="unresolved"), lang="zh", width=140)
    assert [line[2:].split("  ")[0] for line in chinese[1:] if line[2] != " "] == list(LABELS_ZH)
    assert "?" not in "".join(lines).replace("no. ", "")
    assert "{" not in "".join([*lines, *chinese])


def test_the_step_that_is_safe_is_the_last_healthy_one():
    assert "step 5100, the last healthy one; no need to" in answer(block(reports.run()), "safe to go back to")
    lost = ILL["lost"][0]
    run = reports.run(diagnoses=(lost,), verdict="unresolved")
    assert answer(block(run), "safe to go back to") == (
        "step 5100, the last healthy one: a checkpoint saved at or before it"
    )
    early = replace(lost, last_healthy_step=10)
    run = reports.run(diagnoses=(early,), verdict="unresolved")
    assert "so start anew" in answer(block(run), "safe to go back to")
    assert "load checkpoint-6200" in answer(block(reports.blown_up()), "safe to go back to")
    never = ILL["first-step"][0]
    run = reports.run(diagnoses=(never,), verdict="unresolved")
    assert answer(block(run), "safe to go back to").startswith("none in this log")


def test_an_optimizer_that_has_not_settled_makes_later_checkpoints_suspect():
    numbers = {("grad_norm", "settled_ratio"): 3.0}
    checklist = resolve("single-step", Facts(statistics=numbers, columns=frozenset({"grad_norm"})), "en")
    lines = block(reports.run(diagnoses=(reports.diagnosis(checklist=checklist),)))
    assert "trust nothing later" in answer(lines, "safe to go back to")


def test_checkpoints_that_were_saved_too_late_are_told():
    run = reports.blown_up()
    plan = replace(run.diagnoses[0].restart, checkpoint=None, reasons=("before-onset", "no-safe-checkpoint"))
    late = replace(run, diagnoses=(replace(run.diagnoses[0], restart=plan),))
    assert "every checkpoint that the log names was saved later" in answer(block(late), "safe to go back to")
    assert "unusable: checkpoint-6400" in answer(block(late), "not yet")


def test_what_moved_first_and_the_range_of_the_onset_are_told():
    lines = block(reports.blown_up())
    assert answer(lines, "from which step") == (
        "step 6300, somewhere after 6270, slow; grad_norm moved 20 steps before"
    )
    alone = found(first_mover=FirstMover("loss", None), onset_range=(5109, 5110))
    assert answer(block(reports.run(diagnoses=(alone,))), "from which step") == "step 5110, abrupt"


def test_a_suspect_is_never_called_confirmed():
    assert answer(block(reports.blown_up()), "suspect") == "learning rate too high: likely, not confirmed"
    assert answer(block(reports.run()), "suspect") == "the log points to none"


def test_the_worst_of_several_incidents_is_told_and_numbered():
    lost = ILL["lost"][0]
    later = replace(found(), onset_step=9000, row_onset=900)
    lines = block(reports.run(diagnoses=(found(), lost, later), verdict="unresolved"))
    assert answer(lines, "what happened").startswith("no. 2, the worst of 3 incidents: loss left its level")


def test_an_open_incident_comes_before_a_fault_and_a_fault_before_what_recovered():
    error, warning = Finding("rank-disagreement", "error", 40), Finding("overfitting", "warning", 30)
    lost = ILL["lost"][0]
    assert subject(reports.run(diagnoses=(found(), lost), findings=(error,))) == lost
    assert subject(reports.run(findings=(warning, error))) == error
    assert subject(reports.run(findings=(warning,))) == reports.diagnosis()
    assert subject(reports.run(diagnoses=(), findings=(warning, error))) == error
    assert subject(reports.run(diagnoses=(), findings=(Finding("periodic-spikes", "info", None),))) is None


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("finding", ids("findings"))
@pytest.mark.parametrize("step", [None, 120])
def test_every_fault_without_a_spike_answers_the_questions(finding: str, lang: str, step: int | None):
    checklist = resolve(branch_of(finding), Facts(), "en")
    fault = Finding(finding, "error", step, checklist=checklist)
    lines = block(reports.run(diagnoses=(), findings=(fault,), verdict="unresolved"), lang=lang, width=140)
    labels = [line[2:].split("  ")[0] for line in lines[1:] if line[2] != " "]
    assert labels == list(LABELS_ZH if lang == "zh" else LABELS)
    assert finding in lines[1]
    assert str(step) in lines[2] if step else ("整个训练" if lang == "zh" else "the run as a whole") in lines[2]


def test_of_several_runs_the_worst_is_told_before_the_first():
    good, bad = reports.run(), reports.blown_up()
    page = render(reports.report(good, bad), Look()).splitlines()
    assert page[0].startswith("UNRESOLVED  2 runs")
    assert page[1].startswith("  UNRESOLVED  beta: ")
    assert page[2].startswith("  RECOVERED   alpha: ")
    assert page[4] == "In short: beta"
    assert page.index("In short") > page.index("RECOVERED  alpha: single-step, loss at step 5110")
    first = render(reports.report(bad, good), Look()).splitlines()
    assert "In short: beta" not in first
    assert first[6] == "In short"


def test_very_many_runs_are_counted_so_that_the_worst_stays_on_the_screen():
    runs = [reports.run(run_id=f"run{n:02}") for n in range(30)]
    page = render(reports.report(*runs, reports.blown_up()), Look()).splitlines()
    assert page[1].startswith("  UNRESOLVED  beta")
    assert "  and 19 more runs" in page
    assert page.index("In short: beta") < 20


def test_a_log_that_cannot_be_judged_is_told_what_to_do():
    lines = block(reports.undetermined().runs[0])
    assert "cannot be told" in answer(lines, "what happened")
    assert "--map loss=NAME" in answer(lines, "first experiment")


def test_health_needs_no_block():
    page = render(reports.healthy(), Look())
    assert "In short" not in page
    assert page.startswith("HEALTHY  no incident in 1000 rows: nothing to go back from, nothing to change")


def test_names_of_a_log_cannot_steer_it():
    evil = found(signal="\x1b[31mloss\u202e", first_mover=FirstMover("g\x07", 3))
    lines = "\n".join(block(reports.run(diagnoses=(evil,))))
    assert not set("\x1b\x07\u202e") & set(lines)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("kind", ILL)
def test_it_keeps_within_the_terminal(kind: str, width: int):
    for lang in ("en", "zh"):
        for line in block(reports.run(diagnoses=(ILL[kind][0],)), lang=lang, width=width):
            assert cells(line) <= width
