"""The consoles of the labelled cases beside the project: every loss at its step, as an independent pattern tells it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.readers._console import read_path
from triage.options import Limits
from triage.readers import console
from triage.readers._source import open_path

SHARED = Path(__file__).resolve().parents[3] / "shared" / "cases"

pytestmark = [pytest.mark.shared, pytest.mark.skipif(not SHARED.exists(), reason="the labelled cases are not there")]

LOGS = {
    # case → pattern with step and loss, loss column, step column
    "public/34_*/*.log": (r"\] \[(\d+)\] global_step=\d+, grad_norm=\S+, loss=(\S+)$", "loss", "global_step"),
    "public/37_*/*.log": (r"\] \[(\d+)\] global_step=\d+, grad_norm=\S+, loss=(\S+)$", "loss", "global_step"),
    "public/61_*/*.log": (r'"num_updates": "(\d+)"', "loss", "num_updates"),
    "public/63_*/main.log": (r"^s:(\d+) trl:(\S+) ", "trl", "s"),
    "public/68_*/*.out": (r"^step +(\d+) \| loss: (\S+) ", "loss", "step"),
    "public/70_*/log.txt": (r"^(\d+) train (\S+)$", "train", "step"),
    "public/81_*/output.log": (r"^iter (\d+): loss (\S+) ", "loss", "iter"),
    "public/86_*/*.txt": (r"^(\d+) (\S+)$", "loss", "step"),
    "formats/torchtitan__console_plain/train.log": (r" - INFO - step: +(\d+)  loss: +(\S+)", "loss", "step"),
    "formats/torchtune__disk_logger/log_1.txt": (r"^Step (\d+) \| loss:(\S+)", "loss", "step"),
    "formats/nanogpt__train_py/train.log": (r"^iter (\d+): loss ([^,]+),", "loss", "iter"),
    "formats/nanogpt__train_py_nan/train.log": (r"^iter (\d+): loss ([^,]+),", "loss", "iter"),
    "formats/fairseq__log_format_simple/train.log": (r" loss=([^,]+),.*num_updates=(\d+)", "loss", "num_updates"),
    "formats/megatron__console_nan/train.log": (r"iteration +(\d+)/.*\| lm loss: (\S+) ", "lm loss", "iteration"),
}


@pytest.mark.parametrize("case", LOGS)
def test_every_loss_at_its_step(case: str) -> None:
    pattern, column, step = LOGS[case]
    (path,) = SHARED.glob(case)
    assert console.READER.sniff(open_path(path, Limits()))
    text = path.read_text(encoding="utf-8", errors="replace")
    if case.startswith("public/61"):
        found = re.findall(r'train_inner.*"loss": "([^"]+)".*"num_updates": "([^"]+)"', text)
        want = {int(float(number)): float(loss) for loss, number in found}
    elif "simple" in case:
        want = {int(number): float(loss) for loss, number in re.findall(pattern, text, re.MULTILINE)}
    else:
        want = {int(number): float(loss) for number, loss in re.findall(pattern, text, re.MULTILINE)}
    got = {row[step]: row[column] for row in read_path(path).rows if column in row}
    if case.startswith("formats/megatron"):
        got = {at: loss for at, loss in got.items() if not math.isnan(loss)}
    assert list(got) == list(want)
    assert len(want) > 20
    for at, loss in want.items():
        assert got[at] == loss or (math.isnan(got[at]) and math.isnan(loss)), at
