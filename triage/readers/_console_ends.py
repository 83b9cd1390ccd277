"""Rows that were not written to their end: torn by another writer, or cut where the job was killed.

Separate because both are about what must not be believed: half a number is a number, and a row without its last
fields looks like one that lost its loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triage.readers._console_pieces import Pieces
from triage.readers._console_templates import Found

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def without_torn(found: Sequence[Found], pieces: Pieces, counts: Counter[str]) -> list[Found]:
    """Leave out rows that were begun and never ended, unless they hold a number that is not finite."""
    import numpy as np

    if not pieces.torn:
        return list(found)
    kept = []
    for f in found:
        torn = np.isin(f.places, list(pieces.torn))
        if f.reading.kind in ("row", "eval"):
            for row in np.flatnonzero(torn).tolist():
                torn[row] = not any("n" in (column[row] or "").lower() for column in f.columns.values())
            counts["torn-rows"] += int(torn.sum())
            kept += _where(f, ~torn)
        else:
            kept.append(f)
    return kept


@dataclass(slots=True)
class Lengths:
    """How many numbers the rows of each grammar have.

    Attributes:
        most: kind and grammar → most numbers seen in a row.
    """

    most: dict[tuple[str, int], int] = field(default_factory=dict)

    def learn(self, found: Sequence[Found]) -> None:
        """Remember the rows of a block."""
        for f in found:
            key = (f.reading.kind, id(f.reading.grammar))
            self.most[key] = max(self.most.get(key, 0), len(f.reading.cells))

    def without_cut_end(self, found: Sequence[Found], texts: Sequence[str], counts: Counter[str]) -> list[Found]:
        """Leave out the last line where it ends in a number before the rows of its kind do.

        What was written to its end without a line feed (a log that was copied) has all its numbers and stays; so does a
        row with a number that is not finite.
        """
        import numpy as np

        kept = []
        for f in found:
            reading = f.reading
            last = np.flatnonzero(f.places == len(texts) - 1)
            most = self.most.get((reading.kind, id(reading.grammar)), 0)
            if not len(last) or len(reading.cells) >= most or not reading.cells:
                kept.append(f)
                continue
            row = int(last[0])
            name = reading.cells[-1].name
            value = f.columns[name][row]
            is_odd = any("n" in (column[row] or "").lower() for column in f.columns.values())
            if is_odd or not texts[-1].rstrip().endswith(value):
                kept.append(f)
                continue
            counts["cut-rows"] += 1
            kept += _where(f, np.arange(len(f.places)) != row)
        return kept


def _where(found: Found, kept: NDArray[np.bool_]) -> list[Found]:
    import polars as pl

    if kept.all():
        return [found]
    if not kept.any():
        return []
    mask = pl.Series(kept)
    return [
        Found(found.places[kept], found.reading, {name: column.filter(mask) for name, column in found.columns.items()})
    ]
