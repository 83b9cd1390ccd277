"""Every sentence stands in both languages, and every id that the code uses has one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from triage import texts
from triage.errors import ExitCode

SOURCE = Path(texts.__file__).parent.parent

CAUSES = {
    "data/bad-batch",
    "data/long-sequence",
    "data/distribution-shift",
    "data/epoch-boundary",
    "data/repeated-after-resume",
    "lr/too-high",
    "lr/short-warmup",
    "lr/schedule-jump",
    "lr/batch-size-mismatch",
    "grad/no-clipping",
    "grad/always-clipped",
    "grad/led-instability",
    "optimizer/stale-second-moment",
    "optimizer/eps",
    "optimizer/weight-decay",
    "optimizer/betas",
    "resume/optimizer-state-lost",
    "resume/lr-schedule-lost",
    "resume/scaler-state-lost",
    "precision/fp16-overflow",
    "precision/loss-scale-collapse",
    "precision/low-precision-kernel",
    "objective/masked-labels",
    "objective/wrong-target",
    "objective/accumulation-scaling",
    "objective/logit-drift",
    "model/attention-logit-growth",
    "model/router",
    "model/bad-init-or-checkpoint",
    "numeric/first-forward",
    "numeric/first-backward",
    "numeric/first-update",
    "numeric/late-nan",
    "parallel/rank-disagreement",
    "parallel/nondeterminism",
    "hardware/silent-corruption",
    "eval/overfit",
    "eval/forgetting",
    "eval/pipeline-change",
    "run/dead",
}

FINDINGS = {
    "hidden-nan",
    "every-step-skipped",
    "loss-scale-collapse",
    "loss-scale-floor",
    "rank-disagreement",
    "grad-norm-explosion",
    "slow-drift",
    "flat-loss",
    "smooth-but-not-learning",
    "eval-cliff",
    "overfitting",
    "resume-discontinuity",
    "periodic-spikes",
    "always-clipped",
    "nonfinite-metric",
    "accumulation-scaling",
    "heavy-tailed-noise",
}


def every() -> list[tuple[str, str]]:
    return [(kind, one) for kind in texts.KINDS for one in texts.entries(kind)]


def test_every_kind_has_a_file_and_every_file_is_a_kind():
    files = {path.stem for path in (SOURCE / "texts").glob("*.toml")}
    assert files == set(texts.KINDS)


@pytest.mark.parametrize(("kind", "one"), every())
def test_both_languages_say_the_same(kind, one):
    entry = texts.entries(kind)[one]
    assert set(entry) == set(texts.LANGUAGES)
    assert all(sentence.strip() for sentence in entry.values())
    named = {lang: texts.placeholders_of(sentence) for lang, sentence in entry.items()}
    assert named["en"] == named["zh"]


@pytest.mark.parametrize(("kind", "one"), every())
def test_brackets_are_balanced_and_not_nested(kind, one):
    for sentence in texts.entries(kind)[one].values():
        assert not re.search(r"\[[^\]]*\[|\][^\[]*\]", sentence)
        assert sentence.count("[") == sentence.count("]")


def test_english_holds_no_chinese_and_chinese_holds_some():
    han = re.compile("[一-鿿]")
    without = [
        (kind, one)
        for kind, one in every()
        if not han.search(texts.entries(kind)[one]["zh"]) and kind not in ("headings", "classes")
    ]
    assert without == []
    assert [pair for pair in every() if han.search(texts.entries(pair[0])[pair[1]]["en"])] == []


def test_the_closed_lists_are_complete():
    assert set(texts.ids("causes")) == CAUSES
    assert set(texts.ids("findings")) == FINDINGS
    assert texts.ids("classes") == ("single-step", "consecutive", "non-recovering", "first-step-nan")
    assert set(texts.ids("exit-codes")) == {str(int(code)) for code in ExitCode}


def test_every_change_of_the_restart_plan_has_a_sentence():
    from triage.advice.restart import CHANGE_FIRST

    assert set(CHANGE_FIRST.values()) - set(texts.ids("restart")) == set()


def test_every_row_of_the_decision_table_has_a_sentence():
    from triage.classify import TABLE

    assert {row.id for row in TABLE} == set(texts.ids("conditions"))


def literal_ids(name: str) -> set[str]:
    """The ids that the source gives to a value type as a literal: Evidence("id", …), Notice(id="id")."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", None) != name:
                continue
            given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "id")]
            found |= {one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return found


KEBAB = re.compile(r"[a-z]+(-[a-z0-9]+)+")


def words_of(node: ast.AST) -> set[str]:
    """Kebab-case words in a piece of source."""
    constants = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return {word for word in constants if isinstance(word, str) and KEBAB.fullmatch(word)}


def test_every_notice_that_is_built_from_a_table_or_a_counter_has_a_sentence():
    words: set[str] = set()
    for path in (SOURCE / "readers").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
                words |= words_of(node.target.slice)
            makes = isinstance(node, ast.FunctionDef) and any(
                isinstance(one, ast.Call) and getattr(one.func, "id", None) == "Notice" for one in ast.walk(node)
            )
            words |= words_of(node) if makes else set()
    encodings = {word for word in words if re.match(r"utf-|latin-", word)}
    assert words - encodings - set(texts.ids("notices")) == set()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Evidence", "evidence"), ("Check", "evidence"), ("Notice", "notices"), ("FindingRule", "findings")],
)
def test_every_id_in_the_source_has_a_sentence(name, kind):
    assert literal_ids(name) - set(texts.ids(kind)) == set()


def test_an_id_without_a_sentence_shows_itself_and_its_numbers():
    assert texts.text("en", "evidence", "brand-new", observed="3", baseline=None) == "brand-new (observed 3)"
    assert texts.text("zh", "notices", "brand-new") == "brand-new"


def test_parts_in_brackets_go_where_a_value_is_missing():
    sentence = "{signal} rose to {observed}[, from {baseline}][ at step {step}]"
    assert texts.fill(sentence, {"signal": "loss", "observed": "9", "step": 3}) == "loss rose to 9 at step 3"
    assert texts.fill("{signal} rose", {}) == "? rose"


def test_a_count_chooses_its_word():
    assert texts.fill("{n} {n:row|rows}", {"n": 1}) == "1 row"
    assert texts.fill("{n} {n:row|rows}", {"n": 0}) == "0 rows"


def test_values_are_not_read_as_a_template():
    assert texts.fill("{signal}[ and {other}]", {"signal": "{other}[x]", "other": "[{signal}]"}) == (
        "{other}[x] and [{signal}]"
    )


def test_placeholders_may_have_any_name():
    assert texts.text("en", "headings", "n-rows", n=2, kind="a", id="b", lang="c") == "2 rows"
