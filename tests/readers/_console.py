"""Reading console text in tests: a text in, plain rows out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triage.model import Block
from triage.options import Limits
from triage.readers import console
from triage.readers._console_grammar import Grammars
from triage.readers._contract import everything
from triage.readers._source import open_path

CASES = Path(__file__).parents[1] / "cases" / "console"


@dataclass(frozen=True)
class Read:
    """What a text was read as; `rows` hold the cells that are there."""

    blocks: list[Block]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all blocks, in order."""
        return [
            {name: value for name, value in row.items() if value is not None}
            for block in self.blocks
            for row in block.frame.to_dicts()
        ]

    @property
    def meta(self) -> dict[str, Any]:
        """The facts of the last block."""
        return dict(self.blocks[-1].meta)

    @property
    def events(self) -> list[dict[str, Any]]:
        """All messages."""
        return [event for block in self.blocks for event in block.meta["text_events"]]

    @property
    def notices(self) -> dict[str, int]:
        """Notice id → count."""
        counts: dict[str, int] = {}
        for block in self.blocks:
            for notice in block.notices:
                counts[notice.id] = counts.get(notice.id, 0) + notice.count
        return counts

    def column(self, name: str) -> list[Any]:
        """The numbers of a column, in order."""
        return [row[name] for row in self.rows if name in row]


def read_path(
    path: Path,
    *,
    limits: Limits | None = None,
    wanted: Callable[[str], bool] = everything,
    grammars: Grammars | None = None,
) -> Read:
    """Read a file."""
    limits = limits or Limits()
    return Read(list(console.read(open_path(path, limits), limits, wanted, grammars)))


def read_text(folder: Path, text: str | bytes, name: str = "train.log", **options: Any) -> Read:
    """Write a text to a file and read it."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_path(path, **options)


def sniffs(folder: Path, text: str | bytes, name: str = "train.log") -> bool:
    """Is a text taken?"""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return console.READER.sniff(open_path(path, Limits()))


def same(got: Any, want: Any) -> bool:
    """Equal, NaN being equal to NaN and numbers to six digits."""
    if isinstance(want, float) and isinstance(got, int | float):
        return (math.isnan(got) and math.isnan(want)) or got == want or math.isclose(got, want, rel_tol=1e-6)
    return bool(got == want)
