"""What an error of a driver means."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError


def reason_of(error: Exception) -> str:
    """What the driver says, in a line."""
    said = _of_driver(error)
    return (str(said).strip() or type(said).__name__).splitlines()[0]


def is_busy(error: Exception) -> bool:
    """Whether somebody else holds the lock of SQLite."""
    code: int = getattr(_of_driver(error), "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & 0xFF == sqlite3.SQLITE_BUSY  # the upper bits say in which way


def is_lost(error: Exception) -> bool:
    """Whether the connection is gone, as when the server is started anew, and the transaction with it."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _of_driver(error: Exception) -> BaseException:
    return error.orig or error if isinstance(error, DBAPIError) else error
