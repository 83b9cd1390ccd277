"""Source names and the canonical columns they become."""

from __future__ import annotations

import pytest

from triage.errors import UsageError
from triage.options import Options
from triage.readers._columns import canonical_wanted, choose, looks_like_loss
from triage.schema import BY_NAME, builtin_aliases

STEP_LOSS_NORM_LR = {
    "slash": ("train/global_step", "train/loss", "train/grad_norm", "train/learning_rate"),
    "lightning": ("step", "train_loss_step", "grad_2.0_norm_total", "lr-AdamW/pg1"),
    "megatron": ("iteration", "lm loss", "grad norm", "learning rate"),
    "torchtitan": ("step", "loss_metrics/global_avg_loss", "grad_norm", "lr"),
    "olmo": ("_step", "train/CrossEntropyLoss", "optim/total_grad_norm", "optim/learning_rate_group0"),
    "fairseq": ("num_updates", "loss", "gnorm", "lr"),
    "composer": ("trainer/batch_idx", "loss/train/total", "l2_norm/grad/global", "lr-DecoupledAdamW/group0"),
    "detectron2": ("iteration", "total_loss", "grad_norm", "lr"),
    "dots": ("trainer.step", "metrics.train.loss", "metrics.optim.gnorm", "metrics.optim.lr"),
    "tensorflow": ("global_step", "loss/train", "grad_norm/total", "lr/pg0"),
}
OTHERS = {
    "megatron": {"param_norm": "params norm", "loss_scale": "loss scale", "eval_loss": "lm loss validation"},
    "torchtitan": {"tokens": "n_tokens_seen", "eval_loss": "validation_metrics/loss"},
    "composer": {"tokens": "time/token", "eval_loss": "metrics/eval/LanguageCrossEntropy"},
    "keras": {"epoch": "epoch", "loss": "loss", "eval_loss": "val_loss"},
    "nanogpt": {"step": "iter", "loss": "train/loss", "eval_loss": "val/loss"},
    "deepspeed": {
        "loss": "Train/Samples/train_loss",
        "lr": "Train/Samples/lr",
        "loss_scale": "Train/Samples/loss_scale",
    },
    "fp16": {"is_skipped": "number of skipped iterations", "nan_count": "number of nan iterations"},
}
FRAMEWORKS = {
    **{
        name: dict(zip(("step", "loss", "grad_norm", "lr"), names, strict=True)) | OTHERS.get(name, {})
        for name, names in STEP_LOSS_NORM_LR.items()
    },
    **{name: names for name, names in OTHERS.items() if name not in STEP_LOSS_NORM_LR},
}


@pytest.mark.parametrize("names", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_names_of_frameworks(names: dict[str, str]) -> None:
    naming = choose(dict.fromkeys(names.values(), 5), Options(), {})
    assert {canonical: naming.chosen.get(canonical) for canonical in names} == names


@pytest.mark.parametrize(
    "name",
    [
        "loss_scale", "aux_loss", "z_loss", "load_balancing_loss", "loss_ema", "avg_loss", "loss_cls", "lossless",
        "num_loss_tokens", "lm loss vs samples", "hparam/loss", "loss_metrics/global_max_loss", "eval_loss",
        "train/aux_loss", "d_loss", "generator/loss", "loss@rank1", "summary/loss", "train/kl_loss", "val/loss",
    ],
)  # fmt: skip
def test_what_is_not_the_loss(name: str) -> None:
    assert "loss" not in choose({name: 5}, Options(), {}).chosen


def test_the_first_that_holds_numbers_wins() -> None:
    naming = choose({"loss": 0, "train/loss": 7, "train_loss": 7}, Options(), {})
    assert naming.chosen["loss"] == "train/loss"
    assert naming.candidates["loss"] == ("loss", "train/loss", "train_loss")
    assert choose({"loss": 0, "lr": 3}, Options(), {}).chosen["loss"] == "loss"


def test_own_names_win_over_the_writer_and_the_table() -> None:
    points = {"loss": 5, "objective/main": 5, "other": 5}
    assert choose(points, Options(), {"objective/main": "loss"}).chosen["loss"] == "objective/main"
    assert choose(points, Options(aliases={"other": "loss"}), {"objective/main": "loss"}).chosen["loss"] == "other"
    mapped = choose(points, Options(mapping={"loss": "other"}, aliases={"objective/main": "loss"}), {})
    assert mapped.chosen["loss"] == "other"


def test_a_mapping_that_does_not_fit() -> None:
    points = {"my_loss": 5, "lr": 5}
    with pytest.raises(UsageError, match="no column 'mylos'") as caught:
        choose(points, Options(mapping={"loss": "mylos"}), {})
    assert "my_loss" in str(caught.value.hint)
    with pytest.raises(UsageError, match="twice"):
        choose(points, Options(mapping={"loss": "my_loss", "eval_loss": "my_loss"}), {})
    with pytest.raises(UsageError, match="no column 'los'") as caught:
        choose(points, Options(mapping={"los": "my_loss"}), {})
    assert "loss" in str(caught.value.hint)


def test_columns_that_look_like_a_loss_are_told() -> None:
    naming = choose({"step": 5, "actor/loss": 5, "kl": 5, "val/other_loss": 5}, Options(), {})
    assert naming.loss_like == ("actor/loss",)
    assert not looks_like_loss("eval/loss")


def test_the_selection_for_large_files() -> None:
    wanted = canonical_wanted(Options(mapping={"loss": "x"}, signal="reward"))
    assert all(map(wanted, ["x", "reward", "train/loss", "step", "actor/loss", "grad norm"]))
    assert not any(map(wanted, ["layers.0.attn.std", "gpu_temperature"]))


def test_the_table_is_sound() -> None:
    rows = builtin_aliases()
    assert {row.canonical for row in rows} == set(BY_NAME)
    for row in rows:
        assert len(set(row.exact)) == len(row.exact), row.canonical
