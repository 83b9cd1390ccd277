"""The console of the Hugging Face Trainer tells the steps and losses that its trainer state holds."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from triage.options import Limits
from triage.readers import console
from triage.readers._contract import everything
from triage.readers._source import open_path

FORMATS = Path(__file__).parents[2].parent / "shared" / "cases" / "formats"
LOGS = sorted(FORMATS.glob("hf_trainer__*/**/console*.log")) if FORMATS.is_dir() else []


@pytest.mark.shared
@pytest.mark.skipif(not LOGS, reason="the labelled cases are not here")
@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_steps_and_losses_are_those_of_the_state(log: Path) -> None:
    states = [json.loads(p.read_text())["log_history"] for p in log.parent.glob("**/trainer_state.json")]
    truth = {row["step"]: row["loss"] for rows in states for row in rows if "loss" in row}
    seen: dict[int, float] = {}
    for block in console.READER.read(open_path(log, Limits()), Limits(), everything):
        if {"step", "loss"} <= set(block.frame.columns):
            rows = block.frame.drop_nulls(["step", "loss"])
            seen |= dict(zip(rows["step"].to_list(), rows["loss"].cast(float).to_list(), strict=True))
    both = seen.keys() & truth.keys()
    assert len(both) >= 4
    if log.parent.name.startswith("hf_trainer__resumed") and log.stem == "console":
        both = {step for step in both if step <= 40}  # the state holds the second attempt from its checkpoint on
    for step in both:
        assert math.isclose(seen[step], truth[step], rel_tol=2e-3, abs_tol=1e-4) or (
            math.isnan(seen[step]) and math.isnan(truth[step])
        )
