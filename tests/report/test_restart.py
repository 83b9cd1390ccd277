"""The restart plan: sentences in the order in which it is carried out, and never an id."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.helpers import reports
from triage.advice.restart import CHANGE_FIRST
from triage.model import Restart
from triage.report._lines import plain
from triage.report._restart import restart_lines
from triage.report._say import Say
from triage.texts import ids

PLAN = reports.blown_up().diagnoses[0].restart
assert PLAN is not None


def told(plan: Restart, lang: str = "en", width: int = 120) -> list[str]:
    return [plain(line) for line in restart_lines(Say(lang), plan, width)]


def test_the_sentences_stand_in_the_order_of_work():
    assert told(PLAN) == [
        "· Go back to step 6270: load checkpoint-6200.",
        "· Do not load checkpoint-6400: saved after the damage began.",
        "· Restore all of it from that one checkpoint: optimizer state, learning-rate scheduler.",
        "· As the first trial, lower only the learning rate, to half or a quarter; a longer warm-up only after that.",
        "· To compare, replay step 6300 (suspect) and step 6310 (ordinary).",
        "· Only if the replay blames the data: skip the batches of steps 6270 to 6350, once.",
        "· With the cause fixed, go on at 0.1 to 0.33 × the learning rate.",
        "· Why: the start lies before the first precursor, not only before the loss moved.",
        "· Why: values were non-finite: weights and optimizer state saved since may be damaged.",
        "· Lost since the last healthy step: 320 steps, 3 h 25 min.",
    ]


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        (
            {"checkpoint": None, "reasons": ("before-onset", "checkpoints-unknown")},
            "Go back to step 6270 or before: load",
        ),
        (
            {"checkpoint": None, "reasons": ("no-safe-checkpoint",)},
            "every checkpoint that the log names was saved later",
        ),
        ({"checkpoint": None, "from_step": None, "reasons": ("no-healthy-step",)}, "Start from the beginning"),
    ],
)
def test_where_to_start_is_said_once(changes: dict[str, object], first: str):
    lines = told(replace(PLAN, **changes))
    assert first in lines[0]
    assert not [line for line in lines if line.startswith("· Why") and "checkpoint" in line]


def test_a_plan_back_to_the_first_step_starts_anew():
    plan = replace(PLAN, checkpoint=None, reasons=("before-onset", "checkpoints-unknown"))
    lines = [plain(line) for line in restart_lines(Say("en"), plan, 120, log_starts=6270)]
    assert lines[0] == "· Start anew: step 6270, the last healthy one, is where the log begins."
    assert not [line for line in lines if "Restore" in line]
    assert told(plan)[0].startswith("· Go back to step 6270 or before")


def test_what_is_not_known_takes_no_line():
    empty = Restart(None, None, (), None, None, (), None, (), ())
    assert len(told(empty)) == 1
    alone = replace(PLAN, replay=(5,), lost_seconds=None, lost_steps=1)
    assert "· To compare, replay step 5 (suspect)." in told(alone)
    assert told(alone)[-1] == "· Lost since the last healthy step: 1 step."


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_id_is_left_in_any_sentence(lang: str):
    known = ids("restart")
    for change in set(CHANGE_FIRST.values()):
        reasons = ("before-onset", "before-first-precursor", "state-may-be-poisoned", "log-ended-early")
        plan = replace(PLAN, change_first=change, reasons=reasons, restore=("weights", "data-position", "scaler"))
        text = "\n".join(told(plan, lang))
        assert not [one for one in known if "-" in one and one in text]
