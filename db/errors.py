"""Errors with one sentence for the user (what is wrong, the value, what to do), and what a driver's mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from sqlalchemy.exc import DBAPIError

_LOCK_NOT_AVAILABLE = "55P03"
_FULL = ("53100", "58030")
"""What PostgreSQL says when its disk is full, or fails."""
_REMEDIES = {
    sqlite3.SQLITE_FULL: "free some space",
    sqlite3.SQLITE_IOERR: "check that its disk works and is not full",
    sqlite3.SQLITE_READONLY: "check that you may write to the file and to its folder, where SQLite keeps "
    "other files,",
}


class DatabaseError(Exception):
    """The base of every error that the database raises on purpose."""


class UrlError(DatabaseError, ValueError):
    """The URL names no database of a known kind."""


class UnreachableError(DatabaseError):
    """The server or the file system refused: no such server, not a database, locked."""

    for_users = "The database is not responding: try again in a moment."
    """For everybody: it names neither the server's address nor its files."""


class UnwritableError(UnreachableError):
    """The disk is full or broken, or the file may not be written: what it holds can still be read."""

    for_users = "Nothing can be saved, as the disk of this server is full: tell the person who runs it."


class DamagedError(DatabaseError):
    """The file is not whole; trying again does not help."""

    for_users = "The database is damaged: tell the person who runs this server."

    def __init__(self, database: str, reason: str) -> None:
        super().__init__(
            f"{database} is damaged ({reason}): look at it with `python -m db check`, and restore a backup."
        )
        self.reason = reason


def reason_of(error: Exception) -> str:
    """What the driver says, in a line."""
    said = _of_driver(error)
    return (str(said).strip() or type(said).__name__).splitlines()[0]


def is_busy(error: Exception) -> bool:
    """Whether SQLite is locked by another process, or a lock of PostgreSQL timed out."""
    sqlstate = getattr(_of_driver(error), "sqlstate", None)
    return sqlstate == _LOCK_NOT_AVAILABLE or _sqlite_code(error) == sqlite3.SQLITE_BUSY


def is_damaged(error: Exception) -> bool:
    """Whether SQLite found its file in a state that it never writes."""
    return _sqlite_code(error) == sqlite3.SQLITE_CORRUPT


def remedy_of(error: Exception) -> str:
    """What to do where the database may not write or cannot, as on a full disk; "" for any other error."""
    if getattr(_of_driver(error), "sqlstate", None) in _FULL:
        return _REMEDIES[sqlite3.SQLITE_FULL]
    return _REMEDIES.get(_sqlite_code(error), "")


def is_lost(error: Exception) -> bool:
    """Whether the connection was lost, and the transaction with it, as when the server restarts."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _sqlite_code(error: Exception) -> int:
    code: int = getattr(_of_driver(error), "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & 0xFF  # the upper bits make it an extended code


def _of_driver(error: Exception) -> BaseException:
    return error.orig or error if isinstance(error, DBAPIError) else error


def _explain_failure(error: Exception) -> str:
    """Of a full disk, or a table that the server keeps from its user."""
    return (
        f"The database failed ({reason_of(error)}): fix that, check the data with `python -m db check`, and "
        "try again."
    )


EXPLANATIONS: Mapping[type[Exception], Callable[[Exception], str]] = {DBAPIError: _explain_failure}
"""Of errors of a driver that nothing else catches, what makes a sentence for the user."""
