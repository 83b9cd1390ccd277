"""The checklist at a terminal: what each extent shows, in which order, and how its lines are laid out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.helpers import reports
from triage.model import Cause, Checklist, ChecklistStep, Facts
from triage.report import Look
from triage.report._checklist import brief, ordered
from triage.report.terminal import render
from triage.resolve import resolve

HEADINGS = (
    "This log cannot tell",
    "Do next, one at a time",
    "Only once confirmed",
    "Not called for here",
    "Fixed when",
)


def page(branch: Checklist, width: int = 100, causes: tuple[Cause, ...] = (), **options: Any) -> str:
    found = reports.diagnosis(checklist=branch, causes=causes)
    report = reports.report(reports.run(diagnoses=(found,)), **options)
    text = render(report, Look(width=width))
    return text[text.index("   Checklist: ") :]


def single_step(**changes: Any) -> Checklist:
    facts = Facts(
        columns=frozenset({"grad_norm", "loss"}),
        statistics={("grad_norm", "ratio_at_onset"): 12.34, ("clip_coef", "is_configured"): 1.0},
        placeholders={"onset": "5110", "before_onset": "5100", "healthy_minus_100": "5000"},
    )
    return resolve("single-step", replace(facts, **changes), "en")


def test_full_shows_every_group_in_the_order_of_work():
    text = page(single_step(), checklist="full")
    places = [text.index(heading) for heading in HEADINGS]
    assert places == sorted(places)
    for step in single_step().steps:
        if step.kind == "experiment":
            assert step.detail["words"]["ask"].split("\n")[0][:40] in text
    assert "triage explain single-step" in text


def test_short_shows_the_answers_the_first_experiment_and_what_must_wait():
    text = page(single_step(), checklist="short")
    assert "✓ Did the grad norm jump with the loss? → yes: grad norm at the onset 12.3 × its level before" in text
    assert "One batch pushed loss and gradient at once" in text
    assert text.count("1. Replay the same batch") == 1
    assert "2. " not in text
    assert "Only once confirmed: repair the damaged samples" in text
    assert not any(heading in text for heading in HEADINGS[:2])
    assert "7 open questions, 2 experiments more: --checklist full" in text


def test_none_shows_no_checklist_and_the_restart_plan_all_the_same():
    text = render(replace(reports.unresolved(), options={**reports.unresolved().options, "checklist": "none"}), Look())
    assert "Checklist" not in text
    assert "Restart plan" in text


def test_short_is_the_default():
    assert "--checklist full" in page(single_step())


def test_a_question_takes_one_line_and_its_meaning_the_next():
    lines = page(single_step(), 120, checklist="full").splitlines()
    at = next(n for n, line in enumerate(lines) if "Did the grad norm jump" in line)
    assert lines[at].startswith("     ✓ ")
    assert lines[at + 1] == "       One batch pushed loss and gradient at once: check the data first."


def test_open_questions_stand_in_one_group_with_what_to_log():
    text = page(single_step(), 120, checklist="full")
    group = text[text.index(HEADINGS[0]) : text.index(HEADINGS[1])]
    assert "? Is the batch an outlier in tokens or length?" in group
    assert 'log seq_len       `{"seq_len": int(attention_mask.sum(1).max())}`' in group
    assert "If yes" not in group


def test_numbers_that_do_not_decide_stand_behind_their_question():
    between = {("grad_norm", "ratio_at_onset"): 2.0}
    text = page(single_step(statistics=between), 120, checklist="full")
    assert "? Did the grad norm jump with the loss? (grad norm at the onset 2 × its level before)" in text


def test_rows_of_the_replay_table_keep_their_columns():
    for width in (60, 80, 100, 120):
        lines = page(single_step(), width, checklist="full").splitlines()
        head = next(line for line in lines if "just before   older, healthy" in line)
        first = next(line for line in lines if "the suspect batch " in line)
        second = next(line for line in lines if "an ordinary batch " in line)
        assert first.index("a", first.index("batch") + 5) == second.index("c", second.index("batch") + 5)
        assert head.index("just before") < first.rindex("a") < head.index("older, healthy") < first.rindex("b")


def test_outcomes_are_lines_of_their_own():
    text = page(single_step(), checklist="full")
    assert "          → a and b high: the data.\n" in text


def test_an_action_names_the_experiments_that_unlock_it():
    text = page(single_step(), checklist="full")
    assert "· repair the damaged samples, or drop exactly those (by 1)" in text
    assert "Not called for here\n       · add clipping of the global norm at 1.0" in text


def test_an_action_that_the_log_confirms_stands_by_itself():
    off = {("grad_norm", "ratio_at_onset"): 12.34, ("clip_coef", "is_configured"): 0.0}
    for extent in ("short", "full"):
        text = page(single_step(statistics=off), checklist=extent)
        assert "Called for by this log\n       → Add clipping of the global norm at 1.0" in text


@pytest.mark.parametrize(
    ("cause", "first"),
    [
        (Cause("lr/short-warmup", "likely", 0.8), "double-warm-up"),
        (Cause("grad/no-clipping", "possible", 0.5), "clip-at-one"),
        (Cause("grad/no-clipping", "weak", 0.2), "half-lr"),
        (Cause("run/dead", "likely", 0.8), "half-lr"),
        (Cause("data/bad-batch", "possible", 0.5), "replay-first-batch"),
    ],
)
def test_the_leading_cause_chooses_the_first_experiment(cause: Cause, first: str):
    branch = resolve("consecutive", Facts(), "en")
    found = ordered(branch, (cause,))
    assert found[0].id == first
    assert {step.id for step in found} == {step.id for step in branch.steps if step.kind == "experiment"}
    assert f"1. {found[0].detail['words']['ask'][:20]}" in page(branch, causes=(cause,))


def test_a_checklist_that_stands_further_up_is_not_repeated():
    run = reports.blown_up()
    text = render(reports.report(replace(run, diagnoses=run.diagnoses * 2)), Look())
    assert text.count("Checklist: Never came back, or blew up") == 2
    assert text.count("(as above; what this log answers)") == 1
    assert text.count("First experiment") == 1


def test_a_report_without_pieces_is_shown_by_its_texts():
    steps = (
        ChecklistStep("ask", "log", "Is it so? Yes: 3.", "yes"),
        ChecklistStep("x", "experiment", "Compare:\n       a    b\n  c    1    2", "unknown"),
        ChecklistStep("fix", "action", "Only once confirmed: repair it.", "unknown"),
        ChecklistStep("done", "verify", "No spike.", "unknown"),
    )
    text = page(Checklist("not-known-here", steps), checklist="full")
    assert text.startswith("   Checklist: not-known-here\n     ✓ Is it so? Yes: 3.\n")
    assert "1. Compare:\n                 a    b\n            c    1    2\n" in text
    assert brief(steps[2]) in text
    assert "No spike." in text


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("extent", ["short", "full"])
def test_steering_characters_of_a_saved_report_stay_visible(extent: str, lang: str):
    words = {"brief": "a\x1b[31mb", "ask": "line\x1b[2J one\n- hit\x07: bad\n  row \u202e", "meaning": "\x9b1m"}
    steps = (
        ChecklistStep("ask", "log", "text", "yes", (), {"words": words}),
        ChecklistStep("open", "log", "text", "unknown", (), {"words": words, "how": {"x\x1b": "y\x1b[H"}}),
        ChecklistStep("run", "experiment", "text", "unknown", (), {"words": words}),
        ChecklistStep("fix", "action", "text", "unknown", (), {"words": words}),
    )
    found = reports.diagnosis(checklist=Checklist("single-step", steps))
    report = reports.report(reports.run(diagnoses=(found,)), checklist=extent)
    assert not set("\x1b\x07\x9b\u202e") & set(render(report, Look(lang)))
