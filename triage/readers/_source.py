"""A path or standard input as a `Source`: plain bytes from the start, whatever it was packed with.

Separate from the readers so that none of them knows about compression, permissions, pipes or encodings.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from triage.errors import UnreadableError
from triage.options import Limits
from triage.readers._contract import HEAD_BYTES, Source
from triage.readers._unpack import CHUNK, SUFFIXES, Tail, packer_of, stream_of, unpack

BLOCK: Final = 1 << 20
"""Bytes of a plain file or stream read at a time."""

BOMS: Final[tuple[tuple[bytes, str], ...]] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte-order marks; the UTF-32 ones first, since UTF-16's is the beginning of one of them."""

ZERO_SHARE: Final = 0.4
"""Share of zero bytes among the odd (or even) bytes of a text without a mark that makes it UTF-16: ASCII text has 1."""


@dataclass(frozen=True, slots=True)
class Text:
    """A source as UTF-8 text.

    Attributes:
        stream: UTF-8 bytes without a byte-order mark.
        encoding: what the source was written in.
        replaced: how many characters could not be decoded and became U+FFFD (so far).
    """

    stream: BinaryIO
    encoding: str
    replaced: Callable[[], int]


def open_path(path: Path, limits: Limits, shown: str | None = None) -> Source:
    """Make a source of a file or pipe.

    Args:
        path: where it is.
        limits: for packed files.
        shown: how it is named to a person; default the path itself.

    Raises:
        UnreadableError: missing, a directory, a socket or device, not permitted, empty, or damaged from its first byte.
    """
    shown = shown or str(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISFIFO(mode):
            pipe = _open_pipe(path)
            return open_stream(pipe, limits, shown, pipe.close)
        _refuse_unless_file(mode, path, shown)
        with path.open("rb") as file:
            first = file.read(HEAD_BYTES)
            size = os.fstat(file.fileno()).st_size
    except (OSError, ValueError) as fault:
        raise unreadable(fault, shown) from fault
    if not first:
        raise UnreadableError("the file is empty", path=shown, hint="has the run written anything yet?")
    packer = packer_of(first)
    if packer is None:
        return Source(shown, path.name, first, size, path, lambda: _open_plain(path, shown), lambda: 0)

    tail = Tail()

    def start() -> BinaryIO:
        file = _open_plain(path, shown)
        return stream_of(unpack(_pieces(file, CHUNK), packer, limits, shown, tail), file.close)

    with start() as stream:
        head = _read_up_to(stream, HEAD_BYTES)
    _refuse_nothing_unpacked(head, packer, tail, shown)
    return Source(shown, bare_name(path.name), head, size, None, start, lambda: tail.torn)


def open_stream(stream: BinaryIO, limits: Limits, shown: str = "-", close: Callable[[], None] | None = None) -> Source:
    """Make a source of a stream that can be read once, such as standard input; `close` is called when it is closed.

    Raises:
        UnreadableError: nothing came, or it is damaged from its first byte.
    """
    first = _read_up_to(stream, HEAD_BYTES)
    if not first:
        what = "standard input is empty" if shown == "-" else "nothing came through the pipe"
        raise UnreadableError(what, path=shown, hint="did the command that writes to it fail?")
    packer, tail = packer_of(first), Tail()
    chunks: Iterator[bytes] = itertools.chain([first], _pieces(stream, BLOCK))
    head = first
    if packer is not None:
        chunks = unpack(chunks, packer, limits, shown, tail)
        taken: list[bytes] = []
        while sum(map(len, taken)) < HEAD_BYTES and (chunk := next(chunks, b"")):
            taken.append(chunk)
        head = b"".join(taken)[:HEAD_BYTES]
        _refuse_nothing_unpacked(head, packer, tail, shown)
        chunks = itertools.chain(taken, chunks)
    unread = iter([chunks])

    def start() -> BinaryIO:
        once = next(unread, None)
        if once is None:
            raise UnreadableError("the stream has been read already", path=shown, hint="save it to a file first")
        return stream_of(once, close)

    return Source(shown, "", head, None, None, start, lambda: tail.torn)


def text_stream(source: Source) -> Text:
    """Open a source as UTF-8 text, whatever it was written in.

    The encoding is told by the byte-order mark, or by zero bytes where UTF-16 has none; everything else is taken as
    UTF-8. Bytes that are no text become U+FFFD and are counted, so that one bad byte costs one cell and not the file.
    """
    mark, encoding = encoding_of(source.head)
    stream = source.open()
    stream.read(len(mark))
    replaced = [0]
    return Text(
        stream_of(_as_utf8(stream, encoding, replaced), stream.close),
        encoding,
        lambda: replaced[0],
    )


def encoding_of(head: bytes) -> tuple[bytes, str]:
    """Tell the byte-order mark (b"" without one) and the encoding of a text by its first bytes."""
    for mark, encoding in BOMS:
        if head.startswith(mark):
            return mark, encoding
    sample = head[: 4096 & ~1]
    if len(sample) >= 4 and not sample.startswith(b"\0\0"):
        half = len(sample) / 2
        if sample[1::2].count(0) > ZERO_SHARE * half and sample[::2].count(0) < 0.1 * half:
            return b"", "utf-16-le"
        if sample[::2].count(0) > ZERO_SHARE * half and sample[1::2].count(0) < 0.1 * half:
            return b"", "utf-16-be"
    return b"", "utf-8"


def head_text(source: Source) -> str:
    """The head of a source as text, without a byte-order mark; for sniffing and for headers."""
    mark, encoding = encoding_of(source.head)
    return source.head[len(mark) :].decode(encoding, errors="replace")


def bare_name(name: str) -> str:
    """Take the endings of packers off a file name."""
    while name.lower().endswith(SUFFIXES):
        name = name[: name.rindex(".")]
    return name


def unreadable(fault: Exception, shown: str) -> UnreadableError:
    """Say in words of ours why the system refused a path."""
    match fault:
        case FileNotFoundError():
            return UnreadableError("there is no such file", path=shown, hint="check the path")
        case PermissionError():
            return UnreadableError("not permitted to read it", path=shown, hint="check the owner and mode of the file")
        case IsADirectoryError():
            return UnreadableError("is a directory", path=shown, hint="name a file in it")
        case OSError():
            return UnreadableError(f"the system says: {fault.strerror or fault}", path=shown, hint="check the path")
    return UnreadableError(f"is no path: {fault}", path=shown, hint="check the path")


def _refuse_unless_file(mode: int, path: Path, shown: str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    if stat.S_ISREG(mode):
        return
    if path.samefile(os.devnull):
        return
    raise UnreadableError("is a socket or device, not a file", path=shown, hint="give a file, a directory or a pipe")


def _refuse_nothing_unpacked(head: bytes, packer: str, tail: Tail, shown: str) -> None:
    if head:
        return
    if tail.torn:
        raise UnreadableError(
            f"looks like {packer} but cannot be unpacked: {tail.reason}", path=shown, hint="copy the file again"
        )
    raise UnreadableError(f"holds nothing once {packer} is taken off", path=shown, hint="has the run written anything?")


def _open_plain(path: Path, shown: str) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as fault:
        raise unreadable(fault, shown) from fault


def _open_pipe(path: Path) -> BinaryIO:
    """Open a named pipe; without a writer it is at its end at once instead of waiting for one."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    first = b""
    with contextlib.suppress(BlockingIOError):  # a writer is there and has written nothing yet
        first = os.read(handle, BLOCK)
        if not first:
            os.close(handle)
            return stream_of(iter(()))
    os.set_blocking(handle, True)
    file = os.fdopen(handle, "rb")
    return stream_of(itertools.chain([first] if first else [], _pieces(file, BLOCK)), file.close)


def _read_up_to(stream: BinaryIO, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0 and (part := stream.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _pieces(stream: BinaryIO, size: int) -> Iterator[bytes]:
    while chunk := stream.read(size):
        yield chunk


def _as_utf8(stream: BinaryIO, encoding: str, replaced: list[int]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    while chunk := stream.read(BLOCK):
        # Nearly all logs are ASCII: those bytes go through untouched.
        if encoding == "utf-8" and chunk.isascii() and not decoder.getstate()[0]:
            yield chunk
            continue
        yield _recode(decoder, chunk, final=False, replaced=replaced)
    if last := _recode(decoder, b"", final=True, replaced=replaced):
        yield last


def _recode(decoder: codecs.IncrementalDecoder, chunk: bytes, *, final: bool, replaced: list[int]) -> bytes:
    text = decoder.decode(chunk, final)
    # A U+FFFD that stood in the file already is no loss of ours; it is only there in UTF-8 (EF BF BD).
    replaced[0] += max(0, text.count("�") - chunk.count("�".encode()))
    return text.encode()
