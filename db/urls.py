"""URLs of databases: which there are, and how one is shown."""

from __future__ import annotations

import os
import re

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from db.errors import UrlError

_SECRETS = frozenset({"password", "sslpassword", "passfile"})


def parse_url(text: str) -> URL:
    """The URL with its driver.

    Raises:
        UrlError: it names no database of a known kind.
    """
    advice = "give sqlite:///PATH or postgresql://USER@HOST/NAME"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # ValueError: a port that is no number
        shown = re.sub(r":.*@", ":***@", text)
        raise UrlError(f"{shown!r} is not a database URL: {advice}.") from None
    backend = url.drivername.partition("+")[0]
    if backend == "sqlite":
        if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
            raise UrlError(f"{text!r} names no file, and a database in memory is lost: {advice}.")
        if url.query:
            raise UrlError(f"{text!r} has options after ?, which are not used: {advice}.")
        return url.set(drivername="sqlite+pysqlite")
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise UrlError(f"{public_url(url)!r} is a database of another kind: {advice}.")


def public_url(url: URL) -> str:
    """The URL as it may be printed: without driver and password; what is not UTF-8 is replaced by a sign."""
    name = url.database
    url = url.set(
        database=None if name is None else os.fsencode(name).decode("utf-8", errors="replace"),
        drivername=url.drivername.partition("+")[0],
        query={name: "..." if name in _SECRETS else value for name, value in url.query.items()},
    )
    return url.render_as_string(hide_password=True)
