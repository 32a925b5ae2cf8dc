"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PARTIAL = ".partial"


def beside(path: Path) -> Path:
    """The file that `replacing` writes first; one that is there already is lost."""
    place = Path(os.path.realpath(path))
    return place.with_name(place.name + PARTIAL)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file next to `path` to write, renamed at the end, so that a crash leaves the old file whole.

    A link stays, and what it leads to is replaced; a pipe or a device is yielded itself.
    """
    if path.exists() and not path.is_file():  # a file in the place of /dev/null would harm all programs
        yield path
        return
    partial = beside(path)
    place = partial.with_name(partial.name.removesuffix(PARTIAL))
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield partial
        with partial.open("r+b") as stream:
            os.fsync(stream.fileno())  # or a power cut may leave the new name with nothing in it
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    partial.replace(place)


def replace_file(path: Path, content: bytes) -> None:
    """Write all of a file, as by `replacing`."""
    with replacing(path) as partial:
        partial.write_bytes(content)


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
