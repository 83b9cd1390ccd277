"""`explain`: every id has a page in both languages; unknown ids name near ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.golden import check_golden
from triage import texts
from triage.report._width import cells

GOLDEN = Path(__file__).parent / "golden"
LISTS = ("classes", "statuses", "verdicts", "findings", "causes", "evidence", "notices", "exit-codes")


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", ["classes", "statuses", "verdicts", "exit-codes", "first-step-nan", "lr/too-high"])
def test_pages(cli, name, lang):
    found = cli("explain", name, "--lang", lang)
    assert found.code == 0
    check_golden(GOLDEN / f"explain-{name.replace('/', '-')}.{lang}.txt", found.out)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_holds_every_id(cli, name):
    found = cli("explain", name)
    assert found.code == 0
    missing = [one for one in texts.ids(name) if one not in found.out]
    assert missing == []


def test_every_id_has_a_page(cli):
    for name in LISTS:
        for one in texts.ids(name)[:5]:
            for lang in ("en", "zh"):
                found = cli("explain", one, "--lang", lang)
                assert found.code == 0, one
                assert found.out.startswith(one)
                assert "|" not in found.out
                assert "[" not in found.out or name not in ("evidence", "notices")


def test_without_an_id_all_lists_are_named(cli):
    found = cli("explain")
    assert found.code == 0
    assert all(name in found.out for name in (*LISTS, "checklists"))


def test_a_checklist_has_a_page(cli):
    for lang in ("en", "zh"):
        found = cli("explain", "ten-steps", "--lang", lang)
        assert found.code == 0
        assert [line.split(".")[0] for line in found.out.splitlines() if line[:1].isdigit()] == [
            str(n) for n in range(1, 11)
        ]
    branch = cli("explain", "amp").out
    assert all(heading in branch for heading in ("What the log can answer", "Only once confirmed", "Fixed when"))
    assert "      yes: " in branch


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", ["ten-steps", "mechanism", "single-step", "checklists"])
def test_pages_that_are_read_whole_fit_80_columns(cli, name, lang):
    found = cli("explain", name, "--lang", lang, env={"COLUMNS": "80"})
    assert found.code == 0
    assert all(cells(line) <= 80 for line in found.out.splitlines())
    check_golden(GOLDEN / f"explain-{name}-80.{lang}.txt", found.out)


def test_every_checklist_and_list_has_a_page(cli):
    from triage.checklists import BRANCHES, LISTS

    for one in (*BRANCHES, *LISTS):
        found = cli("explain", one, env={"COLUMNS": "80"})
        assert found.code == 0
        assert "{" not in found.out.replace('{"', "")


@pytest.mark.parametrize(
    ("given", "near"), [("single-stp", "single-step"), ("loss-scale", "loss-scale-collapse"), ("notice", "notices")]
)
def test_an_unknown_id_names_near_ones(cli, given, near):
    found = cli("explain", given)
    assert found.code == 2
    assert near in found.err
    assert found.out == ""


def test_an_id_far_from_all_names_the_lists(cli):
    assert "lists: classes" in cli("explain", "xyzzy-qqq").err
