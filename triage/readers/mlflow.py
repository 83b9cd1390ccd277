"""MLflow runs: its database (`mlflow.db`, one or many runs) and the run folders of its store of files.

The database hides what is not finite: NaN is the number 0 with a mark beside it, and ±inf is the largest double.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UnreadableError
from triage.model import Block, Notice
from triage.options import Limits
from triage.readers._contract import Reader, Source, Wanted
from triage.readers._mlflow_rows import RunFacts, Skipped, Value, block_of, frame_of_values
from triage.readers._mlflow_store import is_run_folder, read_facts, read_values
from triage.readers._records import Columns

if TYPE_CHECKING:
    import sqlite3

SIGNATURE: Final = b"SQLite format 3\0"

LARGEST: Final = sys.float_info.max
"""What the database holds for infinity."""

VALUES: Final = 200_000
"""Values of a run that are turned into rows at a time."""

NEEDED: Final = frozenset({"key", "value", "timestamp", "run_uuid"})
"""Columns of the table of metrics in every version."""


def sniff(source: Source) -> bool:
    """Is this a database, or the folder of one run?"""
    if source.head.startswith(SIGNATURE):
        return True
    return source.local is not None and source.local.is_dir() and is_run_folder(source.local)


def read(source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    """Yield the runs one after another, each with its parameters as config; the step is the one passed to MLflow.

    Of a metric that was logged twice for a step both values are kept, in the order of time.

    Raises:
        UnreadableError: no MLflow database, or one without metrics.
    """
    if source.local is not None and source.local.is_dir():
        yield from _read_folder(source.local, limits, wanted)
        return
    import sqlite3  # here, as a Python may have been built without it

    with contextlib.ExitStack() as stack:
        path = _on_disk(source, stack)
        try:
            database = stack.enter_context(contextlib.closing(_connect(path)))
            yield from _read_database(database, source, limits, wanted)
        except sqlite3.Error as fault:
            raise UnreadableError(
                f"the database cannot be read: {fault}",
                path=source.path,
                hint="copy it again while nothing writes to it",
            ) from fault


READER: Final = Reader("mlflow", sniff, read)


def _read_folder(folder: Path, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    facts = read_facts(folder)
    values, size, notices = read_values(folder, limits)
    columns, skipped = Columns(wanted, limits.columns), Skipped()
    frame = frame_of_values(values, columns, skipped)
    found = (*notices, *facts.notices(), *skipped.notices(), *columns.notices())
    yield Block(frame, facts.name or None, found, {**facts.meta(), "bytes": size})


def _on_disk(source: Source, stack: contextlib.ExitStack) -> Path:
    """The plain file, unpacked beside the system's other temporary files where it has to be."""
    if source.local is not None:
        return source.local
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triage-")))
    path = folder / "unpacked.db"
    with source.open() as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain, 1 << 20)
    return path


def _connect(path: Path) -> sqlite3.Connection:
    """Open for reading only, and without a lock, so that a training run that writes to it is never kept waiting.

    With a write-ahead log beside it the newest values are in there; reading that keeps no writer waiting either.
    """
    import sqlite3

    wal = path.with_name(path.name + "-wal")
    uri = path.resolve().as_uri()
    if wal.exists() and wal.stat().st_size:
        with contextlib.suppress(sqlite3.Error):
            database = sqlite3.connect(f"{uri}?mode=ro", uri=True)
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return database
    return sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)


def _read_database(database: sqlite3.Connection, source: Source, limits: Limits, wanted: Wanted) -> Iterator[Block]:
    # Someone else's file: nothing in its schema is run.
    database.execute("PRAGMA trusted_schema = OFF")
    database.text_factory = lambda text: text.decode("utf-8", "replace")
    columns = _columns_of(database, "metrics")
    if not columns >= NEEDED:
        raise UnreadableError(
            "is an SQLite database without MLflow's table of metrics",
            path=source.path,
            hint="give the log itself, or the database that `mlflow server` was started with",
        )
    counts = dict(database.execute("SELECT run_uuid, count(*) FROM metrics GROUP BY run_uuid"))
    if not counts:
        raise UnreadableError("the database holds no metrics yet", path=source.path, hint="has a run logged anything?")
    runs, empty = _runs_of(database, counts)
    notices = [Notice("runs-without-rows", empty)] if empty else []
    deleted = [run for run in runs if run.is_deleted]
    if deleted and len(deleted) < len(runs):
        notices.append(Notice("deleted-runs", len(deleted)))
        runs = [run for run in runs if not run.is_deleted]
    names = Counter(run.name for run in runs)
    for run in runs:
        name = run.name if run.name and names[run.name] == 1 else f"{run.name}-{run.run_id[:8]}".lstrip("-")
        for block in _read_run(database, run, name, columns, (limits, wanted)):
            yield Block(block.frame, block.run, (*notices, *block.notices), {**block.meta, "bytes": source.size})
            notices.clear()


def _read_run(
    database: sqlite3.Connection, run: RunFacts, name: str, columns: frozenset[str], settings: tuple[Limits, Wanted]
) -> Iterator[Block]:
    """Yield the values of one run in the order of time; where the database is damaged, those before."""
    import sqlite3

    limits, wanted = settings
    taken, skipped = Columns(wanted, limits.columns), Skipped()
    step = "step" if "step" in columns else "0"
    mark = "is_nan" if "is_nan" in columns else "0"
    query = f"SELECT key, value, timestamp, {step}, {mark} FROM metrics WHERE run_uuid = ? ORDER BY timestamp, rowid"  # noqa: S608 - names of ours
    end: tuple[Notice, ...] = run.notices()
    is_first = True
    try:
        found = database.execute(query, (run.run_id,))
        while rows := found.fetchmany(VALUES):
            frame = frame_of_values([_value_of(row) for row in rows], taken, skipped)
            yield block_of(frame, name, run, taken.notices())
            is_first = False
    except sqlite3.DatabaseError as fault:
        if is_first:
            raise
        end = (*end, Notice("database-damaged", 1, name, {"reason": str(fault)}))
    import polars as pl

    yield block_of(pl.DataFrame(), name, run, (*skipped.notices(), *end))


def _value_of(row: tuple[Any, ...]) -> Value:
    metric, value, time, step, is_nan = row
    number: float | None
    if is_nan:
        number = float("nan")
    elif isinstance(value, (int, float)):
        number = float(value)
        if abs(number) >= LARGEST:
            number = float("inf") if number > 0 else float("-inf")
    else:
        number = None
    return str(metric), number, _whole(time), _whole(step)


def _whole(cell: Any) -> int:
    return cell if isinstance(cell, int) else 0


def _columns_of(database: sqlite3.Connection, table: str) -> frozenset[str]:
    """The columns of a table; none where there is no such table (a view is none)."""
    is_table = database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    if not is_table:
        return frozenset()
    return frozenset(str(row[1]) for row in database.execute(f"PRAGMA table_info({table})"))


def _runs_of(database: sqlite3.Connection, counts: dict[str, int]) -> tuple[list[RunFacts], int]:
    """The runs that have metrics, in the order in which they began; and how many have none."""
    known = _columns_of(database, "runs")
    params: dict[str, dict[str, str]] = {}
    if _columns_of(database, "params") >= {"key", "value", "run_uuid"}:
        for run, key, value in database.execute("SELECT run_uuid, key, value FROM params"):
            params.setdefault(str(run), {})[str(key)] = str(value)
    wanted = ("name", "status", "start_time", "lifecycle_stage")
    rows: dict[str, dict[str, Any]] = {}
    if "run_uuid" in known:
        names = [name for name in wanted if name in known]
        for run, *cells in database.execute(f"SELECT {', '.join(('run_uuid', *names))} FROM runs"):  # noqa: S608 - names of ours
            rows[str(run)] = dict(zip(names, cells, strict=True))
    found = []
    for run in map(str, counts):
        row = rows.get(run, {})
        start = row.get("start_time")
        found.append(
            RunFacts(
                run_id=run,
                name=str(row.get("name") or ""),
                status=str(row.get("status") or ""),
                started=start / 1e3 if isinstance(start, int) else None,
                params=params.get(run, {}),
                is_deleted=row.get("lifecycle_stage") == "deleted",
            )
        )
    return sorted(found, key=lambda run: run.started or 0.0), len(rows.keys() - set(map(str, counts)))
