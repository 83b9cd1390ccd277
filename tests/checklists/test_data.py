"""The checklist files: complete in both languages, closed over their tables, and every step reachable."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from triage import checklists, model, schema
from triage.causes import RULES
from triage.checklists import Branch, Comparison, Condition, Step, Text
from triage.checklists._values import Statistic
from triage.report._width import cells
from triage.resolve._conditions import COMPARE

ROOT = Path(checklists.__file__).parent
FINDINGS = set(tomllib.loads((ROOT.parent / "texts" / "findings.toml").read_text(encoding="utf-8")))
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
OUTCOMES_LEAST = 2
"""An experiment whose every outcome means the same decides nothing."""

SHORTEST_LINE = 84
"""Cells of the short line of a step, a placeholder counted as it is written: one line at 100 columns."""
HAN = re.compile(r"[\u4e00-\u9fff]")

ALL = list(checklists.all_branches())
STEPS = [pytest.param(b, s, id=f"{b.id}/{s.id}") for b in ALL for s in b.steps]


def test_every_file_is_a_known_branch_or_list_and_every_name_has_a_file():
    tables = {"branches", "carried", "phrases", "placeholders", "settings", "signals", "statistics"}
    assert {p.stem for p in ROOT.glob("*.toml")} - tables == set(checklists.BRANCHES)
    assert {p.stem for p in (ROOT / "lists").glob("*.toml")} == set(checklists.LISTS)
    assert [b.id for b in ALL] == [*checklists.BRANCHES, *checklists.LISTS]


def test_every_class_and_every_finding_has_exactly_one_branch():
    mapping = checklists.branch_map()
    assert set(mapping) == {*model.CLASSES, *FINDINGS}
    assert set(mapping.values()) <= set(checklists.BRANCHES)
    table = tomllib.loads((ROOT / "branches.toml").read_text(encoding="utf-8"))
    assert not set(table["class"]) & set(table["finding"])


def test_every_branch_is_reached_from_a_class_or_finding():
    assert set(checklists.branch_map().values()) == set(checklists.BRANCHES)


@pytest.mark.parametrize("branch", ALL, ids=lambda b: b.id)
def test_ids_are_unique_kebab_case(branch: Branch):
    ids = [step.id for step in branch.steps]
    assert len(ids) == len(set(ids))
    assert all(KEBAB.fullmatch(name) for name in ids)


@pytest.mark.parametrize("branch_id", checklists.BRANCHES)
def test_a_branch_goes_from_looking_to_verifying(branch_id: str):
    kinds = [step.kind for step in checklists.load_branch(branch_id).steps]
    assert kinds[0] == "log"
    assert kinds[-1] == "verify"
    assert {"log", "experiment", "action", "verify"} == set(kinds)


def texts_of(step: Step) -> Iterator[Text]:
    yield from (text for text in (step.text, step.short, step.yes, step.no) if text is not None)


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_texts_hold_both_languages_with_the_same_known_placeholders(branch: Branch, step: Step):
    for text in texts_of(step):
        assert HAN.search(text.zh), text.zh
        assert not HAN.search(text.en), text.en
        assert set(PLACEHOLDER.findall(text.en)) == set(PLACEHOLDER.findall(text.zh)), step.id
        assert set(PLACEHOLDER.findall(text.en)) <= set(checklists.load_placeholders())
        assert text.en.strip() == text.en
        assert text.zh.strip() == text.zh


def test_the_other_tables_hold_both_languages_with_the_same_words():
    statistics = [
        text
        for s in checklists.load_statistics().values()
        for text in (s.means, s.says, s.says_one, s.says_zero, s.says_negative)
        if text is not None
    ]
    placeholders = [t for p in checklists.load_placeholders().values() for t in (p.known, p.unknown)]
    for text in [*statistics, *placeholders, *checklists.load_phrases().values()]:
        assert set(PLACEHOLDER.findall(text.en)) == set(PLACEHOLDER.findall(text.zh)), text
    for statistic in checklists.load_statistics().values():
        both = statistic.says_one is not None and statistic.says_zero is not None
        assert statistic.says is not None or both, statistic.name
        assert "0 or 1" not in statistic.unit or both, statistic.name


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_the_parts_of_a_step_fit_its_kind(branch: Branch, step: Step):
    if step.kind == "action":
        assert step.confirm, "an action names what must be confirmed first"
    else:
        assert not step.confirm
        assert not step.causes
    if step.kind != "log":
        assert step.yes_if is None
        assert step.no_if is None
        assert step.yes is None
        assert step.no is None
    assert (step.yes is None) == (step.no is None)
    if step.yes is not None:
        assert step.yes_if is not None or step.no_if is not None, "a question without a condition is never answered"


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_confirming_steps_come_earlier_and_are_always_there(branch: Branch, step: Step):
    earlier = {}
    for other in branch.steps:
        if other.id == step.id:
            break
        earlier[other.id] = other
    for name in step.confirm:
        assert name in earlier, f"{name} does not stand before {step.id}"
        assert earlier[name].kind in ("log", "experiment")
        assert earlier[name].when is None, f"{name} may be left out"
        answerable = earlier[name].yes_if is not None or earlier[name].kind == "experiment"
        assert answerable, f"{name} can never say yes"


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_causes_of_an_action_are_in_the_closed_list(branch: Branch, step: Step):
    path = ROOT.parent / "texts" / "causes.toml"
    known = set(tomllib.loads(path.read_text(encoding="utf-8")))
    assert set(step.causes) - {"*"} <= known


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────────

METRICS = {c.name for c in schema.COLUMNS} | {"u_over_lr"}


def has(statistic: Statistic, signal: str) -> bool:
    return signal in statistic.signals or ("metric" in statistic.signals and signal in METRICS)


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_every_signal_and_statistic_named_exists(branch: Branch, step: Step):
    for condition in step.conditions():
        for comparison in condition.comparisons:
            statistic = checklists.load_statistics().get(comparison.statistic)
            assert statistic is not None, comparison
            assert has(statistic, comparison.signal), comparison
            is_flag = statistic.unit.startswith("0 or 1")
            assert (comparison.operator == "==") == is_flag, comparison
            assert not is_flag or comparison.value in (0, 1), comparison
    assert set(step.needs) <= set(schema.BY_NAME)


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_a_step_says_what_to_log_for_what_it_asks(branch: Branch, step: Step):
    signals = checklists.load_signals()
    asked = {c.signal for condition in (step.yes_if, step.no_if) if condition for c in condition.comparisons}
    columns = {c for name in asked for c in (signals[name].columns if name in signals else (name,))}
    if step.kind == "log" and step.needs:
        alternatives = {"eval_accuracy", "eval_perplexity"} if step.id == "evaluation" else set()
        assert columns <= set(step.needs) | {"loss"} | alternatives


def test_every_statistic_of_the_list_is_asked_for():
    asked = {c.statistic for b in ALL for s in b.steps for cond in s.conditions() for c in cond.comparisons}
    weighed = {
        check.statistic
        for rule in RULES
        for check in (*(c for group in rule.requires for c in group), *rule.raises, *rule.lowers)
    }
    assert asked <= set(checklists.load_statistics()) <= asked | weighed


def candidates(comparisons: list[Comparison]) -> dict[tuple[str, str], list[float]]:
    """For each statistic, values below, at and above every threshold it is compared with; 0 and 1 for flags."""
    values: dict[tuple[str, str], set[float]] = {}
    for c in comparisons:
        is_flag = checklists.load_statistics()[c.statistic].unit.startswith("0 or 1")
        around = {0.0, 1.0} if is_flag else {c.value * 0.99 - 1e-9, c.value, c.value * 1.01 + 1e-9}
        values.setdefault((c.signal, c.statistic), set()).update(around)
    return {key: sorted(found) for key, found in values.items()}


def fulfilled(condition: Condition, world: dict[tuple[str, str], float]) -> bool:
    results = (COMPARE[c.operator](world[c.signal, c.statistic], c.value) for c in condition.comparisons)
    return all(results) if condition.join == "all" else any(results)


def worlds(*conditions: Condition) -> Iterator[dict[tuple[str, str], float]]:
    found = candidates([c for condition in conditions for c in condition.comparisons])
    for chosen in itertools.product(*found.values()):
        yield dict(zip(found, chosen, strict=True))


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_every_condition_can_hold_and_can_fail(branch: Branch, step: Step):
    for condition in step.conditions():
        seen = {fulfilled(condition, world) for world in worlds(condition)}
        assert seen == {True, False}


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_both_answers_can_be_given(branch: Branch, step: Step):
    if step.yes_if is None or step.no_if is None:
        return
    seen = {(fulfilled(step.yes_if, w), fulfilled(step.no_if, w)) for w in worlds(step.yes_if, step.no_if)}
    assert (True, False) in seen
    assert (False, True) in seen


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_settings_name_canonical_columns_and_the_generic_framework_knows_all_that_is_needed():
    frameworks = {f.name: f for f in checklists.load_frameworks()}
    assert list(frameworks)[-1] == checklists.GENERIC_FRAMEWORK
    needed = {column for b in ALL for s in b.steps for column in s.needs}
    assert needed <= set(frameworks[checklists.GENERIC_FRAMEWORK].columns)
    for framework in frameworks.values():
        assert set(framework.columns) <= set(schema.BY_NAME), framework.name
        assert {"loss", "lr", "grad_norm"} <= set(framework.columns) or framework.name == "pytorch", framework.name
        assert all(part == part.lower() for part in framework.match)


@pytest.mark.parametrize(
    ("writer", "framework"),
    [
        ("LLaMA-Factory", "llama-factory"),
        ("Hugging Face Trainer", "hf-trainer"),
        ("hf-trainer-state", "hf-trainer"),
        ("Megatron-DeepSpeed", "megatron-lm"),
        ("DeepSpeed", "deepspeed"),
        ("torchtitan", "torchtitan"),
        ("torchtune", "torchtune"),
        ("OLMo", "olmo"),
        ("fairseq", "fairseq"),
        ("Composer", "composer"),
        ("mmengine", "mmengine"),
        ("detectron2", "detectron2"),
        ("nanoGPT", "nanogpt"),
        ("PyTorch Lightning", "lightning"),
        ("Keras", "keras"),
        ("wandb", "pytorch"),
        ("tensorboard", None),
        (None, None),
    ],
)
def test_the_framework_is_told_from_the_writer(writer: str | None, framework: str | None):
    assert checklists.framework_of(writer, "jsonl") == framework


@pytest.mark.parametrize("branch_id", checklists.BRANCHES)
def test_an_experiment_says_how_long_it_takes_and_what_its_outcomes_mean(branch_id: str):
    for step in checklists.load_branch(branch_id).steps:
        if step.kind == "experiment":
            assert re.search(r"minute|hour|\bsteps\b|the time of|\{replay_steps\}|\{replay_time\}", step.text.en), (
                step.id
            )
            assert re.search(r"分钟|小时|步|时间|\{replay_steps\}|\{replay_time\}", step.text.zh), step.id
            for text, colon in ((step.text.en, ": "), (step.text.zh, "：")):
                outcomes = [line for line in text.split("\n") if line.startswith("- ")]
                assert len(outcomes) >= OUTCOMES_LEAST, step.id
                assert all(colon in line for line in outcomes), step.id


@pytest.mark.parametrize("branch_id", checklists.BRANCHES)
def test_what_is_listed_has_a_short_line(branch_id: str):
    for step in checklists.load_branch(branch_id).steps:
        is_listed = step.kind in ("experiment", "action") or (step.kind == "log" and step.yes is not None)
        assert (step.short is not None) == is_listed, step.id
        if step.short is not None:
            assert cells(step.short.en) <= SHORTEST_LINE, step.id
            assert cells(step.short.zh) <= SHORTEST_LINE, step.id
            is_question = step.kind == "log"
            assert step.short.en.endswith("?") == is_question, step.id
            assert step.short.zh.endswith("？") == is_question, step.id


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_an_experiment_tests_causes_of_the_closed_list(branch: Branch, step: Step):
    path = ROOT.parent / "texts" / "causes.toml"
    known = set(tomllib.loads(path.read_text(encoding="utf-8")))
    assert not step.tests or step.kind == "experiment"
    for name in step.tests:
        assert any(cause == name or (name.endswith("/") and cause.startswith(name)) for cause in known), name


@pytest.mark.parametrize(("branch", "step"), STEPS)
def test_the_lines_of_a_text_are_the_same_in_both_languages(branch: Branch, step: Step):
    shapes = [
        [
            "outcome" if line.startswith("- ") else "row" if line.startswith(" ") else "prose"
            for line in text.split("\n")
        ]
        for text in (step.text.en, step.text.zh)
    ]
    assert shapes[0] == shapes[1], step.id


# ── rules that hold everywhere ───────────────────────────────────────────────────────────────────────────────────────


def test_no_text_throws_legal_samples_away():
    for branch in ALL:
        for step in branch.steps:
            if step.kind == "action" and re.search(r"\bdrop\b|\bdiscard\b", step.text.en):
                assert re.search(r"exactly|damaged|illegal", step.text.en), step.id


@pytest.mark.parametrize("branch_id", ["single-step", "consecutive", "gradient-explosion"])
def test_clipping_is_called_a_seat_belt(branch_id: str):
    actions = [s for s in checklists.load_branch(branch_id).steps if s.kind == "action" and "lipping" in s.text.en]
    assert any("seat belt" in s.text.en and "安全带" in s.text.zh for s in actions)


@pytest.mark.parametrize("branch_id", ["non-recovering", "nan-inf", "resume", "amp", "parallel"])
def test_checkpoints_after_the_onset_are_called_poisoned(branch_id: str):
    text = " ".join(t.en for s in checklists.load_branch(branch_id).steps for t in texts_of(s))
    assert re.search(r"poison|suspect|is lost|carry its errors", text)


def test_a_bad_file_is_refused_with_its_place(monkeypatch: pytest.MonkeyPatch):
    bad = {"id": "pilot", "title": {"en": "a", "zh": "b"}, "step": [{"id": "x", "kind": "log", "en": "only English"}]}
    checklists.load_branch.cache_clear()
    monkeypatch.setattr(checklists, "_table", lambda _name: bad)
    with pytest.raises(ValueError, match=r"lists/pilot\.toml: x: a text needs en and zh"):
        checklists.load_branch("pilot")
    bad["step"][0] |= {"zh": "中文", "yes_if": {"all": [], "any": []}}
    with pytest.raises(ValueError, match="exactly one of all, any"):
        checklists.load_branch("pilot")
    bad["step"][0] |= {"yes_if": {"all": []}}
    with pytest.raises(ValueError, match="needs comparisons"):
        checklists.load_branch("pilot")
    bad["step"][0] = {"id": "x", "kind": "guess", "en": "a", "zh": "b"}
    with pytest.raises(ValueError, match="kind is one of"):
        checklists.load_branch("pilot")
    bad["step"][0] = {"id": "x", "kind": "log", "en": "a", "zh": "b", "surprise": 1}
    with pytest.raises(ValueError, match="unknown keys surprise"):
        checklists.load_branch("pilot")
    checklists.load_branch.cache_clear()
