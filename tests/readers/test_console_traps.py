"""Numbers on a console that are no metrics, and words that are no NaN: none of them may become a cell."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.readers._console import read_text, sniffs

GOOD = "step 1 loss: 2.5\nstep 2 loss: 2.4\nstep 3 loss: 2.3\n"
"""Rows around the trap, so that the text is a log."""

TRAPS = {
    # label: (line, columns that a row made of it may have)
    "percentage": ("step 4 loss: 2.2 done: 33% gpu_util: 97 %", {"step", "loss"}),
    "percentage instead of a loss": ("step 4 loss: 97%", set()),
    "eta": ("step 4 loss: 2.2 eta: 1:02:03", {"step", "loss"}),
    "eta of days": ("step 4 loss: 2.2 eta: 2 days, 4:20:34", {"step", "loss"}),
    "eta in seconds": ("step 4 loss: 2.2 ETA 125 s", {"step", "loss"}),
    "date": ("step 4 loss: 2.2 date: 2026-11-30 18:21:03", {"step", "loss"}),
    "date with slashes": ("step 4 loss: 2.2 date: 30/11/2026", {"step", "loss"}),
    "clock": ("step 4 loss: 2.2 time: 18:21:03", {"step", "loss"}),
    "seconds": ("step 4 loss: 2.2 time: 0.512 data_time: 0.01", {"step", "loss"}),
    "milliseconds": ("step 4 loss: 2.2 dt: 512.3ms", {"step", "loss"}),
    "memory with a unit": ("step 4 loss: 2.2 mem: 12.3GB max mem 4358MiB", {"step", "loss"}),
    "memory without a unit": ("step 4 loss: 2.2 memory: 10762 max_mem: 433", {"step", "loss"}),
    "path": ("step 4 loss: 2.2 saved: /runs/loss-0.5/ckpt_4000.pt", {"step", "loss"}),
    "path with a loss": ("saved to /runs/step=4-loss=0.123.ckpt", set()),
    "pid": ("step 4 loss: 2.2 pid: 12345", {"step", "loss"}),
    "port": ("step 4 loss: 2.2 port=29500 host=10.0.0.1", {"step", "loss"}),
    "address": ("connected to 10.0.0.1:29500, loss of signal 3", set()),
    "version": ("step 4 loss: 2.2 torch: 2.1.0", {"step", "loss"}),
    "source line": ("train.py:123 step 4 loss: 2.2", {"step", "loss"}),
    "speed": ("step 4 loss: 2.2 speed: 12.5 it/s, 3.5 samples/s", {"step", "loss"}),
    "counter": ("step 4 loss: 2.2 correct: 9850/10000", {"step", "loss"}),
    "z score": ("step 4 loss: 2.2 (+nanz)", {"step", "loss"}),
    "remark in parentheses": ("step 4 loss: 2.2 (3.511 sec/step)", {"step", "loss"}),
    "seed": ("step 4 loss: 2.2 seed: 42", {"step", "loss"}),
    "glog prefix": ("I1130 18:21:03.123456 140391969974016 train.py:57] step 4 loss: 2.2", {"step", "loss"}),
    "configuration": ("Namespace(lr=0.1, loss='l1', aux_loss=0.4, epochs=300, step=5)", set()),
    "configuration over lines": ("  moe_aux_loss_coeff ................ 0.01", set()),
    "loss weight": ("loss_weight: 1.0 step 4", set()),
    "model print": ("(loss): CrossEntropyLoss(ignore_index=-100, label_smoothing=0.1)", set()),
    "scale is no loss": ("step 4 loss_scale: 65536", set()),
    "advice": ("Hint: if the loss is nan, lower the learning rate at step 4", set()),
    "nan as a word": ("Using nan_to_num for the loss of step 4", set()),
    "nan in a name": ("logging_nan_inf_filter = True, loss_step 4", set()),
    "traceback": ('  File "/x/loss.py", line 27, in forward_step4', set()),
}


@pytest.mark.parametrize("label", TRAPS)
def test_trap(label: str, tmp_path: Path) -> None:
    line, allowed = TRAPS[label]
    # Twice, since the fallback takes nothing that does not recur.
    got = read_text(tmp_path, GOOD + line + "\n" + line + "\n" + GOOD.replace("step ", "step 1"))
    extra = [row for row in got.rows if row not in read_text(tmp_path, GOOD + GOOD.replace("step ", "step 1")).rows]
    for row in extra:
        assert set(row) <= allowed, f"{label}: {row}"
    if allowed:
        assert extra
        assert extra[0]["loss"] == 2.2
        assert extra[0]["step"] == 4
    assert not any(isinstance(value, float) and math.isnan(value) for row in got.rows for value in row.values())


HEALTHY_NAN = {
    "megatron counter": (
        " iteration        1/      60 | consumed samples:            8 | elapsed time per iteration (ms): 512.3 | "
        "learning rate: 3.0E-04 | lm loss: 3.9E+00 | grad norm: 0.631 | number of skipped iterations:   0 | number "
        "of nan iterations:   0 |\n"
    ),
    "darknet region": (
        "Region 23 Avg IOU: -nan, Class: -nan, Obj: -nan, No Obj: 0.555418, .5R: -nan, .75R: -nan,  count: 0\n"
        " 2: 519.797913, 519.720886 avg loss, 0.000000 rate, 2.054143 seconds, 128 images\n"
    ),
    "step time": "step:0/1480 val_loss:7.7109 train_time:0ms step_avg:nanms\nstep:1/1480 train_loss:7.5 train_time:1\n",
}


@pytest.mark.parametrize("label", HEALTHY_NAN)
def test_nan_in_a_healthy_log(label: str, tmp_path: Path) -> None:
    got = read_text(tmp_path, HEALTHY_NAN[label])
    assert got.rows
    assert not any(isinstance(value, float) and math.isnan(value) for row in got.rows for value in row.values())
    assert not got.events


def test_smoothed_nan_is_not_the_loss(tmp_path: Path) -> None:
    """The mean of a first window is NaN; the gradient of that step is not."""
    text = "Epoch: [0]  [ 10/99]  eta: 0:01  loss: 2.5 (2.6)  grad_norm: 0.3922 (nan)\n" * 2
    got = read_text(tmp_path, text)
    assert got.column("grad_norm") == [0.3922]
    assert got.column("loss") == [2.5]
    assert got.column("loss_avg") == [2.6]


NAN_SPELLINGS = [
    "nan",
    "NaN",
    "NAN",
    "-nan",
    "nan.",
    "nan (nan)",
    "tensor(nan, device='cuda:0')",
    "nanxxx",
    "-nan(ind)",
    "1.#QNAN",
]


@pytest.mark.parametrize("spelling", NAN_SPELLINGS)
@pytest.mark.parametrize(
    "form", ["step {} loss: {}", "step={}, loss={}", "step {} loss {}", "{{'step': {}, 'loss': {}, 'epoch': 1}}"]
)
def test_nan_spellings(spelling: str, form: str, tmp_path: Path) -> None:
    text = "\n".join(form.format(step, value) for step, value in enumerate(["2.5", "2.4", spelling, spelling], start=1))
    got = read_text(tmp_path, text + "\n")
    losses = got.column("loss")
    assert losses[:2] == [2.5, 2.4]
    assert len(losses) == 4
    assert all(map(math.isnan, losses[2:]))


@pytest.mark.parametrize("spelling", ["inf", "Infinity", "+inf", "infxxx", "1.#INF"])
def test_infinity_spellings(spelling: str, tmp_path: Path) -> None:
    got = read_text(tmp_path, f"step 1 loss: 2.5\nstep 2 loss: {spelling}\nstep 3 loss: -inf\n")
    assert got.column("loss") == [2.5, math.inf, -math.inf]


NOT_LOGS = {
    "readme": "# My project\n\nTrains a net. The loss falls to 0.5 after 10 epochs, see `train.py`.\n\n    loss: 0.5\n",
    "pip": "Collecting numpy>=1.26\n  Downloading numpy-2.1.0.whl (16.3 MB)\n     16.3/16.3 MB 12.5 MB/s eta 0:00:00\n",
    "source": "def loss_step(self):\n    loss = 0.5\n    step = 4\n    return loss\n",
    "yaml": "optimizer:\n  lr: 0.001\nloss:\n  weight: 1.0\nepochs: 10\n",
    "model": "Net(\n  (fc): Linear(in_features=768, out_features=10)\n  (loss): CrossEntropyLoss()\n)\n",
    "prose": "The loss of 12 ships in 1912 was noted at step 3 of the inquiry.\n" * 5,
    "table": "| name | value |\n|---|---|\n| width | 5 |\n| height | 6 |\n",
    "empty lines": "\n\n\n",
    "binary": bytes(range(256)) * 20,
    "web page": "<!DOCTYPE html><html><body>step 1 loss: 2.5\nstep 2 loss: 2.4\n</body></html>",
    "json document": '{\n  "loss": 2.5,\n  "step": 1\n}\n',
    "groups": "1 8.5\n1 8.4\n2 8.1\n2 8.0\n1 7.9\n1 7.5\n",
}


@pytest.mark.parametrize("label", NOT_LOGS)
def test_not_a_log(label: str, tmp_path: Path) -> None:
    assert not sniffs(tmp_path, NOT_LOGS[label], "notes.txt")


def test_a_document_that_quotes_rows(tmp_path: Path) -> None:
    """A page with a console in it is no log; a console that was saved under the name of a page is one."""
    page = "# Diverging\n\nSee the log:\n\n" + GOOD + "\n" + "What to do about it is another matter.\n" * 9
    assert not sniffs(tmp_path, page, "README.md")
    assert sniffs(tmp_path, GOOD * 3, "issue.md")
