"""Several records of one run (a table, its console text, its event files): which one is believed.

Separate because it looks at finished tables: names say that two files may be of one run, the numbers say whether they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from triage.model import Notice, RunTable
from triage.readers._columns import looks_like_loss

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SAME_SHARE: Final = 0.9
"""Share of the shorter record's losses that must be found in the longer one."""

CLOSE: Final = 2e-3
"""Relative difference up to which two prints of one loss are equal: consoles keep three or four digits."""

PRINTED_DIGITS: Final = 6
"""Most significant digits of a loss on a console."""

MOST_SERIES: Final = 50
"""Most columns of one record in which the loss of another is looked for."""

FEWEST: Final = 2
"""Fewest losses by which two records are compared."""


@dataclass(frozen=True, slots=True)
class Record:
    """A table, and the folder of the run that it was found in ("" = it was named outright)."""

    table: RunTable
    folder: str


def believed(records: Sequence[Record]) -> tuple[list[RunTable], list[RunTable]]:
    """Leave out the tables that are another record of a run that is told better by a table of the same folder.

    Returns:
        The tables that stand, in order, each with a notice of its other records; and those that were left out.
    """
    order = sorted(range(len(records)), key=lambda i: (_worth(records[i].table), -i), reverse=True)
    kept: list[int] = []
    copies: dict[int, list[RunTable]] = {}
    left: list[RunTable] = []
    for i in order:
        record = records[i]
        owner = next((k for k in kept if _is_copy(record, records[k])), None)
        if owner is None:
            kept.append(i)
        else:
            copies.setdefault(owner, []).append(record.table)
            left.append(record.table)
    tables = []
    for i in sorted(kept):
        table = records[i].table
        if i in copies:
            detail = {"paths": ", ".join(copy.source.path for copy in copies[i])}
            table = replace(
                table, notices=(*table.notices, Notice("other-records-of-run", len(copies[i]), None, detail))
            )
        tables.append(table)
    return tables, left


def _worth(table: RunTable) -> tuple[int, bool, bool, int, int]:
    """How much a record tells: losses, real steps, unrounded losses, columns, evaluations."""
    columns = table.source.columns
    losses = columns["loss"].points if "loss" in columns else 0
    evals = columns["eval_loss"].points if "eval_loss" in columns else 0
    return losses, table.source.step_unit != "row", _is_exact(table), len(columns), evals


def _is_exact(table: RunTable) -> bool:
    """Say whether most losses have more digits than a console prints."""
    if "loss" not in table.frame.columns:
        return False
    loss = table.frame["loss"]
    finite = loss.filter(loss.is_finite())
    return bool(len(finite)) and 2 * int((finite != finite.round_sig_figs(PRINTED_DIGITS)).sum()) > len(finite)


def _is_copy(record: Record, better: Record) -> bool:
    if not record.folder or record.folder != better.folder or record.table.source.path == better.table.source.path:
        return False  # several runs of one file are several runs
    if _worth(record.table)[0] == 0 and _says_nothing(record.table):
        return True
    ours, theirs = _series(record.table), _series(better.table)
    # The loss of one may stand under another name beside the loss of the other (a mean over the epoch, say).
    return any(_is_same(ours[0], other) for other in theirs) or any(_is_same(theirs[0], other) for other in ours)


def _says_nothing(table: RunTable) -> bool:
    """Say whether a table has no series of anything: a file of results beside the log."""
    return table.frame.height < FEWEST


def _series(table: RunTable) -> list[tuple[Array, Array]]:
    """Steps and values of the columns that are losses; the judged one first."""
    names: list[str] = [n for n in ("loss", "eval_loss") if n in table.frame.columns]
    names += [n for n in table.frame.columns if n not in names and looks_like_loss(n)]
    series = []
    for name in names[:MOST_SERIES]:
        rows = table.frame.filter(table.frame[name].is_not_null())
        series.append((rows["step"].to_numpy(), rows[name].to_numpy()))
    return series or [(table.frame["step"].to_numpy()[:0],) * 2]


def _is_same(ours: tuple[Array, Array], theirs: tuple[Array, Array]) -> bool:
    if min(len(ours[1]), len(theirs[1])) < FEWEST:
        return False
    return _by_step(ours, theirs) or _by_order(ours[1], theirs[1])


def _by_step(ours: tuple[Array, Array], theirs: tuple[Array, Array]) -> bool:
    import numpy as np

    _, mine, others = np.intersect1d(ours[0], theirs[0], return_indices=True)
    if len(mine) < max(FEWEST, SAME_SHARE * len(np.unique(ours[0]))):
        return False
    return float(np.mean(_close(ours[1][mine], theirs[1][others]))) >= SAME_SHARE


def _by_order(ours: Array, theirs: Array) -> bool:
    """Compare from the first loss on, for records that count their steps differently."""
    import numpy as np

    count = min(len(ours), len(theirs))
    return float(np.mean(_close(ours[:count], theirs[:count]))) >= SAME_SHARE


def _close(ours: Array, theirs: Array) -> Array:
    import numpy as np

    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(ours - theirs) <= CLOSE * np.maximum(np.abs(ours), np.abs(theirs))
    same: Array = near | (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    return same
