"""Write docs/checklists.md: every branch and list with its steps, and which step carries which point of the two guides.

    python scripts/checklist_map.py           writes the page
    python scripts/checklist_map.py --check   says whether it is stale (exit code 1)

Separate from the package: it reads the same data that `triage.resolve` reads and adds nothing to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from triage.checklists import (
    BRANCHES,
    LISTS,
    Branch,
    Comparison,
    Condition,
    Step,
    all_branches,
    branch_map,
    load_branch,
    load_carriers,
    load_frameworks,
    load_statistics,
)

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "checklists.md"
SEED_IDS = ROOT / "tests" / "checklists" / "seed_ids.txt"

HEAD = """\
# Checklists

Written by `scripts/checklist_map.py` from `triage/checklists/`; do not edit by hand.

A class or a finding leads to exactly one branch. Each branch goes: what to look at first → the smallest experiment
that confirms it → what to do only once confirmed → how to know that it is fixed. A **log** step is answered from the
log, with its number, or says which column would have answered it; an **experiment** says what to run and what each
outcome means; an **action** stays locked until the steps that it names have confirmed it; a **verify** step says how
to know.

Rules that hold everywhere: a phenomenon is not a cause · one variable at a time · a legal hard sample is kept ·
clipping is a seat belt, not a cure · never go on from weights or optimizer state that may be poisoned · AMP gradients
are unscaled before they are measured or clipped.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD, *_branch_table()]
    for title, names in (("Branches", BRANCHES), ("Lists", LISTS)):
        parts += [f"## {title}", *(_branch(load_branch(name)) for name in names)]
    parts += [*_map(seed_ids()), *_statistics(), *_frameworks()]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def seed_ids() -> list[str]:
    """Ids of the points of the two guides, in order."""
    lines = SEED_IDS.read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def carriers() -> dict[str, list[tuple[str, str]]]:
    """Point → (what carries it, all that it says in English)."""
    out: dict[str, list[tuple[str, str]]] = {}
    for branch in all_branches():
        for step in branch.steps:
            for seed in step.seeds:
                words = " ".join(text.en for text in (step.text, step.yes, step.no) if text is not None)
                out.setdefault(seed, []).append((f"[{branch.id}](#{branch.id}) / `{step.id}`", words))
    for carrier in load_carriers():
        for seed in carrier.seeds:
            out.setdefault(seed, []).append((carrier.by, carrier.text.en))
    return out


def _branch_table() -> list[str]:
    rows = [f"| `{name}` | [{branch}](#{branch}) |" for name, branch in branch_map().items()]
    return ["## Class or finding → branch", "\n".join(["| class or finding | branch |", "| --- | --- |", *rows])]


def _branch(branch: Branch) -> str:
    return "\n".join([f"### {branch.id}", "", f"{branch.title.en} · {branch.title.zh}", "", *_steps(branch.steps)])


def _steps(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        yield f"- **{step.kind}** `{step.id}`" + (f" · {', '.join(step.seeds)}" if step.seeds else "")
        if step.short is not None:
            yield f"  - In a line: {step.short.en} · {step.short.zh}"
        yield from _text(step.text.en)
        yield from _text(step.text.zh)
        if step.yes is not None and step.yes_if is not None:
            yield f"  - Yes if {_condition(step.yes_if)}: {step.yes.en} · {step.yes.zh}"
        elif step.yes is not None:
            yield f"  - Yes only by an experiment: {step.yes.en} · {step.yes.zh}"
        if step.no is not None:
            where = "otherwise" if step.no_if is None else f"if {_condition(step.no_if)}"
            yield f"  - No {where}: {step.no.en} · {step.no.zh}"
        if step.when is not None:
            yield f"  - Left out where it is known that not {_condition(step.when)}"
        if step.tests:
            yield "  - First to run where the leading cause is one of " + ", ".join(f"`{name}`" for name in step.tests)
        if step.confirm:
            yield "  - Only once confirmed by " + ", ".join(f"`{name}`" for name in step.confirm)


def _text(text: str) -> Iterator[str]:
    """A list item; a text with a small table in it keeps its columns."""
    lines = text.splitlines()
    if "     " in text:
        yield from ("  - ```text", *(f"    {line}" for line in lines), "    ```")
    else:
        yield "  - " + "\n    ".join(lines)


def _condition(condition: Condition) -> str:
    joined = " and " if condition.join == "all" else " or "
    return joined.join(_comparison(c) for c in condition.comparisons)


def _comparison(comparison: Comparison) -> str:
    return f"`{comparison.signal}.{comparison.statistic} {comparison.operator} {comparison.value:g}`"


def _map(seeds: Iterable[str]) -> list[str]:
    carried = carriers()
    rows = [f"| {seed} | {' · '.join(by for by, _ in carried.get(seed, [('**nothing**', '')]))} |" for seed in seeds]
    intro = (
        "The checklists were made from two published guides, a handbook on training instability (H) and a quick-fix "
        "entry on loss spikes (Q), corrected and widened by what trainers and public run logs show. Each of their "
        "points is carried by at least one step, list, finding or command; a test fails on a gap."
    )
    return ["## Which step carries which point", intro, "\n".join(["| point | carried by |", "| --- | --- |", *rows])]


def _statistics() -> list[str]:
    rows = [
        f"| `{name}` | {', '.join(s.signals)} | {s.unit} | {s.means.en.replace('{signal}', 'the signal')} |"
        for name, s in load_statistics().items()
    ]
    head = ["| statistic | signals | unit | meaning |", "| --- | --- | --- | --- |"]
    return ["## Statistics that conditions may ask about", "\n".join([*head, *rows])]


def _frameworks() -> list[str]:
    out = ["## Settings that turn a missing column on"]
    for framework in load_frameworks():
        rows = [f"| `{column}` | {text.en} |" for column, text in framework.columns.items()]
        rows += [f"| (clip the global norm) | {framework.clip.en} |", f"| (unscale AMP) | {framework.unscale.en} |"]
        out.append("\n".join([f"### Settings: {framework.name}", "", "| column | setting |", "| --- | --- |", *rows]))
    return out


def main(arguments: list[str]) -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" in arguments:
        is_fresh = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print(
            "docs/checklists.md is up to date"
            if is_fresh
            else "docs/checklists.md is stale: run scripts/checklist_map.py"
        )
        return 0 if is_fresh else 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
