"""Sessions on SQLite and PostgreSQL in which what was read stays true until it is written."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Any, TypeVar

from sqlalchemy import JSON, Connection, Table, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from db.errors import (
    DamagedError,
    DatabaseError,
    UnreachableError,
    UnwritableError,
    UrlError,
    is_busy,
    is_damaged,
    is_lost,
    reason_of,
    remedy_of,
)
from db.sqlite_files import BUSY_SECONDS, make_private_file

Result = TypeVar("Result")
Opened = TypeVar("Opened")

DEFAULT_URL = "sqlite:///data/kpdemo.db"
WAIT_SECONDS = 15
"""How long a write waits for others, on PostgreSQL for each lock; a browser gives up after 20 seconds."""
RETRY_SECONDS = 0.02
KEPT_ALIVE_SECONDS = 30
"""After so long a rest the system asks whether the server is still there, and routers do not forget."""
POOL_SIZE = 40
POOL_SECONDS = 4
"""How long to wait for a free connection; together with `WAIT_SECONDS` it stays below the 20."""
_UNDONE = ("40001", "40P01")
"""The server undid a transaction for the sake of another: serialisation failure, deadlock."""
_ATTEMPTS = 3
_SECRETS = frozenset({"password", "sslpassword", "passfile"})
_AS_READ = {"synchronize_session": False}
"""UPDATE and DELETE change rows, not the objects that were loaded from them before."""
_OURS = {"alembic_version", "projects"}
"""Tables that mark a file as this program's; others may have the first."""
_PATIENCE = BUSY_SECONDS * 1000
_LOCK_SECONDS = "lock seconds"
"""What a connection to PostgreSQL waits for a lock, unless a transaction says otherwise."""
_NEW = "new"
"""Of a connection to PostgreSQL that nobody has used yet."""
_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # a grade that said "Saved" survives a power cut
    "PRAGMA foreign_keys = ON",
    f"PRAGMA busy_timeout = {_PATIENCE}",
)


class Database:
    """A database by its URL: transactions that write, views that read, and errors in one sentence."""

    def __init__(self, url: str = DEFAULT_URL) -> None:
        """Connect lazily.

        Args:
            url: sqlite:///PATH, or postgresql://USER@HOST/NAME.

        Raises:
            DatabaseError: the URL names no database of a known kind.
        """
        self.url = parse_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        options: dict[str, Any] = {"pool_size": POOL_SIZE, "max_overflow": 0, "pool_timeout": POOL_SECONDS}
        if self.is_sqlite:
            self.engine = create_engine(self.url, connect_args={"timeout": BUSY_SECONDS}, **options)
            path = Path(self.url.database or "")
            event.listen(self.engine, "do_connect", lambda *_: make_private_file(path))
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            connect_args = {"connect_timeout": BUSY_SECONDS, "keepalives_idle": KEPT_ALIVE_SECONDS}
            self.engine = create_engine(self.url, connect_args=connect_args, **options)
            event.listen(self.engine, "connect", _prepare_postgresql)
            event.listen(self.engine, "checkout", self._replace_closed)
            event.listen(self.engine, "begin", _begin_postgresql)
        # Waiting in SQLite itself is unfair: with 50 raters some wait for seconds. A lock serves in turn.
        self._writing = threading.Lock() if self.is_sqlite else None
        self._thread = threading.local()

    @property
    def path(self) -> Path | None:
        """The file of an SQLite database."""
        return Path(self.url.database or "") if self.is_sqlite else None

    def __str__(self) -> str:
        """What a person calls it: the file, or the URL without its password."""
        return str(self.path) if self.is_sqlite else public_url(self.url)

    @contextmanager
    def writing(self, *, wait: float | None = None) -> Iterator[Connection]:
        """One transaction that may write: committed at the end, undone by an exception.

        What is read in it stays true until it is written: SQLite takes its write lock at the beginning;
        on PostgreSQL lock the rows that you decide on, with `with_for_update`.

        Args:
            wait: how long to wait for locks of others, in seconds; None means `WAIT_SECONDS`.

        Raises:
            UnreachableError: there is no connection, or somebody else has locked something for too long, or
                the connection is lost: when that is during the commit, it may have been committed.
            RuntimeError: the thread is in such a transaction already, and would wait for itself.
        """
        if getattr(self._thread, "writes", False):
            raise RuntimeError("a transaction that writes inside another: hand the first one on")
        until = time.monotonic() + (WAIT_SECONDS if wait is None else wait)
        options: dict[str, Any] = {"writes": True, "until": until}
        with self._explain_interruptions(), self._turn(until), ExitStack() as opened:
            with self.explain_errors():
                connection = opened.enter_context(self.engine.connect()).execution_options(**options)
                opened.enter_context(connection.begin())
            self._thread.writes = True
            try:
                yield connection
            finally:
                self._thread.writes = False

    @contextmanager
    def session(self, *, wait: float | None = None) -> Iterator[Session]:
        """`writing`, for objects as well as for rows."""
        with (
            self.writing(wait=wait) as connection,
            Session(connection, expire_on_commit=False, execution_options=_AS_READ) as session,
            session.begin(),
        ):
            yield session

    def transact(self, work: Callable[[Session], Result]) -> Result:
        """What `work` returns in a `session`; it begins again when the server undid it for another's sake."""
        return self._attempt(self.session, work, lambda: None)

    def write(self, work: Callable[[Connection], Result], on_failure: Callable[[], None]) -> Result:
        """The same in `writing`.

        Args:
            on_failure: called after each attempt that failed, whatever the reason.
        """
        return self._attempt(self.writing, work, on_failure)

    @staticmethod
    def _attempt(
        begin: Callable[[], AbstractContextManager[Opened]],
        work: Callable[[Opened], Result],
        on_failure: Callable[[], None],
    ) -> Result:
        for attempt in range(_ATTEMPTS):
            try:
                with begin() as opened:
                    return work(opened)
            except Exception as error:
                on_failure()
                was_undone = getattr(getattr(error, "orig", None), "sqlstate", None) in _UNDONE
                if not was_undone or attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("every attempt returns or raises")

    @contextmanager
    def _turn(self, until: float) -> Iterator[None]:
        """One thread of this process writes to SQLite at a time; the others wait in turn, until `until`."""
        if self._writing is None:
            yield
            return
        if not self._writing.acquire(timeout=_left(until)):
            raise self._busy()
        try:
            yield
        finally:
            self._writing.release()

    def _busy(self) -> UnreachableError:
        return UnreachableError(f"{self} is locked, perhaps by a long import; try again in a moment.")

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """One consistent view of the data that changes nothing; it never waits for writers.

        Raises:
            UnreachableError: there is no connection, or it is lost, or an upgrade has a table for too long.
        """
        options: dict[str, Any] = (
            {"reads": True}
            if self.is_sqlite
            else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        )
        with self._view(options) as session:
            yield session

    @property
    def reads_at_once(self) -> bool:
        """Whether a `single_read` waits for nobody: on SQLite, with a connection at hand."""
        pool = self.engine.pool
        is_free = isinstance(pool, QueuePool) and pool.checkedin() > 0 and pool.checkedout() < POOL_SIZE // 2
        return self.is_sqlite and is_free

    @contextmanager
    def single_read(self) -> Iterator[Connection]:
        """A connection for a single statement, which needs no transaction to be consistent.

        Raises:
            UnreachableError: there is no connection, or it is lost.
        """
        options: dict[str, Any] = {"single": True} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        with self._explain_interruptions(), ExitStack() as opened:
            with self.explain_errors():
                connection = opened.enter_context(self.engine.connect()).execution_options(**options)
                connection.begin()
            yield connection

    @contextmanager
    def _view(self, options: dict[str, Any]) -> Iterator[Session]:
        with self._explain_interruptions(), Session(self.engine) as session:
            with self.explain_errors():
                session.connection(execution_options=options)
            yield session

    @contextmanager
    def _explain_interruptions(self) -> Iterator[None]:
        """Turn a lost connection, a lock timeout or a damaged file into one sentence; other errors pass.

        Nothing is tried again: a commit may have succeeded although the server's answer was lost.
        """
        try:
            yield
        except (DBAPIError, self.engine.dialect.loaded_dbapi.Error) as error:  # the latter: of a COPY
            if is_busy(error) or is_lost(error) or is_damaged(error) or remedy_of(error):
                raise self._explain(error) from error
            raise

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn what the server or the file system refuses into one sentence.

        Raises:
            UnreachableError: the database cannot be opened, read or changed, or has no connection to spare.
            DamagedError: its file is not whole.
        """
        try:
            yield
        except PoolTimeoutError as error:
            raise UnreachableError(
                f"All {POOL_SIZE} connections to {self} are in use; try again in a moment."
            ) from error
        except DBAPIError as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> DatabaseError:
        if is_busy(error):
            return self._busy()
        if is_damaged(error):
            return DamagedError(str(self), reason_of(error))
        if remedy := remedy_of(error):
            return UnwritableError(f"{self} cannot be written ({reason_of(error)}): {remedy} and try again.")
        advice = "that the file is a database" if self.is_sqlite else "that the server runs"
        return UnreachableError(f"{self} cannot be used ({reason_of(error)}); check the URL and {advice}.")

    def _replace_closed(self, connection: Any, record: ConnectionPoolEntry, checked_out: object) -> None:
        """Have the pool replace a connection that a restarted server closed: the end of one can be read.

        To ask the server, as `pool_pre_ping` does, would be a round trip for each transaction.

        Raises:
            DisconnectionError: for the pool.
            UnreachableError: it was a new connection, and another would be closed as well.
        """
        is_new = record.info.pop(_NEW, False)
        with DefaultSelector() as selector:
            selector.register(connection, EVENT_READ)
            if not selector.select(timeout=0):
                return
        if is_new:
            raise UnreachableError(
                f"{self} closes new connections at once; try again in a moment, or see in its log why."
            )
        raise DisconnectionError("the server closed a connection that was resting")

    def dispose(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def _prepare_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None  # SQLAlchemy's BEGIN is ours, below
    _use_wal(connection)
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    # SQLite's own lower() changes ASCII only: a search for élan would not find Élan. No index uses it.
    connection.create_function("lower", 1, _fold_case, deterministic=True)


def _fold_case(value: Any) -> Any:
    """Not Python's `lower`, which turns Σ into another letter at the end of a word."""
    return value.casefold() if isinstance(value, str) else value


def _use_wal(connection: Any) -> None:
    """Let readers work beside a writer, in a new file or one of ours; another program's stays as it is.

    The file keeps the mode. To set it first takes the file alone, and SQLite does not wait for that: it
    refuses at once while another connection is at work.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if not tables or tables >= _OURS:
                connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    single, until = options.get("single", False), options.get("until")
    if not single:
        _set(connection, "query_only", int(options.get("reads", False)))
    if until is not None:
        # In whole seconds, so that it need not be set for each transaction.
        _set(connection, "busy_timeout", math.ceil(_left(until)) * 1000)
    elif connection.info.get("busy_timeout", _PATIENCE) < _PATIENCE:  # of who did not wait
        _set(connection, "busy_timeout", _PATIENCE)
    if not single:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes", False) else "BEGIN")


def _set(connection: Connection, pragma: str, value: int) -> None:
    """Set what SQLite keeps from one transaction to the next, unless this connection has it."""
    if connection.info.get(pragma) != value:
        driver: Any = connection.connection.driver_connection
        driver.execute(f"PRAGMA {pragma} = {value}")
        connection.info[pragma] = value


def _prepare_postgresql(connection: Any, record: ConnectionPoolEntry) -> None:
    # Compiling our statements takes longer than running them; servers before 11 never do it.
    connection.execute("SELECT set_config('jit', 'off', false) FROM pg_settings WHERE name = 'jit'")
    # For each lock; what is locked may be held for longer, as by an import.
    connection.execute(f"SET lock_timeout = '{WAIT_SECONDS}s'")
    record.info.update({_LOCK_SECONDS: WAIT_SECONDS, _NEW: True})
    connection.commit()


def _begin_postgresql(connection: Connection) -> None:
    until = connection.get_execution_options().get("until")
    if until is not None and abs(_left(until) - connection.info[_LOCK_SECONDS]) > 1:
        milliseconds = max(1, int(_left(until) * 1000))  # 0 would mean for ever
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")


def _left(until: float) -> float:
    """Seconds left until that moment of `time.monotonic`."""
    return max(0.0, until - time.monotonic())


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


def copy_in(
    connection: Connection, table: Table, names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """COPY rows of the columns `names` into a table of PostgreSQL: less than half the work of INSERT."""
    quote = connection.dialect.identifier_preparer.quote
    as_json = [isinstance(table.columns[name].type, JSON) for name in names]
    driver: Any = connection.connection.driver_connection
    into = f"COPY {quote(table.name)} ({', '.join(map(quote, names))}) FROM STDIN"
    with driver.cursor() as cursor, cursor.copy(into) as copy:
        for row in rows:
            copy.write_row(
                [
                    json.dumps(value) if encode and value is not None else value
                    for value, encode in zip(row, as_json, strict=True)
                ]
            )
