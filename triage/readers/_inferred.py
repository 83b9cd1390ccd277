"""NaN that was logged as a blank, and blanks that were logged as NaN.

Separate because both are guesses, the only ones of the readers: everything that they rest on stands here. Encoders
drop NaN (JSON null, an empty CSV cell), and exports pad what was never recorded with NaN; neither can be told from a
single cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from triage.readers._columns import BOOKKEEPING, EVAL_NAME

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, Any]

COMPANIONS: Final = (
    "grad_norm",
    "lr",
    "loss_scale",
    "param_norm",
    "update_norm",
    "update_ratio",
    "clip_coef",
    "is_skipped",
    "seq_len",
    "label_tokens",
)
"""Columns that only a training row carries; they make a column that is blank throughout suspicious."""

FOLLOWERS: Final = ("grad_norm", "update_norm", "param_norm", "update_ratio")
"""Columns that go blank together with the loss when the encoder drops NaN."""

FOLLOWS: Final = re.compile(
    r"(?!.*scale)(?:.*[^a-z])?(?:loss|nll|ppl|perplexity|norm|update_ratio)(?:[^a-z].*)?", re.IGNORECASE
)
"""Columns that a NaN loss takes with it, by their names: parts of the loss, its exponential, norms."""

NOT_COMPANIONS: Final = frozenset({"row", "segment", "step", "time", "epoch", "rank", "samples"})
"""Columns that evaluation rows carry too."""

SKIP_COLUMNS: Final = frozenset({"is_skipped", "loss_scale", "grad_norm"})
"""What the message of a loss scaler tells of a skipped step."""

COMPANION_SHARE: Final = 0.9
"""Share of the rows with a loss in which a column must be filled to be a mark of a training row."""

STRETCH_SHARE: Final = 0.1
"""Most separate blank stretches per filled row of "nearly all rows filled": a column that is logged every k-th row
has one stretch for every filled row, a NaN episode has one in all."""

GRID_STRETCHES: Final = 3
"""Blank stretches of one length at one distance that make a grid, which is a habit of the logger and no fault."""

PADDING_FINITE: Final = 3
"""Fewest finite values between which NaN can be seen to recur."""

PADDING_UNEVEN_GAP: Final = 4
"""Least distance of recorded points on an uneven grid; closer ones may be an evaluation that fails now and then."""

PADDING_ALTERNATING: Final = 8
"""Fewest finite values where every second one is NaN: the shortest grid needs the most evidence."""


def inferred_nan(frame: pl.DataFrame, others: Array | None = None) -> dict[str, Array]:
    """Find the blank cells that are NaN dropped by the encoder.

    A blank loss counts as NaN in a training row (one that carries other training metrics) where the column is
    otherwise filled in nearly all such rows, or blank throughout. It does not where the column holds a NaN written as
    such (its writer does not write NaN as a blank), nor where the blanks form a regular grid.

    In a log whose other training metrics all go with the loss (a gradient norm, say, and no learning rate), or that has
    none, a row that is blank throughout is a training row: nothing in it could have stayed finite.

    Args:
        frame: one row a step, canonical names; null = blank.
        others: (rows,) the row holds something besides numbers, as a message does; None = no row does.

    Returns:
        Column -> (rows,) true where the blank is a NaN; without columns that have none.
    """
    import numpy as np

    if "loss" not in frame.columns:
        return {}
    loss = frame["loss"]
    has_loss = loss.is_not_null().to_numpy()
    if has_loss.all() or bool(loss.is_nan().any()):
        return {}
    companions = _companions(frame, has_loss)
    training = np.zeros(frame.height, dtype=bool)
    for name in companions:
        training |= frame[name].is_not_null().to_numpy()
    if has_loss.any() and all(map(FOLLOWS.fullmatch, companions)):
        training |= _silent(frame, others)
    training &= ~_evaluation_rows(frame, has_loss, companions) & ~_bare_skips(frame)
    blank = training & ~has_loss
    if not blank.any():
        return {}
    if has_loss.any() and not _nearly_filled(has_loss[training | has_loss]):
        return {}
    found = {"loss": blank}
    for name in FOLLOWERS:
        if name not in frame.columns:
            continue
        missing = frame[name].is_null().to_numpy()
        both = blank & missing
        # Only where it is blank nowhere else: it follows the loss.
        if both.any() and not (training & missing & ~blank).any():
            found[name] = both
    return found


def padding_nan(column: pl.Series, *, is_loss: bool) -> Array | None:
    """Find the NaN cells that stand for "not recorded".

    Finite values that stand alone, with NaN between them, are recorded points; where they recur at one distance, all
    cells off that grid are padding. A NaN on the grid, after the last finite value, stays: there a value was due.
    Columns other than the loss may be recorded at uneven distances.

    Args:
        column: Float64.
        is_loss: hold the column to an even grid.

    Returns:
        (rows,) true where a NaN is padding; None where there is none.
    """
    import numpy as np

    values = column.to_numpy()
    written = column.is_not_null().to_numpy()
    nan = written & np.isnan(values)
    finite = np.flatnonzero(written & ~nan)
    if len(finite) < PADDING_FINITE:
        return None
    first, last = int(finite[0]), int(finite[-1])
    if int(nan[first:last].sum()) != last - first + 1 - len(finite):
        return None  # blanks in between: this writer knows how to leave a cell out
    gaps = np.diff(finite)
    # The first recorded step is often one more than a multiple (1, 100, 200 …).
    even = bool(np.all(gaps[1:] == gaps[-1])) and int(gaps[0]) <= int(gaps[-1])
    usual, least = int(np.max(gaps)), int(np.min(gaps))
    if least < 2 or (usual == 2 and len(finite) < PADDING_ALTERNATING):
        return None
    if not even and (is_loss or least < PADDING_UNEVEN_GAP):
        return None
    due = np.arange(last + usual, len(values), usual)
    padding = nan.copy()
    padding[due] = False
    if not even and len(due):
        # Without an even grid, the end alone says that values were due and did not come.
        padding[len(values) - 1] = False
    return padding if padding.any() else None


def _companions(frame: pl.DataFrame, has_loss: Array) -> list[str]:
    """Columns that mark a training row: those that come with nearly every loss."""
    count = int(has_loss.sum())
    if not count:
        return [name for name in COMPANIONS if name in frame.columns and frame[name].null_count() < frame.height]
    names = []
    for column in frame.iter_columns():
        name = column.name
        if name == "loss" or name in NOT_COMPANIONS or BOOKKEEPING.fullmatch(name) or EVAL_NAME.fullmatch(name):
            continue
        filled = column.is_not_null().to_numpy()
        if int((filled & has_loss).sum()) >= COMPANION_SHARE * count:
            names.append(name)
    return names


def _silent(frame: pl.DataFrame, others: Array | None) -> Array:
    """Rows that carry nothing but their place."""
    import numpy as np

    silent = np.ones(frame.height, dtype=bool) if others is None else ~others
    for column in frame.iter_columns():
        if column.name not in NOT_COMPANIONS and not BOOKKEEPING.fullmatch(column.name):
            silent &= column.is_null().to_numpy()
    return silent


def _evaluation_rows(frame: pl.DataFrame, has_loss: Array, companions: Sequence[str]) -> Array:
    """Rows that carry evaluation metrics, where such rows do not usually carry a loss."""
    import numpy as np

    rows = np.zeros(frame.height, dtype=bool)
    for name in frame.columns:
        if EVAL_NAME.fullmatch(name) and name not in companions:
            rows |= frame[name].is_not_null().to_numpy()
    if rows.any() and 2 * int((rows & has_loss).sum()) < int(rows.sum()) and has_loss.any():
        return rows
    return np.zeros(frame.height, dtype=bool)


def _bare_skips(frame: pl.DataFrame) -> Array:
    """Rows that say that a step was skipped and nothing else: a message of a loss scaler, no row of the training."""
    import numpy as np

    if "is_skipped" not in frame.columns:
        return np.zeros(frame.height, dtype=bool)
    bare = np.asarray(frame["is_skipped"].fill_null(0.0).fill_nan(0.0).to_numpy() > 0)
    for column in frame.iter_columns():
        if bare.any() and column.name not in SKIP_COLUMNS and column.name not in NOT_COMPANIONS:
            bare &= column.is_null().to_numpy()
    return bare


def _nearly_filled(filled: Array) -> bool:
    """Say whether the blanks among the training rows are few stretches, and no grid."""
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate(([1], filled.astype(np.int8), [1]))))
    begins, ends = edges[::2], edges[1::2]
    if len(begins) > max(1, STRETCH_SHARE * int(filled.sum())):
        return False
    inner = ends < len(filled)
    if int(inner.sum()) >= GRID_STRETCHES:
        even = np.ptp(np.diff(begins[inner])) == 0 and np.ptp((ends - begins)[inner]) == 0
        return not even
    return True
