"""Gathered rows to a RunTable with every promise that its docstring makes.

The only place where the parts of the readers' core meet: names, splits, axis, streams, coalescing, inferred NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UnreadableError
from triage.model import Notice, RunTable
from triage.options import Options
from triage.readers._axis import SAMPLE_AXIS, Axis, choose_axis, choose_time, in_seconds
from triage.readers._coalesce import group_starts, merge_all
from triage.readers._columns import BOOKKEEPING, EVAL_NAME, Naming, choose
from triage.readers._describe import OWN_COLUMNS, describe, merged, messages
from triage.readers._gather import NO_NUMBERS, Part, Rows, join
from triage.readers._inferred import inferred_nan, padding_nan
from triage.readers._splits import move_evaluation_rows
from triage.readers._streams import Line, line_up, ranks_of, split_ranks
from triage.schema import BY_NAME

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

SUMMARY_MARKS: Final = ("train_runtime", "train/train_runtime", "train_samples_per_second")
"""Columns of a closing row: a loss in such a row alone is the mean over the run (Hugging Face's `train_loss`)."""

QUIET: Final = frozenset({"step", "time", "epoch", "rank", "step_time", "throughput"})
"""Columns in which two rows of one step may differ without a word."""


@dataclass(frozen=True, slots=True)
class RunInput:
    """What a run is made of.

    Attributes:
        run_id: short name.
        path: as shown to a person; several are joined by ", ".
        format: reader's name, where the blocks do not tell a better one.
        parts: its sources in order.
        notices: what was decided before the sources were read.
    """

    run_id: str
    path: str
    format: str
    parts: Sequence[Part]
    notices: tuple[Notice, ...] = ()


def build(run: RunInput, options: Options) -> RunTable:
    """Make the table of one run. Linear in rows × columns; about twice the table in memory.

    Raises:
        UnreadableError: the sources hold no row with a number.
        UsageError: `--map` does not fit the log.
    """
    rows = join(run.parts, options.limits, options)
    if not rows.frame.height or not rows.frame.width:
        raise UnreadableError(
            f"read as {rows.meta.get('format', run.format)}, but no row holds a number",
            path=run.path,
            hint="has the run logged anything yet?",
        )
    return _build(run, rows, options)


def _build(run: RunInput, rows: Rows, options: Options) -> RunTable:
    """Take one step after another; each makes a new frame from the one before."""
    import numpy as np

    source_rows = rows.frame.height
    notices = [*run.notices, *rows.notices]
    frame, marked = move_evaluation_rows(rows.frame, rows.texts)
    naming, points = _name(frame, rows.meta, options)
    has_loss = _judged(frame, naming)
    axis = choose_axis(frame, naming, rows.meta.get("step_column"), options, has_loss)
    clock = choose_time(frame, naming, options)
    notices += _name_notices(naming, points, axis)
    frame, sources = _rename(frame, naming, axis, clock)
    line, ranks = _line(frame, axis, rows, has_loss)
    notices += line.notices
    if axis.source is None:
        notices.append(Notice("step-missing", source_rows))
    unit = "sample" if SAMPLE_AXIS.fullmatch(sources.get("loss", "")) and axis.unit == "optimizer step" else axis.unit
    if unit not in ("optimizer step", "row"):
        notices.append(Notice("step-unit", 1, axis.source, {"unit": unit}))

    if line.order is not None:
        frame = frame[line.order]
    frame, ignored = _without_summaries(frame, line.outside)
    notices += ignored
    starts = group_starts(line.segment, line.step)
    if ranks is None:
        quiet = [name for name in frame.columns if name in QUIET or BOOKKEEPING.fullmatch(name)]
        whole, conflicts = merge_all(frame, starts, quiet)
    else:
        ranks = ranks if line.order is None else ranks[line.order]
        room = options.limits.columns
        whole, conflicts, notice = split_ranks(frame, ranks, starts, ("time", "epoch"), room)
        notices.append(notice)
    repeated = source_rows - len(starts) if ranks is None else 0
    if repeated:
        notices.append(Notice("duplicate-steps", repeated))
    if conflicts:
        detail = {"columns": ", ".join(sorted(conflicts))}
        notices.append(Notice("conflicting-cells", sum(conflicts.values()), None, detail))
    whole, padded = _without_padding(whole)
    others = rows.others if line.order is None else rows.others[line.order]
    whole, inferred = _with_inferred(whole, np.logical_or.reduceat(others, starts))
    notices += padded
    if inferred:
        detail = {"columns": ", ".join(inferred)}
        notices.append(Notice("inferred-nan", sum(map(len, inferred.values())), None, detail))
    if marked:
        notices.append(Notice("evaluation-rows-marked", marked))
    table = _laid_out(whole, line, starts, sources)
    info = describe(run.path, run.format, rows, table, unit, sources, inferred)
    said = messages(rows, table, starts if line.order is None else None)
    return RunTable(run.run_id, table, inferred, info, merged(notices), said)


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _name(frame: pl.DataFrame, meta: Mapping[str, Any], options: Options) -> tuple[Naming, dict[str, int]]:
    points = {column.name: len(column) - column.null_count() for column in frame.iter_columns()}
    naming = choose(points, options, meta.get("aliases", {}))
    loss = naming.chosen.get("loss")
    if loss is not None and "loss" not in options.mapping and _is_closing_mean(frame, loss, points):
        # What remains of a run without a logged loss is its mean, which is no point of a series.
        naming = choose({n: p for n, p in points.items() if n != loss}, options, meta.get("aliases", {}))
    return naming, points


def _is_closing_mean(frame: pl.DataFrame, loss: str, points: Mapping[str, int]) -> bool:
    marks = [name for name in SUMMARY_MARKS if name in frame.columns]
    if points[loss] != 1 or not marks:
        return False
    row = frame[loss].is_not_null().arg_max()
    return any(frame[mark][row] is not None for mark in marks if row is not None)


def _judged(frame: pl.DataFrame, naming: Naming) -> Array:
    """Rows that carry the column that will be judged: the loss, else an evaluation loss, else anything."""
    import numpy as np

    for canonical in ("loss", "eval_loss", "grad_norm", "loss_scale"):
        source = naming.chosen.get(canonical)
        if source is not None and frame[source].null_count() < frame.height:
            return np.asarray(frame[source].is_not_null().to_numpy())
    return np.ones(frame.height, dtype=bool)


def _name_notices(naming: Naming, points: Mapping[str, int], axis: Axis) -> list[Notice]:
    notices = []
    for canonical, names in naming.candidates.items():
        chosen = naming.chosen.get(canonical)
        others = [n for n in names if n not in (chosen, axis.source) and points[n] > 1]
        if chosen and others and canonical in ("loss", "eval_loss", "grad_norm", "lr", "loss_scale"):
            detail = {"column": canonical, "chosen": chosen, "others": ", ".join(others)}
            notices.append(Notice("shadowed-column", len(others), canonical, detail))
    if naming.loss_like:
        detail = {"columns": ", ".join(naming.loss_like[:10])}
        notices.append(Notice("unmapped-loss-like", len(naming.loss_like), None, detail))
    return notices


def _rename(frame: pl.DataFrame, naming: Naming, axis: Axis, clock: str | None) -> tuple[pl.DataFrame, dict[str, str]]:
    """Give the columns their names; returns the frame without the step, and name -> source name."""
    import polars as pl

    chosen = {source: canonical for canonical, source in naming.chosen.items() if canonical not in ("step", "time")}
    if clock is not None:
        chosen[clock] = "time"
    columns: list[pl.Series] = []
    sources: dict[str, str] = {} if axis.source is None else {"step": axis.source}
    for column in frame.iter_columns():
        source = column.name
        name = chosen.get(source, source)
        if name == NO_NUMBERS or (source == axis.source and name != "epoch"):
            continue
        if source not in chosen:
            if column.null_count() == len(column):
                continue  # a column that holds nothing at all
            if source == "time" and "step_time" not in naming.chosen:
                name = "step_time"  # it goes up and down: the seconds of one step
            elif source in BY_NAME or source in OWN_COLUMNS:
                name = f"source/{source}"
        if name in sources:
            name = f"source/{source}"
        column = in_seconds(column) if name == "time" else column.cast(pl.Float64)  # noqa: PLW2901 - the same column
        columns.append(column.alias(name))
        sources[name] = source
    if not columns:
        # Steps alone: the table has rows and nothing to judge.
        return pl.DataFrame({NO_NUMBERS: pl.Series([None], dtype=pl.Float64).new_from_index(0, frame.height)}), sources
    return pl.DataFrame(columns), sources


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _line(frame: pl.DataFrame, axis: Axis, rows: Rows, has_loss: Array) -> tuple[Line, Array | None]:
    """Bring all rows onto one line; returns it and the worker of each row (in the order of the source)."""
    import numpy as np

    ranks = ranks_of(frame, axis.step)
    stream = None if ranks is None else ranks
    if rows.part.any():
        # Files with a loss follow one another (a restart wrote a new file); a file without one lies beside them.
        beside = np.zeros(len(rows.part), dtype=np.int64)
        for part in np.unique(rows.part):
            of_part = rows.part == part
            if not (has_loss & of_part).any():
                beside[of_part] = int(part) + 1
        stream = beside if ranks is None else ranks * (int(beside.max()) + 1) + beside
        stream = None if not stream.any() else stream
    loss = frame["loss"].fill_null(float("nan")).to_numpy() if "loss" in frame.columns else None
    epoch = frame["epoch"].fill_null(float("nan")).to_numpy() if "epoch" in frame.columns else None
    return line_up(stream, axis.step, axis.known, has_loss, loss, epoch), ranks


def _without_summaries(frame: pl.DataFrame, outside: Array) -> tuple[pl.DataFrame, list[Notice]]:
    """Take the training columns out of rows without a step; what is not finite in them stays, under `summary/`."""
    import polars as pl

    if not outside.any():
        return frame, []
    mask = pl.Series(outside)
    notices = []
    cleared: list[pl.Series] = []
    added: list[pl.Series] = []
    with_loss = 0
    for column in frame.iter_columns():
        if column.name not in BY_NAME or EVAL_NAME.fullmatch(column.name) or column.name in ("time", "epoch", "rank"):
            continue
        held = column.is_not_null() & mask
        if not held.any():
            continue
        with_loss = int(held.sum()) if column.name == "loss" else with_loss
        if (odd := held & ~column.is_finite()).any():
            added.append(column.set(~odd, None).alias(f"summary/{column.name}"))
        cleared.append(column.set(mask, None))
    if with_loss:
        notices.append(Notice("summary-row-ignored", with_loss))
    if (rest := int(outside.sum()) - with_loss) > 0:
        notices.append(Notice("rows-without-step", rest))
    return frame.with_columns(cleared).with_columns(added), notices


def _without_padding(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Notice]]:
    import polars as pl

    counts: dict[str, int] = {}
    columns: list[pl.Series] = []
    judged_eval = "loss" not in frame.columns
    for column in frame.iter_columns():
        if not column.is_nan().any():
            continue
        padding = padding_nan(column, is_loss=column.name == "loss" or (judged_eval and column.name == "eval_loss"))
        if padding is not None:
            counts[column.name] = int(padding.sum())
            columns.append(column.set(pl.Series(padding), None))
    if not counts:
        return frame, []
    detail = {"columns": ", ".join(counts)}
    return frame.with_columns(columns), [Notice("padding-nan", sum(counts.values()), None, detail)]


def _with_inferred(frame: pl.DataFrame, others: Array) -> tuple[pl.DataFrame, dict[str, tuple[int, ...]]]:
    import numpy as np
    import polars as pl

    found = inferred_nan(frame, others)
    columns = [frame[name].set(pl.Series(blank), float("nan")) for name, blank in found.items()]
    rows = {name: tuple(int(row) for row in np.flatnonzero(blank)) for name, blank in found.items()}
    return frame.with_columns(columns), rows


def _laid_out(frame: pl.DataFrame, line: Line, starts: Array, sources: dict[str, str]) -> pl.DataFrame:
    """Put row, segment and step in front, canonical columns next, the others behind in the order of the source."""
    import numpy as np
    import polars as pl

    rows = starts if line.order is None else line.order[starts]
    if line.order is not None and len(rows) > 1 and not np.all(np.diff(rows) > 0):
        rows = np.arange(len(starts))
    front = [
        pl.Series("row", rows, dtype=pl.Int64),
        pl.Series("segment", line.segment[starts], dtype=pl.Int32),
        pl.Series("step", line.step[starts], dtype=pl.Int64),
    ]
    names = [n for n in BY_NAME if n in frame.columns and n != "step"]
    names += [n for n in frame.columns if n not in BY_NAME and n != NO_NUMBERS]
    for name in names:
        if name not in sources:
            base, _, rank = name.partition("@")
            sources[name] = (
                f"{sources.get(base, base)} ({rank})" if rank else sources.get(base.removeprefix("summary/"), base)
            )
    return pl.DataFrame([*front, *(frame[name] for name in names)])
