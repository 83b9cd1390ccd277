"""The shapes in which one JSON document holds a run or several, and how each is turned into rows.

Separate from `json_document.py` (bytes → value) because this is pure: value → rows, no text and no files.

    shape                                                     as written by
    [{"step": 0, "loss": 2.5}, …]                             json.dump of a list of rows
    [{"config": {…}, "history": [{…}, …]}, …]                 sweeps: a run each
    [[wall, step, value], …]                                  TensorBoard's download button
    {"lm loss": {"start_step": 1, "values": {"1": 2.5}}}      Megatron-LM's golden values
    {"adam": {"loss": […]}, "sgd": {"loss": […]}}             a run each, by name
    {"log_history": [{…}, …], "max_steps": 100}               rows beside a configuration
    {"columns": ["step", …], "data": [[0, …], …]}             pandas, orient="split"
    {"loss": {"0": 2.5, "1": 2.4}, …}                         pandas, orient="columns" or "index"
    {"loss": [2.5, 2.4], "lr": […], "name": "a"}              Keras history, columns beside a configuration
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import pairwise
from typing import Any, Final

from triage.model import Notice
from triage.readers._cells import is_number

Record = Mapping[str, Any]

UI_SAMPLES: Final = 1_000
"""Points of a tag that TensorBoard keeps by default; a download of as many is a sample of more (science 9.2)."""

TRIPLE: Final = 3
"""[wall time, step, value]."""

MAX_DEPTH: Final = 3
"""How deep columns are looked for: {"history": {"train": {"loss": […]}}}."""

RUN_NAME_KEYS: Final = ("name", "run_name", "run", "id", "run_id", "experiment")
RUN_NAME_LENGTH: Final = 60
CONFIG_KEYS: Final = frozenset({"config", "args", "params", "hparams", "hyperparameters", "settings"})
SPLITS: Final = frozenset({"train", "training", "val", "valid", "validation", "dev", "eval", "evaluation", "test"})
"""Keys that name parts of one run, not runs."""

MAIN_ROWS: Final = ("log_history", "history", "train", "training", "metrics", "logs", "log", "steps", "rows", "data")
"""Lists of rows that keep their own column names, in order of preference."""

STEP_KEYS: Final = ("step", "global_step", "iteration", "iter", "epoch")
"""Columns by which two lists of rows of one run can be put into one order."""

PLURALS: Final = {
    "losses": "loss",
    "train_losses": "loss",
    "training_losses": "loss",
    "grad_norms": "grad_norm",
    "gradient_norms": "grad_norm",
    "learning_rates": "lr",
    "lrs": "lr",
    "val_losses": "eval_loss",
    "valid_losses": "eval_loss",
    "eval_losses": "eval_loss",
    "test_losses": "eval_loss",
    "steps": "step",
    "iterations": "step",
    "epochs": "epoch",
    "step_times": "step_time",
}
"""Names that columns of a document have in the plural → canonical."""


@dataclass(frozen=True, slots=True)
class Table:
    """One run of a document.

    Attributes:
        rows: one mapping a row, values nested as written.
        run: its name where the document holds several.
        config: what stands beside the rows.
        notices: what was left out or decided.
        meta: further facts for the block.
    """

    rows: Sequence[Record]
    run: str | None = None
    config: Record = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    meta: Record = field(default_factory=dict)


Shape = Callable[[Any, str], "list[Table] | None"]


def tables_of(value: Any, file_name: str) -> list[Table]:
    """The runs in a document by the first shape that fits; [] if none does."""
    return next((tables for shape in SHAPES if (tables := shape(value, file_name))), [])


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _is_column(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and not any(isinstance(item, (dict, list)) for item in value)


# ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _downloaded_tag(value: Any, file_name: str) -> list[Table] | None:
    if not (isinstance(value, list) and value and all(isinstance(v, list) and len(v) == TRIPLE for v in value)):
        return None
    if not all(_is_numeric(cell) for row in value for cell in row):
        return None
    tag = re.fullmatch(r"(?:run-(?P<run>.*?)-)?tag-(?P<tag>.+?)(?: \(\d+\))?\.json", file_name)
    name = tag["tag"] if tag else "value"
    rows = [{"wall_time": wall, "step": step, name: number} for wall, step, number in value]
    notices = (Notice("sampled-export", len(rows), name),) if len(rows) >= UI_SAMPLES else ()
    config = {"run": tag["run"]} if tag and tag["run"] else {}
    return [Table(rows, None, config, notices, {"writer": "TensorBoard", "step_column": "step"})]


def _is_numeric(cell: Any) -> bool:
    return isinstance(cell, (int, float)) or (isinstance(cell, str) and is_number(cell))


def _list_of_runs(value: Any, _file_name: str) -> list[Table] | None:
    if not _is_rows(value):
        return None
    inner = [table for item in value for table in (_rows_beside_config(item, "") or _columns(item, "") or ())]
    left_out = len(value) - len(inner)
    if left_out >= len(inner):
        return None
    names = _run_names([table.config for table in inner])
    tables = [replace(table, run=name) for name, table in zip(names, inner, strict=True)]
    if left_out:
        notice = Notice("runs-without-rows", left_out)
        tables[0] = replace(tables[0], notices=(*tables[0].notices, notice))
    return tables


def _run_names(configs: Sequence[Record]) -> list[str]:
    flat = [dict(_leaves(config, ())) for config in configs]
    for key in RUN_NAME_KEYS:
        names = [str(leaf.get((key,), "")) for leaf in flat]
        if all(names) and len(set(names)) == len(names):
            return names
    paths = list(dict.fromkeys(path for leaf in flat for path in leaf if path[0] != "summary"))
    varying = [path for path in paths if len({str(leaf.get(path)) for leaf in flat}) > 1]
    names = []
    for index, leaf in enumerate(flat):
        told = ",".join(f"{path[-1]}={leaf[path]}" for path in varying if path in leaf)
        names.append(f"{index:02d}:{told}"[:RUN_NAME_LENGTH].rstrip(":,"))
    return names


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and len(path) < MAX_DEPTH:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif not isinstance(value, (dict, list)):
        yield path, value


def _list_of_rows(value: Any, _file_name: str) -> list[Table] | None:
    return [Table(value)] if _is_rows(value) else None


# ── objects ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _golden_values(value: Any, _file_name: str) -> list[Table] | None:
    if not isinstance(value, dict):
        return None
    series = {
        name: dict(_golden_series(inner))
        for name, inner in value.items()
        if isinstance(inner, dict) and isinstance(inner.get("values"), (dict, list)) and "step_interval" in inner
    }
    if not any(series.values()):
        return None
    n_padded = 0
    rows: dict[int, dict[str, Any]] = {}
    for name, points in series.items():
        for step, cell in points.items():
            # The writer puts the text "nan" where it recorded nothing; a loss that is NaN would stand there bare.
            is_padding = isinstance(cell, str) and cell.strip().lower() == "nan"
            n_padded += is_padding
            rows.setdefault(step, {"step": step})[name] = None if is_padding else cell
    config = {name: inner for name, inner in value.items() if name not in series}
    notices = (Notice("padding-nan", n_padded),) if n_padded else ()
    meta = {"writer": "Megatron-LM", "step_column": "step"}
    return [Table([rows[step] for step in sorted(rows)], None, config, notices, meta)]


def _golden_series(inner: Record) -> Iterator[tuple[int, Any]]:
    values = inner["values"]
    if isinstance(values, dict):
        yield from ((int(step), cell) for step, cell in values.items() if _is_index(step))
        return
    start, interval = inner.get("start_step"), inner["step_interval"]
    if isinstance(start, int) and isinstance(interval, int):
        yield from ((start + interval * place, cell) for place, cell in enumerate(values))


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdigit()


def _rows_beside_config(value: Any, _file_name: str) -> list[Table] | None:
    if not isinstance(value, dict):
        return None
    lists = {name: inner for name, inner in value.items() if _is_rows(inner)}
    for holder, held in value.items():
        if isinstance(held, dict):
            lists |= {f"{holder}/{name}": inner for name, inner in held.items() if _is_rows(inner)}
    if not lists:
        return None
    by_preference = (path for name in MAIN_ROWS for path in lists if path.rpartition("/")[2] == name)
    main = next(by_preference, None) or max(lists, key=lambda path: len(lists[path]))
    rows, notices = _in_one_order(main, lists)
    return [Table(rows, None, _config_beside(value), notices)]


def _in_one_order(main: str, lists: Mapping[str, Sequence[Record]]) -> tuple[Sequence[Record], tuple[Notice, ...]]:
    """Several lists of rows of one run by their common step; lists without one are left out and counted."""
    rows = lists[main]
    if len(lists) == 1:
        return rows, ()
    step = next((key for key in STEP_KEYS if _rises(rows, key)), None)
    taken = [name for name in lists if name != main and step is not None and _rises(lists[name], step)]
    left_out = sum(len(inner) for name, inner in lists.items() if name not in (main, *taken))
    if taken and step is not None:
        renamed = [
            [{key if key in STEP_KEYS else f"{name}/{key}": cell for key, cell in row.items()} for row in lists[name]]
            for name in taken
        ]
        rows = list(merge(rows, *renamed, key=lambda row: row[step]))
    return rows, (Notice("rows-of-other-lists", left_out),) if left_out else ()


def _rises(rows: Sequence[Record], key: str) -> bool:
    steps = [row.get(key) for row in rows]
    if not all(isinstance(step, (int, float)) for step in steps):
        return False
    return all(before <= after for before, after in pairwise(steps))  # type: ignore[operator]


def _split_table(value: Any, _file_name: str) -> list[Table] | None:
    if not (isinstance(value, dict) and isinstance(value.get("columns"), list) and isinstance(value.get("data"), list)):
        return None
    names = [str(name) for name in value["columns"]]
    rows = [row for row in value["data"] if isinstance(row, list) and len(row) == len(names)]
    left_out = len(value["data"]) - len(rows)
    notices = (Notice("skipped-rows", left_out),) if left_out else ()
    return [Table([dict(zip(names, row, strict=True)) for row in rows], None, {}, notices)] if rows else None


def _keyed(value: Any, _file_name: str) -> list[Table] | None:
    """Columns or rows as objects whose keys are row numbers."""
    if not (isinstance(value, dict) and value and all(isinstance(inner, dict) for inner in value.values())):
        return None
    if len(value) > 1 and all(_is_index(key) for key in value):
        return [Table([value[key] for key in sorted(value, key=int)])]
    if not all(len(inner) > 1 and all(_is_index(key) for key in inner) for inner in value.values()):
        return None
    places = sorted({int(key) for inner in value.values() for key in inner})
    return [Table([{name: inner.get(str(place)) for name, inner in value.items()} for place in places])]


def _runs_by_name(value: Any, _file_name: str) -> list[Table] | None:
    """Objects with a table each, of which some column is common to all: runs, unless named like parts of one."""
    if not isinstance(value, dict) or any(_is_rows(inner) or _is_column(inner) for inner in value.values()):
        return None
    runs = {name: run for name, run in value.items() if isinstance(run, dict) and name.lower() not in CONFIG_KEYS}
    inner = {n: tables for n, run in runs.items() if (tables := _rows_beside_config(run, "") or _columns(run, ""))}
    names = [set(table.rows[0]) for tables in inner.values() for table in tables]
    if len(inner) <= 1 or {name.lower() for name in inner} <= SPLITS or not set.intersection(*names):
        return None
    return [replace(table, run=name) for name, tables in inner.items() for table in tables]


def _columns(value: Any, _file_name: str) -> list[Table] | None:
    if not isinstance(value, dict):
        return None
    columns = {"/".join(path): cells for path, cells in _column_leaves(value, ())}
    if not columns:
        return None
    height, _ = max(Counter(map(len, columns.values())).items(), key=lambda item: (item[1], item[0]))
    uneven = {name: cells for name, cells in columns.items() if len(cells) != height}
    names = [name for name in columns if name not in uneven]
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*(columns[n] for n in names), strict=True)]
    notices: tuple[Notice, ...] = ()
    if uneven:
        detail = {"columns": ", ".join(uneven), "rows": height}
        notices = (Notice("uneven-columns", sum(map(len, uneven.values())), next(iter(uneven)), detail),)
    aliases = {name: PLURALS[name.lower()] for name in names if name.lower() in PLURALS}
    return [Table(rows, None, _config_beside(value), notices, {"aliases": aliases} if aliases else {})]


def _column_leaves(value: Record, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    for name, inner in value.items():
        if _is_column(inner):
            yield (*path, name), inner
        elif isinstance(inner, dict) and len(path) < MAX_DEPTH and name.lower() not in CONFIG_KEYS | {"summary"}:
            # A lone "history" around the columns says nothing about them.
            deeper = path if name.lower() in MAIN_ROWS and name.lower() not in SPLITS else (*path, name)
            yield from _column_leaves(inner, deeper)


def _config_beside(value: Record) -> Record:
    """What stands beside rows and columns; an object named like a configuration is one, without its name."""
    beside = _without_series(value)
    config = {name: inner for name, inner in beside.items() if not _is_wrapper(name, inner)}
    for name, inner in beside.items():
        if _is_wrapper(name, inner):
            config |= inner
    return config


def _is_wrapper(name: str, value: Any) -> bool:
    return name.lower() in CONFIG_KEYS and isinstance(value, dict)


def _without_series(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {n: _without_series(inner) for n, inner in value.items() if not (_is_rows(inner) or _is_column(inner))}


SHAPES: Final[tuple[Shape, ...]] = (
    _downloaded_tag,
    _list_of_runs,
    _list_of_rows,
    _golden_values,
    _runs_by_name,
    _rows_beside_config,
    _split_table,
    _keyed,
    _columns,
)
