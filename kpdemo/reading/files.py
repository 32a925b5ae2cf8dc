"""Files and streams as bytes and as text, plain or compressed; what goes wrong is one sentence."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from kpdemo.errors import InputError

NOT_UTF8 = "not UTF-8 but UTF-16 text, or not text at all; save it as UTF-8."
UTF8_MARK = b"\xef\xbb\xbf"


def count_lines(path: Path) -> int:
    """How many lines of a file are not blank.

    Raises:
        InputError: the file cannot be read.
    """
    with file_errors(path), open_bytes(path) as stream:
        return sum(1 for line in stream if line.strip())


def read_head(path: Path, size: int) -> bytes:
    """The first `size` bytes of a file as stored, compressed or not.

    Raises:
        InputError: the file cannot be read.
    """
    with file_errors(path), path.open("rb") as stream:
        return stream.read(size)


def read_text(stream: BinaryIO, *, name: str) -> str:
    """All of an open stream as text; see `decode_text`."""
    with file_errors(name):
        content = stream.read()
    return decode_text(content, name=name)


def decode_text(content: bytes, *, name: str) -> str:
    """UTF-8 bytes as text, without the byte order mark.

    Raises:
        InputError: the bytes are not text; the message has the offset of the first bad one.
    """
    start = len(UTF8_MARK) if content.startswith(UTF8_MARK) else 0
    zero = content.find(b"\x00")
    if zero >= 0:
        raise InputError(
            f"{name}: not a text file (a zero byte at offset {zero}); save it as UTF-8 text first."
        )
    try:
        return content[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        at = start + error.start
        value = f"byte 0x{content[at]:02x} at offset {at}"
        raise InputError(f"{name}: not UTF-8 text ({value}); save it as UTF-8 first.") from None


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked where its name says that it is compressed.

    Raises:
        InputError: it cannot be opened.
    """
    with file_errors(path):
        if path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        if path.suffix.lower() == ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        return path.open("rb")


@contextmanager
def file_errors(name: str | Path) -> Iterator[None]:
    """Raise InputError, with the file's name, for whatever goes wrong while it is read."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{name}: no such file; check the name.") from None
    except IsADirectoryError:
        raise InputError(f"{name}: a folder, not a file; name a file in it.") from None
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise InputError(f"{name}: the compressed file is damaged ({error}); make it again.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text ({error.reason}); save it as UTF-8 first.") from None
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"{name}: cannot be read ({reason}); check its permissions or give another file."
        ) from None
