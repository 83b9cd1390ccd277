"""The version of the installed distribution; separate so that a renderer can name it without importing the pipeline."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """The version, or "0+unknown" in a source tree that was never installed."""
    from importlib import metadata

    try:
        return metadata.version("triage-ml")
    except metadata.PackageNotFoundError:
        return "0+unknown"
