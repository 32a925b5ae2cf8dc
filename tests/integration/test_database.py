"""Transactions, rules of the tables and types, on SQLite and PostgreSQL."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import create_engine, event, func, select, text, update
from sqlalchemy.exc import IntegrityError, InternalError, OperationalError, StatementError

from annotation.services.transactions import insert_rows
from db import Database, DatabaseError
from db.database import POOL_SECONDS, POOL_SIZE, WAIT_SECONDS
from db.errors import UnreachableError
from db.migrations import schema_transaction
from db.models import AuditEvent, Pair, Project, User
from tests.databases import NOON, fill, new_database

pytestmark = pytest.mark.both_databases

ROOT = Path(__file__).parent.parent.parent
BEN = {"name": "Ben", "name_key": "ben", "is_administrator": False, "created_at": NOON}


def add_user(database: Database, name: str) -> int:
    with database.session() as session:
        user = User(name=name, name_key=name, created_at=NOON)
        session.add(user)
        session.flush()
        return user.id


def count(database: Database, model: type) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def test_every_pooled_connection_of_sqlite_has_its_settings(sqlite_database):
    expected = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000}
    with ExitStack() as stack:
        connections = [stack.enter_context(sqlite_database.engine.connect()) for _ in range(5)]
        found = [
            {name: connection.execute(text(f"PRAGMA {name}")).scalar() for name in expected}
            for connection in connections
        ]
        assert len({id(connection.connection.driver_connection) for connection in connections}) == 5
    assert found == [expected] * 5


def test_small_letters_are_those_of_all_scripts_and_nothing_stays_nothing(database):
    with database.reading() as session:
        assert session.execute(select(func.lower("ÉLAN Ж"), func.lower(None))).one() == ("élan ж", None)


def test_eight_threads_that_read_then_write_lose_nothing(database):
    fill(database)
    start = threading.Barrier(8)

    def add(_: int) -> None:
        start.wait()
        for _ in range(25):
            with database.session() as session:
                pair = session.scalars(select(Pair).order_by(Pair.id).limit(1).with_for_update()).one()
                pair.import_order += 1_000  # read in Python, written back: the classic lost update

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, range(8)))
    with database.reading() as session:
        assert session.scalar(select(func.max(Pair.import_order))) == 8 * 25 * 1_000


def test_an_exception_undoes_the_whole_transaction(database):
    def add_and_fail() -> None:
        with database.session() as session:
            session.add(User(name="Ana", name_key="ana", created_at=NOON))
            session.flush()
            raise InterruptedError

    with pytest.raises(InterruptedError):
        add_and_fail()
    assert count(database, User) == 0
    add_user(database, "ana")  # and the next transaction is not harmed


def test_a_session_inside_a_session_is_refused_instead_of_waiting_for_itself(database):
    with database.session(), pytest.raises(RuntimeError, match="inside"), database.session():
        pass
    add_user(database, "ana")


@contextmanager
def this_process_writes(database: Database) -> Iterator[None]:
    with database.session():
        yield


@contextmanager
def another_program_writes(database: Database) -> Iterator[None]:
    with closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def write(database: Database, **options: bool) -> None:
    with database.session(**options):
        pass


@pytest.mark.parametrize("somebody_writes", [this_process_writes, another_program_writes])
def test_writing_waits_for_others_no_longer_than_the_limit(sqlite_database, monkeypatch, somebody_writes):
    monkeypatch.setattr("db.database.WAIT_SECONDS", 0.01)
    monkeypatch.setattr("db.database._PRAGMAS", ("PRAGMA busy_timeout = 3600000",))
    sqlite_database.dispose()
    said = r"test\.db is locked, perhaps by a long import; try again in a moment\.$"
    with ThreadPoolExecutor(1) as writer, somebody_writes(sqlite_database):
        refused = writer.submit(write, sqlite_database)
        with pytest.raises(UnreachableError, match=said):
            refused.result(60)
    add_user(sqlite_database, "ana")  # and it is over when the other one is


class Line:
    """A lock that is had after nine seconds, by a clock of its own."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def acquire(self, timeout: float) -> bool:
        self.now += 9
        return self.now <= timeout

    def release(self) -> None:
        pass


def test_whoever_stood_in_line_waits_for_other_programs_only_as_long_as_is_left(sqlite_database, monkeypatch):
    line, said = Line(), []
    monkeypatch.setattr("db.database.time", line)
    monkeypatch.setattr(sqlite_database, "_writing", line)
    event.listen(sqlite_database.engine, "connect", lambda raw, _: raw.set_trace_callback(said.append))
    write(sqlite_database)
    assert said[said.index("BEGIN IMMEDIATE") - 1] == "PRAGMA busy_timeout = 6000"
    with sqlite_database.reading() as session:
        assert session.scalar(text("PRAGMA busy_timeout")) == 10_000


@pytest.mark.parametrize("somebody_writes", [this_process_writes, another_program_writes])
def test_who_does_not_wait_for_a_writer_is_told_at_once(sqlite_database, monkeypatch, somebody_writes):
    monkeypatch.setattr("db.database.WAIT_SECONDS", 3600)
    monkeypatch.setattr("db.database._PRAGMAS", ("PRAGMA busy_timeout = 3600000",))
    sqlite_database.dispose()
    with ThreadPoolExecutor(1) as writer, somebody_writes(sqlite_database):
        refused = writer.submit(write, sqlite_database, wait=0)
        with pytest.raises(UnreachableError):
            refused.result(60)
    with sqlite_database.session() as session:  # the next on the same connection is patient again
        assert session.scalar(text("PRAGMA busy_timeout")) == 3_600_000


def test_who_reads_after_somebody_who_did_not_wait_is_patient(sqlite_database):
    write(sqlite_database, wait=0)
    with sqlite_database.single_read() as connection:
        assert connection.scalar(text("PRAGMA busy_timeout")) == 10_000


def rename(database: Database, **options: bool) -> None:
    with database.session(**options) as session:
        session.execute(update(User).values(name="Eve"))


def take_the_same_name_by_copy(database: Database, **options: bool) -> None:
    with database.session(**options) as session:
        insert_rows(session, User, [BEN])


@pytest.mark.parametrize("change", [rename, take_the_same_name_by_copy])
@pytest.mark.parametrize(("limit", "options"), [(0.01, {}), (3600, {"wait": 0})])
def test_on_postgresql_writing_waits_for_a_lock_no_longer_than_the_limit(
    postgresql_database, monkeypatch, change, limit, options
):
    add_user(postgresql_database, "ana")
    with ThreadPoolExecutor(1) as writer, postgresql_database.session() as holder:
        holder.add(User(**BEN))
        holder.flush()
        holder.execute(update(User).values(created_at=NOON))
        monkeypatch.setattr("db.database.WAIT_SECONDS", limit)
        refused = writer.submit(change, postgresql_database, **options)
        with pytest.raises(UnreachableError, match="is locked, perhaps by a long import; try again"):
            refused.result(60)
    monkeypatch.undo()
    assert count(postgresql_database, User) == 2  # who held it wrote all
    rename(postgresql_database)


def test_who_has_what_it_locked_may_write_for_longer_than_others_wait(postgresql_database, monkeypatch):
    add_user(postgresql_database, "ana")
    monkeypatch.setattr("db.database.WAIT_SECONDS", 0.01)
    with postgresql_database.session() as session:
        for name in "ben", "cleo":
            session.execute(update(User).values(name=name))
            session.execute(select(func.pg_sleep(0.05)))
    with postgresql_database.reading() as session:
        assert session.scalar(select(User.name)) == "cleo"
        assert session.scalar(text("SHOW lock_timeout")) == "15s"  # the other went with the transaction
    with schema_transaction(postgresql_database) as connection:
        assert connection.scalar(text("SHOW lock_timeout")) == "1min"


def test_the_first_connection_waits_for_another_process_that_makes_the_tables(tmp_path):
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE made (id INTEGER)")  # the file is not in WAL mode yet
        threading.Timer(0.3, other.execute, ["COMMIT"]).start()
        database = Database(f"sqlite:///{path}")
        with database.reading() as session:
            tables = session.scalars(text("SELECT name FROM sqlite_master")).all()
        database.dispose()
    assert tables == ["made"]


def test_a_reader_cannot_write_and_its_connection_can_be_used_for_writing_again(database):
    add_user(database, "ana")
    with (
        database.reading() as session,
        pytest.raises((OperationalError, InternalError), match=r"read-?only"),
    ):
        session.execute(update(User).values(name="Eve"))
    add_user(database, "ben")
    with database.reading() as session:
        assert session.scalars(select(User.name).order_by(User.id)).all() == ["ana", "ben"]


def test_a_reader_sees_one_moment_however_long_it_reads(database):
    add_user(database, "ana")
    with database.reading() as session:
        before = session.scalar(select(func.count()).select_from(User))
        add_user(database, "ben")
        assert session.scalar(select(func.count()).select_from(User)) == before == 1
    assert count(database, User) == 2


def test_readers_do_not_wait_for_a_writer(database):
    add_user(database, "ana")
    with database.session() as session:
        session.add(User(name="ben", name_key="ben", created_at=NOON))
        session.flush()
        with ThreadPoolExecutor(1) as other:
            assert other.submit(count, database, User).result(timeout=60) == 1


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("UPDATE ratings SET quarters = -1", "off the scale"),
        ("UPDATE ratings SET quarters = 17", "off the scale"),
        ("UPDATE pairs SET open_slots = open_slots - 2", "no_slot_given_twice"),
        ("UPDATE assignments SET state = 'held', lease_expires_at = NULL", "held_has_lease"),
        (
            "INSERT INTO ratings (project_id, pair_id, rater_id, quarters, created_at, updated_at) "
            "SELECT project_id, pair_id, rater_id, 3, created_at, updated_at FROM ratings",
            "(?i)unique",
        ),
        ("UPDATE comments SET pair_id = 77", "(?i)foreign key"),
        ("DELETE FROM users WHERE name = 'Ben'", "(?i)foreign key"),  # who has ratings
    ],
)
def test_the_tables_refuse_what_must_not_be(database, statement, rule):
    fill(database)
    with pytest.raises(IntegrityError, match=rule), database.session() as session:
        session.execute(text(statement))


def test_a_project_goes_with_everything_that_is_its_own_and_leaves_the_audit(database):
    fill(database)
    with database.session() as session:
        session.delete(session.scalars(select(Project)).one())
    with database.reading() as session:
        left = {
            name: session.scalar(text(f"SELECT COUNT(*) FROM {name}"))
            for name in ("pairs", "ratings", "rating_history", "adjudication_history", "exports", "users")
        }
        [event] = session.scalars(select(AuditEvent)).all()
    assert left == {**dict.fromkeys(left, 0), "users": 3}
    assert (event.project_id, event.action, event.detail) == (None, "x", {"b": 1, "a": {}})


def test_a_moment_comes_back_as_it_was_in_utc(database):
    there = datetime(2026, 3, 1, 23, 30, 0, 123456, tzinfo=timezone(timedelta(hours=-5)))
    with database.session() as session:
        session.add(User(name="Ana", name_key="ana", created_at=there, disabled_at=None))
    with database.reading() as session:
        user = session.scalars(select(User)).one()
        assert user.created_at == there
        assert user.created_at.tzinfo is UTC
        assert user.disabled_at is None
        assert session.scalars(select(User).where(User.created_at == there.astimezone(UTC))).one() is user
        assert session.scalars(select(User).where(User.created_at > there)).all() == []


def test_a_moment_without_a_zone_is_refused(database):
    with pytest.raises(StatementError, match="no time zone"), database.session() as session:
        session.add(User(name="Ana", name_key="ana", created_at=datetime(2026, 3, 1)))


def test_the_file_and_its_folder_are_for_their_owner_only(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'data' / 'kpdemo.db'}")
    before = os.umask(0o022)
    try:
        with database.session() as session:
            session.execute(text("CREATE TABLE t (id INTEGER)"))
            modes = {
                path.name: oct(stat.S_IMODE(path.stat().st_mode))
                for path in (tmp_path / "data", *(tmp_path / "data").iterdir())
            }
    finally:
        os.umask(before)
        database.dispose()
    assert modes == {
        "data": "0o700",
        "kpdemo.db": "0o600",
        "kpdemo.db-wal": "0o600",
        "kpdemo.db-shm": "0o600",
    }


def test_a_file_that_is_there_keeps_its_permissions(tmp_path):
    path = tmp_path / "shared.db"
    path.touch(mode=0o640)
    path.chmod(0o640)
    database = Database(f"sqlite:///{path}")
    with database.session() as session:
        session.execute(text("CREATE TABLE t (id INTEGER)"))
    database.dispose()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_folder_that_cannot_be_made_is_said_in_one_sentence():
    database = Database("sqlite:////proc/none/kpdemo.db")
    with pytest.raises(DatabaseError, match=r"^/proc/none/kpdemo\.db cannot be created \(.+\); give"):
        database.engine.connect()


@pytest.mark.parametrize(
    ("code", "reason", "remedy"),
    [
        (sqlite3.SQLITE_IOERR_SHMSIZE, "disk I/O error", "check that its disk works and is not full"),
        (
            sqlite3.SQLITE_READONLY_DIRECTORY,
            "attempt to write a readonly database",
            "check that you may write to the file and to its folder",
        ),
    ],
)
def test_a_file_that_cannot_be_written_is_not_taken_for_a_wrong_url(tmp_path, code, reason, remedy):
    database = Database(f"sqlite:///{tmp_path / 'k.db'}")

    def refuse(*_: object) -> None:  # what SQLite says of a disk without room, or of a folder of others
        error = sqlite3.OperationalError(reason)
        error.sqlite_errorcode = code
        raise error

    event.listen(database.engine, "do_connect", refuse)
    told = rf"^\S+k\.db cannot be written \({reason}\): {remedy}.* and try again\.$"
    for opened in (database.session, database.reading):
        with pytest.raises(UnreachableError, match=told), opened():
            pass


WRITER = """
import sys
from db import Database
from db.models import User
from tests.databases import NOON
database = Database(sys.argv[1])
for number in range(100_000):
    with database.session() as session:
        session.add(User(name=str(number), name_key=str(number), created_at=NOON))
    print(number, flush=True)
"""


def test_a_writer_killed_in_the_middle_loses_nothing_that_it_acknowledged(sqlite_database):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, f"sqlite:///{sqlite_database.path}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    acknowledged = [writer.stdout.readline() for _ in range(50)]
    writer.send_signal(signal.SIGKILL)
    acknowledged += writer.stdout.readlines()
    assert writer.wait() == -signal.SIGKILL
    writer.stdout.close()
    with sqlite_database.reading() as session:
        kept = set(session.scalars(select(User.name)))
        assert session.execute(text("PRAGMA integrity_check")).scalar() == "ok"
    assert {line.strip() for line in acknowledged if line.endswith("\n")} <= kept
    assert len(kept) >= 50


WAYS = {"session": Database.session, "reading": Database.reading, "single_read": Database.single_read}


@pytest.mark.parametrize("opened", WAYS.values(), ids=WAYS)
def test_a_connection_that_the_server_closed_is_replaced(postgresql_database, opened):
    add_user(postgresql_database, "ana")
    end_connection(postgresql_database)
    with opened(postgresql_database) as session:
        assert session.scalar(select(User.name)) == "ana"


@pytest.mark.parametrize("opened", WAYS.values(), ids=WAYS)
def test_a_server_that_closes_new_connections_at_once_is_one_sentence(postgresql_database, opened):
    add_user(postgresql_database, "ana")
    end_connection(postgresql_database)

    def close(connection, record) -> None:
        end(postgresql_database, connection.info.backend_pid)

    event.listen(postgresql_database.engine, "connect", close)
    said = r"^postgresql://.+ closes new connections at once; try again"
    with pytest.raises(UnreachableError, match=said), opened(postgresql_database):
        pass
    event.remove(postgresql_database.engine, "connect", close)
    assert count(postgresql_database, User) == 1


@pytest.mark.parametrize("opened", WAYS.values(), ids=WAYS)
def test_a_connection_lost_in_the_middle_is_one_sentence_and_the_next_is_new(postgresql_database, opened):
    add_user(postgresql_database, "ana")

    def lose() -> None:
        with opened(postgresql_database) as session:
            end(postgresql_database, session.scalar(select(func.pg_backend_pid())))
            session.scalar(select(User.name))

    with pytest.raises(UnreachableError, match=r"cannot be used \(.+\); check .* that the server runs\.$"):
        lose()
    assert count(postgresql_database, User) == 1


def test_what_was_written_before_the_connection_was_lost_is_not_written_again(postgresql_database):
    began = []

    def lose() -> None:
        with postgresql_database.session() as session:
            began.append(session)
            session.add(User(name="Ana", name_key="ana", created_at=NOON))
            session.flush()
            end(postgresql_database, session.scalar(select(func.pg_backend_pid())))

    with pytest.raises(UnreachableError):  # it is the commit that fails
        lose()
    assert (len(began), count(postgresql_database, User)) == (1, 0)
    add_user(postgresql_database, "ana")  # and the thread may write again


@pytest.mark.parametrize("opened", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("system", ["sqlite", "postgresql"])
def test_when_all_connections_are_in_use_it_is_one_sentence_and_soon(monkeypatch, tmp_path, system, opened):
    monkeypatch.setattr("db.database.POOL_SIZE", 2)
    monkeypatch.setattr("db.database.POOL_SECONDS", 0.01)
    with new_database(system, tmp_path) as database, ExitStack() as readers:
        for _ in range(2):
            readers.enter_context(database.reading())
        with pytest.raises(UnreachableError, match=r"^All 2 connections to .+ are in use; try again"):
            readers.enter_context(opened(database))
        readers.close()
        add_user(database, "ana")  # and then there are some again


def test_a_browser_that_sends_a_grade_is_still_there_when_the_database_gives_up():
    script = (ROOT / "annotation" / "assets" / "scripts" / "parts.js").read_text()
    patience = int(re.findall(r"PATIENCE = ([\d_]+)", script)[0]) / 1000
    assert patience > WAIT_SECONDS + POOL_SECONDS


def test_a_single_read_waits_for_nobody_on_sqlite_while_connections_are_at_hand(database):
    assert not database.reads_at_once  # the first is yet to be opened
    with database.single_read(), database.single_read():
        assert not database.reads_at_once
    assert database.reads_at_once == database.is_sqlite
    with ExitStack() as held:
        for _ in range(POOL_SIZE // 2):
            held.enter_context(database.single_read())
        assert not database.reads_at_once
    assert database.reads_at_once == database.is_sqlite


def test_a_single_read_sees_what_is_committed_and_leaves_its_connection_as_it_was(database):
    add_user(database, "ana")
    with database.single_read() as session:
        assert session.scalar(select(User.name)) == "ana"
    add_user(database, "ben")
    with pytest.raises(IntegrityError), database.session() as session:
        session.execute(update(User).values(name_key="same"))
    assert count(database, User) == 2


def end_connection(database: Database) -> None:
    """As a server does that is started anew; the pool has just one."""
    with database.reading() as session:
        number = session.scalar(select(func.pg_backend_pid()))
    end(database, number)


def end(database: Database, number: int) -> None:
    """Wait until the server has ended that connection."""
    other = create_engine(database.url)
    with other.begin() as connection:
        assert connection.scalar(select(func.pg_terminate_backend(number, 10_000)))
    other.dispose()


def test_postgresql_compiles_no_statement(postgresql_database):
    with postgresql_database.reading() as session:
        assert session.scalar(text("SHOW jit")) == "off"
