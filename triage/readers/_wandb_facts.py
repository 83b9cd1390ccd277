"""What a `.wandb` file says about the run besides its rows: client, config, axes, start, end.

Separate from the rows because these are a handful of records of other kinds, read one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from triage.model import Notice
from triage.readers._json_text import parse
from triage.readers._wandb_proto import kind_of

if TYPE_CHECKING:
    import polars as pl

CLIENT_CONFIG: Final = "_wandb"
"""Config entry that the client keeps for itself."""

CONSOLE: Final = frozenset({"output", "output_raw", "output_logger"})
"""Records that hold a line of console output."""


@dataclass(slots=True)
class WandbFacts:
    """Everything that was learnt about the run; grows while its file is read.

    Attributes:
        client: version of the client that wrote the file.
        run_id, project, display_name: of the run record.
        started: seconds since 1970.
        resumed: the server said that the run goes on from an earlier one.
        starting_step: first step of a resumed run, as the server said.
        config: nested, with what the client keeps for itself taken out.
        axes: axis that `define_metric` declares, named as its column → how many rows carry it.
        exit_code: of the exit record; None = the file has none.
        console: records with a line of console output, not read.
        alerts: alerts that the training script sent.
        tensorboard: directories whose event files hold the metrics instead.
        unknown: records of no known kind.
        undecodable: records whose bytes are no message.
    """

    client: str | None = None
    run_id: str | None = None
    project: str | None = None
    display_name: str | None = None
    started: float | None = None
    resumed: bool = False
    starting_step: int = 0
    config: dict[str, Any] = field(default_factory=dict)
    axes: dict[str, int] = field(default_factory=dict)
    exit_code: int | None = None
    console: int = 0
    alerts: list[str] = field(default_factory=list)
    tensorboard: list[str] = field(default_factory=list)
    unknown: int = 0
    undecodable: int = 0

    def take(self, record: Any) -> None:
        """Learn from one decoded record of any kind but history."""
        kind = kind_of(record)
        if kind is None:
            self.unknown += 1
        elif kind in CONSOLE:
            self.console += 1
        elif kind in _LEARNT:
            _LEARNT[kind](self, getattr(record, kind))

    def is_axis(self, name: str) -> bool:
        """Is this the column of a declared axis?"""
        return name in self.axes

    def count_axes(self, frame: pl.DataFrame) -> None:
        """Note in how many rows each declared axis is logged."""
        for name in self.axes:
            if name in frame.columns:
                self.axes[name] += frame.height - frame[name].null_count()

    def step_column(self) -> str | None:
        """The declared axis that most rows carry; None where none is logged."""
        best = max(self.axes, key=lambda name: self.axes[name], default=None)
        return best if best is not None and self.axes[best] else None

    def meta(self) -> dict[str, Any]:
        """WandbFacts for `Block.meta`."""
        known = {
            "writer": f"wandb {self.client}" if self.client else "wandb",
            "config": dict(self.config),
            "run_id": self.run_id,
            "display_name": self.display_name,
            "started": self.started,
            "exit_code": self.exit_code,
            "step_column": self.step_column(),
        }
        return {"format": "wandb", **{key: value for key, value in known.items() if value is not None}}

    def notices(self, path: str) -> tuple[Notice, ...]:
        """What a person should know about the end of the run in this file and about what was not read."""
        logged = [name for name, count in self.axes.items() if count]
        rows: tuple[tuple[bool, str, int, str | None, dict[str, Any]], ...] = (
            (self.exit_code is None, "run-not-finished", 1, path, {}),
            (bool(self.exit_code), "run-failed", 1, path, {"exit_code": self.exit_code}),
            (self.resumed, "run-resumed", 1, None, {"starting_step": self.starting_step}),
            (len(logged) > 1, "several-step-axes", len(logged), None, {"axes": ", ".join(logged)}),
            (self.console > 0, "console-not-read", self.console, None, {}),
            (bool(self.alerts), "alerts-sent", len(self.alerts), None, {"texts": "; ".join(self.alerts)}),
            (bool(self.tensorboard), "metrics-in-tensorboard", 1, ", ".join(self.tensorboard), {}),
            (self.unknown > 0, "unknown-records", self.unknown, None, {}),
            (self.undecodable > 0, "undecodable-records", self.undecodable, None, {}),
        )
        return tuple(Notice(name, count, where, detail) for holds, name, count, where, detail in rows if holds)


def _header(facts: WandbFacts, header: Any) -> None:
    if producer := header.version_info.producer:
        facts.client = _text(producer).partition("+")[0]


def _run(facts: WandbFacts, run: Any) -> None:
    facts.run_id = _text(run.run_id) or facts.run_id
    facts.project = _text(run.project) or facts.project
    facts.display_name = _text(run.display_name) or facts.display_name
    facts.client = facts.client or _text(run.telemetry.cli_version) or None
    if run.HasField("start_time"):
        facts.started = run.start_time.seconds + run.start_time.nanos / 1e9
    facts.resumed |= run.resumed
    facts.starting_step = run.starting_step or facts.starting_step
    _config(facts, run.config)


def _config(facts: WandbFacts, config: Any) -> None:
    for item in config.update:
        path = _path(item)
        if path[0] != CLIENT_CONFIG:
            group = _group(facts.config, path)
            group[path[-1]] = _plain(item.value_json)
    for item in config.remove:
        path = _path(item)
        _group(facts.config, path).pop(path[-1], None)


def _metric(facts: WandbFacts, metric: Any) -> None:
    if axis := _text(metric.step_metric):
        # The client writes a dot where a group is meant; which of the two it is, the rows tell.
        for name in (axis, axis.replace(".", "/")):
            facts.axes.setdefault(name, 0)


def _exit(facts: WandbFacts, ended: Any) -> None:
    facts.exit_code = ended.exit_code


def _alert(facts: WandbFacts, alert: Any) -> None:
    facts.alerts.append(": ".join(filter(None, (_text(alert.title), _text(alert.text)))))


def _tbrecord(facts: WandbFacts, record: Any) -> None:
    if (where := _text(record.log_dir)) not in facts.tensorboard:
        facts.tensorboard.append(where)


_LEARNT: Final = {
    "header": _header,
    "run": _run,
    "config": _config,
    "metric": _metric,
    "exit": _exit,
    "alert": _alert,
    "tbrecord": _tbrecord,
}


def _text(written: bytes) -> str:
    return written.decode("utf-8", "replace")


def _path(item: Any) -> list[str]:
    return [_text(part) for part in item.nested_key] or [_text(item.key)]


def _group(config: dict[str, Any], path: list[str]) -> dict[str, Any]:
    """The group that the last component of a path belongs to, made where it is missing."""
    for part in path[:-1]:
        inner = config.get(part)
        if not isinstance(inner, dict):
            inner = config[part] = {}
        config = inner
    return config


def _plain(written: bytes) -> Any:
    """A config value; its text where it is no JSON."""
    try:
        return parse(written)
    except ValueError:
        return _text(written)
