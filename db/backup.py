"""Backups: a consistent copy of a database in use, and restoring it.

A backup is an SQLite file with the same tables, even of a PostgreSQL database: it can be inspected, checked
before anything is overwritten, and restored on either system.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    Connection,
    DateTime,
    MetaData,
    Table,
    delete,
    event,
    insert,
    inspect,
    select,
    text,
)

from db.checks import check, missing_tables
from db.database import Database, copy_in
from db.errors import DamagedError, DatabaseError, UnreachableError
from db.migrations import (
    MIGRATIONS,
    current,
    refuse_foreign_tables,
    refuse_missing,
    refuse_unknown,
    revision_of,
    schema_transaction,
    upgrade,
    upgrade_within,
)
from db.models import AuditEvent, Base, UserSession, UtcDateTime
from db.sqlite_files import copy_file, flush, replace_contents, temporary_folder
from db.triggers import create_triggers, drop_triggers

ROWS_AT_ONCE = 2_000
_BESIDE = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a database while it is open, or after a crash."""


@dataclass(frozen=True, slots=True)
class Backup:
    file: Path
    revision: str
    size: int
    """In bytes."""


@dataclass(frozen=True, slots=True)
class Restoration:
    revision: str
    """Of the backup; the database itself is at the newest."""
    rows: int


def backup(database: Database, file: Path, *, overwrite: bool = False) -> Backup:
    """Write everything that is committed to `file`; the database may be in use.

    Raises:
        DatabaseError: it is missing, empty or not whole, cannot be reached, or `file` exists, is in use or
            cannot be written.
    """
    if file.exists() and not file.is_file():  # a device would be replaced by a file
        what = "a folder" if file.is_dir() else "a device or a pipe"
        raise DatabaseError(f"{file} is {what}, not a file: give the name of a file.")
    if file.exists() and not overwrite:
        raise DatabaseError(f"{file} already exists: give another name, or --force to replace it.")
    if database.path is not None and file.exists() and file.samefile(database.path):
        raise DatabaseError(f"{file} is the database itself: give another name.")
    if not file.parent.is_dir():
        raise DatabaseError(f"{file.parent} is not a folder: create it, or give another name.")
    _refuse_in_use(file)  # before the work; once more when it is done
    refuse_missing(database)
    revision = current(database)
    if revision is None:
        raise DatabaseError(f"{database} has no tables to back up: check the URL.")
    if revision == MIGRATIONS.head:  # else some are missing by design
        with database.explain_errors(), database.engine.connect() as connection:
            missing = missing_tables(connection)
        if missing:  # `restore` would refuse it
            raise DatabaseError(
                f"{database} is incomplete, and nothing was backed up: tables are missing "
                f"({', '.join(missing)}), restore a backup."
            )
    with _folder_beside(file) as folder:
        part = folder / file.name
        if database.path is not None:
            copy_file(database.path, part)
        else:
            revision = _write_rows(database, part)
        with closing(sqlite3.connect(part)) as written:
            [found] = written.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise DatabaseError(f"The database is damaged ({found}): the backup was not kept.")
        size = part.stat().st_size
        _refuse_in_use(file)
        part.replace(file)
        flush(file)
    if beside := _beside(file):
        raise DatabaseError(
            f"{file} was opened while it was replaced ({beside[0].name} is there), and may be damaged: back "
            "up to another name."
        )
    return Backup(file, revision, size)


def restore(database: Database, file: Path, *, overwrite: bool = False) -> Restoration:
    """Restore the backup `file` into the database, all or nothing.

    The backup is upgraded and checked before the database is touched. Everybody has to sign in again.

    Args:
        database: may be missing or empty.
        file: what `backup` wrote, on either system; it stays as it is.
        overwrite: replace what the database holds.

    Raises:
        DatabaseError: `file` is no backup or not whole, or the database is in use or not empty.
    """
    if file.is_dir():
        raise DatabaseError(f"{file} is a folder, not a file: give the file of a backup.")
    if not file.is_file():
        raise DatabaseError(f"{file} does not exist: give the file of a backup.")
    if database.path is not None and database.path.exists() and file.samefile(database.path):
        raise DatabaseError(f"{file} is the database itself: give the file of a backup.")
    _refuse_to_lose(database, overwrite=overwrite)  # before the work; once more when nobody else can write
    with _folder_beside(database.path) as folder:
        copy = folder / "restored.db"
        revision, rows = _upgrade_copy(file, copy)
        if database.path is not None:
            _refuse_to_lose(database, overwrite=overwrite)
            database.dispose()  # our own connections would look like the app's
            replace_contents(database.path, copy)
        else:
            _restore_rows(database, copy, overwrite=overwrite)
    return Restoration(revision, rows)


def _refuse_in_use(file: Path) -> None:
    """SQLite would replay what an earlier database left beside the file, and ruin the backup."""
    if found := _beside(file):
        names = " and ".join(path.name for path in found)
        raise DatabaseError(
            f"{file} is in use, or was when its program crashed: give another name, or stop the program and "
            f"move it away, with {names}."
        )


def _beside(file: Path) -> list[Path]:
    return [path for end in _BESIDE if (path := file.with_name(file.name + end)).exists()]


def _write_rows(database: Database, part: Path) -> str:
    target = Database(f"sqlite:///{part}")
    try:
        with database.explain_errors(), database.reading() as session:
            source = session.connection()
            revision = revision_of(source)
            assert revision is not None
            refuse_unknown(database, revision)
            upgrade(target, to=revision)
            with target.explain_errors(), target.session() as copy:
                _copy_rows(source, copy.connection())
    finally:
        target.dispose()
    with closing(sqlite3.connect(part)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # one file, without a -wal beside it
    return revision


def _upgrade_copy(file: Path, copy: Path) -> tuple[str, int]:
    """Make a copy with the newest tables, and check it.

    Returns:
        The revision of the backup, and its number of rows.
    """
    no_backup = DatabaseError(f"{file} is not a backup of this program's database: give one that is.")
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("SELECT version_num FROM alembic_version").fetchall()
    except sqlite3.Error as error:
        raise no_backup from error
    copy_file(file, copy)
    database = Database(f"sqlite:///{copy}")
    try:
        revision = current(database)
        if revision is None:
            raise no_backup
        refuse_unknown(database, revision, instead="give another backup")
        upgrade(database)
        found = check(database)
        if found.problems:
            raise DatabaseError(f"{file} is not intact, and nothing was restored. {found.problems[0]}")
        detail = {"revision": revision, "size": file.stat().st_size}
        with database.session() as session:
            session.execute(delete(UserSession))  # those that ended since the backup must not come back
            event = insert(AuditEvent).values(at=datetime.now(UTC), action="database restored", detail=detail)
            session.execute(event)
    except DatabaseError as error:  # which names the copy
        raise DatabaseError(str(error).replace(str(copy), str(file))) from error
    finally:
        database.dispose()
    kept = sum(rows for table, rows in found.rows.items() if table != UserSession.__tablename__)
    return revision, kept + 1  # the event


def _restore_rows(database: Database, copy: Path, *, overwrite: bool) -> None:
    source = Database(f"sqlite:///{copy}")
    try:
        with database.explain_errors(), schema_transaction(database) as target, source.reading() as session:
            _refuse_rows(database, target, overwrite=overwrite)
            upgrade_within(target, database, to=MIGRATIONS.head)
            drop_triggers(target)
            tables = ", ".join(sorted(Base.metadata.tables))
            target.execute(text(f"TRUNCATE {tables} RESTART IDENTITY"))
            _copy_rows(session.connection(), target)
            create_triggers(target)
    finally:
        source.dispose()


def _refuse_to_lose(database: Database, *, overwrite: bool) -> None:
    if database.path is not None and not database.path.exists():
        return
    try:
        with database.explain_errors(), database.engine.connect() as connection:
            _refuse_rows(database, connection, overwrite=overwrite)
    except (UnreachableError, DamagedError):
        if database.path is None or not overwrite:
            raise  # a damaged file may be overwritten: that is what a backup is for


def _refuse_rows(database: Database, connection: Connection, *, overwrite: bool) -> None:
    if revision_of(connection) is None:
        refuse_foreign_tables(database, connection)
        return
    there = set(inspect(connection).get_table_names()) & set(Base.metadata.tables)
    full = [name for name in sorted(there) if connection.scalar(text(f"SELECT 1 FROM {name} LIMIT 1"))]
    if full and not overwrite:
        raise DatabaseError(
            f"{database} already contains rows ({', '.join(full[:3])}): give --force to replace them, after "
            "a backup."
        )


@contextmanager
def _folder_beside(path: Path | None) -> Iterator[Path]:
    """A temporary folder on the same file system as `path`, for what is renamed to it in the end."""
    beside = Path(tempfile.gettempdir()) if path is None else path.parent
    try:
        beside.mkdir(mode=0o700, parents=True, exist_ok=True)
        with temporary_folder(beside) as folder:
            yield folder
    except OSError as error:
        raise DatabaseError(f"{path or beside} cannot be written ({error.strerror}).") from error


def _copy_rows(source: Connection, target: Connection) -> None:
    """Copy every row to the target, whose tables are empty and of the revision of the source.

    The tables are reflected from both, as those of an older revision are not those of `db.models`.
    """
    ours = Base.metadata.tables if target.dialect.name == "postgresql" else None  # others may be there
    tables = _reflect(target, ours)
    origins = _reflect(source, tables.tables)
    for table in tables.sorted_tables:  # what is referred to comes first
        origin = origins.tables[table.name]
        columns = [origin.columns[column.name] for column in table.columns]
        query = select(*columns).order_by(*origin.primary_key.columns)
        with source.execution_options(yield_per=ROWS_AT_ONCE).execute(query) as rows:
            if target.dialect.name == "postgresql":
                _stream_rows(target, table, rows)
            else:
                for part in rows.mappings().partitions():
                    target.execute(insert(table), [dict(row) for row in part])


def _stream_rows(target: Connection, table: Table, rows: Iterable[Sequence[Any]]) -> None:
    """Copy the rows into PostgreSQL; the ids of later rows come after theirs."""
    try:
        copy_in(target, table, table.columns.keys(), rows)
    except target.dialect.loaded_dbapi.Error as error:
        reason = str(error).splitlines()[0]
        raise DatabaseError(
            f"The server refused a row of {table.name} ({reason}): nothing was changed; fix the row in the "
            "database that was backed up."
        ) from error
    if "id" in table.columns:
        sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
        target.execute(text(f"SELECT setval({sequence}, MAX(id)) FROM {table.name} HAVING COUNT(*) > 0"))


def _reflect(connection: Connection, names: Collection[str] | None) -> MetaData:
    metadata = MetaData()
    event.listen(metadata, "column_reflect", _use_common_type)
    metadata.reflect(
        connection, only=lambda name, _: name != "alembic_version" and (names is None or name in names)
    )
    return metadata


def _use_common_type(inspector: object, table: Table, column: Any) -> None:
    """Read moments and JSON alike on both systems."""
    if isinstance(column["type"], DateTime):
        column["type"] = UtcDateTime()
    elif isinstance(column["type"], JSON):
        column["type"] = JSON(none_as_null=True)
