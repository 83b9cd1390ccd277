"""The vectorised path gives what the plain path gives: property tests with the plain path as the yardstick."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import event_files as ev
from triage.readers import _tfevents_fast as fast
from triage.readers._tfevents_fast import Templates, read_fast, template_of
from triage.readers._tfevents_frames import Damage, read_records
from triage.readers._tfevents_proto import Facts, Scalars, read_plain

SHARED = Path(__file__).parents[2].parent / "shared" / "cases"

FLOATS = st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e-45]))
STEPS = st.one_of(
    st.integers(0, 300),
    st.sampled_from([-1, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 127, 128, 16_383, 16_384]),
)
TAGS = st.sampled_from(["loss", "lr", "a/b", "é", "loss2", "x" * 200])
ENCODINGS = st.sampled_from(
    [
        ev.simple,
        lambda tag, v: ev.field(1, tag.encode()) + b"\x15" + struct.pack("<f", v),
        lambda tag, v: b"\x15" + struct.pack("<f", v) + ev.field(1, tag.encode()),  # fields out of order
        lambda tag, v: ev.tensor(tag, 1, ev.float_val(v)),
        lambda tag, v: ev.tensor(tag, 1, ev.float_val_unpacked(v)),
        lambda tag, v: ev.tensor(tag, 1, ev.content("<f", v)),
        lambda tag, v: ev.tensor(tag, 1, ev.content("<f", v), plugin=""),
        lambda tag, v: ev.tensor(tag, 2, ev.double_val(v)),
        lambda tag, v: ev.tensor(tag, 2, ev.content("<d", v)),
        lambda tag, v: ev.tensor(tag, 1, ev.float_val(v), shape=(1,)),
        lambda tag, v: ev.tensor(tag, 1, ev.float_val(v), plugin="other"),
        lambda tag, _: ev.tensor(tag, 3, ev.field(7, ev.varint(5))),
        lambda tag, _: ev.text(tag, "words"),
        lambda tag, _: ev.histogram(tag),
    ]
)
VALUES = st.builds(lambda encode, tag, value: encode(tag, value), ENCODINGS, TAGS, FLOATS)
WALLS = st.floats(1.6e9, 1.9e9)


@st.composite
def records(draw: st.DrawFn) -> list[bytes]:
    """Payloads, most of them alike, as writers make them; some that are no events."""
    layouts = draw(st.lists(st.tuples(st.lists(st.tuples(ENCODINGS, TAGS), min_size=1, max_size=3), STEPS), max_size=4))
    payloads = []
    for _ in range(draw(st.integers(1, 12))):
        for kinds, step in layouts:
            values = [encode(tag, draw(FLOATS)) for encode, tag in kinds]
            payloads.append(ev.event(draw(WALLS), step + len(payloads) % 3, *values))
    odd = st.one_of(
        st.binary(max_size=40),
        st.builds(lambda wall, step, values: ev.event(wall, step, *values), WALLS, STEPS, st.lists(VALUES, max_size=3)),
        st.builds(ev.session_start, WALLS, STEPS),
        st.builds(lambda words: ev.event(1.7e9, 3, rest=ev.field(6, words)), st.binary(max_size=20)),
    )
    for payload in draw(st.lists(odd, max_size=6)):
        payloads.insert(draw(st.integers(0, len(payloads))), payload)
    if payloads and draw(st.booleans()):
        at = draw(st.integers(0, len(payloads) - 1))
        wrong = bytearray(payloads[at])
        for place in draw(st.lists(st.integers(0, max(0, len(wrong) - 1)), max_size=3)):
            if wrong:
                wrong[place] = draw(st.integers(0, 255))
        payloads[at] = bytes(wrong)
    return payloads


def both(data: bytes) -> tuple[int, int]:
    """Read on both paths and compare; returns the scalars and the templates that were used."""
    plain, quick = Facts(), Facts()
    templates = Templates()
    count = 0
    for chunk in read_records(io.BytesIO(data), 64 << 20, Damage()):
        one, other = read_plain(chunk, plain), read_fast(chunk, quick, templates)
        assert told(one, plain) == told(other, quick)
        count += len(one.step)
    # Templates look ahead, so that only the numbering of series may differ.
    assert plain.foreign == quick.foreign
    assert (plain.starts, plain.skipped, plain.undecodable) == (quick.starts, quick.skipped, quick.undecodable)
    assert (plain.writer, plain.first_wall) == (quick.writer, quick.first_wall)
    return count, sum(series is not None for series in templates.known.values())


def told(scalars: Scalars, facts: Facts) -> tuple[bytes, bytes, list[object], list[str]]:
    series = list(facts.series)
    return (
        scalars.wall.tobytes(),
        scalars.step.tobytes(),
        [series[number] for number in scalars.series.tolist()],
        [value.hex() for value in scalars.value.tolist()],
    )


@given(records())
@settings(max_examples=300)
def test_both_paths_agree(payloads: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "MIN_GROUP", 2)
        patch.setattr(fast, "MIN_MEMBERS", 1)
        both(ev.file_of(payloads))


ENCODED = {
    "simple_value": ev.simple,
    "float_val": lambda tag, v: ev.tensor(tag, 1, ev.float_val(v)),
    "double_val": lambda tag, v: ev.tensor(tag, 2, ev.double_val(v)),
    "float content": lambda tag, v: ev.tensor(tag, 1, ev.content("<f", v)),
    "double content": lambda tag, v: ev.tensor(tag, 2, ev.content("<d", v)),
    "bare tensor": lambda tag, v: ev.tensor(tag, 1, ev.float_val(v), plugin=""),
}


@pytest.mark.parametrize("name", ENCODED)
def test_every_usual_encoding_is_read_by_template(name: str) -> None:
    payloads = [
        ev.event(1.7e9 + i, i // 2, ENCODED[name](("loss", "lr")[i % 2], 1.0 / (i + 1)))
        for i in range(4 * fast.MIN_GROUP)
    ]
    count, n_templates = both(ev.file_of(payloads))
    assert count == len(payloads)
    assert n_templates >= 2


def test_several_values_of_one_event_are_read_by_template() -> None:
    payloads = [
        ev.event(1.7e9 + i, i + 1, ev.simple("loss", i), ev.tensor("lr", 2, ev.double_val(i / 3)), ev.simple("acc", -i))
        for i in range(2 * fast.MIN_GROUP)
    ]
    assert both(ev.file_of(payloads)) == (3 * len(payloads), 1)


def test_a_signalling_nan_is_a_nan() -> None:
    stray = ev.field(1, b"loss") + b"\x15" + b"\x01\x00\x80\x7f"
    assert both(ev.file_of([ev.event(1.7e9 + i, i, stray) for i in range(2 * fast.MIN_GROUP)]))[1] > 0


def test_two_layouts_of_one_length_are_told_apart() -> None:
    """The value stands at the end of the one and in the middle of the other."""
    first = [ev.event(1.7e9, i + 1, ev.simple("aaaa", i)) for i in range(40)]
    swapped = [
        ev.event(1.7e9, i + 1, ev.field(1, b"aaaa") + ev.field(9, b"") + b"\x15" + struct.pack("<f", i))
        for i in range(40)
    ]
    assert len(first[0]) == len(swapped[0])
    assert both(ev.file_of([p for pair in zip(first, swapped, strict=True) for p in pair]))[0] == 80


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(ev.event(1.0, 5), id="no value"),
        pytest.param(ev.event(1.0, 5, ev.histogram("h")), id="no scalar"),
        pytest.param(ev.event(1.0, 5, ev.simple("a", 1), ev.histogram("h")), id="not only scalars"),
        pytest.param(ev.event(1.0, -5, ev.simple("a", 1)), id="step of ten bytes"),
        pytest.param(ev.event(1.0, 5, ev.tensor("a", 3, ev.field(7, ev.varint(5)))), id="value of varying length"),
        pytest.param(ev.event(1.0, 5, ev.simple("a", 1), rest=ev.field(99, b"?")) + b"\x10\x06", id="step given twice"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff" * 30, id="no event"),
    ],
)
def test_what_is_written_oddly_has_no_template(payload: bytes) -> None:
    assert template_of(payload, Facts()) is None


@pytest.mark.shared
@pytest.mark.parametrize(
    "path", sorted(SHARED.glob("*/**/*tfevents*")) or [pytest.param(None, marks=pytest.mark.skip("no cases here"))]
)
def test_both_paths_agree_on_real_files(path: Path) -> None:
    if not path.is_file():
        pytest.skip("a folder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "MIN_GROUP", 2)
        both(path.read_bytes())
