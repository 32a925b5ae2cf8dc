"""The time of day, handed to services as an argument so that tests can move it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utcnow() -> datetime:
    """This moment, in UTC."""
    return datetime.now(UTC)
