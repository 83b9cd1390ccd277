"""Readers: paths or standard input → RunTables. One format per file; READERS lists them in the order they are asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

from triage.errors import TriageError, UnreadableError, UsageError
from triage.model import Notice, ReadError, RunTable
from triage.options import Options
from triage.readers import console, csv, hf_state, json_document, jsonl, mlflow, parquet, tensorboard, wandb
from triage.readers._console_grammar import user_grammars
from triage.readers._contract import Reader, Source, Wanted, everything
from triage.readers._discover import Candidate, discover
from triage.readers._gather import Part, collect
from triage.readers._refused import REFUSED
from triage.readers._table import RunInput, build
from triage.readers._witness import Fault, Record, settle

READERS: Final[tuple[Reader, ...]] = (
    parquet.READER,
    wandb.READER,
    tensorboard.READER,
    mlflow.READER,
    *REFUSED,
    hf_state.READER,
    jsonl.READER,
    json_document.READER,
    csv.READER,
    console.READER,
)
"""In sniff order: sure signatures first, free text last. A new reader is one file and one line here."""


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What one call read.

    Attributes:
        runs: one table a run, in the order of the paths.
        errors: what could not be read.
        picked: the files that a search chose; empty where every file was named.
    """

    runs: tuple[RunTable, ...]
    errors: tuple[ReadError, ...]
    picked: tuple[str, ...]


def sniff(source: Source, readers: Sequence[Reader] = READERS) -> Reader | None:
    """The reader whose format a source is; None where nobody knows it."""
    return next((reader for reader in readers if reader.sniff(source)), None)


def readers_for(options: Options) -> tuple[Reader, ...]:
    """The readers, the console's with the user's own grammars in front; raises UsageError for a file of no use."""
    if options.grammars is None:
        return READERS
    from pathlib import Path

    own = console.reader_with(user_grammars(Path(options.grammars)))
    return tuple(own if reader is console.READER else reader for reader in READERS)


def read_runs(
    paths: Sequence[str], options: Options, *, stdin: BinaryIO | None = None, wanted: Wanted = everything
) -> ReadResult:
    """Read all runs at the given paths.

    Args:
        paths: files, folders, patterns, or "-"; empty = standard input where it carries something, or else the current
            directory.
        options: mapping, aliases, limits, and `join`: all paths are one run.
        stdin: the bytes behind "-".
        wanted: which source columns are needed; readers may deliver more.

    Returns:
        The runs and what could not be read; nothing that is wrong with a log is raised.

    Raises:
        UsageError: `--map` does not fit any of the logs.
    """
    readers = readers_for(options)
    found = discover(paths, options, stdin, lambda source: sniff(source, readers))
    candidates = [_joined(found.candidates)] if options.join and len(found.candidates) > 1 else found.candidates
    records: list[Record] = []
    faults = [Fault(error, folder) for folder, error in found.faults]
    for candidate in candidates:
        try:
            records += (Record(table, candidate.folder) for table in _read(candidate, options, wanted, readers))
        except (UnreadableError, UsageError) as fault:
            reader = candidate.parts[0].reader
            faults.append(Fault(fault, candidate.folder, reader.name if reader else ""))
    wrong = [fault.error for fault in faults if isinstance(fault.error, UsageError)]
    if wrong and not records:
        raise wrong[0]
    tables, errors = settle(records, faults, options)
    picked = tuple(table.source.path for table in tables) if found.is_search else ()
    return ReadResult(_named_apart(tables), tuple(map(_as_error, errors)), picked)


def _joined(candidates: Iterable[Candidate]) -> Candidate:
    """All candidates as one run, in order."""
    members = list(candidates)
    parts = tuple(part for member in members for part in member.parts)
    if all(part.is_eval for part in parts):
        parts = tuple(replace(part, is_eval=False) for part in parts)  # a name that they share says nothing
    notices = tuple(notice for member in members for notice in member.notices)
    return Candidate(members[0].name, parts, "", notices)


def _read(candidate: Candidate, options: Options, wanted: Wanted, readers: Sequence[Reader]) -> list[RunTable]:
    """Read the parts of a candidate; several tables where a source holds several runs."""
    runs: dict[str | None, list[Part]] = {}
    shown: list[str] = []
    name = ""
    for file in candidate.parts:
        source = file.open()
        reader = file.reader or sniff(source, readers)
        if reader is None:
            raise _unknown(source)
        name = name or reader.name
        shown.append(source.path)
        for run, part in _collect(reader, source, options, wanted, file.rank, is_eval=file.is_eval).items():
            runs.setdefault(run, []).append(part)
    if not runs:
        raise UnreadableError(
            f"read as {name}, but it holds no row", path=shown[0], hint="has the run logged anything yet?"
        )
    tables = []
    for run, parts in runs.items():
        run_input = RunInput(run or candidate.name, ", ".join(shown), name, parts, candidate.notices)
        tables.append(build(run_input, options))
    return tables


def _unknown(source: Source) -> UnreadableError:
    if not source.head.strip():
        return UnreadableError("holds nothing but blanks", path=source.path, hint="has the run written anything yet?")
    return UnreadableError(
        "is in no format that triage knows",
        path=source.path,
        hint="give JSON lines, CSV, Parquet, TensorBoard event files, a W&B run, a trainer state, or console text; "
        "for lines of your own make, name a grammar with --grammars",
    )


def _collect(
    reader: Reader, source: Source, options: Options, wanted: Wanted, rank: int | None, *, is_eval: bool
) -> dict[str | None, Part]:
    """Run a reader; what a library raises over a damaged file becomes an error that a person can act on."""
    import polars as pl

    try:
        parts = collect(reader.read(source, options.limits, wanted), options, rank=rank, is_eval=is_eval)
    except (OSError, ValueError, OverflowError, RecursionError, pl.exceptions.PolarsError) as fault:
        reason = str(fault).strip().partition("\n")[0][:200] or type(fault).__name__
        raise UnreadableError(
            f"looks like {reader.name} but could not be read: {reason}", path=source.path, hint="is the file complete?"
        ) from fault
    if torn := source.torn():
        for part in parts.values():
            part.notices.append(Notice("torn-archive", torn, source.path))
    return parts


def _named_apart(tables: Sequence[RunTable]) -> tuple[RunTable, ...]:
    """Give every run an id of its own: a number behind those that share one."""
    seen: dict[str, int] = {}
    apart = []
    for table in tables:
        count = seen[table.run_id] = seen.get(table.run_id, 0) + 1
        apart.append(table if count == 1 else replace(table, run_id=f"{table.run_id} ({count})"))
    return tuple(apart)


def _as_error(fault: TriageError) -> ReadError:
    return ReadError(fault.path, int(fault.exit_code), fault.message, fault.hint)
