"""Write docs/columns.md, docs/cli.md and docs/notices.md from what they describe.

    python scripts/pages.py           writes the pages
    python scripts/pages.py --check   says which are stale (exit code 1)

Separate from the package: it reads the tables, texts and help pages of the package and adds nothing to them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from triage.cli import COMMANDS
from triage.schema import COLUMNS, builtin_aliases
from triage.texts import ids, template

ROOT: Final = Path(__file__).resolve().parent.parent
HELP_WIDTH: Final = "100"
SCRUBBED: Final = re.compile(r"(TRIAGE|LC|GITHUB)_|(NO_COLOR|FORCE_COLOR|COLUMNS|LINES|TERM|CI|LANG|LANGUAGE)$")
"""Variables that would change a help page."""

COLUMNS_HEAD: Final = """\
# Columns

Written by `scripts/docs` from `triage/schema.py` and `triage/columns.toml`; do not edit by hand.

A log names its columns as it likes; these are the names that `triage` uses for those that it recognises. All others
keep their own name, are watched for NaN, and can be judged with `--signal NAME`.

A source name is looked up in lower case among the exact names, in the order given here; then with every run of blanks,
dots, slashes, colons and hyphens taken as one underscore; then against the patterns (whole name, case ignored). The
`never` patterns name what must not be taken although it fits. `--map loss=my/loss_name` wins over all of it; so does,
for every run of a project, a table `[aliases]` in `triage.toml` with lines such as `"my/loss_name" = "loss"`.
`triage inspect` shows where each column came from."""

CLI_HEAD: Final = """\
# Commands

Written by `scripts/docs` from `triage COMMAND --help`; do not edit by hand. What the exit codes mean:
[definitions 9](definitions.md)."""

NOTICES_HEAD: Final = """\
# Notices

Written by `scripts/docs` from `triage/texts/notices.toml`; do not edit by hand.

What a reader did with the input and a person should know: left out, repaired, guessed. A notice is never a verdict, and
nothing is left out without one. Names in braces stand for numbers and names; a part whose value is not known is not
said."""


def columns_page() -> str:
    """The canonical columns, and the source names that lead to each."""
    aliases = {alias.canonical: alias for alias in builtin_aliases()}
    rows = ["| column | unit | worse | meaning |", "| --- | --- | --- | --- |"]
    rows += [f"| `{c.name}` | {c.unit or '–'} | {c.worse or '–'} | {_cell(c.meaning)} |" for c in COLUMNS]
    parts = [COLUMNS_HEAD, "\n".join(rows), "## Source names"]
    for column in COLUMNS:
        alias = aliases.get(column.name)
        if alias is None:
            continue
        lines = [f"**{column.name}**: {', '.join(f'`{name}`' for name in alias.exact)}"]
        for word, patterns in (("patterns", alias.patterns), ("never", alias.never)):
            if patterns:
                lines.append(f"- {word}: {' '.join(f'`{pattern.pattern}`' for pattern in patterns)}")
        parts.append("\n".join([lines[0], "", *lines[1:]]) if len(lines) > 1 else lines[0])
    return "\n\n".join(parts) + "\n"


def cli_page() -> str:
    """The help of every command, as it is printed."""
    parts = [CLI_HEAD]
    for name in ("", *(command.__name__ for command in COMMANDS)):
        parts.append(f"## triage {name}".rstrip())
        parts.append(f"```text\n{_help(name)}```")
    return "\n\n".join(parts) + "\n"


def notices_page() -> str:
    """Every notice with its sentence in both languages, under the headings of the file."""
    parts = [NOTICES_HEAD]
    for title, names in _sections().items():
        rows = ["| id | English | 中文 |", "| --- | --- | --- |"]
        rows += [f"| `{name}` | {_sentence('en', name)} | {_sentence('zh', name)} |" for name in names]
        parts += [f"## {title.capitalize()}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "columns.md": columns_page,
    "cli.md": cli_page,
    "notices.md": notices_page,
}
"""Every page that this script writes, by its name in docs/."""


def main(arguments: list[str]) -> int:
    """Write the pages, or check them."""
    stale = []
    for name, page in PAGES.items():
        path = ROOT / "docs" / name
        text = page()
        if arguments == ["--check"]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"stale: {', '.join(stale)}; run scripts/docs", file=sys.stderr)
    return 1 if stale else 0


def _help(name: str) -> str:
    plain = {key: value for key, value in os.environ.items() if not SCRUBBED.match(key)}
    command = [sys.executable, "-m", "triage", *filter(None, [name]), "--help"]
    found = subprocess.run(
        command, capture_output=True, encoding="utf-8", env={**plain, "COLUMNS": HELP_WIDTH}, check=True, cwd=ROOT
    )
    return found.stdout.rstrip("\n") + "\n"


def _sections() -> dict[str, list[str]]:
    """The ids of the notices under the comment headings (`# ── title ──`) of their file."""
    text = (ROOT / "triage" / "texts" / "notices.toml").read_text(encoding="utf-8")
    sections: dict[str, list[str]] = {}
    title = "notices"
    for line in text.splitlines():
        if found := re.fullmatch(r"# ── (.+) ──", line):
            title = found[1]
        elif found := re.fullmatch(r"\[([\w-]+)\]", line):
            sections.setdefault(title, []).append(found[1])
    listed = [name for names in sections.values() for name in names]
    if listed != list(ids("notices")) or set(listed) != set(tomllib.loads(text)):
        raise ValueError("notices.toml: a notice is not under a plain [id] heading")
    return sections


def _sentence(lang: str, name: str) -> str:
    return _cell(template(lang, "notices", name))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
