"""What a report says, held against what a scenario expects: one line per difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from tests.helpers.scenario import Scenario
from triage.classify import worst_class
from triage.model import Diagnosis, Finding, RunReport


def failures(s: Scenario, report: RunReport) -> list[str]:
    """Every expectation of the scenario that the report does not meet."""
    return [*_about_class(s, report), *_about_causes(s, report), *_about_findings(s, report)]


def worst(report: RunReport) -> list[Diagnosis]:
    """The diagnoses of the worst class, in order."""
    name = worst_class(report.diagnoses)
    return [d for d in report.diagnoses if d.event_class == name]


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Does a name match one of these shell patterns?"""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _about_class(s: Scenario, report: RunReport) -> Iterator[str]:
    name = worst_class(report.diagnoses) or "none"
    if name not in s.classes:
        yield f"class {name}, not {' or '.join(s.classes)}"
    for d in report.diagnoses:
        if d.event_class in s.never_classes:
            yield f"class {d.event_class} must not be said"
    if s.verdicts and report.verdict not in s.verdicts:
        yield f"verdict {report.verdict}, not {' or '.join(s.verdicts)}"
    found = worst(report)
    if not found:
        return
    if s.onset is not None and not s.onset[0] <= found[0].onset_step <= s.onset[1]:
        yield f"onset {found[0].onset_step}, not {s.onset}"
    if s.censored is not None and found[-1].censored is not s.censored:
        yield f"censored is {found[-1].censored}"
    if s.confidence and found[0].confidence not in s.confidence:
        yield f"confidence {found[0].confidence}, not {' or '.join(s.confidence)}"


def _about_causes(s: Scenario, report: RunReport) -> Iterator[str]:
    subjects: list[Diagnosis | Finding] = list(worst(report)[:1]) or [f for f in report.findings if f.causes]
    first = [subject.causes[0].id for subject in subjects if subject.causes]
    if s.causes and not any(matches(cause, s.causes) for cause in first):
        yield f"first cause {first or 'none'}, not {' or '.join(s.causes)}"
    listed = {c.id for subject in subjects for c in subject.causes}
    for wanted in s.with_causes:
        if wanted not in listed:
            yield f"cause {wanted} is not listed"
    for subject in (*report.diagnoses, *report.findings):
        for place, cause in enumerate(subject.causes):
            if matches(cause.id, s.never_causes) and (place == 0 or cause.confidence == "likely"):
                yield f"cause {cause.id} must not be said"
            if s.is_modest and cause.confidence == "likely":
                yield f"cause {cause.id} is called likely"


def _about_findings(s: Scenario, report: RunReport) -> Iterator[str]:
    ids = {f.id for f in report.findings}
    for name in s.findings:
        if name not in ids:
            yield f"finding {name} is missing"
    for name in s.never_findings:
        if name in ids:
            yield f"finding {name} must not be there"
