"""Golden files: what the tool prints now, reviewed by a person, beside the test that compares it.

UPDATE_GOLDEN=1 rewrites them; look at the difference as one looks at code.
"""

from __future__ import annotations

import os
from pathlib import Path


def check_golden(path: Path, text: str) -> None:
    """Compare a text with its golden file, or write it where UPDATE_GOLDEN is set."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"no golden file {path.name}; write it with UPDATE_GOLDEN=1"
    assert text == path.read_text(encoding="utf-8")
