"""Cells, cleaning, clipping and wrapping; wide characters count twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.report._lines import GLUE, kept, line, listed, pairs, plain, table, wrap
from triage.report._width import cells, chop, clean, clip, clip_middle, pad, pieces


def test_steering_characters_become_visible_and_lines_stay_one():
    assert clean("a\tb\r\nc\x1b[31m\u202ed\ud800") == "a b c\ufffd[31m\ufffdd\ufffd"
    assert clean("[red]损失[/red]") == "[red]损失[/red]"


@given(st.text())
def test_cleaning_twice_changes_nothing(text):
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(("text", "size"), [("loss", 4), ("损失", 4), ("", 0), ("×", 1), ("⣿", 1), ("▲", 1)])
def test_cells(text, size):
    assert cells(text) == size


def test_padding_and_clipping_count_cells():
    assert pad("损", 4) == "损  "
    assert pad("1", 3, right=True) == "  1"
    assert clip("损失曲线", 5) == "损失…"
    assert clip("loss", 4) == "loss"
    assert clip_middle("a/very/long/path/file.jsonl", 16).startswith("a/ver")
    assert clip_middle("a/very/long/path/file.jsonl", 16).endswith("ile.jsonl")


@given(st.text(alphabet="ab 损失，。（", max_size=40), st.integers(2, 20))
def test_clipped_text_fits(text, width):
    assert cells(clip(text, width)) <= width
    assert cells(clip_middle(text, width)) <= width


def test_chinese_breaks_anywhere_but_never_before_closing_punctuation():
    assert pieces("损失，高") == ["损", "失，", "高"]
    assert pieces("a loss") == ["a", " ", "loss"]
    assert pieces("（高）") == ["（高）"]


@given(st.text(alphabet="abcdef 损失曲线，。（）", max_size=80), st.integers(12, 40), st.integers(0, 4))
def test_wrapped_text_fits_and_loses_nothing(text, width, hanging):
    lines = wrap(line(text), width, hanging=hanging)
    assert all(cells(plain(found)) <= width for found in lines)
    assert "".join(plain(found) for found in lines).replace(" ", "") == text.replace(" ", "")


def test_a_word_of_two_styles_is_not_broken_in_the_middle():
    found = line("aaaa ", ("bbb", "strong"), ("ccc", "dim"))
    assert [plain(one) for one in wrap(found, 10)] == ["aaaa", "bbbccc"]


def test_glue_holds_words_together_and_prints_as_a_blank():
    found = wrap(line(f"aaaa bb{GLUE}cc"), 8)
    assert [plain(one) for one in found] == ["aaaa", "bb cc"]


def test_a_word_longer_than_the_line_is_cut():
    assert chop("abcdefgh", 3, 4) == ["abc", "defg", "h"]
    assert [plain(found) for found in wrap(line("x abcdefghijkl"), 9)] == ["x", "abcdefghi", "jkl"]


def test_columns_align_with_wide_characters():
    lines = table([[("列", "plain"), ("n", "plain")], [("ab", "plain"), ("10", "plain")]], right=frozenset({1}))
    assert [plain(found) for found in lines] == ["列   n", "ab  10"]


def test_spare_columns_go_first_where_the_line_is_narrow():
    rows = [[("a" * 6, "plain"), ("b" * 6, "plain"), ("c" * 6, "plain")]]
    narrow = table([[*row] for row in rows], width=14, spare=(1, 2))
    assert plain(narrow[0]) == "aaaaaa  cccccc"


def test_labels_align_and_values_wrap_under_themselves():
    lines = pairs([("a", line("one two three")), ("标签", line("x"))], 14)
    assert [plain(found) for found in lines] == ["a     one two", "      three", "标签  x"]
    assert [plain(found) for found in listed(("+", "good"), line("one two three"), 10)] == ["+ one two", "  three"]


@pytest.mark.parametrize(
    "text", ["loss ← 训练/损失 (660 个点、17 个 NaN/inf)", "grad_norm (70 points)", "损失（训练）3 个"]
)
def test_what_is_kept_together_is_the_same_text_and_breaks_only_where_it_must(text):
    broken = [plain(one) for one in wrap(line("x " * 10 + kept(text)), 2 + cells(text), hanging=2)]
    assert broken[-1].strip() == text
    narrow = [plain(one) for one in wrap(line(kept(text)), 16, hanging=2)]
    assert all(cells(one) <= 16 for one in narrow)
    assert "".join(narrow).replace(" ", "") == text.replace(" ", "")
    assert all(one == one.rstrip() and not one.startswith("   ") for one in narrow)
