"""How often a sign-in may be tried. An attempt is written down before its password is looked at.

Three limits over a quarter of an hour. The narrow one, a name from one address, stops a guesser. The two wide
ones stop a guesser with many names, or many addresses. The wide ones could be used to shut somebody out, so
they do not hold for a browser in which that user had signed in before; it is counted by itself. A refused
attempt is not counted: a closed door opens by itself, also while somebody keeps knocking.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from annotation.errors import TooManyAttemptsError
from db.models import SignInAttempt

WINDOW = timedelta(minutes=15)
PER_NAME_AND_ADDRESS = 5
PER_ADDRESS = 60
"""A class behind one router has one address."""
PER_NAME = 40

KNOWN_BROWSER = "known browser"
_LOCK_NUMBER = 7_860_003
_IPV6_HOME = 64
_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Knock:
    """Who wants to come in, from where."""

    name_key: str
    address: str

    @property
    def is_known(self) -> bool:
        return self.address == KNOWN_BROWSER


def knock_of(key: str, address: str, *, is_known: bool = False) -> Knock:
    """The knock as it is counted; neither long nor odd names and addresses reach the table."""
    plain = (
        key
        if key.isprintable() and len(key) <= 80
        else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    )
    return Knock(plain, KNOWN_BROWSER if is_known else address_key(address))


def address_key(address: str) -> str:
    """The address, or the network of an IPv6 home: one reader has 2⁶⁴ of those."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return hashlib.sha256(address.encode("utf-8", "replace")).hexdigest()
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_HOME), strict=False))


def admit(session: Session, knock: Knock, now: datetime) -> None:
    """Count an attempt, or refuse it.

    Raises:
        TooManyAttemptsError: the door is closed for a while.
    """
    if session.get_bind().dialect.name == "postgresql":  # two attempts at once must not both be the last
        session.execute(select(func.pg_advisory_xact_lock(_LOCK_NUMBER)))
    session.execute(delete(SignInAttempt).where(SignInAttempt.at <= now - WINDOW))
    waits = [_wait(session, limit, now, *which) for limit, which in _limits(knock)]
    if any(waits):
        raise TooManyAttemptsError(math.ceil(max(waits) / _MINUTE))
    session.add(SignInAttempt(name_key=knock.name_key, address=knock.address, at=now))


def forget(session: Session, knock: Knock) -> None:
    """The right password was given: what was mistyped before does not count."""
    session.execute(
        delete(SignInAttempt).where(
            SignInAttempt.name_key == knock.name_key, SignInAttempt.address == knock.address
        )
    )


def _limits(knock: Knock) -> list[tuple[int, tuple[ColumnElement[bool], ...]]]:
    name, address = SignInAttempt.name_key == knock.name_key, SignInAttempt.address == knock.address
    narrow: tuple[int, tuple[ColumnElement[bool], ...]] = (PER_NAME_AND_ADDRESS, (name, address))
    if knock.is_known:
        return [narrow]
    strange = SignInAttempt.address != KNOWN_BROWSER
    return [narrow, (PER_ADDRESS, (address,)), (PER_NAME, (name, strange))]


def _wait(session: Session, limit: int, now: datetime, *which: ColumnElement[bool]) -> float:
    """Seconds until one more attempt may be made; 0 for at once."""
    last = select(SignInAttempt.at).where(*which).order_by(SignInAttempt.at.desc()).offset(limit - 1).limit(1)
    at = session.scalar(last)
    return 0.0 if at is None else (at + WINDOW - now).total_seconds()
