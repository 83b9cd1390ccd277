"""Where each setting comes from: defaults < triage.toml or [tool.triage] < TRIAGE_* < flags.

Separate from `options.py`, which says what the settings are: this file finds their values and remembers the origin of
each, for `triage config` and for messages that name the line to mend.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from triage.errors import UsageError
from triage.options import CHECKLIST, DIRECTIONS, FAIL_ON, LANGUAGES, SENSITIVITY, Limits, Options

FILE_NAME: Final = "triage.toml"
PROJECT_FILE: Final = "pyproject.toml"
ENV_PREFIX: Final = "TRIAGE_"
SHOW_SETTINGS: Final[Mapping[str, Any]] = {"format": None, "color": "auto", "quiet": False}
"""Settings of the command line that are no part of an analysis, with their defaults."""

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True)
class Kind:
    """What values a setting takes.

    Attributes:
        words: how the kind is named in a message.
        holds: is a value of a configuration file of this kind?
        parse: text of an environment variable → value; raises ValueError.
    """

    words: str
    holds: Callable[[Any], bool]
    parse: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Value:
    """The value of one setting and where it came from."""

    value: Any
    origin: str
    """default | locale (NAME) | FILE:LINE | environment (NAME) | flag"""


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting by its kebab-case name, in a fixed order."""

    values: Mapping[str, Value]

    def __getitem__(self, name: str) -> Any:
        """The value of a setting."""
        return self.values[name].value

    def options(self) -> Options:
        """The settings of an analysis; raises UsageError, with its origin, for one that makes no sense."""
        plain = {name.replace("-", "_"): found.value for name, found in self.values.items() if "." not in name}
        limits = {
            name.partition(".")[2].replace("-", "_"): found.value
            for name, found in self.values.items()
            if name.startswith("limits.")
        }
        own = {name: value for name, value in plain.items() if name in {field.name for field in fields(Options)}}
        try:
            return Options(**{**own, "mapping": plain["map"], "limits": Limits(**limits)})
        except UsageError as error:
            origin = self.origin(error.message.partition(" ")[0])
            raise UsageError(error.message, path=origin, hint=error.hint) from error

    def origin(self, name: str) -> str | None:
        """Where the value of a setting came from; None for a flag or a default, which need no finding."""
        found = self.values.get(name)
        return None if found is None or found.origin in ("flag", "default") else found.origin


def _parse_flag(text: str) -> bool:
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(text)


def parse_pairs(text: str) -> dict[str, str]:
    """Read "loss=a,lr=b" as a mapping; raises ValueError where a part has no name on one side."""
    pairs: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        left, mark, right = (word.strip() for word in part.partition("="))
        if not (left and mark and right):
            raise ValueError(part)
        pairs[left] = right
    return pairs


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _one_of(choices: tuple[str, ...]) -> Kind:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(text)
        return text

    return Kind(f"one of {', '.join(choices)}", lambda value: value in choices, parse)


_NUMBER: Final = Kind("a whole number", _is_int, int)
_TEXT: Final = Kind("text", lambda value: isinstance(value, str), str)
_FLAG: Final = Kind("true or false", lambda value: isinstance(value, bool), _parse_flag)
_MAP: Final = Kind("a table of names", _is_map, parse_pairs)

KINDS: Final[Mapping[str, Kind]] = {
    "window": _NUMBER,
    "fail-on": _one_of(FAIL_ON),
    "map": _MAP,
    "aliases": _MAP,
    "signal": _TEXT,
    "direction": _one_of(DIRECTIONS),
    "from-step": _NUMBER,
    "to-step": _NUMBER,
    "segment": _one_of(("last",)),
    "sensitivity": _one_of(SENSITIVITY),
    "max-incidents": _NUMBER,
    "join": _FLAG,
    "checkpoints": _TEXT,
    "checkpoint-every": _NUMBER,
    "batches": _TEXT,
    "grammars": _TEXT,
    "lang": _one_of(LANGUAGES),
    "checklist": _one_of(CHECKLIST),
    "format": _TEXT,
    "color": _one_of(("auto", "always", "never")),
    "quiet": _FLAG,
    **{f"limits.{field.name.replace('_', '-')}": _NUMBER for field in fields(Limits)},
}
"""Every setting by its name, in the order of `triage config`."""


def resolve(flags: Mapping[str, Any], environ: Mapping[str, str], directory: Path) -> Settings:
    """Find the value of every setting.

    Args:
        flags: kebab-case name → value for the flags that were given; None = not given.
        environ: environment variables.
        directory: where the search for a configuration file starts; it goes upward to the root of the repository.

    Raises:
        UsageError: a configuration file that is broken, an unknown key, a value of the wrong kind.
    """
    values = _defaults()
    lang, origin = locale_language(environ)
    values["lang"] = Value(lang, origin)
    given = {name: Value(value, "flag") for name, value in flags.items() if value is not None}
    for layer in (read_file(directory), read_environment(environ), given):
        for name, found in layer.items():
            below = values[name].value
            merged = (
                {**below, **found.value} if isinstance(below, dict) and isinstance(found.value, dict) else found.value
            )
            values[name] = Value(merged, found.origin)
    return Settings({name: values[name] for name in KINDS})


def locale_language(environ: Mapping[str, str]) -> tuple[str, str]:
    """The language of the locale: zh for a Chinese one, else en; the first variable that is set decides."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(name):
            return ("zh" if environ[name].lower().startswith("zh") else "en"), f"locale ({name})"
    return "en", "default"


def read_environment(environ: Mapping[str, str]) -> dict[str, Value]:
    """The settings that TRIAGE_* variables give; an empty variable counts as not set. Raises UsageError."""
    found: dict[str, Value] = {}
    for setting, kind in KINDS.items():
        variable = ENV_PREFIX + setting.replace("-", "_").replace(".", "_").upper()
        raw = environ.get(variable)
        if not raw:
            continue
        try:
            found[setting] = Value(kind.parse(raw), f"environment ({variable})")
        except ValueError as error:
            raise UsageError(f"{variable} is {raw!r}", hint=f"set it to {kind.words}, or unset it") from error
    return found


def read_file(directory: Path) -> dict[str, Value]:
    """The settings of the nearest configuration file, from `directory` upward; empty where there is none."""
    for folder in (directory, *directory.parents):
        path = folder / FILE_NAME
        if path.is_file():
            text = _text(path)
            return _checked(_parsed(text, path), text, path)
        path = folder / PROJECT_FILE
        if path.is_file() and "[tool.triage" in (text := _text(path)):
            table = _parsed(text, path).get("tool", {}).get("triage", {})
            return _checked(table, text, path, skipped=text[: text.index("[tool.triage")].count("\n"))
        if (folder / ".git").exists():
            break
    return {}


def _defaults() -> dict[str, Value]:
    options = Options()
    plain: dict[str, Any] = {field.name.replace("_", "-"): getattr(options, field.name) for field in fields(options)}
    plain["map"] = plain.pop("mapping")
    limits = plain.pop("limits")
    plain.update({f"limits.{field.name.replace('_', '-')}": getattr(limits, field.name) for field in fields(limits)})
    return {name: Value(value, "default") for name, value in {**plain, **SHOW_SETTINGS}.items()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not UTF-8 text"
        raise UsageError(
            f"cannot read the configuration: {reason}", path=str(path), hint="mend or remove it"
        ) from error


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"broken TOML: {error}", path=str(path), hint="mend the line that is named") from error


def _checked(table: Mapping[str, Any], text: str, path: Path, *, skipped: int = 0) -> dict[str, Value]:
    """Check names and kinds of a configuration table; `skipped` lines before it belong to others."""
    if not isinstance(table, Mapping):
        raise UsageError("[tool.triage] is not a table", path=str(path), hint="write it as a table of settings")
    found: dict[str, Value] = {}
    for key, value in _flat(table).items():
        name = key.replace("_", "-")
        line = _line_of(text, key, skipped)
        where = f"{path}:{line}" if line else str(path)
        kind = KINDS.get(name)
        if kind is None:
            near = difflib.get_close_matches(name, KINDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known settings: {', '.join(KINDS)}"
            raise UsageError(f"line {line}: there is no setting {key!r}", path=str(path), hint=hint)
        if not kind.holds(value):
            raise UsageError(f"line {line}: {key} is {value!r}", path=str(path), hint=f"set it to {kind.words}")
        found[name] = Value(value, where)
    return found


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Turn [limits] into limits.NAME; the tables of names stay whole."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key == "limits" and isinstance(value, Mapping):
            flat.update({f"limits.{name}": item for name, item in value.items()})
        else:
            flat[key] = value
    return flat


def _line_of(text: str, key: str, skipped: int) -> int | None:
    """The first line that sets a key or opens its table; TOML parsers give no places for values."""
    name = re.escape(key.rpartition(".")[2])
    pattern = re.compile(rf"""^\s*(\[[\w.]*\b)?["']?{name}["']?\s*[=\].]""")
    lines = enumerate(text.splitlines(), 1)
    return next((n for n, line in lines if n > skipped and pattern.search(line)), None)
