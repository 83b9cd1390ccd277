"""Finding the counter of a line for which there is no grammar: the step, or the place in an epoch.

Separate because this is a short list of patterns tried in order, and the only place where a bare number becomes a step.
"""

from __future__ import annotations

import re
from typing import Final

from triage.readers._console_names import STEP_NAMES

Mark = tuple[str, int, int]
"""Role (step, epoch, inner, length, total) and where its digits stand."""

_INTEGER: Final = r"\d(?:[\d,]*\d)?"
_NO_PART: Final = r"(?![\w.]*\d|%)(?!\.\d)"

_IN_EPOCH: Final = (
    # "Epoch: [3][ 50/200]", "Epoch 3/10 batch 50/200", "Train Epoch: 1 [640/60000 (1%)]", "E5 iter[ 14/ 15]".
    re.compile(
        r"\b(?:(?:epoch|ep|train)(?![a-z])|e(?=\d))[^\d\[\n]{0,12}\[?\s*(?P<epoch>\d+)\s*(?:/\s*\d+\s*)?(?:\(\s*\d+%\)\s*)?\]?[\s,:|-]*"
        r"(?:[A-Za-z_ ]{0,12}[:#]?\s*)?\[?\s*(?P<inner>\d+)\s*/\s*(?P<length>\d+)(?![\d/:-])",
        re.IGNORECASE,
    ),
    # The counter of the PyTorch tutorials: epoch and batch in one pair of brackets.
    re.compile(r"^\s*\[\s*(?P<epoch>\d+)\s*,\s*(?P<inner>\d+)\s*\]"),
)
_NAMED: Final = re.compile(
    r"(?<!per )(?<!every )(?<!/)(?<!max )\b(?P<word>global[_ ]step|total[_ ]step|num_updates|iteration|iter|step|"
    r"update|batch)s?\b"
    rf"\s*(?:no\.?|number)?\s*[:=#]?\s*[\[(]?\s*(?P<step>{_INTEGER})\b(?!\s*%)(?!\.\d)(?!-\d)(?!:\d)(?:\s*/\s*(?P<total>\d+))?",
    re.IGNORECASE,
)
_LEADING: Final = re.compile(
    rf"^[\s\[(#|]{{0,4}}(?P<step>{_INTEGER})(?:\s*/\s*(?P<total>\d+))?\s*(?:[\])|:,]|\s(?=[A-Za-z\[]))(?![\d/])"
)
_OUT_OF: Final = re.compile(r"(?<![\d/.:\w-])(?P<step>\d+)\s*/\s*(?P<total>\d+)(?![\d/.:\w%-])")
_EPOCH: Final = re.compile(r"\bepochs?\b[\s:=#\[]{0,3}(?P<epoch>\d+)(?![.\d]*\d)(?!-\d)(?!:\d)", re.IGNORECASE)

_RANKS: Final = re.compile(
    r"^\[(?:rank|default)(?P<a>\d+)\]:?|^\[\d+,(?P<b>\d+)\]<std(?:out|err)>|\[R(?:ank[ :]?)?(?P<c>\d+)\]"
    r"|\brank[ :=]+(?P<d>\d+)\b(?!\s*/)",
)


def counters_of(text: str, begin: int, end: int) -> tuple[tuple[Mark, ...], str]:
    """Find what counts in a line.

    Args:
        text: the line.
        begin: where the message begins, behind dates and levels.
        end: where the first value of a loss begins; a counter stands before it.

    Returns:
        The marks, and the name of the step as the line has it ("step" where it has none).
    """
    for pattern in _IN_EPOCH:
        if found := pattern.search(text, begin, end):
            return _marks(found), "step"
    named = list(_NAMED.finditer(text, begin))
    if named:
        best = min(named, key=lambda found: STEP_NAMES.index(found["word"].lower()))
        marks = _marks(best)
        if epoch := _EPOCH.search(text, begin):
            marks += _marks(epoch)
        return marks, best["word"].lower()
    for pattern in (_LEADING, _OUT_OF):
        if found := pattern.search(text[:end], begin):
            if _EPOCH.search(text[: found.end()], begin) and pattern is _OUT_OF:
                break  # "Epoch 3/10" counts epochs
            return _marks(found), "step"
    if found := _EPOCH.search(text, begin):
        return _marks(found), ""
    return (), ""


def rank_of(text: str) -> Mark | None:
    """Find the number of the worker that wrote a line, where its prefix tells."""
    found = _RANKS.search(text[:200])
    if found is None:
        return None
    group = next(name for name in "abcd" if found[name] is not None)
    return "rank", found.start(group), found.end(group)


def _marks(found: re.Match[str]) -> tuple[Mark, ...]:
    roles = ("step", "epoch", "inner", "length", "total")
    return tuple(
        (role, found.start(role), found.end(role)) for role, text in found.groupdict().items() if role in roles and text
    )
