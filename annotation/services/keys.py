"""Secrets of the server, which are made when the database is opened and stay."""

from __future__ import annotations

import secrets
from contextlib import suppress
from hashlib import blake2b

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.services.bulk import insert_if_missing
from db import Database
from db.errors import DamagedError, UnreachableError
from db.models import ServerKey

_NAMES = ("pairs", "raters")
_BYTES = 32
_OPENING_WAITS = 1.0
"""Seconds: for a write of a moment, such as a grade, and not for an import."""


class KeyService:
    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def make_missing(self) -> None:
        """Make them in advance, so that readers need not wait for a long import.

        Where somebody else writes for long, or nobody can, that is left to whoever first needs one.
        """
        with suppress(UnreachableError, DamagedError), self._database.explain_errors():
            with self._database.reading() as session:
                missing = set(_NAMES) - set(session.scalars(select(ServerKey.name)))
            if missing:
                with self._database.session(wait=_OPENING_WAITS) as session:
                    for name in sorted(missing):
                        self._make(session, name)

    def pairs(self) -> bytes:
        """The key of `PairNames`."""
        return self._key("pairs")

    def raters(self, project_id: int) -> bytes:
        """The key of the numbers of a project's raters."""
        return blake2b(str(project_id).encode(), key=self._key("raters")).digest()

    def _key(self, name: str) -> bytes:
        with self._database.reading() as session:
            row = session.get(ServerKey, name)
            if row is not None:
                return bytes.fromhex(row.value)
        with self._database.session() as session:
            self._make(session, name)
            return bytes.fromhex(session.get_one(ServerKey, name).value)

    def _make(self, session: Session, name: str) -> None:
        """Another process may make it at the same moment."""
        made = {"name": name, "value": secrets.token_hex(_BYTES), "created_at": self._clock()}
        insert_if_missing(session, ServerKey, made)
