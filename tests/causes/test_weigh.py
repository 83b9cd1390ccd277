"""How a rule becomes a score: what must hold, what raises and lowers, and every cap."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triage.causes import RULES
from triage.causes._contract import OPERATORS, CauseRule, Check, confidence, rank, rival, weigh
from triage.model import CLASSES, Cause
from triage.texts import ids

A = Check("a", "s", "a", ">=", 1)
B = Check("b", "s", "b", ">=", 1)
UP = tuple(Check(f"up{k}", "s", f"up{k}", "==", 1) for k in range(4))
DOWN = tuple(Check(f"down{k}", "s", f"down{k}", "==", 1) for k in range(3))
RULE = CauseRule("data/bad-batch", frozenset({"single-step"}), requires=((A, B),), raises=UP, lowers=DOWN)


def measured(**values: float) -> dict[tuple[str, str], float]:
    return {("s", name): value for name, value in values.items()}


def score(rule: CauseRule = RULE, columns: frozenset[str] = frozenset(), **values: float) -> float | None:
    cause = weigh(rule, measured(**values), columns)
    return None if cause is None else cause.score


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, None),
        ({"a": 0.0, "b": 0.9}, None),
        ({"a": 1.0}, 0.5),
        ({"b": 1.0}, 0.5),
        ({"a": 1.0, "up0": 1.0}, 0.65),
        ({"a": 1.0, "up0": 1.0, "up1": 1.0}, 0.8),
        ({"a": 1.0, "up0": 1.0, "up1": 1.0, "up2": 1.0, "up3": 1.0}, 0.8),
        ({"a": 1.0, "down0": 1.0}, 0.3),
        ({"a": 1.0, "up0": 1.0, "down0": 1.0}, 0.45),
        ({"a": 1.0, "up0": 1.0, "down0": 1.0, "down1": 1.0}, 0.25),
        ({"a": 1.0, "down0": 1.0, "down1": 1.0}, None),
    ],
)
def test_score(values, expected):
    assert score(**values) == (None if expected is None else pytest.approx(expected))


def test_every_group_must_hold():
    both = replace(RULE, requires=((A,), (B,)))
    assert score(both, a=1.0) is None
    assert score(both, a=1.0, b=1.0) == 0.5


def test_a_missing_key_column_caps_and_is_named():
    keyed = replace(RULE, keys=("grad_norm", "lr"))
    values = measured(a=1.0, up0=1.0, up1=1.0)
    cause = weigh(keyed, values, frozenset({"lr"}))
    assert cause is not None
    assert (cause.score, cause.confidence) == (0.5, "possible")
    assert [(e.id, e.signal, e.verdict) for e in cause.evidence][-1] == ("metric-not-logged", "grad_norm", "missing")
    assert score(keyed, frozenset({"lr", "grad_norm"}), a=1.0, up0=1.0, up1=1.0) == 0.8


@pytest.mark.parametrize(("stride", "expected"), [(1.0, 0.8), (8.0, 0.8), (9.0, 0.4)])
def test_a_sparse_log_caps_what_rests_on_order(stride, expected):
    values = measured(a=1.0, up0=1.0, up1=1.0) | {("incident", "stride"): stride}
    cause = weigh(replace(RULE, orders=True), values, frozenset())
    assert cause is not None
    assert cause.score == expected
    unordered = weigh(RULE, values, frozenset())
    assert unordered is not None
    assert unordered.score == 0.8


def test_the_top_of_a_rule_holds():
    assert score(replace(RULE, top=0.6), a=1.0, up0=1.0, up1=1.0) == 0.6


def test_evidence_says_what_supports_and_what_contradicts():
    cause = weigh(RULE, measured(a=2.0, up1=1.0, down2=1.0), frozenset())
    assert cause is not None
    assert [(e.id, e.verdict, e.observed) for e in cause.evidence] == [
        ("a", "supports", 2.0),
        ("up1", "supports", 1.0),
        ("down2", "contradicts", 1.0),
    ]


@pytest.mark.parametrize(
    ("value", "word"), [(0.65, "likely"), (0.649, "possible"), (0.4, "possible"), (0.399, "weak"), (0.2, "weak")]
)
def test_confidence(value, word):
    assert confidence(value) == word


def test_unknown_is_neither_true_nor_false():
    assert A.holds({}) is None
    assert A.holds(measured(a=1.0)) is True
    assert A.holds(measured(a=0.5)) is False


@pytest.mark.parametrize(
    ("sign", "below", "equal", "above"),
    [
        (">=", False, True, True),
        ("<=", True, True, False),
        (">", False, False, True),
        ("<", True, False, False),
        ("==", False, True, False),
        ("!=", True, False, True),
    ],
)
def test_operators(sign, below, equal, above):
    assert [OPERATORS[sign](value, 2.0) for value in (1.0, 2.0, 3.0)] == [below, equal, above]


def named(name: str, base: float, about: str = "single-step") -> CauseRule:
    return CauseRule(name, frozenset({about}), requires=((A,),), base=base)


def test_ranking_is_by_score_and_ties_keep_the_order_of_the_list():
    rules = [named("x/low", 0.3), named("x/first", 0.8), named("x/second", 0.8), named("x/else", 0.8, "consecutive")]
    found = rank(rules, "single-step", measured(a=1.0), frozenset())
    assert [(c.id, c.score, c.confidence) for c in found] == [
        ("x/first", 0.8, "likely"),
        ("x/second", 0.6, "possible"),
        ("x/low", 0.3, "weak"),
    ]


def test_a_cause_with_several_rules_is_named_once_with_its_best():
    rules = [named("x/one", 0.3), named("x/one", 0.5), named("x/one", 0.4)]
    (found,) = rank(rules, "single-step", measured(a=1.0), frozenset())
    assert found.score == 0.5


def test_no_more_than_five_are_named():
    rules = [named(f"x/{k}", 0.5) for k in range(7)]
    assert [c.id for c in rank(rules, "single-step", measured(a=1.0), frozenset())] == [f"x/{k}" for k in range(5)]


def test_a_rival_is_never_likely():
    assert rival(Cause("x", "likely", 0.8)) == Cause("x", "possible", 0.6)
    assert rival(Cause("x", "weak", 0.3)) == Cause("x", "weak", 0.3)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_every_rule_is_well_formed(rule):
    assert rule.about <= set(CLASSES) | set(ids("findings"))
    assert rule.about
    assert 0.2 <= rule.base <= rule.top <= 0.8
    checks = [c for group in rule.requires for c in group] + [*rule.raises, *rule.lowers]
    assert all(c.compare in OPERATORS and c.id in ids("evidence") for c in checks)
    assert all(rule.requires), "an empty group can never hold"
