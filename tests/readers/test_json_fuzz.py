"""Any bytes: blocks or an UnreadableError, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.json_sources import blocks_of, source_of
from triage.errors import UnreadableError
from triage.readers import hf_state, json_document, jsonl
from triage.readers._contract import Reader

READERS = [module.READER for module in (jsonl, json_document, hf_state)]

PIECES = st.sampled_from(
    [
        b'{"loss": ', b'{"log_history": [', b"{'loss': ", b"nan", b"NaN", b"-Infinity", b"1e999", b"2.5", b"9" * 400,
        b'"nan"', b'"a\\', b"\\ud800", b'"\\ud800"', b"}", b"]", b"{", b"[", b",", b":", b"\n", b"\r", b"\r\n", b" ",
        b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xff", b"\x1b[A", b" 8%|\xe2\x96\x8a | 5/60 [", b'"step": 1',
        b'"values": {"1": 2}', b'"step_interval": 5', b'"start_step": 1', b"[1, 2, 3]", b"[[1.5, 2, 3.5]]",
        b"\xe2\x80\x98", b'{"columns":["a"],"data":[[1]]}',
        b'"": {}', b"[" * 40, b'{"a":' * 40, b"null", b"true", b"train_runtime", b"'epoch': 1",
    ]
)  # fmt: skip
SAMPLES = [
    b'{"step": 1, "loss": 2.5, "opt": {"lr": [0.1, 0.2]}}\n{"step": 2, "loss": NaN}\nINFO {"step": 3, "loss": "nan"}\n',
    b'[\n {"step": 1, "loss": 2.5},\n {"step": 2, "loss": -Infinity}\n]',
    b'[[1.5, 1, 2.5], [2.5, 2, "NaN"]]',
    b'[{"config": {"lr": 1}, "history": [{"epoch": 0, "loss": 1.0}]}, {"history": [{"epoch": 0, "loss": 2.0}]}]',
    b'{"log_history": [{"loss": 2.5, "step": 1}, {"eval_loss": NaN, "step": 1}, {"train_runtime": 1}], "max_steps": 4}',
    b'{"lm loss": {"start_step": 1, "step_interval": 5, "values": {"1": 2.5, "5": "nan"}}}',
    b'{"loss": [2.5, 2.4, NaN], "lr": [1, 1, 1], "val_loss": [3.0], "name": "x"}',
    b'{"loss": {"0": 2.5, "1": null}, "lr": {"0": 1, "1": 1}}',
    b'{"columns": ["step", "loss"], "data": [[0, 2.5], [1, 2.4]]}',
    b'{"train": [{"step": 1, "loss": 2.5}], "val": [{"step": 1, "loss": 2.6}]}',
    " 8%|▊ | 5/60 [00:00<00:02]\r    \r{'loss': 2.9, 'grad_norm': nan, 'epoch': 0.1}\r 8%|▊ | 5/60 [0:00]\n".encode(),
    b"{'loss': '2.943', 'epoch': '0.6'}\n{'train_runtime': 3.2, 'train_loss': 2.0, 'epoch': 1}\n",
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good file with pieces cut out, put in or repeated."""
    data = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 20)))
        data = data[:start] + draw(st.sampled_from([b"", data[start:end] * 2, draw(PIECES)])) + data[end:]
    return data


KEYS = ["loss", "step", "log_history", "values", "step_interval", "start_step", "columns", "data", "0", "config"]
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(["nan", "", "1,234", "x", "2.5"])),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=25,
).map(lambda value: json.dumps(value).encode())
BYTES = st.one_of(
    st.binary(max_size=200), st.lists(PIECES, max_size=25).map(b"".join), damaged(), damaged(), JSON_VALUES
)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@settings(max_examples=100, deadline=None)
@given(data=BYTES)
@example(data=b"[" * 100_000)
@example(data=b'{"a":' * 20_000)
@example(data=b'{"log_history": [[1], {"loss": [[]]}, 5]}')
def test_any_bytes_give_blocks_or_a_clear_error(reader: Reader, data: bytes) -> None:
    assert reader.sniff(source_of(data)) in (True, False)
    try:
        blocks = blocks_of(reader, data)
    except UnreadableError:
        return
    for block in blocks:
        assert all(str(dtype) in ("Float64", "Int64", "String", "Boolean") for dtype in block.frame.dtypes)
        assert all(notice.count > 0 for notice in block.notices)
