"""Resolving: three-valued answers, locks of actions, words of this run; total over every branch, list and fact."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage import checklists, schema
from triage.checklists import Comparison, Condition
from triage.errors import UsageError
from triage.model import CLASSES, Checklist, ChecklistStep, Facts
from triage.resolve import branch_of, how_to_log, resolve, resolve_again, title
from triage.resolve._conditions import holds
from triage.resolve._words import fill

EVERYTHING = (*checklists.BRANCHES, *checklists.LISTS)
LEFT_OVER = re.compile(r"\{[a-z][a-z0-9_]*\}")


def step_of(checklist: Checklist, step_id: str) -> ChecklistStep:
    return next(step for step in checklist.steps if step.id == step_id)


def one(branch: str, step_id: str, facts: Facts, lang: str = "en") -> ChecklistStep:
    return step_of(resolve(branch, facts, lang), step_id)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("branch", EVERYTHING)
def test_with_nothing_known_everything_is_unknown_and_reads_whole(branch: str, lang: str):
    checklist = resolve(branch, Facts(), lang)
    assert checklist.id == branch
    assert len(checklist.steps) == len(checklists.load_branch(branch).steps)
    for step in checklist.steps:
        assert step.text
        assert not LEFT_OVER.search(step.text), step.text
        assert step.evidence_ids == ()
        assert step.answer == "unknown" or step.kind == "log"
    logs = [s for s in checklist.steps if s.kind == "log" and s.answer != "unknown"]
    assert branch == "what-to-log" or not logs


KEYS = sorted(
    {
        (c.signal, c.statistic)
        for b in checklists.all_branches()
        for s in b.steps
        for k in s.conditions()
        for c in k.comparisons
    }
)


@settings(max_examples=60, deadline=None)
@given(
    statistics=st.dictionaries(
        st.sampled_from(KEYS), st.sampled_from([0.0, 1.0, -3.0, 0.4, 2.5, 700.0, float("inf")]), max_size=len(KEYS)
    ),
    columns=st.frozensets(st.sampled_from(sorted({c for c, _ in KEYS}))),
    known=st.frozensets(st.sampled_from(sorted(checklists.load_placeholders()))),
    branch=st.sampled_from(EVERYTHING),
    lang=st.sampled_from(["en", "zh"]),
)
def test_it_is_total_and_pure(statistics, columns, known, branch: str, lang: str):
    facts = Facts(columns=columns, statistics=statistics, placeholders=dict.fromkeys(known, "7"))
    checklist = resolve(branch, facts, lang)
    assert checklist == resolve(branch, facts, lang)
    for step in checklist.steps:
        assert not LEFT_OVER.search(step.text), step.text
        assert step.answer in ("yes", "no", "unknown")
    english = resolve(branch, facts, "en").steps
    assert [(s.id, s.answer) for s in english] == [(s.id, s.answer) for s in checklist.steps]


def test_a_log_step_answers_yes_with_its_number_and_its_meaning():
    facts = Facts(
        columns=frozenset({"grad_norm"}),
        statistics={("grad_norm", "ratio_at_onset"): 12.34},
        evidence_ids={"grad_norm": ("grad-jump",), "lr": ("lr-flat",)},
    )
    step = one("single-step", "grad-jumped-too", facts)
    assert step.answer == "yes"
    assert "Yes: grad norm at the onset 12.3 × its level before. One batch pushed" in step.text
    assert step.evidence_ids == ("grad-jump",)
    assert step.detail["numbers"] == {"grad_norm.ratio_at_onset": 12.34}
    assert "是：起始步的梯度范数为此前水平的 12.3 倍。" in one("single-step", "grad-jumped-too", facts, "zh").text


@pytest.mark.parametrize(("ratio", "answer"), [(3.0, "yes"), (2.99, "unknown"), (1.5, "unknown"), (1.49, "no")])
def test_between_the_thresholds_the_log_does_not_decide(ratio: float, answer: str):
    facts = Facts(columns=frozenset({"grad_norm"}), statistics={("grad_norm", "ratio_at_onset"): ratio})
    step = one("single-step", "grad-jumped-too", facts)
    assert step.answer == answer
    if answer == "unknown":
        assert "does not decide" in step.text
        assert "If yes" in step.text


def test_an_infinite_ratio_is_a_yes():
    facts = Facts(columns=frozenset({"grad_norm"}), statistics={("grad_norm", "ratio_at_onset"): float("inf")})
    step = one("single-step", "grad-jumped-too", facts)
    assert step.answer == "yes"
    assert "Yes: grad norm not finite at the onset." in step.text


def test_a_missing_column_is_named_with_what_it_would_show_and_how_to_log_it():
    step = one("single-step", "grad-jumped-too", Facts(framework="lightning"))
    assert step.answer == "unknown"
    assert "Unknown: log `grad_norm`; it would show grad norm at the onset against its level before." in step.text
    assert step.detail["missing"] == ("grad_norm",)
    assert "on_before_optimizer_step" in step.detail["how"]["grad_norm"]


def test_contradicting_numbers_are_unknown():
    facts = Facts(
        columns=frozenset({"grad_norm"}),
        statistics={("grad_norm", "lead_steps"): 5.0, ("grad_norm", "quiet_before"): 1.0},
    )
    assert one("consecutive", "gradient-moved-first", facts).answer == "unknown"


def test_without_a_no_condition_no_is_the_known_failure_of_yes():
    asked = "lr-excluded"
    assert one("first-step-nan", asked, Facts(statistics={("lr", "value_at_onset"): 1e-8})).answer == "yes"
    assert one("first-step-nan", asked, Facts(statistics={("lr", "value_at_onset"): 1e-3})).answer == "no"
    assert one("first-step-nan", asked, Facts()).answer == "unknown"


def test_without_a_yes_condition_a_log_can_only_say_no():
    facts = Facts(statistics={("run", "is_low_precision"): 0.0})
    assert one("sorting-questions", "precision", facts).answer == "no"
    assert one(
        "sorting-questions", "precision", replace(facts, statistics={("run", "is_low_precision"): 1.0})
    ).answer == ("unknown")


def test_a_step_is_left_out_only_where_its_condition_is_known_to_be_false():
    def ids(value: float | None) -> set[str]:
        statistics = {} if value is None else {("run", "is_fp16"): value}
        return {s.id for s in resolve("non-recovering", Facts(statistics=statistics), "en").steps}

    assert "scale-sank-before" in ids(None)
    assert "scale-sank-before" in ids(1.0)
    assert "scale-sank-before" not in ids(0.0)


# ── actions ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_action_is_locked_until_its_step_is_confirmed():
    step = one("single-step", "repair-damaged-data", Facts())
    assert step.answer == "unknown"
    assert step.text.startswith("Only once confirmed (replay the batch of the onset step in a 2 × 2): Repair")
    assert step.detail["confirm"] == ("replay-2x2",)
    assert step.detail["is_unlocked"] is False
    assert step.detail["words"]["brief"].startswith("repair the damaged samples")


def test_a_confirmed_cause_unlocks_its_action_and_no_other():
    facts = Facts(confirmed_causes=frozenset({"data/bad-batch"}))
    assert one("single-step", "repair-damaged-data", facts).answer == "yes"
    assert one("single-step", "repair-damaged-data", facts).text.startswith("Confirmed (bad batch): ")
    assert one("single-step", "repair-damaged-data", facts).detail["confirmed_by"] == ("data/bad-batch",)
    assert one("single-step", "keep-legal-hard-samples", facts).answer == "unknown"


def test_any_confirmed_cause_unlocks_the_restart():
    assert one("non-recovering", "restart-from-healthy", Facts()).answer == "unknown"
    facts = Facts(confirmed_causes=frozenset({"lr/too-high"}))
    assert one("non-recovering", "restart-from-healthy", facts).answer == "yes"


def test_a_log_answer_unlocks_and_excludes():
    yes = Facts(statistics={("clip_coef", "clipped_around"): 0.9}, columns=frozenset({"clip_coef"}))
    no = Facts(statistics={("clip_coef", "clipped_around"): 0.0}, columns=frozenset({"clip_coef"}))
    assert one("gradient-explosion", "raise-max-norm-or-find-cause", yes).answer == "yes"
    excluded = one("gradient-explosion", "raise-max-norm-or-find-cause", no)
    assert excluded.answer == "no"
    assert excluded.text.startswith("Not called for here (Is nearly every step clipped? – no)")


def test_a_locked_action_names_only_what_is_still_open():
    facts = Facts(statistics={("seq_len", "ratio_at_onset"): 4.0}, columns=frozenset({"seq_len"}))
    step = one("single-step", "keep-legal-hard-samples", facts)
    assert step.answer == "unknown"
    assert "(replay the batch of the onset step in a 2 × 2)" in step.text


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_experiments_are_spelled_out_for_this_run():
    facts = Facts(
        placeholders={
            "onset": "1200",
            "before_onset": "1199",
            "healthy_minus_100": "1090",
            "lr": "0.0003",
            "half_lr": "0.00015",
        },
        framework="megatron-lm",
    )
    text = one("single-step", "replay-2x2", facts).text
    assert "suspect: step 1200; just before: step 1199; older: step 1090" in text
    assert "0.0003 → 0.00015" in one("consecutive", "half-lr", facts).text
    assert "`--clip-grad 1.0`" in one("consecutive", "clip-at-one", facts).text
    assert (
        "可疑：第 1200 步；紧邻其前：第 1199 步；更早：第 1090 步" in one("single-step", "replay-2x2", facts, "zh").text
    )


def test_what_is_not_known_is_said_in_words():
    text = one("single-step", "replay-2x2", Facts()).text
    assert (
        "suspect: the onset step; just before: the step before it; older: 100 steps before the last healthy one" in text
    )


def test_braces_that_are_no_placeholders_stay():
    assert fill('{"loss": x} {onset} {unheard_of}', Facts(placeholders={"onset": "3"}), "en") == (
        '{"loss": x} step 3 {unheard_of}'
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (4.0, "grad norm moved 4 steps before the loss"),
        (-2.0, "grad norm moved 2 steps after the loss"),
        (0.0, "grad norm moved in the same row as the loss"),
    ],
)
def test_a_lead_is_said_in_its_direction(value: float, words: str):
    facts = Facts(columns=frozenset({"grad_norm"}), statistics={("grad_norm", "lead_steps"): value})
    assert words in one("consecutive", "gradient-moved-first", facts).text


def test_what_is_logged_is_ticked_off():
    checklist = resolve("what-to-log", Facts(columns=frozenset({"loss", "lr", "eval_accuracy"})), "en")
    answers = {s.id: s.answer for s in checklist.steps if s.kind == "log"}
    assert answers == {
        "loss": "yes",
        "lr": "yes",
        "grad-norm": "no",
        "weight-norm": "no",
        "amp-state": "no",
        "tokens-and-lengths": "no",
        "evaluation": "yes",
    }
    assert step_of(checklist, "grad-norm").text.endswith("Missing: log `grad_norm`.")


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.254, "25.4 % of the steps clipped"), (0.0, "0 % of the steps clipped"), (1.0, "100 % of the steps clipped")],
)
def test_a_share_is_said_in_percent(value: float, words: str):
    facts = Facts(columns=frozenset({"clip_coef"}), statistics={("clip_coef", "clipped_around"): value})
    assert one("gradient-explosion", "clipped-every-step", facts).detail["words"]["said"] == words


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_pieces_of_a_question_stand_apart(lang: str):
    known = Facts(columns=frozenset({"grad_norm"}), statistics={("grad_norm", "ratio_at_onset"): 12.34})
    words = one("single-step", "grad-jumped-too", known, lang).detail["words"]
    assert set(words) == {"brief", "ask", "said", "meaning"}
    open_words = one("single-step", "grad-jumped-too", Facts(), lang).detail["words"]
    assert set(open_words) == {"brief", "ask", "if_yes", "if_no"}


@settings(max_examples=40, deadline=None)
@given(
    statistics=st.dictionaries(
        st.sampled_from(KEYS), st.sampled_from([0.0, 1.0, -3.0, 0.4, 2.5, 700.0, float("inf")]), max_size=len(KEYS)
    ),
    columns=st.frozensets(st.sampled_from(sorted({c for c, _ in KEYS} & set(schema.BY_NAME)))),
    known=st.frozensets(st.sampled_from(sorted(checklists.load_placeholders()))),
    causes=st.frozensets(st.sampled_from(["lr/too-high", "data/bad-batch", "precision/fp16-overflow"])),
    branch=st.sampled_from(checklists.BRANCHES),
    framework=st.sampled_from([None, "lightning", "megatron-lm"]),
)
def test_a_saved_checklist_can_be_said_in_the_other_language(
    statistics, columns, known, causes, branch: str, framework: str | None
):
    facts = Facts(
        columns=columns,
        statistics=statistics,
        placeholders=dict.fromkeys(known, "7"),
        framework=framework,
        confirmed_causes=causes,
    )
    english, chinese = resolve(branch, facts, "en"), resolve(branch, facts, "zh")
    assert resolve_again(english, framework, "zh") == chinese
    assert resolve_again(chinese, framework, "en") == english


def test_a_step_of_another_version_stays_as_it_is():
    old = ChecklistStep("gone", "log", "Is it so?", "yes", (), {"words": {"ask": "Is it so?"}})
    plain = ChecklistStep("replay-2x2", "experiment", "Replay.", "unknown")
    assert resolve_again(Checklist("single-step", (old, plain)), None, "zh").steps == (old, plain)
    assert resolve_again(Checklist("nowhere", (old,)), None, "zh") == Checklist("nowhere", (old,))


# ── look-ups ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("event_class", CLASSES)
def test_a_class_leads_to_the_branch_of_its_name(event_class: str):
    assert branch_of(event_class) == event_class


def test_unknown_ids_are_refused_with_a_hint():
    with pytest.raises(UsageError, match="no checklist for 'loss-spike'") as caught:
        branch_of("loss-spike")
    assert caught.value.hint
    with pytest.raises(UsageError, match="no checklist 'nowhere'"):
        resolve("nowhere", Facts(), "en")


def test_how_to_log_falls_back_to_the_plain_loop():
    assert how_to_log("grad_norm", "composer", "en").startswith("the callback `OptimizerMonitor")
    assert "scaler.get_scale()" in how_to_log("loss_scale", "torchtune", "zh")
    assert how_to_log("grad_norm", None, "en") == how_to_log("grad_norm", "pytorch", "en")
    assert how_to_log("step", None, "en") == ""


def test_titles_come_in_both_languages():
    assert title("single-step", "en") == "A single spike that fell back"
    assert title("single-step", "zh").startswith("单步尖峰")


@pytest.mark.parametrize(
    ("join", "values", "expected"),
    [
        ("all", (1.0, 1.0), True),
        ("all", (1.0, None), None),
        ("all", (0.0, None), False),
        ("any", (0.0, 0.0), False),
        ("any", (0.0, None), None),
        ("any", (1.0, None), True),
    ],
)
def test_conditions_are_three_valued(join, values, expected):
    names = ("a", "b")
    condition = Condition(join, tuple(Comparison(n, "setting", "==", 1.0) for n in names))
    statistics = {(n, "setting"): v for n, v in zip(names, values, strict=True) if v is not None}
    assert holds(condition, Facts(statistics=statistics)) is expected
