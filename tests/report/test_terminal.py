"""The terminal output: snapshots in both languages, widths, safety against names that steer the terminal."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import reports
from tests.helpers.golden import check_golden
from triage.model import Report
from triage.report import Look
from triage.report._width import cells
from triage.report.json import dumps, loads
from triage.report.terminal import render, render_step
from triage.resolve import in_language

GOLDEN = Path(__file__).parent / "golden"
VIEWS = ("analyze", "spikes", "inspect")


def shown(report: Report, command: str = "analyze", look: Look | None = None, **options: object) -> str:
    look = look or Look()
    said = in_language(report, look.lang)
    return render(replace(said, options={**said.options, "command": command, **options}), look)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", reports.ALL)
def test_snapshots(name, lang):
    text = "\n".join(f"$ {command}\n{shown(reports.ALL[name](), command, Look(lang))}" for command in VIEWS)
    check_golden(GOLDEN / f"{name}.{lang}.txt", text)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_step_view(lang):
    check_golden(GOLDEN / f"step.{lang}.txt", render_step(reports.step_view(), Look(lang)))


def test_a_narrow_terminal():
    check_golden(GOLDEN / "unresolved.narrow.txt", shown(reports.unresolved(), look=Look(width=60)))


def test_colours():
    check_golden(GOLDEN / "unresolved.colour.txt", shown(reports.unresolved(), look=Look(is_coloured=True)))


def test_colours_change_nothing_but_the_colour():
    for name, make in reports.ALL.items():
        coloured = shown(make(), look=Look(is_coloured=True))
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown(make()), name


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", reports.ALL)
def test_no_line_is_wider_than_the_terminal(name, lang, width):
    for command in VIEWS:
        for line in shown(reports.ALL[name](), command, Look(lang, width)).splitlines():
            assert cells(line) <= width, line


def test_plain_ascii_where_the_output_carries_no_more():
    text = shown(reports.unresolved(), look=Look(is_unicode=False))
    assert text.isascii()
    assert "*" in text


@pytest.mark.parametrize("command", VIEWS)
def test_names_from_a_log_cannot_steer_the_terminal(command):
    text = shown(reports.hostile(), command)
    steering = [char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char != "\n"]
    assert steering == []
    assert "[red]" in text or command == "spikes"
    coloured = shown(reports.hostile(), command, Look(is_coloured=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text


@pytest.mark.parametrize("checklist", ["short", "full", "none"])
@pytest.mark.parametrize("name", reports.ALL)
@pytest.mark.parametrize("command", VIEWS)
def test_a_saved_report_prints_what_the_direct_run_prints(name, command, checklist):
    made = reports.ALL[name]()
    report = replace(made, options={**made.options, "command": command, "worst": True, "checklist": checklist})
    for lang, width in (("en", 80), ("zh", 120)):
        said, look = in_language(report, lang), Look(lang, width)
        assert render(loads(dumps(said)), look) == render(said, look)
        assert render(in_language(loads(dumps(report)), lang), look) == render(said, look)


def test_the_worst_three_are_shown_in_full_and_the_rest_in_lines():
    text = shown(reports.many(150))
    assert text.count("last healthy step") == 3
    assert "97 more, worst first" in text
    assert "and 50 more" in text
    assert "15 per 1,000 steps" in text


def test_max_incidents_shows_that_many_in_full():
    text = shown(reports.many(150), max_incidents=5)
    assert text.count("last healthy step") == 5
    assert "95 more, worst first" in text


def test_spikes_stand_in_the_order_of_the_log_or_worst_first():
    def numbers(text: str) -> list[int]:
        return [int(line.split()[0]) for line in text.splitlines() if re.match(r"\s+\d+\s+single-step", line)]

    in_order = numbers(shown(reports.many(5), "spikes"))
    worst_first = numbers(shown(reports.many(5), "spikes", worst=True))
    assert in_order == [1, 2, 3, 4, 5]
    assert worst_first == [5, 4, 3, 2, 1]
    assert len(numbers(shown(reports.many(150), "spikes"))) == 100


def test_the_window_is_shown_with_its_steps():
    assert "50 logged points, about 500 steps" in shown(reports.recovered(), window=50)
    assert "50 个记录点，约 500 步" in shown(reports.recovered(), look=Look("zh"), window=50)


def test_an_unknown_evidence_id_shows_itself_and_its_numbers():
    from triage.model import Evidence

    found = reports.diagnosis(evidence=(Evidence("brand-new", "loss", 3.0, 1.0, None, 7),))
    text = shown(reports.report(reports.run(diagnoses=(found,))))
    assert "+ brand-new (signal loss, observed 3, baseline 1, step 7)" in text
