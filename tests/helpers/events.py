"""Events made by hand, for what comes after the detectors."""

from __future__ import annotations

from typing import Any

from triage.model import Event


def event(onset: int, rows: int = 1, **change: Any) -> Event:
    """A finite excursion of `rows` points that recovered; row = step = logged point."""
    fields: dict[str, Any] = {
        "signal": "loss",
        "detector": "excursion",
        "tier": "strong",
        "onset": onset,
        "trigger": onset,
        "peak": onset,
        "end": onset + rows,
        "recovered": onset + rows,
        "healthy": onset - 1 if onset else None,
        "width": rows,
        "censored": False,
        "is_open": False,
        "n_nonfinite": 0,
        "peak_value": 4.0,
        "level": 2.0,
        "excess": 0.7,
        "z": 12.0,
    }
    return Event(**(fields | change))


def opened(onset: int, rows: int = 50, **change: Any) -> Event:
    """An excursion that did not come back."""
    return event(onset, rows, **({"recovered": None, "is_open": True} | change))


def lost(onset: int, rows: int = 50, **change: Any) -> Event:
    """Non-finite values that stay."""
    inf = float("inf")
    fields = {"tier": "nonfinite", "n_nonfinite": rows, "peak_value": float("nan"), "excess": inf, "z": inf}
    return opened(onset, rows, **(fields | change))
