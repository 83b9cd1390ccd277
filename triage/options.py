"""Options: every setting of an analysis, typed, bounded and with its default.

Separate from the command line so that the pipeline can be called from Python with the same words. Where a
value comes from (defaults < triage.toml / [tool.triage] < TRIAGE_* < flags) is decided in `settings.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Final

from triage.errors import UsageError

FAIL_ON: Final = ("never", "unresolved", "any")
SENSITIVITY: Final = ("low", "normal", "high")
LANGUAGES: Final = ("en", "zh")
DIRECTIONS: Final = ("up", "down")
CHECKLIST: Final = ("full", "short", "none")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reader takes before it refuses or cuts; part of the reader contract.

    Attributes:
        line_bytes: longest line that is parsed; a longer one is skipped and counted.
        depth: deepest nesting of a JSON object that is flattened.
        columns: most columns of one run; past it the rest is dropped and counted.
        decompressed_bytes: most bytes that a compressed file may unpack to.
        expansion: largest ratio of unpacked to packed bytes past the first 64 MiB.
        files: most files looked at below one directory.
    """

    line_bytes: int = 64 << 20
    depth: int = 16
    columns: int = 5_000
    decompressed_bytes: int = 64 << 30
    expansion: int = 500
    files: int = 20_000


@dataclass(frozen=True, slots=True)
class Options:
    """Every setting of one analysis; frozen.

    Attributes:
        window: baseline length in logged points; None = automatic (32 early, 128 later).
        fail_on: what makes the gate fail: never | unresolved | any.
        mapping: canonical column -> source name, as given with `--map`.
        aliases: extra source name -> canonical column, from the user's own file.
        signal: judge this column as the main one instead of the loss.
        direction: which way is bad for `signal`: up | down.
        from_step: first step that is judged (inclusive); None = the first.
        to_step: last step that is judged (inclusive); None = the last.
        segment: "last" = judge only the last segment; None = all.
        sensitivity: low | normal | high: scales the z thresholds by 1.5 | 1 | 0.75.
        max_incidents: most incidents that are reported one by one; the rest is rolled up.
        join: several paths are one run.
        checkpoints: folder that holds the saved states; their steps are read from the names.
        checkpoint_every: steps between saved states, where no folder or log line names them.
        grammars: file of line grammars of the user's own for console text (docs/grammars.md).
        batches: second file with columns per batch (lengths, tokens, sources), joined by step.
        lang: en | zh.
        checklist: how much of a checklist the terminal prints: full | short (what the log answers, the first experiment
            and what must wait) | none. JSON always holds all of it.
        limits: what a reader takes.
    """

    window: int | None = None
    fail_on: str = "unresolved"
    mapping: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    signal: str | None = None
    direction: str = "up"
    from_step: int | None = None
    to_step: int | None = None
    segment: str | None = None
    sensitivity: str = "normal"
    max_incidents: int = 100
    join: bool = False
    checkpoints: str | None = None
    checkpoint_every: int | None = None
    batches: str | None = None
    grammars: str | None = None
    lang: str = "en"
    checklist: str = "short"
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        """Refuse values that make no sense; raises UsageError."""
        _choice("fail-on", self.fail_on, FAIL_ON)
        _choice("sensitivity", self.sensitivity, SENSITIVITY)
        _choice("lang", self.lang, LANGUAGES)
        _choice("direction", self.direction, DIRECTIONS)
        _choice("checklist", self.checklist, CHECKLIST)
        if self.segment not in (None, "last"):
            raise UsageError(f"segment is {self.segment!r}", hint="use `last`, or leave it out")
        if self.window is not None and not 8 <= self.window <= 100_000:
            raise UsageError(f"window is {self.window}", hint="use 8 to 100000 logged points")
        if self.checkpoint_every is not None and self.checkpoint_every < 1:
            raise UsageError(f"checkpoint-every is {self.checkpoint_every}", hint="use 1 or more steps")
        if self.max_incidents < 1:
            raise UsageError(f"max-incidents is {self.max_incidents}", hint="use 1 or more")
        if self.from_step is not None and self.to_step is not None and self.from_step > self.to_step:
            raise UsageError(f"from-step {self.from_step} lies after to-step {self.to_step}", hint="swap them")

    def as_json(self) -> dict[str, Any]:
        """The settings as plain JSON values, for the report."""
        out = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "limits"}
        out["limits"] = {f.name: getattr(self.limits, f.name) for f in fields(self.limits)}
        return out


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}", hint=f"use one of {', '.join(allowed)}")
