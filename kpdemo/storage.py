"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def replace_file(path: Path, content: bytes) -> None:
    """Write beside `path` and rename, so that a crash leaves the old file whole.

    A link stays, and what it leads to is replaced; a pipe or a device takes the content itself.
    """
    with replacing(path) as stream:
        stream.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """As `replace_file`, with what the block writes; where it fails, nothing is replaced."""
    if path.exists() and not path.is_file():  # a file in the place of /dev/null would harm all programs
        with path.open("wb") as stream:
            yield stream
        return
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_name(f"{place.name}.partial")
    try:
        with partial.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())  # or a power cut may leave the new name with nothing in it
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    partial.replace(place)


def check_place(path: Path) -> None:
    """Make the folder of a file that is written at the end of long work, and see that it can be.

    Raises:
        OSError: `replace_file` would fail.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        return
    folder = Path(os.path.realpath(path)).parent
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
