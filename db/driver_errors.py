"""What an error of a driver means."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError

_LOCK_NOT_AVAILABLE = "55P03"


def reason_of(error: Exception) -> str:
    """What the driver says, in a line."""
    said = _of_driver(error)
    return (str(said).strip() or type(said).__name__).splitlines()[0]


def is_busy(error: Exception) -> bool:
    """Whether somebody else holds the lock of SQLite, or held one of PostgreSQL for all of `lock_timeout`."""
    sqlstate = getattr(_of_driver(error), "sqlstate", None)
    return sqlstate == _LOCK_NOT_AVAILABLE or _sqlite_code(error) == sqlite3.SQLITE_BUSY


def is_damaged(error: Exception) -> bool:
    """Whether SQLite found its file in a state that it never writes."""
    return _sqlite_code(error) == sqlite3.SQLITE_CORRUPT


def is_full(error: Exception) -> bool:
    """Whether the disk has no room for what SQLite writes."""
    return _sqlite_code(error) == sqlite3.SQLITE_FULL


def is_read_only(error: Exception) -> bool:
    """Whether SQLite may not write to its file or beside it."""
    return _sqlite_code(error) == sqlite3.SQLITE_READONLY


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, as when the server is started anew, and the transaction with it."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _sqlite_code(error: Exception) -> int:
    code: int = getattr(_of_driver(error), "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & 0xFF  # the upper bits say in which way


def _of_driver(error: Exception) -> BaseException:
    return error.orig or error if isinstance(error, DBAPIError) else error
