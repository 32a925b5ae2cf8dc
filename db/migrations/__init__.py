"""Which tables a database has, and the steps that bring it up to date.

A new step is a file `versions/vNNNN_words.py` with the next number as its `revision`, which changes tables
with `op.batch_alter_table`: SQLite needs it. Rows may be updated freely in it, the append-only tables too:
their triggers are taken away before the first step and put back after the last. There is no way back
but the copy that is made before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, event, inspect, text
from sqlalchemy.exc import DBAPIError

from db.database import Database, public_url
from db.errors import DatabaseError, remedy_of
from db.models import Base
from db.sqlite_files import PARTIAL, copy_file
from db.triggers import create_triggers, drop_triggers

LOCK_SECONDS = 60
"""How long to wait for another process that is upgrading the same database."""
UPGRADES_OLDER = "494830eb"
"""The last commit with the steps before the first of `versions`."""
_LOCK_NUMBER = 1802528112  # any number of our own: "kdmp"


@dataclass(frozen=True, slots=True)
class Migrations:
    """A folder of migration steps; their files begin with v and the revision's four digits."""

    folder: Path = Path(__file__).parent

    @property
    def revisions(self) -> tuple[str, ...]:
        """In order, from the names of the files: loading Alembic takes longer than all else at the start."""
        return tuple(sorted(path.name[1:5] for path in (self.folder / "versions").glob("v[0-9]*.py")))

    @property
    def head(self) -> str:
        """The newest revision."""
        return self.revisions[-1]


MIGRATIONS = Migrations()


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What an upgrade did: nothing, when before and after are the same."""

    before: str | None
    after: str
    copy: Path | None = None
    """A copy of the SQLite file as it was before."""


def prepare(database: Database, *, migrations: Migrations = MIGRATIONS) -> Upgrade | None:
    """Make sure that the tables are those of this version; to be called before anything else. Cheap.

    SQLite is upgraded when need be, after a copy of the file. PostgreSQL is not: there it is a step of the
    deployment.

    Args:
        database: an SQLite file that is missing is made.
        migrations: where the steps are.

    Returns:
        What was done, or None when everything was in place.

    Raises:
        DatabaseError: it cannot be used, is of a revision unknown here, or has to be upgraded first.
    """
    revision = current(database)
    if revision == migrations.head:
        return None
    refuse_unknown(database, revision, migrations)
    if not database.is_sqlite:
        state = "has no tables yet" if revision is None else f"has the tables of revision {revision}"
        command = upgrade_command(database)
        raise DatabaseError(f"{database} {state}, this version needs {migrations.head}: run `{command}`.")
    return upgrade(database, migrations=migrations)


def current(database: Database) -> str | None:
    """The revision of the tables; None when there are none, or no file.

    Raises:
        DatabaseError: the database cannot be reached.
    """
    if database.path is not None and not database.path.exists():
        return None
    with database.explain_errors(), database.engine.connect() as connection:
        return revision_of(connection)


def upgrade(database: Database, *, migrations: Migrations = MIGRATIONS, to: str | None = None) -> Upgrade:
    """Bring the tables to the newest revision, or to `to`, in one transaction, all or nothing.

    A process that finds another one upgrading waits for it, and then has nothing to do.

    Raises:
        DatabaseError: it cannot be reached, is of a revision unknown here, or holds tables that are not ours.
    """
    target = to or migrations.head
    with database.explain_errors(), schema_transaction(database) as connection:
        return upgrade_within(connection, database, migrations=migrations, to=target)


def upgrade_within(
    connection: Connection, database: Database, *, migrations: Migrations = MIGRATIONS, to: str
) -> Upgrade:
    """`upgrade` within a transaction of `schema_transaction`, which may do more."""
    copy = None
    before = revision_of(connection)
    refuse_unknown(database, before, migrations)
    if before is not None and before >= to:
        return Upgrade(before, before)
    if before is None:
        refuse_foreign_tables(database, connection)
    elif database.path is not None:
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        path = database.path
        copy = path.with_name(f"{path.stem}.revision-{before}.{moment}{path.suffix}")
        for left in path.parent.glob(f".{path.stem}.revision-*{PARTIAL}"):
            left.unlink()  # of an upgrade that was killed
        copy_file(path, copy)
        # Also when the commit fails: a server that starts again and again would fill the disk with copies.
        event.listen(connection, "rollback", lambda _: copy.unlink(missing_ok=True))
    drop_triggers(connection)
    try:
        from alembic import command
        from alembic.config import Config

        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(migrations.folder).replace("%", "%%"))
        command.upgrade(config, to)
    except DBAPIError as error:
        if remedy_of(error):
            raise
        reason = str(error.orig).splitlines()[0]
        raise DatabaseError(
            f"{database} cannot be upgraded ({reason}): nothing was changed; keep using the previous version."
        ) from error
    create_triggers(connection)
    if database.is_sqlite and connection.execute(text("PRAGMA foreign_key_check")).first():
        raise DatabaseError(
            f"{database} has rows that refer to missing rows: nothing was changed; restore a backup."
        )
    return Upgrade(before, to, copy)


@contextmanager
def schema_transaction(database: Database) -> Iterator[Connection]:
    """A transaction in which tables may be rebuilt; a database has only one of these at a time."""
    with database.engine.connect().execution_options(writes=True) as connection:
        if database.is_sqlite:
            driver = connection.connection.driver_connection
            assert driver is not None
            driver.execute(f"PRAGMA busy_timeout = {LOCK_SECONDS * 1000}")
            # A table is changed by rebuilding it; dropping the old one would delete what refers to it.
            driver.execute("PRAGMA foreign_keys = OFF")
        try:
            with connection.begin():
                if not database.is_sqlite:
                    connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))
                    lock = f"SELECT pg_advisory_xact_lock({_LOCK_NUMBER}, hashtext(current_schema()))"
                    connection.execute(text(lock))
                yield connection
        finally:
            connection.invalidate()  # never back into the pool without its foreign keys


def revision_of(connection: Connection) -> str | None:
    """The revision of the tables that this connection sees."""
    is_there = (
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'"
        if connection.dialect.name == "sqlite"
        else "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'alembic_version'"
    )
    if connection.execute(text(is_there)).first() is None:
        return None
    revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return revision


def upgrade_command(database: Database) -> str:
    """What a person types to upgrade this database."""
    return f"python -m db upgrade --database-url {public_url(database.url)}"


def refuse_missing(database: Database) -> None:
    """Raise DatabaseError when there is no such SQLite file: whoever only reads must not make one."""
    if database.path is not None and not database.path.exists():
        raise DatabaseError(
            f"There is no database at {database}: check the URL, or create one with "
            f"`{upgrade_command(database)}`."
        )


def refuse_unknown(
    database: Database,
    revision: str | None,
    migrations: Migrations = MIGRATIONS,
    *,
    instead: str = "give another --database-url",
) -> None:
    """Raise DatabaseError when `revision` is not among the steps: it is too old, or of a later version."""
    if revision is None or revision in migrations.revisions:
        return
    if revision < (first := migrations.revisions[0]):
        raise DatabaseError(
            f"{database} has the tables of revision {revision}, this version reads {first} and later: "
            f"upgrade it with commit {UPGRADES_OLDER} of kpdemo (`python -m db upgrade`), or {instead}."
        )
    raise DatabaseError(
        f"{database} has the tables of revision {revision}, which this version does not know (it knows "
        f"{migrations.head}): install the version that made them, or {instead}."
    )


def refuse_foreign(database: Database) -> None:
    """`refuse_foreign_tables` for commands that only look at a database without a revision."""
    with database.explain_errors(), database.engine.connect() as connection:
        refuse_foreign_tables(database, connection)


def refuse_foreign_tables(database: Database, connection: Connection) -> None:
    """Raise DatabaseError when a database without a revision is not empty, or has no place for tables."""
    if not database.is_sqlite and connection.execute(text("SELECT current_schema()")).scalar() is None:
        raise DatabaseError(f"{database} has no schema for tables: create the one that search_path names.")
    there = inspect(connection).get_table_names()
    ours = Base.metadata.tables
    if found := sorted(name for name in there if database.is_sqlite or name in ours):
        raise DatabaseError(
            f"{database} holds tables of another program ({', '.join(found[:3])}): give an empty database."
        )
