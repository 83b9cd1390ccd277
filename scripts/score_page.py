"""Write docs/score.md from the marks of a scored run over labelled cases.

    python scripts/score_page.py MARKS.json [--before OLD.json] [--benchmark TABLE.md] > docs/score.md

MARKS.json is a list with one entry a case: corpus, truth (class, verdict, onset, causes, accept, findings, format …)
and marks (what was right, and what was said). The labelled cases lie outside the project, so whoever has them writes
the page; the numbers come from the marks alone.
"""

from __future__ import annotations

import argparse
import collections
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

CLASSES = ("healthy", "single-step", "consecutive", "non-recovering", "first-step-nan")
MARKS = (
    "exit",
    "class",
    "verdict",
    "onset",
    "last_healthy",
    "causes",
    "causes_top2",
    "no_overclaim",
    "findings",
    "reading",
)
Case = dict[str, Any]


def counted(cases: Iterable[Case]) -> list[Case]:
    """Cases whose label is sure enough to count."""
    return [c for c in cases if c["truth"].get("confidence") != "low"]


def rate(cases: Sequence[Case], mark: str) -> str:
    """One mark as right/judged (percent); "–" where no case is judged on it."""
    marks = [c["marks"][mark] for c in cases if mark in c["marks"]]
    return f"{sum(marks)}/{len(marks)} ({100 * sum(marks) / len(marks):.1f} %)" if marks else "–"


def corpora(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """Cases by corpus, in the order of the file."""
    out: dict[str, list[Case]] = collections.defaultdict(list)
    for case in cases:
        out[case["corpus"]].append(case)
    return dict(out)


def rates(cases: Sequence[Case], before: Sequence[Case]) -> None:
    """One line a corpus: every rate, and what it was the last time."""
    old = corpora(counted(before))
    print("| corpus | mark | now | last time |\n|---|---|---|---|")
    for name, members in corpora(counted(cases)).items():
        for mark in MARKS:
            now = rate(members, mark)
            if now != "–":
                print(f"| {name} | {mark} | {now} | {rate(old.get(name, []), mark)} |")
        healthy = [c["marks"] for c in members if c["truth"].get("verdict") == "healthy" and c["marks"].get("ran")]
        if healthy:
            alarms = sum(m["got_verdict"] == "unresolved" for m in healthy)
            events = sum(m["got_class"] != "healthy" for m in healthy)
            print(f"| {name} | false alarms, false events | {alarms}, {events} of {len(healthy)} healthy | |")


def confusion(cases: Sequence[Case]) -> None:
    """Truth against answer, per corpus."""
    for name, members in corpora(counted(cases)).items():
        cells = collections.Counter(
            (c["truth"]["class"], c["marks"].get("got_class", "not read")) for c in members if c["truth"].get("class")
        )
        if not cells:
            continue
        print(f"\n### {name}\n\n| truth | " + " | ".join([*CLASSES, "not read"]) + " |\n|---|" + "---|" * 6)
        for truth in CLASSES:
            row = [str(cells.get((truth, got), "·")) for got in (*CLASSES, "not read")]
            if any(cell != "·" for cell in row):
                print(f"| {truth} | " + " | ".join(row) + " |")


def causes(cases: Sequence[Case]) -> None:
    """How often the first cause is right, by the cause that was made."""
    table: dict[str, list[bool]] = collections.defaultdict(list)
    said: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for case in counted(cases):
        if "causes" in case["marks"]:
            made = case["truth"].get("cause_made") or case["case"]
            table[made].append(case["marks"]["causes"])
            got = case["marks"].get("got_causes") or ["nothing"]
            said[made][got[0].split(" ")[0]] += 1
    print("| made | first cause right | said first |\n|---|---|---|")
    for made, hits in sorted(table.items(), key=lambda item: -len(item[1])):
        words = ", ".join(f"{word} {n}" for word, n in said[made].most_common(3))
        print(f"| {made} | {sum(hits)}/{len(hits)} | {words} |")


def calibration(cases: Sequence[Case]) -> None:
    """Of what was called likely or possible, how much was acceptable."""
    tally: dict[str, list[bool]] = {"likely": [], "possible": [], "weak": []}
    for case in counted(cases):
        accept = case["truth"].get("accept")
        if accept is None:
            continue
        tally["likely"] += [word in accept for word in case["marks"].get("got_likely", [])]
        for word in case["marks"].get("got_causes", [])[:1]:
            name, _, grade = word.partition(" ")
            if grade.strip("()") in ("possible", "weak"):
                tally[grade.strip("()")].append(name in accept)
    print("| said | acceptable |\n|---|---|")
    for grade, hits in tally.items():
        if hits:
            print(f"| {grade} | {sum(hits)}/{len(hits)} ({100 * sum(hits) / len(hits):.0f} %) |")


def formats(cases: Sequence[Case]) -> None:
    """Reading and class by format."""
    table: dict[tuple[str, str], list[Case]] = collections.defaultdict(list)
    for case in counted(cases):
        if case["truth"].get("format"):
            table[case["corpus"], case["truth"]["format"]].append(case)
    print("| corpus | format | read | reading | class |\n|---|---|---|---|---|")
    for (corpus, name), members in sorted(table.items()):
        print(f"| {corpus} | {name} | {rate(members, 'ran')} | {rate(members, 'reading')} | {rate(members, 'class')} |")


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("marks", type=Path)
    parser.add_argument("--before", type=Path, help="the marks of the last time")
    parser.add_argument("--benchmark", type=Path, help="a Markdown table to put at the end")
    options = parser.parse_args()
    cases = json.loads(options.marks.read_text(encoding="utf-8"))
    before = json.loads(options.before.read_text(encoding="utf-8")) if options.before else []
    print("# Score on labelled logs\n")
    print("Made with `scripts/score_page.py` from a scored run. Labels of low confidence are not counted.")
    print("\n## Rates\n")
    rates(cases, before)
    print("\n## Confusion of classes")
    confusion(cases)
    print("\n## Causes\n")
    causes(cases)
    print("\n## Calibration\n")
    calibration(cases)
    print("\n## Formats\n")
    formats(cases)
    if options.benchmark:
        print("\n## A million rows\n\n" + options.benchmark.read_text(encoding="utf-8").strip())


if __name__ == "__main__":
    main()
