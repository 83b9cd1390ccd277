"""Notes on mixed precision: what looks like a fault and is none, and what must not be noted away."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.runs import flat
from tests.helpers.synth import grad, run
from triage.model import Notice
from triage.options import Options
from triage.pipeline import judge

N = 1000
T = np.arange(N)


def notes(scale: np.ndarray, norm: np.ndarray | None = None, first: int = 0) -> dict[str, Notice]:
    c = {"loss": flat(N), "loss_scale": scale} | ({} if norm is None else {"grad_norm": norm})
    return {n.id: n for n in judge(run(c, step=first + T), Options()).notices}


def falls(*rows: int, back: tuple[int, ...] = ()) -> np.ndarray:
    """A scale of 65536 that halves in these rows and doubles in those."""
    down = (T[:, None] >= np.array(rows, dtype=int)).sum(axis=1)
    up = (T[:, None] >= np.array(back, dtype=int)).sum(axis=1)
    return 65536.0 * 2.0 ** (up - down)


def test_the_search_at_the_start_is_told_with_its_ends():
    note = notes(falls(2, 4, 6, 8))["scale-search"]
    assert (note.count, note.where, dict(note.detail)) == (4, "step 8", {"from": 65536.0, "to": 4096.0})


def test_an_excerpt_holds_no_search():
    assert "scale-search" not in notes(falls(2, 4, 6, 8), first=9000)


def test_a_constant_scale_needs_no_note():
    assert notes(falls()) == {}


@pytest.mark.parametrize(
    ("scale", "count"),
    [
        (falls(300), 1),
        (falls(300, back=(500,)), 1),
        (falls(300, 700, back=(500,)), 2),
        (falls(300, 500), None),  # two lost and none regained: it sinks
        (falls(300, 500, back=(800,)), 2),
        (falls(300, 310, 320, 330), None),  # a collapse
    ],
)
def test_isolated_overflows(scale, count):
    note = notes(scale).get("isolated-overflows")
    assert (note.count if note else None) == count
    if note:
        assert note.where == "step 300"


@pytest.mark.parametrize(
    ("changes", "follows", "noted"),
    [
        ((300, 700), (1, 1), True),
        ((300, 700), (1, 0), False),  # of two both
        ((300,), (1,), False),  # one may be chance
        ((200, 400, 600), (1, 1, 0), True),  # of three most
        ((200, 400, 600), (1, 0, 0), False),
    ],
)
def test_a_gradient_logged_times_the_scale(changes, follows, noted):
    scale = falls(back=changes)
    norm = grad(N, sd=0.05)
    for row, does in zip(changes, follows, strict=True):
        norm[row:] *= 2.0 if does else 1.0
    assert ("grad-norm-scaled" in notes(scale, norm)) is noted
