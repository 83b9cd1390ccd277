"""What the readers make: blocks of rows, the table of a run, where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a reader or a stage did with the input and that a person should know; never a verdict.

    Attributes:
        id: kebab-case id with a text in `texts/notices.toml`.
        count: how many rows, cells, lines or bytes it concerns.
        where: file, line, column or step, as text; None where it is the whole source.
        detail: numbers and names that the text needs as placeholders.
    """

    id: str
    count: int = 1
    where: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """One stretch of source rows as a reader yields it: columns under their source names, nothing interpreted yet.

    Attributes:
        frame: one row per source row, in the order of the source. Numbers are Float64 or Int64, other cells String or
            Boolean. null = the cell is absent, blank or JSON null; NaN and ±inf = written as such.
        run: which run of the source the rows belong to; None = the source holds one run.
        notices: what was skipped, repaired or guessed in this stretch.
        meta: facts about the source, merged over all blocks of a run (later ones win). Known keys: `format`, `writer`,
            `config` (dict), `step_column` (the axis that the writer declares), `bytes` (read), `dropped` (rows),
            `text_events` (list of dicts: messages that carry a step), `aliases` (source name → canonical).
    """

    frame: pl.DataFrame
    run: str | None = None
    notices: tuple[Notice, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """Where a column came from and what it holds.

    Attributes:
        source: its name in the file, or names joined by ", " where several were coalesced.
        points: logged values, non-finite ones included, nulls not.
        nonfinite: NaN and ±inf among them (inferred NaN included).
        inferred: NaN that the encoder had dropped, among `nonfinite`.
        first_step, last_step: steps of the first and last logged value; None without points.
        last: the last logged value.
    """

    source: str
    points: int
    nonfinite: int
    inferred: int
    first_step: int | None
    last_step: int | None
    last: float | None


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What was read: the first lines of every report."""

    path: str
    format: str
    writer: str | None
    rows: int
    bytes: int | None
    dropped: int
    step_unit: str
    """optimizer step | sample | token | epoch | row (no step in the log)"""
    step_first: int | None
    step_last: int | None
    time_first: float | None
    time_last: float | None
    segments: int
    config: Mapping[str, Any]
    columns: Mapping[str, ColumnInfo]


@dataclass(frozen=True, slots=True)
class RunTable:
    """One run as one columnar table.

    Attributes:
        run_id: short name of the run, unique among the runs of one call.
        frame: columns `row` Int64 (strictly increasing), `segment` Int32 (never decreasing), `step` Int64 (strictly
            increasing within a segment), `time` Float64 seconds (where logged), and the metrics as Float64, canonical
            names first. null = not logged, NaN/inf = logged non-finite.
        inferred: column → rows (positions in `frame`) whose NaN was inferred from a null.
        source: what was read and where each column came from.
        notices: everything that was skipped, repaired or guessed.
        messages: log lines that say something about a step: {"step", "row", "kind", "text"}.
    """

    run_id: str
    frame: pl.DataFrame
    inferred: Mapping[str, tuple[int, ...]]
    source: SourceInfo
    notices: tuple[Notice, ...] = ()
    messages: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ReadError:
    """A path that could not be read or judged, as it stands in the report."""

    path: str | None
    exit_code: int
    message: str
    hint: str | None
