"""Detectors: each sees one way in which a signal leaves its band, and says where. One file each; listed here."""

from typing import Final

from triage.detectors import back_to_start, drift, excursion, nonfinite
from triage.detectors._contract import Detector
from triage.model import Event
from triage.options import Options
from triage.signals import SignalTable

DETECTORS: Final[tuple[Detector, ...]] = (
    excursion.DETECTOR,
    back_to_start.DETECTOR,
    drift.DETECTOR,
    nonfinite.DETECTOR,
)


def detect(signals: SignalTable, options: Options) -> list[Event]:
    """Events of all detectors, in order of their onset rows."""
    events = [event for detector in DETECTORS for event in detector.detect(signals, options)]
    return sorted(events, key=lambda event: (event.onset, event.signal))
