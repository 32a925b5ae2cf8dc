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
    said = _of_driver(error)
    code: int = getattr(said, "sqlite_errorcode", sqlite3.SQLITE_OK)
    is_locked = code & 0xFF == sqlite3.SQLITE_BUSY  # the upper bits say in which way
    return is_locked or getattr(said, "sqlstate", None) == _LOCK_NOT_AVAILABLE


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, as when the server is started anew, and the transaction with it."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _of_driver(error: Exception) -> BaseException:
    return error.orig or error if isinstance(error, DBAPIError) else error
