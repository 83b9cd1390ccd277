"""Values that are no JSON: read as what they say, in linear time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import triage
from triage.readers._json_text import parse_text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"loss": 1.#QNAN, "step": 3}', {"loss": "1.#QNAN", "step": 3}),
        ('{"step": 3, "loss": -1.#IND}', {"loss": "-1.#IND", "step": 3}),
        ("""{"loss": tensor(nan, device='cuda:0'), "step": 3}""", {"loss": "tensor(NaN, device='cuda:0')", "step": 3}),
        ('{"loss": np.float32(nan), "note": "a: b, c"}', {"loss": "np.float32(NaN)", "note": "a: b, c"}),
        ('{"loss": , "step": 007}', {"loss": None, "step": 7}),
        ('{"loss": }', {"loss": None}),
    ],
)
def test_values_that_are_no_json_are_read_as_text(written: str, read: dict[str, object]) -> None:
    assert parse_text(written) == read


@pytest.mark.parametrize("text", ["{'a': 1}", '{"a": b c}', '{"a": f(x}', "step: 5, loss: 3}"])
def test_what_is_no_json_at_all_stays_so(text: str) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        parse_text(text)


@pytest.mark.parametrize("text", ['{"a": ' + "1" * 200_000 + "x", '{"a": f(' * 20_000, '{"a": ' + " " * 200_000])
def test_a_hostile_line_takes_linear_time(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(ValueError, match="not JSON"):
        parse_text(text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("word", ["1.#QNAN", "-1.#IND", "tensor(nan)", "np.float32(nan)", ".nan", "np.nan", ""])
def test_a_nan_written_by_hand_fails_the_gate(tmp_path: Path, word: str) -> None:
    log = tmp_path / "log.jsonl"
    lines = [json.dumps({"step": s, "loss": 2.0 + s % 3 / 100}) for s in range(60)]
    lines += [f'{{"step": {s}, "loss": {word}}}' for s in range(60, 64)]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = triage.analyze(log)
    assert report.exit_code == 1
    assert report.runs[0].diagnoses[0].onset_step == 60
