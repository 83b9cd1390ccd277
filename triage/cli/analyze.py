"""`triage analyze`: the whole story of each run, and the gate."""

from __future__ import annotations

from triage.cli import _flags as flag
from triage.cli._session import judge


def analyze(
    *,
    paths: flag.Paths = None,
    window: flag.Window = None,
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
    checkpoints: flag.Checkpoints = None,
    checkpoint_every: flag.CheckpointEvery = None,
    batches: flag.Batches = None,
    checklist: flag.Checklist = None,
    format: flag.Format = None,  # noqa: A002 - the name of the flag
    output: flag.Output = None,
    lang: flag.Lang = None,
    quiet: flag.Quiet = None,
    no_color: flag.NoColor = None,
    debug: flag.Debug = False,
    version: flag.Version = False,
) -> int:
    """Say what happened in each run, why, and what to do next.

    Exit code 0: nothing at or above --fail-on; 1: at least one run is; 2: bad arguments; 3: could not read;
    4: could not be judged.
    """
    return judge("analyze", locals())
