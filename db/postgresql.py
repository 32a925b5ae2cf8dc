"""Connections to PostgreSQL: those that the server has closed meanwhile are replaced before they are used."""

from __future__ import annotations

import selectors
import time
from functools import partial
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DisconnectionError

FRESH_SECONDS = 5.0
"""A silent connection that was used so lately is taken to be alive; one that rested longer is asked."""


def watch_connections(engine: Engine) -> None:
    """What `pool_pre_ping` does, but not for every request of a rater who grades without a pause."""
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", partial(_ask_if_alive, engine.dialect))


def _note_use(connection: Any, record: Any) -> None:
    record.info["used"] = time.monotonic()


def _ask_if_alive(dialect: Dialect, connection: Any, record: Any, proxy: object) -> None:
    rested = time.monotonic() - record.info.get("used", time.monotonic())
    try:
        alive = (rested < FRESH_SECONDS and _is_silent(connection)) or dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        alive = not dialect.is_disconnect(error, connection, None)
    if not alive:
        raise DisconnectionError  # the pool connects anew


def _is_silent(connection: Any) -> bool:
    """Whether nothing came that nobody asked for: a server that closes a connection says so."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(timeout=0)
