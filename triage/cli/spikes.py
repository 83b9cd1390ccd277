"""`triage spikes`: one line per incident, and the gate."""

from __future__ import annotations

from triage.cli import _flags as flag
from triage.cli._session import judge


def spikes(
    *,
    paths: flag.Paths = None,
    window: flag.Window = None,
    worst: flag.Worst = None,
    fail_on: flag.FailOn = None,
    map: flag.Map = None,  # noqa: A002 - the name of the flag
    signal: flag.Signal = None,
    direction: flag.Direction = None,
    from_step: flag.FromStep = None,
    to_step: flag.ToStep = None,
    segment: flag.Segment = None,
    sensitivity: flag.Sensitivity = None,
    max_incidents: flag.MaxIncidents = None,
    join: flag.Join = None,
    grammars: flag.Grammars = None,
    format: flag.Format = None,  # noqa: A002 - the name of the flag
    output: flag.Output = None,
    lang: flag.Lang = None,
    quiet: flag.Quiet = None,
    no_color: flag.NoColor = None,
    debug: flag.Debug = False,
    version: flag.Version = False,
) -> int:
    """List the incidents of each run, one line each.

    The exit codes are those of analyze.
    """
    return judge("spikes", {**locals(), "checklist": "none"})
