"""Real consoles (tests/cases/console/*.txt), and what was read from them (the .json beside each).

After a change that is meant, `python -m tests.readers.test_console_cases` writes the .json files anew; read the
difference.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.readers._console import CASES, read_path
from triage.options import Limits
from triage.readers import console
from triage.readers._source import open_path

LOGS = sorted(CASES.glob("*.txt"))
WHOLE_ROWS = 12
"""Cases of up to so many rows hold all of them; longer ones the first and last, and a line for every column."""


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def told(path: Path) -> dict[str, Any]:
    """What a case is read as, in plain words."""
    got = read_path(path)
    rows = [{name: _plain(value) for name, value in row.items()} for row in got.rows]
    columns = {}
    for name in sorted({name for row in rows for name in row}):
        values = [row[name] for row in rows if name in row]
        odd = sum(value in ("nan", "inf", "-inf") for value in values)
        columns[name] = {"points": len(values), "nonfinite": odd, "last": values[-1]}
    return {
        "writer": got.meta.get("writer"),
        "step_column": got.meta.get("step_column"),
        "aliases": got.meta["aliases"],
        "rows": rows if len(rows) <= WHOLE_ROWS else [rows[0], rows[-1]],
        "count": len(rows),
        "columns": {} if len(rows) <= WHOLE_ROWS else columns,
        "events": [[event["kind"], event["step"], event["line"]] for event in got.events],
        "notices": got.notices,
    }


@pytest.mark.parametrize("path", LOGS, ids=[path.stem for path in LOGS])
def test_case(path: Path) -> None:
    want = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    got = json.loads(json.dumps(told(path)))
    assert got == want


@pytest.mark.parametrize("path", LOGS, ids=[path.stem for path in LOGS])
def test_case_is_taken(path: Path) -> None:
    assert console.READER.sniff(open_path(path, Limits()))


if __name__ == "__main__":
    for log in LOGS:
        text = json.dumps(told(log), indent=1, ensure_ascii=False)
        log.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
