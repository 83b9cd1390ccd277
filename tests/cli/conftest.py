"""A pipeline that gives reports built by hand, so that the command line is tested apart from detection."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import triage
from tests.helpers import reports
from tests.helpers.run_cli import Result, run_cli


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    def run(*argv: str, **settings: Any) -> Result:
        return run_cli(monkeypatch, argv, **settings)

    return run


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What `triage.pipeline` offers; `calls` holds what it was asked, `report` is what it gives."""
    fake = SimpleNamespace(calls=[], report=reports.recovered())

    def analyze(paths: Any, options: Any, *, stdin: Any = None) -> Any:
        fake.calls.append((tuple(paths), options, stdin))
        if isinstance(fake.report, BaseException):
            raise fake.report
        return replace(fake.report, options=options.as_json())

    def explain_step(path: str, step: int, options: Any, *, stdin: Any = None) -> Any:
        fake.calls.append((path, step, options))
        return reports.step_view()

    fake.analyze = analyze
    fake.explain_step = explain_step
    monkeypatch.setitem(sys.modules, "triage.pipeline", fake)
    monkeypatch.setattr(triage, "pipeline", fake, raising=False)
    return fake
