"""What terminals, schedulers and several writers do to a console."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.readers._console import CASES, read_path, read_text, sniffs
from triage.errors import UnreadableError
from triage.model import Block
from triage.options import Limits
from triage.readers import console
from triage.readers._console_stretches import STRETCH_BYTES
from triage.readers._contract import everything
from triage.readers._source import open_path

MEGATRON = (
    " iteration {i:8d}/{n:8d} | consumed samples: {i:12d} | elapsed time per iteration (ms): 512.3 | learning rate: "
    "3.0E-04 | global batch size:     8 | lm loss: {loss} | loss scale: 1.0 | grad norm: {norm} | number of skipped "
    "iterations:   0 | number of nan iterations:   0 |"
)


def megatron(i: int, loss: str = "2.5E+00", norm: str = "1.000", n: int = 60) -> str:
    """A line of Megatron-LM."""
    return MEGATRON.format(i=i, n=n, loss=loss, norm=norm)


def test_colours(tmp_path: Path) -> None:
    text = "".join(
        f"\x1b[31mstep: {i}  \x1b[32mloss: {3 - i / 10:.4f}  \x1b[38;2;1;6;0mtps: 12,346\x1b[39m\n" for i in (1, 2, 3)
    )
    got = read_text(tmp_path, text)
    assert got.column("step") == [1, 2, 3]
    assert got.column("loss") == [2.9, 2.8, 2.7]
    assert got.column("tps") == [12346.0] * 3


def test_prefixes_of_launchers(tmp_path: Path) -> None:
    text = "".join(
        f"[rank{r}]:[titan] 2026-01-01 00:00:0{i} - INFO - step {i} loss: {i}.{r}\n" for i in (1, 2) for r in (0, 1)
    )
    got = read_text(tmp_path, text)
    assert [(row["step"], row["rank"], row["loss"]) for row in got.rows] == [
        (1, 0, 1.0),
        (1, 1, 1.1),
        (2, 0, 2.0),
        (2, 1, 2.1),
    ]
    assert got.column("time")[0] == "2026-01-01 00:00:01"


def test_one_worker_needs_no_rank(tmp_path: Path) -> None:
    got = read_text(tmp_path, "step 1 loss: 2.5 rank 0\nstep 2 loss: 2.4 rank 0\n")
    assert not got.column("rank")


def test_bars_glued_to_messages_and_rows(tmp_path: Path) -> None:
    text = (
        "\r 10%|█         | 1/10 [00:01<00:09,  1.00it/s][2026-01-01 00:00:01,018] [INFO] [deepspeed] OVERFLOW! Rank 0 "
        "Skipping step. Attempted loss scale: 64, reducing to 32\n"
        "\r 20%|██        | 2/10 [00:02<00:08,  1.00it/s]{'loss': 2.5, 'epoch': 0.2}\n"
        "\r 30%|███       | 3/10 [00:03<00:07,  1.00it/s]"
    )
    got = read_text(tmp_path, text)
    assert [row["step"] for row in got.rows] == [2, 2]
    assert got.rows[0] == {"step": 2, "loss_scale": 64.0, "is_skipped": 1.0}
    assert got.rows[1]["loss"] == 2.5
    assert got.events[0] == {"kind": "overflow", "step": 2, "line": 1, "text": got.events[0]["text"]}
    assert got.events[0]["text"].startswith("[2026-01-01")


def test_redraws_of_one_step_are_one_row(tmp_path: Path) -> None:
    states = [(1, "2.9"), (2, "2.9"), (2, "2.8"), (3, "2.8"), (3, "nan"), (4, "nan"), (4, "2.6")]
    text = "".join(f"\r{10 * n:3d}%|█  | {n}/10 [00:01<00:09, 1.00it/s, loss={loss}]" for n, loss in states)
    got = read_text(tmp_path, text)
    assert got.column("step") == [1, 2, 3, 4]
    assert [str(loss) for loss in got.column("loss")] == ["2.9", "2.8", "nan", "2.6"]
    assert got.notices["bar-states-merged"] == 3


def test_bars_of_other_work_are_no_steps(tmp_path: Path) -> None:
    text = (
        "Map: 100%|████| 5000/5000 [00:01<00:00, 5000.0 examples/s]\n"
        "Loading checkpoint shards: 100%|████| 3/3 [00:01<00:00, 3.0it/s]\n"
        " 50%|██  | 5/10 [00:02<00:08,  1.00it/s]{'loss': 2.5, 'epoch': 0.2}\n"
        "100%|████| 4/4 [00:02<00:08,  1.00it/s]{'eval_loss': 2.4, 'epoch': 0.2}\n"
        " 50%|██  | 5/10 [00:02<00:08,  1.00it/s]\n"
    )
    assert [row["step"] for row in read_text(tmp_path, text).rows] == [5, 5]


def test_wrapped_lines(tmp_path: Path) -> None:
    whole = "\n".join(megatron(i) for i in range(1, 4)) + "\n"
    wrapped = "\n".join(line[at : at + 80] for line in whole.splitlines() for at in range(0, len(line), 80)) + "\n"
    assert read_text(tmp_path, wrapped).rows == read_text(tmp_path, whole).rows
    assert read_text(tmp_path, wrapped).notices["rejoined-lines"] > 6


def test_wrapped_dictionary(tmp_path: Path) -> None:
    text = "{'loss': 3.5967, 'grad_norm': 7.3282,\n 'learning_rate': 4.9e-05, 'epoch': 0.01}\n"
    assert read_text(tmp_path, text).rows == [
        {"loss": 3.5967, "grad_norm": 7.3282, "learning_rate": 4.9e-05, "epoch": 0.01}
    ]


@pytest.mark.parametrize("keep", [40, 100, 150, 220, 260])
def test_torn_row_is_not_believed(keep: int, tmp_path: Path) -> None:
    """A row cut by the end of the job must not look like one that lost its loss."""
    got = read_text(tmp_path, megatron(1) + "\n" + megatron(2) + "\n" + megatron(3)[:keep])
    assert got.column("iteration") == [1, 2]
    assert sum(got.notices.get(name, 0) for name in ("torn-rows", "cut-rows")) == (keep > 70)


def test_torn_row_between_others(tmp_path: Path) -> None:
    got = read_text(tmp_path, megatron(1) + "\n" + megatron(2)[:120] + "\n" + megatron(3) + "\n")
    assert got.column("iteration") == [1, 3]
    assert got.notices["torn-rows"] == 1


def test_torn_row_with_nan_stays(tmp_path: Path) -> None:
    row = megatron(3, loss="nan", norm="nan")
    got = read_text(tmp_path, megatron(1) + "\n" + row[: row.index("nan") + 20])
    assert math.isnan(got.column("lm loss")[-1])


def test_cut_last_number_is_not_believed(tmp_path: Path) -> None:
    """12 of 12.75 is another number."""
    text = (
        "Step 1 | loss:12.75 lr:0.0003 grad_norm:0.63 \nStep 2 | loss:12.70 lr:0.0003 grad_norm:0.62 \nStep 3 | loss:1"
    )
    got = read_text(tmp_path, text)
    assert got.column("loss") == [12.75, 12.7]
    assert got.notices["cut-rows"] == 1


def test_copied_log_without_a_last_line_feed(tmp_path: Path) -> None:
    got = read_text(tmp_path, "step 1 loss: 2.5\nstep 2 loss: 2.4\nstep 3 loss: 2.3")
    assert got.column("loss") == [2.5, 2.4, 2.3]


def test_typography(tmp_path: Path) -> None:
    got = read_text(
        tmp_path, "{‘loss’: 1.453, ‘grad_norm’: 2.4, ‘epoch’: 0.19}\n{“loss”: 1.4，“grad_norm”： −2.4, “epoch”: 0.2}\n"
    )
    assert got.column("loss") == [1.453, 1.4]
    assert got.column("grad_norm") == [2.4, -2.4]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    text = ("step 1 loss: 2.5\r\nstep 2 loss: nan\r\n" * 3).encode(encoding)
    assert sniffs(tmp_path, text)
    assert len(read_text(tmp_path, text).column("loss")) >= 2


def test_thousands_and_decimal_commas(tmp_path: Path) -> None:
    got = read_text(tmp_path, "step 1 loss: 1,234.5 tps: 12,346\nstep 2 loss: 1,200.25 tps: 12,347\n")
    assert got.column("loss") == [1234.5, 1200.25]
    got = read_text(tmp_path, "step 1 loss: 0,5231 lr: 0,0003\nstep 2 loss: 0,5012 lr: 0,0003\n")
    assert got.column("loss") == [0.5231, 0.5012]
    assert got.notices["decimal-commas"] == 1


def test_doubled_loggers(tmp_path: Path) -> None:
    """A second print of a step with fewer digits goes; what it has besides stays, and a restart is no copy."""
    text = "".join(
        f"I0316 10:35:44.473088 139 w.py:48] [{i}] global_step={i}, grad_norm={1 / i:.6g}, loss={3.14159 / i:.6g}\n"
        f"I0316 10:35:44.763981 139 submission.py:265] {i}) loss = {3.14159 / i:.3f}, grad_norm = {1 / i:.3f}, lr = 0\n"
        for i in (1, 2, 3)
    )
    got = read_text(tmp_path, text)
    assert got.column("loss") == [3.14159, 1.57079, 1.0472]
    assert got.column("lr") == [0.0] * 3
    again = read_text(tmp_path, "step 1 loss: 2.5\nstep 2 loss: 2.4\nstep 1 loss: 2.5\nstep 2 loss: 2.4\n")
    assert again.column("step") == [1, 2, 1, 2]


def test_same_step_printed_by_every_worker(tmp_path: Path) -> None:
    got = read_text(tmp_path, "".join(f"step {i} loss: {3 - i / 10}\n" * 4 for i in (1, 2)))
    assert got.column("step") == [1, 2]
    assert got.notices["doubled-rows"] == 6


def test_runs_pasted_together(tmp_path: Path) -> None:
    text = "\n".join([*(megatron(i, n=60) for i in (1, 2, 3)), *(megatron(i, n=90) for i in (1, 2)), ""])
    got = read_text(tmp_path, text)
    assert [(block.run, block.frame.height) for block in got.blocks] == [(None, 3), ("2", 2)]


def test_a_restart_is_no_other_run(tmp_path: Path) -> None:
    text = "\n".join([*(megatron(i) for i in (1, 2, 3, 2, 3, 4, 1, 2)), ""])
    assert {block.run for block in read_text(tmp_path, text).blocks} == {None}


def test_two_epoch_counters_become_one_step(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch(train) [{e}][{i}/30]  lr: 3.0e-03  loss: {2 - e / 10:.3f}\n" for e in (1, 2, 3) for i in (10, 20, 30)
    )
    assert read_text(tmp_path, text).column("iter") == [10, 20, 30, 40, 50, 60, 70, 80, 90]


# ── missing and announced ────────────────────────────────────────────────────────────────────────────────────────────


def test_loss_that_is_left_out_beside_a_nan_gradient(tmp_path: Path) -> None:
    lost = megatron(2, norm="nan").replace(" lm loss: 2.5E+00 |", "")
    got = read_text(tmp_path, megatron(1) + "\n" + lost + "\n")
    assert math.isnan(got.rows[1]["lm loss"])
    assert got.notices == {"loss-missing-nan": 1}


def test_loss_of_a_skipped_step_is_no_zero(tmp_path: Path) -> None:
    skipped = (
        megatron(2, loss="0.000000E+00")
        .replace(" grad norm: 1.000 |", "")
        .replace("skipped iterations:   0", "skipped iterations:   1")
    )
    got = read_text(tmp_path, megatron(1) + "\n" + skipped + "\n" + megatron(3) + "\n")
    assert got.column("lm loss") == [2.5, 2.5]
    assert got.rows[1] == {"iteration": 2, "loss scale": 1.0, "number of skipped iterations": 1.0}
    assert got.notices == {"loss-of-skipped-step": 1}


EXCEPTIONS = {
    "FloatingPointError: Loss became infinite or NaN at iteration=27!": 27,
    "RuntimeError: Rank 3, iteration 5: result nan (message='found NaN in local forward loss calculation')": 4,
    "Loss is nan, stopping training": 4,
    "E0521 14:44:30.800493 140 basic_session_run_hooks.py:760] Model diverged with loss = NaN.": 4,
    "tensorflow.python.training.basic_session_run_hooks.NanLossDuringTrainingError: NaN loss during training.": 4,
    "ValueError: The loss returned in `training_step` is nan.": 4,
    "FloatingPointError: Loss is infinity": 4,
    "Loss is NaN.": 4,
}


@pytest.mark.parametrize("line", EXCEPTIONS)
def test_exceptions_become_a_nan_loss(line: str, tmp_path: Path) -> None:
    got = read_text(tmp_path, "step 1 loss: 2.5\nstep 2 loss: 2.4\nstep 3 loss: 2.3\n" + line + "\n")
    assert got.column("loss")[:3] == [2.5, 2.4, 2.3]
    assert got.rows[-1]["step"] == EXCEPTIONS[line]
    assert math.isnan(got.rows[-1]["loss"])
    assert len(got.events) == 1


def test_exception_names_the_loss_of_the_log(tmp_path: Path) -> None:
    got = read_text(tmp_path, megatron(1) + "\n" + megatron(2) + "\nLoss is nan, stopping training\n")
    assert math.isnan(got.rows[-1]["lm loss"])


def test_exception_of_keras_belongs_to_its_epoch() -> None:
    rows = read_path(CASES / "keras-lines.txt").rows
    assert [row["epoch"] for row in rows] == [1.0, 2.0, 3.0, 4.0, 5.0, 5.0]


def test_messages_are_numbered(tmp_path: Path) -> None:
    """From 1 before the first step; behind a step up to the next one."""
    over = "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {}, reducing to {}\n"
    text = over.format(64, 32) + over.format(32, 16) + "steps: 10 loss: 2.5 iter time (s): 0.5\n"
    text += over.format(16, 8) + "steps: 20 loss: 2.4 iter time (s): 0.5\n" + over.format(8, 4)
    got = read_text(tmp_path, text)
    assert [(row["step"], row.get("loss_scale"), row["is_skipped"]) for row in got.rows] == [
        (1, 64.0, 1.0),
        (2, 32.0, 1.0),
        (10, None, 0.0),
        (11, 16.0, 1.0),
        (20, None, 0.0),
        (21, 8.0, 1.0),
    ]
    assert [event["step"] for event in got.events] == [1, 2, 11, 21]


def test_every_step_skipped_of_an_interval(tmp_path: Path) -> None:
    warn = "The grad norm is nan. Skipping updating the model.\n"
    text = "".join(f"step {3 * i} loss: 2.5\n" + 3 * warn for i in (1, 2, 3)) + "step 12 loss: 2.5\n"
    got = read_text(tmp_path, text)
    assert got.column("is_skipped") == [0.0] + [1.0] * 9
    assert len(got.column("grad_norm")) == 9


def test_a_message_beside_its_row_completes_it(tmp_path: Path) -> None:
    """The log prints a gradient norm itself: the message adds one where the row has none, and nowhere else."""
    bare = megatron(2).replace(" grad norm: 1.000 |", "")
    got = read_text(tmp_path, megatron(1) + "\n***WARNING*** Bad grad_norm detected (grad_norm=nan)\n" + bare + "\n")
    assert got.rows[1]["iteration"] == 2
    assert math.isnan(got.rows[1]["grad norm"])


EVENTS = {
    "Saving model checkpoint to out/checkpoint-200": ("checkpoint", 200),
    "saving checkpoint at iteration      20 to ckpts": ("checkpoint", 20),
    "[fairseq] Saved checkpoint a.pt (epoch 20 @ 1000 updates, score 1.848)": ("checkpoint", 1000),
    "saving checkpoint to out": ("checkpoint", 3),
    "Resuming training from checkpoint-3": ("resume", 3),
    "successfully loaded checkpoint from ckpts [ t 1/1, p 1/1 ] at iteration 3": ("resume", 3),
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB": ("oom", 3),
    "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:825, unhandled system error": ("comm-failure", 3),
    "[rank3]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)": ("comm-failure", 3),
    "(ctc:71) WARNING: 5/42 samples got nan grad. These were ignored for CTC loss.": ("ctc-length", 3),
    "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.": ("exception", 3),
}


@pytest.mark.parametrize("line", EVENTS)
def test_events(line: str, tmp_path: Path) -> None:
    got = read_text(tmp_path, "step 1 loss: 2.5\nstep 2 loss: 2.4\nstep 3 loss: 2.3\n" + line + "\n")
    kind, step = EVENTS[line]
    assert [(e["kind"], e["step"], e["line"], e["text"]) for e in got.events] == [(kind, step, 4, line[:200])]
    assert not any(math.isnan(loss) for loss in got.column("loss"))


def test_events_are_bounded(tmp_path: Path) -> None:
    text = "step 1 loss: 2.5\nstep 2 loss: 2.4\n" + "saving checkpoint to out\n" * 1200
    got = read_text(tmp_path, text)
    assert len(got.events) == 1000
    assert got.notices["text-events-cut"] == 200


# ── size ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_several_stretches_are_one_log(tmp_path: Path) -> None:
    count = STRETCH_BYTES // len(megatron(1)) + 5000
    text = "".join(megatron(i, loss=f"{2 + i % 7}.5E+00", n=count) + "\n" for i in range(1, count + 1))
    got = read_text(tmp_path, text)
    assert len(got.blocks) > 1
    assert got.column("iteration") == list(range(1, count + 1))
    assert got.column("lm loss") == [2.5 + i % 7 for i in range(1, count + 1)]


def test_one_line_of_redraws(tmp_path: Path) -> None:
    """A bar that is redrawn for days is one line; it is cut at its redraws, not given up as too long."""
    count = 3 * (STRETCH_BYTES // 64)
    text = "".join(
        f"\r{i:9d}/{count} [00:01<00:09, 1.00it/s, loss={i % 9}.5]".replace("\r", "\r 1%|  |")
        for i in range(1, count + 1)
    )
    got = read_text(tmp_path, text, limits=Limits(line_bytes=STRETCH_BYTES))
    assert got.column("step") == list(range(1, count + 1))
    assert "long-lines" not in got.notices


def test_a_line_without_end_is_left_out(tmp_path: Path) -> None:
    text = megatron(1) + "\n" + "x" * 300_000 + "\n" + megatron(2) + "\n" + megatron(3) + "\n"
    got = read_text(tmp_path, text, limits=Limits(line_bytes=100_000))
    assert got.column("iteration") == [1, 2, 3]
    assert got.notices["long-lines"] == 1


def test_columns_are_limited_and_chosen(tmp_path: Path) -> None:
    text = "".join(f"step {i} loss: 2.5 " + " ".join(f"m{k}: {k}" for k in range(30)) + "\n" for i in (1, 2, 3))
    got = read_text(tmp_path, text, limits=Limits(columns=5))
    assert len({name for row in got.rows for name in row}) <= 7
    assert got.column("loss") == [2.5] * 3
    assert got.notices["column-limit"] > 0
    chosen = read_text(tmp_path, text, wanted=lambda name: name == "loss")
    assert {name for row in chosen.rows for name in row} == {"step", "loss"}


def test_rows_beyond_the_head(tmp_path: Path) -> None:
    """A thousand lines of warnings come before the first row of many jobs."""
    noise = "W0316 10:34:33.612 9 run.py:793] Setting OMP_NUM_THREADS environment variable for each process\n" * 1500
    assert sniffs(tmp_path, noise + "step 1 loss: 2.5\nstep 2 loss: 2.4\nstep 3 loss: 2.3\n")
    assert not sniffs(tmp_path, noise)


def test_text_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("nothing to see here\n" * 10)
    with pytest.raises(UnreadableError, match="without a line that tells a loss"):
        _ = [
            block
            for block in console.READER.read(open_path(path, Limits()), Limits(), everything)
            if isinstance(block, Block)
        ]
