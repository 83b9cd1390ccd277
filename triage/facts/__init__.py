"""Facts: the numbers around one diagnosis or finding that a checklist is resolved from.

Pure: the same table and diagnosis give the same facts. The closed list of statistics, with meaning and unit, is
`triage/checklists/statistics.toml`. What "before" means everywhere: rows before the onset only, on the path that led to
it, so that nothing that came later colours the level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from triage.checklists import framework_of
from triage.facts._config import number
from triage.facts._stretch import Column, Stretch, columns_of, cut
from triage.facts.around_onset import around_onset
from triage.facts.continuity import continuity
from triage.facts.placeholders import placeholders
from triage.facts.precision import precision_and_clipping
from triage.facts.schedule import schedule
from triage.facts.shape import shape, whole_run
from triage.model import Diagnosis, Facts, Finding

if TYPE_CHECKING:
    from triage.model import RunTable

__all__ = ["facts", "facts_of_all"]

WITHIN_A_STEP: Final = ("loss", "grad_norm", "update_norm", "update_ratio", "param_norm")
"""Order in which a step computes them: of two that turn non-finite in one row, the earlier one is first."""


def facts(
    table: RunTable, about: Diagnosis | Finding, *, confirmed_causes: Iterable[str] = (), framework: str | None = None
) -> Facts:
    """Compute the facts around one diagnosis or finding; `facts_of_all` is cheaper for several of one run."""
    return facts_of_all(table, (about,), confirmed_causes=confirmed_causes, framework=framework)[0]


def facts_of_all(
    table: RunTable,
    abouts: Iterable[Diagnosis | Finding],
    *,
    confirmed_causes: Iterable[str] = (),
    framework: str | None = None,
) -> tuple[Facts, ...]:
    """Compute the facts around each diagnosis or finding of a run.

    The columns are taken apart once; each cut is then linear in rows, and in columns × NEAR_ROWS.

    Args:
        table: the run, as the diagnoses were made from it.
        abouts: diagnoses and findings; a finding without a step is about the whole run and is looked at from its end.
        confirmed_causes: causes that a person has confirmed.
        framework: who wrote the log; None = from the writer and format names of the source.
    """
    import numpy as np

    framework = framework or framework_of(table.source.writer, table.source.format)
    confirmed = frozenset(confirmed_causes)
    if not table.frame.height:
        return tuple(
            Facts(evidence_ids=_evidence_ids(about), framework=framework, confirmed_causes=confirmed)
            for about in abouts
        )
    with np.errstate(all="ignore"):  # logs hold 1e300, inf and NaN; what cannot be computed is left out
        columns = columns_of(table)
        everywhere = whole_run(columns)
        logged = {name for name in table.frame.columns if table.frame[name].null_count() < table.frame.height}
        bare = Facts(
            columns=frozenset(logged | set(columns) - {"u_over_lr"}), framework=framework, confirmed_causes=confirmed
        )
        return tuple(_facts(table, columns, everywhere, about, bare) for about in abouts)


def _facts(
    table: RunTable,
    columns: Mapping[str, Column],
    everywhere: Mapping[tuple[str, str], float],
    about: Diagnosis | Finding,
    bare: Facts,
) -> Facts:
    config = table.source.config
    warmup = number(config, "warmup")
    stretch = cut(table, columns, *_rows(table, about))
    statistics = (
        dict(everywhere)
        | around_onset(stretch, about.signal if isinstance(about, Diagnosis) else "loss")
        | schedule(stretch, None if warmup is None else int(warmup))
        | continuity(stretch)
        | precision_and_clipping(stretch, config)
        | shape(stretch, table)
        | _nonfinite_first(stretch, about)
        | _said(about)
    )
    return replace(
        bare,
        statistics={key: value for key, value in statistics.items() if not math.isnan(value)},
        evidence_ids=_evidence_ids(about),
        placeholders=placeholders(
            stretch,
            table,
            about.last_healthy_step if isinstance(about, Diagnosis) else None,
            has_onset=isinstance(about, Diagnosis) or about.step is not None,
        ),
    )


def _rows(table: RunTable, about: Diagnosis | Finding) -> tuple[int, int]:
    """Positions of the onset and of the last row out of band; found by step, since a diagnosis may count other rows."""
    import numpy as np

    step = table.frame["step"].to_numpy()
    segment = table.frame["segment"].to_numpy()
    if isinstance(about, Diagnosis):
        inside = np.flatnonzero((segment == about.segment) & (step >= about.onset_step))
        onset = int(inside[0]) if len(inside) else len(step) - 1
        ends = np.flatnonzero((np.arange(len(step)) >= onset) & (step <= about.end_step) & (segment == about.segment))
        return onset, int(ends[-1]) if len(ends) else onset
    if about.step is None:
        return len(step) - 1, len(step) - 1
    at = np.flatnonzero(step >= about.step)
    onset = int(at[np.argmax(segment[at])]) if len(at) else len(step) - 1
    return onset, int(np.flatnonzero(segment == segment[onset])[-1])


def _nonfinite_first(stretch: Stretch, about: Diagnosis | Finding) -> dict[tuple[str, str], float]:
    """For each column 1 if it turned non-finite first and 0 if not; nothing where all stays finite."""
    import numpy as np

    first = about.first_nonfinite.signal if isinstance(about, Diagnosis) and about.first_nonfinite else None
    if first is None:
        found = []
        for name, column in stretch.columns.items():
            logged = column.logged(np.concatenate([stretch.before[-1:], stretch.during]))
            at = logged[~np.isfinite(column.values[logged])]
            if len(at) and name != "u_over_lr":
                order = WITHIN_A_STEP.index(name) if name in WITHIN_A_STEP else len(WITHIN_A_STEP)
                found.append((int(at[0]), order, name))
        if not found:
            return {}
        first = min(found)[2]
    return {(name, "nonfinite_first"): float(name == first) for name in stretch.columns}


def _said(about: Diagnosis | Finding) -> dict[tuple[str, str], float]:
    """What the diagnosis or finding itself states and the table cannot show again."""
    if isinstance(about, Finding):
        return {("rank", "disagrees"): 1.0} if about.id == "rank-disagreement" else {}
    leads = {p.signal: float(about.onset_step - p.step) for p in about.timeline if p.signal != about.signal}
    said = {(signal, "lead_steps"): lead for signal, lead in leads.items()}
    return said | {("loss", "departures"): float(about.n_excursions)}


def _evidence_ids(about: Diagnosis | Finding) -> dict[str, tuple[str, ...]]:
    """Ids of the evidence of the diagnosis or finding and of its causes, by the signal that each speaks of."""
    out: dict[str, list[str]] = {}
    for evidence in (*about.evidence, *(e for cause in about.causes for e in cause.evidence)):
        if evidence.signal is not None and evidence.verdict != "missing":
            out.setdefault(evidence.signal, []).append(evidence.id)
    return {signal: tuple(dict.fromkeys(ids)) for signal, ids in out.items()}
