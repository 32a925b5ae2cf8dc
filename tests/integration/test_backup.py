"""Backups of a database in use, and the way back, on both systems and from one to the other."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from db import Database, DatabaseError
from db.backup import backup, restore
from db.checks import check
from db.migrations import MIGRATIONS, upgrade
from db.models import Pair, SignInAttempt, User
from tests.conftest import require_postgresql
from tests.databases import NOON, contents, empty_schema, fill, new_database
from tests.integration.test_migrations import ROOT, next_version

pytestmark = pytest.mark.both_databases

FORGOTTEN = {"user_sessions": []}


@pytest.fixture(params=["sqlite", "postgresql"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A second database, without rows, on each of the two systems."""
    if request.param == "postgresql":
        require_postgresql()
    (tmp_path / "other").mkdir()
    with new_database(request.param, tmp_path / "other") as made:
        yield made


def without_restoring(found: dict[str, list[tuple]]) -> dict[str, list[tuple]]:
    """The rows of a restored database without the event that restoring it adds."""
    *events, restored = found["audit_events"]
    assert restored[4] == "database restored"
    assert restored[5]["revision"] == MIGRATIONS.head
    return {**found, "audit_events": events}


def test_what_is_restored_is_what_was_backed_up_on_either_system(database, other, tmp_path):
    fill(database)
    before = contents(database)
    file = tmp_path / "backup.db"
    assert backup(database, file).revision == MIGRATIONS.head
    restored = restore(other, file)
    assert without_restoring(contents(other)) == {**before, **FORGOTTEN}
    found = check(other)
    assert found.problems == ()  # so the triggers are there, too
    assert restored.rows == sum(found.rows.values())
    with other.reading() as session:  # nothing known is NULL, not a null in JSON
        assert session.scalar(select(func.count(Pair.id)).where(Pair.senses.is_(None))) == 2
    with other.session() as session:
        user = User(name="Eve", name_key="eve", created_at=NOON)
        session.add(user)
        session.flush()
        assert user.id == 4


def test_a_backup_is_one_private_file_that_needs_nothing_beside_it(database, tmp_path):
    fill(database)
    (tmp_path / "backups").mkdir()
    done = backup(database, tmp_path / "backups" / "monday.db")
    assert [path.name for path in (tmp_path / "backups").iterdir()] == ["monday.db"]
    assert stat.S_IMODE(done.file.stat().st_mode) == 0o600
    assert done.size == done.file.stat().st_size
    with closing(sqlite3.connect(f"file:{done.file}?immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM ratings").fetchone() == (6,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_backup_taken_while_others_write_is_one_moment(database, tmp_path):
    fill(database)
    stop, begun = threading.Event(), threading.Event()

    def write() -> None:  # always a user and an attempt together; users come first in the copy
        number = 0
        while not stop.is_set():
            number += 1
            with database.session() as session:
                for _ in range(50):
                    name = f"{number}/{_}"
                    session.add(User(name=name, name_key=name, created_at=NOON))
                    session.add(SignInAttempt(name_key=name, address="", at=NOON))
            begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert begun.wait(10)
        for number in range(2):
            backup(database, tmp_path / f"{number}.db")
    finally:
        stop.set()
        writer.join()
    counts = []
    for number in range(2):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as connection:
            [users] = connection.execute("SELECT COUNT(*) FROM users").fetchone()
            [attempts] = connection.execute("SELECT COUNT(*) FROM sign_in_attempts").fetchone()
        assert users - 3 == attempts - 1
        assert (users - 3) % 50 == 0
        counts.append(users)
    assert 52 <= counts[0] <= counts[1]


def test_a_backup_takes_the_place_of_no_device_or_pipe(sqlite_database, tmp_path):
    fill(sqlite_database)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DatabaseError, match="pipe is a device or a pipe, not a file"):
        backup(sqlite_database, tmp_path / "pipe", overwrite=True)
    assert (tmp_path / "pipe").is_fifo()


def test_a_backup_replaces_a_file_only_when_it_is_told_to(sqlite_database, tmp_path):
    fill(sqlite_database)
    file = tmp_path / "backup.db"
    file.write_text("precious")
    with pytest.raises(DatabaseError, match=r"backup\.db already exists: .* --force"):
        backup(sqlite_database, file)
    assert file.read_text() == "precious"
    backup(sqlite_database, file, overwrite=True)
    assert file.stat().st_size > 10_000


def test_a_backup_never_replaces_a_database_in_use(sqlite_database, tmp_path):
    fill(sqlite_database)
    file = tmp_path / "live.db"
    live = Database(f"sqlite:///{file}")
    upgrade(live)
    with live.session() as session:  # its connection stays open, and what it wrote in the -wal
        session.add(User(name="Eve", name_key="eve", created_at=NOON))
    with pytest.raises(
        DatabaseError, match=r"live\.db is in use, .* it away, with live\.db-wal and live\.db-shm"
    ):
        backup(sqlite_database, file, overwrite=True)
    with live.reading() as session:
        assert session.scalars(select(User.name)).all() == ["Eve"]
    live.dispose()
    backup(sqlite_database, file, overwrite=True)
    assert contents(live) == contents(sqlite_database)
    live.dispose()


def test_a_backup_that_was_opened_before_it_was_there_is_told(sqlite_database, tmp_path, monkeypatch):
    fill(sqlite_database)
    file = tmp_path / "backup.db"
    wal = file.with_name("backup.db-wal")
    monkeypatch.setattr("db.backup.flush", lambda file: wal.touch())  # between the last look and the end
    with pytest.raises(
        DatabaseError, match=r"backup\.db was opened while it was replaced \(backup\.db-wal is"
    ):
        backup(sqlite_database, file)
    with pytest.raises(
        DatabaseError, match=r"move it away, with backup\.db-wal"
    ):  # nor beside what was left of another
        backup(sqlite_database, file, overwrite=True)


def test_a_backup_never_replaces_the_database_itself(sqlite_database):
    fill(sqlite_database)
    for call in (backup, restore):
        with pytest.raises(DatabaseError, match="is the database itself"):
            call(sqlite_database, sqlite_database.path, overwrite=True)


def test_a_backup_of_nothing_is_refused(tmp_path):
    nothing = Database(f"sqlite:///{tmp_path / 'none.db'}")
    with pytest.raises(DatabaseError, match=r"There is no database at .* create one with `python -m db"):
        backup(nothing, tmp_path / "backup.db")
    assert list(tmp_path.iterdir()) == []
    nothing.path.touch()
    with pytest.raises(DatabaseError, match="has no tables to back up"):
        backup(nothing, tmp_path / "backup.db")
    nothing.dispose()


def test_a_backup_that_could_not_be_restored_is_refused(database, tmp_path):
    with database.session() as session:
        session.execute(text("DROP TABLE comments"))
    message = (
        r"is incomplete, and nothing was backed up: tables are missing \(comments\), restore a backup\.$"
    )
    with pytest.raises(DatabaseError, match=message):
        backup(database, tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()


def test_a_folder_that_is_not_there_is_said(sqlite_database, tmp_path):
    with pytest.raises(DatabaseError, match="none is not a folder: create it"):
        backup(sqlite_database, tmp_path / "none" / "backup.db")


def test_a_database_with_rows_is_replaced_only_when_it_is_told_to(sqlite_database, other, tmp_path):
    fill(sqlite_database)
    backup(sqlite_database, tmp_path / "backup.db")
    with other.session() as session:
        session.add(User(name="Eve", name_key="eve", created_at=NOON))
    before = contents(other)
    with pytest.raises(DatabaseError, match=r"already contains rows \(users\): give --force"):
        restore(other, tmp_path / "backup.db")
    assert contents(other) == before
    restore(other, tmp_path / "backup.db", overwrite=True)
    assert without_restoring(contents(other)) == {**contents(sqlite_database), **FORGOTTEN}


def test_a_missing_database_is_made_by_restoring(sqlite_database, tmp_path):
    fill(sqlite_database)
    backup(sqlite_database, tmp_path / "backup.db")
    target = Database(f"sqlite:///{tmp_path / 'new' / 'kpdemo.db'}")
    restore(target, tmp_path / "backup.db")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "new" / "kpdemo.db").stat().st_mode) == 0o600
    assert check(target).problems == ()
    with target.engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
    target.dispose()


def test_an_empty_postgresql_schema_gets_its_tables_by_restoring(sqlite_database, tmp_path):
    require_postgresql()
    fill(sqlite_database)
    backup(sqlite_database, tmp_path / "backup.db")
    with empty_schema() as url:
        target = Database(url)
        restore(target, tmp_path / "backup.db")
        assert check(target).problems == ()
        target.dispose()


def broken_backup(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pairs SET open_slots = 9",
        "UPDATE memberships SET user_id = 77",
        "DROP TABLE comments",
        "UPDATE alembic_version SET version_num = '9999'",
    ],
    ids=["counts", "references", "tables", "a later version"],
)
def test_a_backup_that_is_not_whole_changes_nothing(sqlite_database, tmp_path, statement):
    fill(sqlite_database)
    file = tmp_path / "backup.db"
    backup(sqlite_database, file)
    before = contents(sqlite_database)
    broken_backup(file, statement)
    with pytest.raises(DatabaseError):
        restore(sqlite_database, file, overwrite=True)
    assert contents(sqlite_database) == before


def test_a_damaged_backup_changes_nothing(sqlite_database, tmp_path):
    fill(sqlite_database)
    file = tmp_path / "backup.db"
    backup(sqlite_database, file)
    before = contents(sqlite_database)
    damaged = bytearray(file.read_bytes())
    for page in range(8, len(damaged) // 4096):
        damaged[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    file.write_bytes(damaged)
    with pytest.raises(DatabaseError):
        restore(sqlite_database, file, overwrite=True)
    file.write_bytes(damaged[: len(damaged) // 2])
    with pytest.raises(DatabaseError):
        restore(sqlite_database, file, overwrite=True)
    assert contents(sqlite_database) == before


def test_a_backup_of_an_early_revision_is_refused_with_the_commit_that_upgrades_it(sqlite_database, tmp_path):
    fill(sqlite_database)
    file = tmp_path / "backup.db"
    backup(sqlite_database, file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0008'")
        connection.commit()
    said = (
        r"backup\.db has the tables of revision 0008, .* with commit 494830eb .*, or give another backup\.$"
    )
    with pytest.raises(DatabaseError, match=said):
        restore(sqlite_database, file, overwrite=True)


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100], ids=["empty", "text"])
def test_a_file_that_is_no_backup_is_refused(database, tmp_path, content):
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    with pytest.raises(DatabaseError, match=r"notes\.txt is not a backup"):
        restore(database, file)
    assert file.read_bytes() == content
    with pytest.raises(DatabaseError, match="does not exist: give the file of a backup"):
        restore(database, tmp_path / "none.db")
    with pytest.raises(DatabaseError, match="is a folder, not a file: give the file of a backup"):
        restore(database, tmp_path)


def test_what_postgresql_cannot_hold_changes_nothing(sqlite_database, postgresql_database, tmp_path):
    fill(sqlite_database)
    with sqlite_database.session() as session:
        session.execute(text("UPDATE comments SET text = 'a' || char(0) || 'b'"))
    backup(sqlite_database, tmp_path / "backup.db")
    fill(postgresql_database)
    before = contents(postgresql_database)
    with pytest.raises(DatabaseError, match=r"refused a row of comments .* nothing was changed"):
        restore(postgresql_database, tmp_path / "backup.db", overwrite=True)
    assert contents(postgresql_database) == before


def test_an_sqlite_file_in_use_is_not_replaced(sqlite_database, tmp_path):
    fill(sqlite_database)
    backup(sqlite_database, tmp_path / "backup.db")
    before = contents(sqlite_database)
    app = Database(f"sqlite:///{sqlite_database.path}")
    with app.reading() as session:  # one page was shown; the connection waits in the pool for the next
        session.scalars(select(User.name)).all()
    with pytest.raises(DatabaseError, match=r"test\.db is in use: stop the program"):
        restore(sqlite_database, tmp_path / "backup.db", overwrite=True)
    assert contents(sqlite_database) == before
    app.dispose()
    restore(sqlite_database, tmp_path / "backup.db", overwrite=True)
    assert without_restoring(contents(sqlite_database)) == {**before, **FORGOTTEN}


def test_a_damaged_database_can_be_replaced_once_it_is_moved_away(sqlite_database, tmp_path):
    fill(sqlite_database)
    before = contents(sqlite_database)
    backup(sqlite_database, tmp_path / "backup.db")
    sqlite_database.dispose()
    damaged = bytearray(sqlite_database.path.read_bytes())
    for page in range(1, len(damaged) // 4096):
        damaged[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    sqlite_database.path.write_bytes(damaged)
    with pytest.raises(DatabaseError, match=r"cannot be replaced \(.+\): move it away"):
        restore(sqlite_database, tmp_path / "backup.db", overwrite=True)
    assert sqlite_database.path.read_bytes() == damaged
    sqlite_database.path.rename(tmp_path / "damaged.db")
    restore(sqlite_database, tmp_path / "backup.db")
    assert without_restoring(contents(sqlite_database)) == {**before, **FORGOTTEN}


def test_the_file_of_another_program_is_not_replaced_even_when_told_to(sqlite_database, tmp_path):
    fill(sqlite_database)
    backup(sqlite_database, tmp_path / "backup.db")
    with closing(sqlite3.connect(tmp_path / "music.db")) as connection:
        connection.execute("CREATE TABLE songs (id INTEGER)")
    with pytest.raises(DatabaseError, match=r"another program \(songs\)"):
        restore(Database(f"sqlite:///{tmp_path / 'music.db'}"), tmp_path / "backup.db", overwrite=True)


def test_a_backup_of_a_later_version_is_refused(database, tmp_path):
    later = next_version(tmp_path / "later", "pass")
    upgrade(database, migrations=later)
    if database.is_sqlite:
        backup(database, tmp_path / "newer.db")  # no more than copying the file, which needs no knowledge
        with pytest.raises(DatabaseError, match=r"newer\.db has the tables of .+, or give another backup\.$"):
            restore(Database(f"sqlite:///{tmp_path / 'old.db'}"), tmp_path / "newer.db")
    else:
        with pytest.raises(DatabaseError, match="which this version does not know"):
            backup(database, tmp_path / "newer.db")
    assert not (tmp_path / "old.db").exists()


def test_nothing_is_left_behind(database, tmp_path):
    fill(database)
    (tmp_path / "backups").mkdir()
    backup(database, tmp_path / "backups" / "a.db")
    restore(database, tmp_path / "backups" / "a.db", overwrite=True)
    shutil.rmtree(tmp_path / "backups")
    database.dispose()
    assert {path.name for path in tmp_path.iterdir()} <= {"test.db"}


def kill_in(database: Database, work: str) -> None:
    """Run `work` in a process that is killed when a copy has been written but has not got its name."""
    code = f"""
import os, signal
from pathlib import Path
import db.sqlite_files
from db import Database
db.sqlite_files.flush = lambda path: os.kill(os.getpid(), signal.SIGKILL)
{work}
"""
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL


def test_what_a_killed_backup_or_upgrade_leaves_has_no_final_name_and_goes_with_the_next(
    sqlite_database, tmp_path
):
    fill(sqlite_database)
    before = {path.name for path in tmp_path.iterdir()}
    file, later = tmp_path / "backup.db", next_version(tmp_path.with_name("later"), "")
    opened = f"Database({sqlite_database.url.render_as_string()!r})"
    kill_in(sqlite_database, f"from db.backup import backup; backup({opened}, Path({str(file)!r}))")
    kill_in(
        sqlite_database,
        "from db.migrations import Migrations, upgrade; "
        f"upgrade({opened}, migrations=Migrations(Path({str(later.folder)!r})))",
    )
    left = {path.name for path in tmp_path.iterdir()} - before
    assert len(left) == 2
    assert all(name.startswith(".") for name in left)
    backup(sqlite_database, file)
    assert upgrade(sqlite_database, migrations=later).copy is not None
    assert not left & {path.name for path in tmp_path.iterdir()}
