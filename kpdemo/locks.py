"""Files that one process at a time writes to."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What a file system without locks, such as some shares of a network, says."""


@contextmanager
def locked(stream: BinaryIO, otherwise: Exception) -> Iterator[None]:
    """Keep other processes that ask for it too from the open file; the lock of one that dies is gone with it.

    Where there are no locks, as on Windows, it is up to the user.

    Args:
        otherwise: is raised where another one has it.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise otherwise from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        yield
        return
    try:
        yield
    finally:
        fcntl.flock(stream, fcntl.LOCK_UN)  # closing would leave it with processes that were forked meanwhile


@contextmanager
def locked_folder(folder: Path, otherwise: Exception) -> Iterator[None]:
    """The same for all files of a folder, by its file `.lock`."""
    with (folder / ".lock").open("wb") as stream, locked(stream, otherwise):
        yield
