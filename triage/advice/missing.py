"""Columns that are not in the log: which causes each would have decided, and the setting that logs it."""

from __future__ import annotations

from typing import Final

from triage.causes import RULES
from triage.checklists import GENERIC_FRAMEWORK, framework_of, load_frameworks
from triage.model import MissingMetric
from triage.signals import SignalTable

WORTH: Final = ("loss", "grad_norm", "lr", "update_ratio", "param_norm", "loss_scale", "seq_len", "tokens", "eval_loss")
"""Columns worth asking for, most telling first (`triage explain what-to-log`)."""
MIXED: Final = ("fp16", "16-mixed", "float16", "amp")


def missing_metrics(signals: SignalTable, lang: str) -> tuple[MissingMetric, ...]:
    """What this log lacks. A loss scale is asked for only where the config says fp16."""
    source = signals.table.source
    framework = framework_of(source.writer, source.format) or GENERIC_FRAMEWORK
    out = []
    for column in WORTH:
        if column in signals.columns and signals.logged[column].any():
            continue
        if column == "loss_scale" and not _is_mixed(signals):
            continue
        if column == "loss" and signals.judged:
            continue
        out.append(MissingMetric(column, decides(column), _how(framework, column, lang)))
    return tuple(out)


def decides(column: str) -> tuple[str, ...]:
    """Causes that look at this column, each once, in the order of the rules."""
    ids = []
    for rule in RULES:
        checks = (*(c for group in rule.requires for c in group), *rule.raises, *rule.lowers)
        if column in rule.keys or any(check.signal == column for check in checks):
            ids.append(rule.id)
    return tuple(dict.fromkeys(ids))


def _how(framework: str, column: str, lang: str) -> str:
    """The setting in the framework that wrote the log, else in a plain loop."""
    by_id = {f.name: f for f in load_frameworks()}
    for name in (framework, GENERIC_FRAMEWORK):
        text = by_id[name].columns.get(column) if name in by_id else None
        if text is not None:
            return text.in_language(lang)
    return ""


def _is_mixed(signals: SignalTable) -> bool:
    words = " ".join(f"{k}={v}".lower() for k, v in signals.table.source.config.items())
    return any(word in words for word in MIXED)
