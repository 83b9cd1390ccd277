"""What a search found, once it has been read: which of several records of a run is believed, and what is no run at all.

Separate because it looks at finished tables: names say that two files may be of one run, the numbers say whether they
are. Nothing that is left out here goes without a notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from triage.errors import TriageError
from triage.model import Notice, RunTable
from triage.options import Options
from triage.readers._columns import looks_like_loss
from triage.schema import BY_NAME

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SAME_SHARE: Final = 0.9
"""Share of the shorter record's losses that must be found in the longer one."""

CLOSE: Final = 2e-3
"""Relative difference up to which two prints of one loss are equal: consoles keep three or four digits."""

WITHOUT_STEPS: Final = 0.8
"""What a loss without a step is worth beside one with a step: a fifth more of them outweighs the steps."""

PRINTED_DIGITS: Final = 6
"""Most significant digits of a loss on a console."""

MOST_SERIES: Final = 50
"""Most columns of one record in which the loss of another is looked for."""

PATHS_SHOWN: Final = 5
"""Most paths that a notice names."""

FEWEST: Final = 2
"""Fewest losses by which two records are compared."""


LOOSE: Final = frozenset({"json", "console"})
"""Formats that files of many other kinds look like: where a search finds a run beside one, it was no log."""

PLACES: Final = frozenset(
    {"step", "time", "epoch", "rank", "tokens", "samples", "step_time", "throughput", "batch_size", "seq_len"}
)
"""Canonical columns that say where a row stands or how fast it went, and nothing of how the training goes."""


@dataclass(frozen=True, slots=True)
class Record:
    """A table, and the folder of the run that it was found in ("" = it was named outright)."""

    table: RunTable
    folder: str


@dataclass(frozen=True, slots=True)
class Fault:
    """What could not be read.

    Attributes:
        error: why.
        folder: as in Record.
        reader: the format that it was taken for; "" = none.
    """

    error: TriageError
    folder: str = ""
    reader: str = ""


def settle(
    records: Sequence[Record], faults: Sequence[Fault], options: Options
) -> tuple[list[RunTable], list[TriageError]]:
    """Decide which tables are runs and which faults are errors.

    Left out, with a notice on the table that tells the same better: another record of its run, a table without any
    metric of a training, a file of the run's folder that could not be read, a file that only looked like a log. What
    was named outright stays.
    """
    owners = _owners(records)
    kept = [i for i in range(len(records)) if owners[i] == i]
    runs = [i for i in kept if not records[i].folder or _tells(records[i].table, options)]
    searched = [i for i in runs if records[i].folder]
    if not searched:
        runs = kept
    notices: dict[int, list[Notice]] = {}

    def tell(run: int, kind: str, paths: Sequence[str | None], **detail: str) -> None:
        shown = ", ".join(path for path in paths[:PATHS_SHOWN] if path)
        notices.setdefault(run, []).append(Notice(kind, len(paths), None, {"paths": shown, **detail}))

    for run in runs:
        if copies := [r.table.source.path for i, r in enumerate(records) if owners[i] == run != i]:
            tell(run, "other-records-of-run", copies)
    if passed := [records[i].table.source.path for i in kept if i not in runs]:
        tell(searched[0], "files-without-metrics", passed)
    errors: list[TriageError] = []
    for fault in faults:
        beside = next((i for i in searched if records[i].folder == fault.folder), None)
        if beside is None and searched and fault.folder and fault.reader in LOOSE:
            beside = searched[0]
        if beside is None:
            errors.append(fault.error)
        else:
            tell(beside, "file-not-read", [fault.error.path], reason=fault.error.message)
    tables = [replace(records[i].table, notices=(*records[i].table.notices, *notices.get(i, ()))) for i in runs]
    return tables, errors


def _owners(records: Sequence[Record]) -> list[int]:
    """For every record the one that tells its run best; itself where it does."""
    owners = list(range(len(records)))
    folders: dict[str, list[int]] = {}
    for i, record in enumerate(records):
        if record.folder:
            folders.setdefault(record.folder, []).append(i)
    for members in folders.values():
        best: list[int] = []
        for i in sorted(members, key=lambda i: (_worth(records[i].table), -i), reverse=True):
            owner = next((k for k in best if _is_copy(records[i].table, records[k].table)), None)
            if owner is None:
                best.append(i)
            else:
                owners[i] = owner
    return owners


def _tells(table: RunTable, options: Options) -> bool:
    """Say whether a table holds anything of a training."""
    names = table.source.columns
    return any(
        (name in BY_NAME and name not in PLACES) or name == options.signal or looks_like_loss(name) for name in names
    )


def _worth(table: RunTable) -> tuple[float, bool, bool, int, int]:
    """How much a record tells: losses (less where rows had to be counted), digits, no console, columns, evaluations."""
    columns = table.source.columns
    losses = columns["loss"].points if "loss" in columns else 0
    evals = columns["eval_loss"].points if "eval_loss" in columns else 0
    weight = 1.0 if table.source.step_unit != "row" else WITHOUT_STEPS
    return weight * losses, _is_exact(table), "console" not in table.source.format, len(columns), evals


def _is_exact(table: RunTable) -> bool:
    """Say whether most losses have more digits than a console prints."""
    if "loss" not in table.frame.columns:
        return False
    loss = table.frame["loss"]
    finite = loss.filter(loss.is_finite())
    return bool(len(finite)) and 2 * int((finite != finite.round_sig_figs(PRINTED_DIGITS)).sum()) > len(finite)


def _is_copy(table: RunTable, better: RunTable) -> bool:
    if table.source.path == better.source.path:
        return False  # several runs of one file are several runs
    if _worth(table)[0] == 0 and table.frame.height < FEWEST:
        return True  # a file of results beside the log
    ours, theirs = _series(table), _series(better)
    # The loss of one may stand under another name beside the loss of the other (a mean over the epoch, say).
    return any(_is_same(ours[0], other) for other in theirs) or any(_is_same(theirs[0], other) for other in ours)


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
