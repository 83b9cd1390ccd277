"""The scenario table, every row of it."""

from __future__ import annotations

from typing import Final

from tests.helpers import scenarios_a, scenarios_b, scenarios_c
from tests.helpers.scenario import REGISTERED, Scenario

TABLE: Final = (scenarios_a, scenarios_b, scenarios_c)
"""The files whose rows register themselves when they are imported."""

ALL: Final[tuple[Scenario, ...]] = tuple(sorted(REGISTERED, key=lambda s: s.number))
