"""What a row of the scenario table is: a shape of run with its expected class and cause, and what must not be said.

Each scenario returns the run and nothing computed by triage. Noise sd and every "+x" of the table are in nats; default
length 2,000 steps, default curve 1.8 + 9 (1 + t/8)^-0.6, default noise 0.01.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.helpers.synth import curve, grad, noise, run
from triage.model import RunTable


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the table.

    Attributes:
        number: row of the table; a row with several outcomes has several scenarios.
        name: what happens.
        make: builds the run.
        classes: worst classes that are right; "none" = no incident.
        causes: shell patterns, one of which the first cause must match: of the worst diagnosis, or of a finding where
            there is no diagnosis. Empty = not asked.
        with_causes: causes that must be listed as well, at any place.
        never_causes: patterns that must not be first anywhere, and never likely.
        never_classes: classes that no diagnosis may have.
        findings: ids that must be there.
        never_findings: ids that must not be there.
        verdicts: verdicts that are right; empty = not asked.
        censored: of the worst diagnosis.
        onset: least and largest onset step of the worst diagnosis.
        confidence: confidences that are right for the worst diagnosis; empty = not asked.
        is_modest: no cause may be "likely".
    """

    number: int
    name: str
    make: Callable[[], RunTable]
    classes: tuple[str, ...]
    causes: tuple[str, ...] = ()
    with_causes: tuple[str, ...] = ()
    never_causes: tuple[str, ...] = ()
    never_classes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    never_findings: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    censored: bool | None = None
    onset: tuple[int, int] | None = None
    confidence: tuple[str, ...] = ()
    is_modest: bool = False


REGISTERED: list[Scenario] = []


def scenario(
    number: int, name: str, classes: str, **more: Any
) -> Callable[[Callable[[], RunTable]], Callable[[], RunTable]]:
    """Register a scenario; `classes` are separated by "|"."""

    def take(make: Callable[[], RunTable]) -> Callable[[], RunTable]:
        REGISTERED.append(Scenario(number, name, make, tuple(classes.split("|")), **more))
        return make

    return take


def base(n: int = 2000, sd: float = 0.01, seed: int = 0, kind: str = "gauss") -> dict[str, np.ndarray]:
    """A healthy run: loss, grad norm, lr (flat after a warm-up of 100), update ratio, clip coefficient."""
    lr = 3e-4 * np.minimum(1.0, (np.arange(n) + 1) / 100)
    update = 3e-3 * (lr / 3e-4) * np.exp(noise("gauss", n, 0.02, seed + 7))
    return {
        "loss": curve(n, sd, kind, seed=seed),
        "grad_norm": grad(n, seed=seed + 3),
        "lr": lr,
        "update_ratio": update,
        "clip_coef": np.ones(n),
    }


def bump(n: int, at: int, height: float, width: int, total: int) -> np.ndarray:
    """A hump that starts at `at`, peaks `width` rows later and is gone after `total` rows; log units."""
    out = np.zeros(n)
    t = np.arange(total)
    out[at : at + total] = height * np.where(t <= width, (t + 1) / (width + 1), np.exp(-(t - width) / (total / 5)))
    return out


def resumed(c: Mapping[str, Any], at: int, back: int = 1, config: Mapping[str, Any] | None = None) -> RunTable:
    """Insert a resume: the last `back` steps before row `at` are trained again in a second segment."""
    n = len(c["loss"])
    step = np.concatenate([np.arange(at), np.arange(at - back, n - back)])
    return run(c, segment=(np.arange(n) >= at).astype(int), step=step, config=config)
