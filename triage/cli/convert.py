"""`triage convert`: the normalised columnar table of a log as a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from triage.cli import _flags as flag
from triage.cli._session import complain, inputs, remark, settings_of
from triage.cli._write import check_output, write_whole
from triage.errors import ExitCode, TriageError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from triage.model import RunTable

FORMATS: Final[Mapping[str, str]] = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
"""Ending of the output file → table format."""

JSONL_ROWS: Final = 10_000
"""Rows that are turned into text at a time; keeps memory flat on a large log."""

TableOutput = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="The table: FILE.parquet, .arrow, .csv or .jsonl.")
]
TableFormat = Annotated[
    str | None,
    typer.Option("--format", "-f", metavar="parquet|arrow|csv|jsonl", help="Table format. Default: by the ending."),
]


def convert(
    *,
    output: TableOutput,
    paths: flag.Paths = None,
    map: flag.Map = None,  # noqa: A002 - the name of the flag
    join: flag.Join = None,
    grammars: flag.Grammars = None,
    format: TableFormat = None,  # noqa: A002 - the name of the flag
    lang: flag.Lang = None,
    quiet: flag.Quiet = None,
    debug: flag.Debug = False,
    version: flag.Version = False,
) -> int:
    """Write the columnar table that the log was read into.

    NaN and infinities stay what they are; a value that was not logged is null. Several runs are one table with a column
    `run` in front. Exit code 0: written; 2: bad arguments; 3: could not read; 5: could not be written.
    """
    given = locals()
    settings = settings_of({name: value for name, value in given.items() if name != "format"})
    write = WRITERS[_table_format(output, format)]
    chosen, stdin = inputs(paths, settings)
    check_output(output, chosen)
    from triage.readers import read_runs

    found = read_runs(chosen, settings.options(), stdin=stdin)
    for error in found.errors:
        complain(TriageError(error.message, path=error.path, hint=error.hint))
    if not found.runs:
        return max((error.exit_code for error in found.errors), default=int(ExitCode.UNREADABLE))
    table = _one_table(found.runs)
    write_whole(output, lambda path: write(table, path))
    remark(settings, "written", path=output, rows=table.height, columns=table.width)
    return int(ExitCode.UNREADABLE) if found.errors else int(ExitCode.OK)


def _table_format(output: str, name: str | None) -> str:
    if name is not None:
        if name not in WRITERS:
            raise UsageError(f"format is {name!r}", hint=f"use one of {', '.join(WRITERS)}")
        return name
    ending = Path(output).suffix.lower()
    if ending not in FORMATS:
        raise UsageError(
            f"the ending {ending!r} names no table format", path=output, hint=f"use one of {', '.join(FORMATS)}"
        )
    return FORMATS[ending]


def _one_table(runs: Sequence[RunTable]) -> pl.DataFrame:
    """The table of the run, or of all runs one below the other with their names in front."""
    import polars as pl

    if len(runs) == 1:
        return runs[0].frame
    named = [run.frame.select(pl.lit(run.run_id).alias("run"), pl.all()) for run in runs]
    return pl.concat(named, how="diagonal_relaxed")


def _write_jsonl(table: pl.DataFrame, path: Path) -> None:
    """One strict JSON object per row; null is left out, non-finite numbers are the words of the report."""
    import json

    with path.open("w", encoding="utf-8") as file:
        for row in _rows(table):
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")


def _rows(table: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for part in table.iter_slices(JSONL_ROWS):
        for row in part.iter_rows(named=True):
            yield {name: _plain(value) for name, value in row.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


WRITERS: Final[Mapping[str, Callable[[pl.DataFrame, Path], object]]] = {
    "parquet": lambda table, path: table.write_parquet(path),
    "arrow": lambda table, path: table.write_ipc(path, compression="zstd"),
    "csv": lambda table, path: table.write_csv(path),
    "jsonl": _write_jsonl,
}
"""How each table format is written."""
