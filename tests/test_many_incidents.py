"""A log of many incidents: all are told, the worst are explained, and none costs a look at everything."""

from __future__ import annotations

import json
import random
from pathlib import Path

import triage


def test_the_worst_incidents_are_explained_and_all_are_told(tmp_path: Path) -> None:
    noise = random.Random(3)  # noqa: S311 - a test series, nothing secret
    losses = [2.0 * noise.lognormvariate(0.0, 0.01) for _ in range(30_000)]
    spikes = [500]
    while spikes[-1] < 29_000:
        spikes.append(spikes[-1] + noise.randint(60, 240))  # more than the cluster gap apart, and no period
    for n, at in enumerate(spikes):
        losses[at] *= 8.0 if n == 90 else 3.0
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"step": s, "loss": v}) + "\n" for s, v in enumerate(losses)), encoding="utf-8")
    run = triage.analyze(log).runs[0]
    explained = [d for d in run.diagnoses if d.checklist is not None]
    assert len(run.diagnoses) == len(spikes)
    assert len(explained) == 100
    assert max(run.diagnoses, key=lambda d: d.peak_value) in explained
    assert len([d for d in triage.analyze(log, max_incidents=150).runs[0].diagnoses if d.checklist is not None]) == 150
