"""The fast path of JSON lines: lines of equal layout are read as the cells of a table, without a JSON parser.

Separate because it is the only part that reads JSON by other means, and so has to prove what it does.

A layout is a line with its values cut out, split at its commas: `{"step": 0, "train": {"loss": 2.5}}` gives the cells
`{"step": ▢` and ` "train": {"loss": ▢}}`. A line has this layout if it has as many commas and each of its cells starts
and ends like the layout's; it is then the same JSON with other values, provided that each ▢ holds exactly one number,
word or simple string. That is checked for every cell of every line, wanted or not; a line that fails in one of them,
or holds a backslash, is left to the tolerant path. Bare NaN and Infinity come for free, nesting costs nothing,
integers stay exact, and no column can come late: other keys are another layout.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, Final

from triage.readers._flatten import Cuts, flatten
from triage.readers._json_text import OBJECT_START, STRING, token_number
from triage.readers._records import BLANKS, EXACT_INTEGER, Columns, Part, column_of

if TYPE_CHECKING:
    import polars as pl

Numbered = tuple[int, bytes]
"""A line with its number."""

SAMPLE_LINES: Final = 32
"""Lines of a block that are looked at to find its layouts; a layout of 3 % of the lines is seen with 60 % chance."""

MIN_SHARE: Final = 4
"""Least lines of the sample that must agree: below an eighth of the block, reading it twice does not pay."""

MIN_LINES: Final = 512
"""Fewer lines than this are read faster one by one (a round costs about 2 ms)."""

MAX_ROUNDS: Final = 8
"""Most layouts of one block."""

MAX_CELLS: Final = 2_000
"""Widest line that is read this way."""

QUOTES: Final = 2
"""Quotes of a simple string: one that begins and ends with the only two."""

_TOKEN: Final = re.compile(rf'{STRING}|[{{}}\[\],:]|[^\s{{}}\[\],:"]+')
_PUNCTUATION: Final = frozenset("{}[],:")
_WORDS: Final = {"null": None, "true": True, "false": False}
_NO_INTEGER: Final = re.compile("[.eEnN]")
"""Only a guess at what to try first: a column whose first cell is a fraction or no number is rarely whole."""

_OPENING: Final = re.compile(OBJECT_START.pattern.encode())
_BAD: Final = object()


@dataclass(frozen=True, slots=True)
class Cell:
    """One comma-separated piece of a line: the text before its value, the text behind it, the column of the value.

    `name` is None where the piece holds no value (an empty list, half of a key): then it is all `prefix`.
    """

    prefix: str
    suffix: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Layout:
    """What all lines of one kind have in common.

    Attributes:
        cells: the pieces, in order.
        n_first_of_list: values in it that stand for a list of learning rates.
        is_behind_text: the object has other text before it in its line.
    """

    cells: tuple[Cell, ...]
    n_first_of_list: int
    is_behind_text: bool = False


def read_layouts(
    text: bytes, numbers: Sequence[int], columns: Columns, depth: int, cuts: Cuts
) -> tuple[list[Part], list[Numbered]]:
    """Read lines layout by layout; gives the parts, and the lines that no layout took with their numbers.

    `numbers` has the number of each line of `text`. Each layout costs one pass over the lines that are left.
    """
    parts: list[Part] = []
    for _ in range(MAX_ROUNDS):
        if len(numbers) < MIN_LINES:
            break
        layout = _commonest(text, depth)
        taken = None if layout is None else read_layout(text, len(numbers), layout, columns, cuts)
        if taken is None:
            break
        is_taken, part = taken
        if is_taken is None:
            return [*parts, (numbers, part)], []
        if not any(is_taken):
            break
        parts.append((list(compress(numbers, is_taken)), part))
        is_left = [not taken for taken in is_taken]
        text = b"\n".join(compress(text.split(b"\n"), is_left))
        numbers = list(compress(numbers, is_left))
    return parts, list(zip(numbers, text.split(b"\n"), strict=False))


def _commonest(text: bytes, depth: int) -> Layout | None:
    votes: Counter[Layout] = Counter()
    for index in range(SAMPLE_LINES):
        start = text.find(b"\n", index * len(text) // SAMPLE_LINES) + 1
        end = text.find(b"\n", start)
        layout = layout_of(text[start : len(text) if end < 0 else end].decode("utf-8", "replace"), depth)
        if layout is not None:
            votes[layout] += 1
    layout, count = votes.most_common(1)[0] if votes else (None, 0)
    return layout if count >= MIN_SHARE else None


def layout_of(line: str, depth: int) -> Layout | None:
    """The layout of one line; None if it is no JSON object or holds what only the tolerant path can do."""
    opening = OBJECT_START.search(line)
    if opening is None or "\\" in line:
        return None
    text = line[opening.start() :]
    spans = _value_spans(text)
    if not spans or len(spans) > MAX_CELLS:
        return None
    cuts: Cuts = Counter()
    names = _names(text, spans, depth, cuts)
    if names is None or any(cuts[kind] for kind in cuts if kind != "first-of-list"):
        return None
    cells: list[Cell] = []
    start, value = 0, 0
    for end in [*(comma.start() for comma in re.finditer(",", text)), len(text)]:
        if value == len(spans) or spans[value][0] > end:
            cells.append(Cell(text[start:end], "", None))
        elif spans[value][1] > end:
            return None
        else:
            value_start, value_end = spans[value]
            cells.append(Cell(text[start:value_start], text[value_end:end], names[value]))
            value += 1
        start = end + 1
    return Layout(tuple(cells), cuts["first-of-list"], bool(line[: opening.start()].strip()))


def _value_spans(text: str) -> list[tuple[int, int]]:
    """Where the scalars stand; a string with a colon behind it is a key."""
    spans: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(text):
        if token.group() == ":" and spans:
            spans.pop()
        elif token.group() not in _PUNCTUATION:
            spans.append(token.span())
    return spans


def _names(text: str, spans: Sequence[tuple[int, int]], depth: int, cuts: Cuts) -> list[str] | None:
    """The column of each value: the values are numbered and flattened as the tolerant path would flatten them."""
    pieces, start = [], 0
    for index, (value_start, value_end) in enumerate(spans):
        pieces += [text[start:value_start], str(index)]
        start = value_end
    try:
        numbered = json.loads("".join([*pieces, text[start:]]))
    except (ValueError, RecursionError):
        return None
    names = {index: name for name, index in flatten(numbered, depth, cuts).items()}
    return [names[index] for index in range(len(spans))] if len(names) == len(spans) else None


def read_layout(
    text: bytes, n_lines: int, layout: Layout, columns: Columns, cuts: Cuts
) -> tuple[list[bool] | None, dict[str, Any]] | None:
    """Which lines of `text` have this layout (None = all of them), and their columns; None if it cannot be read so."""
    import polars as pl

    if layout.is_behind_text:
        text = b"\n".join(_behind_text(line) for line in text.split(b"\n"))
    pieces = [str(index) for index in range(len(layout.cells) + 1)]
    try:
        frame = pl.read_csv(
            ",".join(pieces).encode() + b"\n" + text,
            separator=",",
            quote_char=None,
            schema=dict.fromkeys(pieces, pl.String),
            truncate_ragged_lines=True,
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.height != n_lines:
        return None
    tests = [pl.col(pieces[-1]).is_null()]
    for piece, cell in zip(pieces, layout.cells, strict=False):
        tests.append(pl.col(piece) == cell.prefix if cell.name is None else pl.col(piece).str.starts_with(cell.prefix))
        if cell.suffix:
            tests.append(pl.col(piece).str.ends_with(cell.suffix))
    if b"\\" in text:
        tests += [~pl.col(piece).str.contains("\\", literal=True) for piece in pieces[:-1]]
    is_match = frame.select(pl.all_horizontal(tests).fill_null(value=False)).to_series()
    if not is_match.all():
        frame = frame.filter(is_match)
    values = frame.select(
        _inside(pl.col(piece), cell).alias(cell.name)
        for piece, cell in zip(pieces, layout.cells, strict=False)
        if cell.name is not None
    )
    part, is_bad, found = _typed_columns(values)
    if is_bad is not None:
        part, _, found = _typed_columns(values.filter(~is_bad))
        is_match = is_match.scatter(is_match.arg_true().filter(is_bad), values=False)
    cuts.update(found)
    n_taken = int(is_match.sum())
    cuts["first-of-list"] += layout.n_first_of_list * n_taken
    part = {name: column for name, column in part.items() if columns.takes(name, n_taken)}
    return (None if n_taken == n_lines else is_match.to_list()), part


def _inside(piece: pl.Expr, cell: Cell) -> pl.Expr:
    inside = piece.str.slice(len(cell.prefix))
    return inside.str.strip_suffix(cell.suffix) if cell.suffix else inside


def _behind_text(line: bytes) -> bytes:
    opening = _OPENING.search(line)
    return line[opening.start() :] if opening else line


def _typed_columns(values: pl.DataFrame) -> tuple[dict[str, Any], pl.Series | None, Cuts]:
    """The columns, which rows hold something that is no JSON value (None = no row), and what typing cost."""
    import polars as pl

    cuts: Cuts = Counter()
    typed = {column.name: _typed(column.name, column, cuts) for column in values}
    is_bad = [bad for _, bad in typed.values() if bad is not None]
    any_bad = pl.select(pl.any_horizontal(is_bad)).to_series() if is_bad else None
    return {name: column for name, (column, _) in typed.items()}, any_bad, cuts


def _typed(name: str, text: pl.Series, cuts: Cuts) -> tuple[Any, pl.Series | None]:
    """Cells of JSON text as a column, and which of them are no JSON values (None = all are)."""
    import polars as pl

    if not len(text):
        return text.cast(pl.Float64), None
    kinds = (pl.Float64, pl.Int64) if _NO_INTEGER.search(text[0]) else (pl.Int64, pl.Float64)
    casts = {}
    for kind in kinds:
        casts[kind] = text.cast(kind, strict=False)
        if not casts[kind].null_count():
            return (casts[kind] if kind == pl.Int64 else _counted(casts[kind], text, cuts)), None
    whole, real = casts[pl.Int64], casts[pl.Float64]
    n_refused = real.null_count()
    is_absent = text == "null"
    n_absent = is_absent.sum()
    if n_refused == n_absent:
        is_whole = n_absent == whole.null_count() < len(text)
        return (whole if is_whole else _counted(real, text, cuts)), None
    n_quotes = text.str.count_matches('"', literal=True)
    is_text = text.str.starts_with('"') & text.str.ends_with('"') & (n_quotes == QUOTES)
    if (is_text | is_absent).all():
        inner = text.str.strip_chars('"')
        words = inner.set(~is_text | (inner.str.strip_chars(BLANKS) == ""), None)
        return (words if words.null_count() < len(words) else words.cast(pl.Float64)), None
    values = [_value(cell) for cell in text]
    is_bad = [value is _BAD for value in values]
    column = column_of(name, [None if value is _BAD else value for value in values], cuts)
    return column, (pl.Series(is_bad) if any(is_bad) else None)


def _value(cell: str) -> Any:
    if cell in _WORDS:
        return _WORDS[cell]
    if cell.startswith('"'):
        return cell[1:-1] if cell.endswith('"') and cell.count('"') == QUOTES else _BAD
    number = token_number(cell)
    return _BAD if number is None else number


def _counted(real: pl.Series, text: pl.Series, cuts: Cuts) -> pl.Series:
    """Count integers among these numbers that Float64 cannot hold; nearly free where none is that large."""
    is_large = (real.abs() > EXACT_INTEGER).fill_null(value=False)
    if is_large.any():
        tokens = (token_number(token) for token in text.filter(is_large))
        cuts["integers-rounded"] += sum(isinstance(token, int) and not _is_exact(token) for token in tokens)
    return real


def _is_exact(integer: int) -> bool:
    try:
        return int(float(integer)) == integer
    except OverflowError:
        return False
