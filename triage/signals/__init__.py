"""Signals: what the detectors look at, computed once from the RunTable, same rows, more columns."""

from triage.signals.table import Judged, SignalTable, build, updates_before

__all__ = ["Judged", "SignalTable", "build", "updates_before"]
