"""SQLite files: made for their owner alone, copied while others write to them, replaced, flushed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from db.errors import DatabaseError

if sys.platform != "win32":
    import fcntl

PARTIAL = ".partial"
"""What the name of a copy ends in until it is whole."""
BUSY_SECONDS = 10
"""How long SQLite waits for another process before it gives up."""


def make_private_file(path: Path) -> None:
    """Make an empty file, and its folder, that only their owner may read: it will hold password hashes.

    Raises:
        DatabaseError: it cannot be made.
    """
    if path.exists():
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # its -wal and -shm take the same mode
    except OSError as error:
        raise DatabaseError(
            f"{path} cannot be created ({error.strerror}); give --database-url a writable file."
        ) from error


def copy_file(source: Path, target: Path) -> None:
    """Copy the database as it is when the copying begins.

    Args:
        source: may be in use; its writers do not wait.
        target: a new file. It is complete without a -wal beside it, and flushed to the disk; until then its
            name ends in `PARTIAL`.

    Raises:
        DatabaseError: one of the files cannot be used.
    """
    if target.exists():
        raise DatabaseError(f"{target} already exists: give another name.")
    part = target.with_name(f".{target.name}{PARTIAL}")
    try:
        part.unlink(missing_ok=True)
        make_private_file(part)
        with closing(_connect(source)) as origin, closing(_connect(part)) as copy:
            origin.backup(copy)  # in one step: between steps every write would restart it
            copy.execute("PRAGMA journal_mode = DELETE")
        flush(part)
        part.replace(target)
        flush(target)
    except (sqlite3.Error, OSError) as error:
        part.unlink(missing_ok=True)
        raise DatabaseError(f"{source} cannot be copied to {target} ({error}).") from error


def replace_contents(path: Path, source: Path) -> None:
    """Replace the contents of the database `path` by those of `source`, in one transaction.

    The file itself stays, so that nobody who opens it meanwhile is left with one that is deleted.

    Args:
        path: made if it is missing.
        source: a database that is not in use.

    Raises:
        DatabaseError: somebody has `path` open, or one of the files cannot be used.
    """
    is_new = not path.exists()
    try:
        make_private_file(path)
        with closing(_connect(source)) as origin, closing(_connect(path)) as target:
            target.execute("PRAGMA busy_timeout = 1000")
            target.execute("PRAGMA journal_mode = DELETE")  # refused as long as anybody has it open
            origin.backup(target)
            target.execute("PRAGMA journal_mode = WAL")
        flush(path)
    except (sqlite3.Error, OSError) as error:
        if is_new:
            path.unlink(missing_ok=True)
        if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise DatabaseError(
                f"{path} is in use: stop the program that serves it, then restore."
            ) from error
        raise DatabaseError(
            f"{path} cannot be replaced ({error}): move it away, and its -wal and -shm, then restore."
        ) from error


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


def flush(path: Path) -> None:
    """Wait until the file, and its name in the folder, are on the disk."""
    for name in (path, path.parent):
        descriptor = os.open(name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def temporary_folder(place: Path) -> Iterator[Path]:
    """A folder in `place`, on the same file system as what is renamed from it in the end.

    Those that killed processes left go first: the lock of a process ends with it.

    Raises:
        OSError: it cannot be made.
    """
    for lock in place.glob(f"{_FOLDER}*/{_LOCK}"):
        with suppress(OSError), lock.open("wb") as stream:
            _lock(stream)
            shutil.rmtree(lock.parent)
    with TemporaryDirectory(prefix=_FOLDER, dir=place) as made, Path(made, _LOCK).open("wb") as stream:
        _lock(stream)
        yield Path(made)


_FOLDER, _LOCK = ".kpdemo-db-", ".lock"


def _lock(stream: BinaryIO) -> None:
    """Raises:
    OSError: another process has it.
    """
    if sys.platform != "win32":
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
