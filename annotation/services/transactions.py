"""Transactions that begin again when the server undid them in favour of somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from sqlalchemy.orm import Session

from annotation.clock import Clock
from db import Database

Result = TypeVar("Result")

_UNDONE = ("40001", "40P01")
"""The server undid a transaction for the sake of another: serialisation failure, deadlock."""
_ATTEMPTS = 3


def in_transaction(database: Database, clock: Clock, work: Callable[[Session, datetime], Result]) -> Result:
    """What `work` returns, called with the session of a transaction and the time."""

    def transaction() -> Result:
        with database.session() as session:
            return work(session, clock())

    return repeated_if_undone(transaction)


def repeated_if_undone(
    transaction: Callable[[], Result], on_failure: Callable[[], None] = lambda: None
) -> Result:
    """What `transaction` returns; it runs again when the server undid it in favour of somebody else's.

    Args:
        on_failure: called after each attempt that failed, whatever the reason.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return transaction()
        except Exception as error:
            on_failure()
            was_undone = getattr(getattr(error, "orig", None), "sqlstate", None) in _UNDONE
            if not was_undone or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("every attempt returns or raises")
