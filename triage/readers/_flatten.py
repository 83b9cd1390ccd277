"""Names for nested values: {"train": {"loss": 1}} becomes the column "train/loss".

Separate so that the row path, the layout path and the document readers give the same cell the same name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from triage.model import Notice

LIST_ITEMS: Final = 8
"""Items of a list that become columns: enough for parameter groups and betas, not for histograms."""

LR_NAMES: Final = frozenset({"lr", "learning_rate"})
"""Lists of these are parameter groups; the first group is the main one (schema: `lr`)."""

_CONTAINERS: Final = (dict, list)

Cuts = Counter[str]
"""Notice id → how often: what flattening and typing left out or decided.

depth-limit (values), duplicate-keys (values), first-of-list (lists), list-cut (items), media-skipped (objects),
integers-rounded (values).
"""


def flatten(record: Mapping[str, Any], depth: int, cuts: Cuts) -> dict[str, Any]:
    """Turn one nested object into name → scalar; what cannot become a cell is counted in `cuts`.

    A list of one item stands for its item. Of a longer list the first LIST_ITEMS become name/0, name/1 …; the first
    item of a list of learning rates keeps the bare name. Objects with a `_type` are media, no metrics. Of two values
    with one name the last wins, as in JSON itself.
    """
    cells: dict[str, Any] = {}
    for key, value in record.items():
        _add(cells, clean_name(key), value, depth, cuts)
    return cells


def _add(cells: dict[str, Any], name: str, value: Any, depth: int, cuts: Cuts) -> None:
    if not isinstance(value, _CONTAINERS):
        if name in cells:
            cuts["duplicate-keys"] += 1
        cells[name] = value
    elif not value:
        return
    elif depth <= 1:
        cuts["depth-limit"] += 1
    elif isinstance(value, dict):
        if "_type" in value:
            cuts["media-skipped"] += 1
            return
        for key, inner in value.items():
            _add(cells, f"{name}/{clean_name(key)}", inner, depth - 1, cuts)
    elif len(value) == 1:
        _add(cells, name, value[0], depth - 1, cuts)
    else:
        is_lr = name.rpartition("/")[2].lower() in LR_NAMES
        cuts["first-of-list"] += is_lr
        cuts["list-cut"] += max(0, len(value) - LIST_ITEMS)
        for index, inner in enumerate(value[:LIST_ITEMS]):
            _add(cells, name if is_lr and index == 0 else f"{name}/{index}", inner, depth - 1, cuts)


def clean_name(key: object) -> str:
    """The key as text that every library takes: half characters (lone surrogates) are replaced."""
    text = str(key)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def cut_notices(cuts: Cuts) -> tuple[Notice, ...]:
    """One notice per kind of cut that happened, in a fixed order."""
    return tuple(Notice(id=kind, count=cuts[kind]) for kind in sorted(cuts) if cuts[kind])
