"""The tables that the steps make, upgrades, what the program does at its start, and the guarded histories."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import event, inspect, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from db import Database, DatabaseError
from db.checks import check
from db.migrations import MIGRATIONS, Migrations, Upgrade, current, prepare, upgrade
from db.models import APPEND_ONLY, Base, Project
from tests.conftest import require_postgresql
from tests.databases import AWKWARD, contents, empty_schema, fill, new_database

pytestmark = pytest.mark.both_databases

ROOT = Path(__file__).parent.parent.parent
NEXT_STEP = """
import sqlalchemy as sa
from alembic import op

revision = "{number}"
down_revision = "{before}"


def upgrade() -> None:
    with op.batch_alter_table("projects") as projects:
        projects.add_column(sa.Column("motto", sa.Text(), nullable=False, server_default="none"))
        projects.alter_column("guidelines", new_column_name="advice")
    op.execute("UPDATE rating_history SET origin = 'import'")
    {more}
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database without tables, on each system; the SQLite file is not even there."""
    if request.param == "sqlite":
        yield from connected(f"sqlite:///{tmp_path / 'bare.db'}")
        return
    require_postgresql()
    with empty_schema() as url:
        yield from connected(url)


def connected(url: str) -> Iterator[Database]:
    database = Database(url)
    yield database
    database.dispose()


@pytest.fixture
def later(tmp_path: Path) -> Migrations:
    """The migrations of a later version, with one step more."""
    return next_version(tmp_path / "later", "pass")


def next_version(folder: Path, more: str) -> Migrations:
    shutil.copytree(MIGRATIONS.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    number = f"{int(MIGRATIONS.head) + 1:04}"
    step = NEXT_STEP.format(number=number, before=MIGRATIONS.head, more=more)
    (folder / "versions" / f"v{number}_next.py").write_text(step, encoding="utf-8")
    return Migrations(folder)


def differences(database: Database) -> list[object]:
    options = {"compare_type": True, "compare_server_default": True}
    with database.engine.connect() as connection:
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata))


def checks_of(database: Database) -> dict[str, set[str]]:
    """The CHECK constraints of every table by name; compare_metadata does not look at them."""
    looking = inspect(database.engine)
    return {
        table: {str(each["name"]) for each in looking.get_check_constraints(table)}
        for table in looking.get_table_names()
        if table != "alembic_version"
    }


def test_the_migrations_make_the_tables_of_the_models(bare, tmp_path):
    assert upgrade(bare) == Upgrade(None, MIGRATIONS.head)
    assert differences(bare) == []
    assert check(bare).problems == ()
    made = checks_of(bare)
    with made_by_models(bare, tmp_path) as models:
        assert made == checks_of(models)
    assert sum(map(len, made.values())) >= 20


@contextmanager
def made_by_models(like: Database, folder: Path) -> Iterator[Database]:
    """A database of the same system as `like` that `create_all` made."""
    with ExitStack() as stack:
        url = f"sqlite:///{folder / 'models.db'}" if like.is_sqlite else stack.enter_context(empty_schema())
        database = Database(url)
        stack.callback(database.dispose)
        Base.metadata.create_all(database.engine)
        yield database


def test_the_names_of_the_files_are_the_history_that_alembic_reads():
    steps = list(ScriptDirectory(str(MIGRATIONS.folder)).walk_revisions())
    assert [step.revision for step in reversed(steps)] == list(MIGRATIONS.revisions)
    assert not any(hasattr(step.module, "downgrade") for step in steps)


def test_a_missing_database_has_no_revision_and_is_not_made_by_asking(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'folder' / 'kpdemo.db'}")
    assert current(database) is None
    assert list(tmp_path.iterdir()) == []


def test_starting_with_a_new_file_makes_it(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'kpdemo.db'}")
    assert prepare(database) == Upgrade(None, MIGRATIONS.head)
    database.dispose()
    assert [path.name for path in tmp_path.iterdir()] == ["kpdemo.db"]


def test_starting_when_all_is_in_place_does_nothing_and_does_not_load_alembic(sqlite_database):
    code = (
        "import sys; from db import Database; from db.migrations import prepare\n"
        f"print(prepare(Database({str(sqlite_database.url)!r})), 'alembic' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["None", "False"]


def test_an_old_sqlite_file_is_upgraded_at_the_start_after_a_copy(sqlite_database, later):
    fill(sqlite_database)
    before = contents(sqlite_database)
    done = prepare(sqlite_database, migrations=later)
    assert done is not None
    assert done.copy is not None
    assert (done.before, done.after) == (MIGRATIONS.head, later.head)
    assert stat.S_IMODE(done.copy.stat().st_mode) == 0o600
    copy = Database(f"sqlite:///{done.copy}")
    assert contents(copy) == before
    assert current(copy) == MIGRATIONS.head
    copy.dispose()


def test_postgresql_is_not_upgraded_at_the_start_but_told_how(postgresql_database, later):
    with pytest.raises(DatabaseError, match=r"python -m db upgrade --database-url postgresql://\S+"):
        prepare(postgresql_database, migrations=later)
    assert current(postgresql_database) == MIGRATIONS.head
    assert upgrade(postgresql_database, migrations=later).after == later.head


def test_an_empty_postgresql_database_is_told_how_to_get_its_tables():
    require_postgresql()
    with empty_schema() as url:
        database = Database(url)
        with pytest.raises(DatabaseError, match=r"has no tables yet, .*: run `python -m db upgrade"):
            prepare(database)
        assert inspect(database.engine).get_table_names() == []
        database.dispose()


def test_an_upgrade_keeps_every_row(database, later):
    fill(database)
    rules = checks_of(database)
    with database.reading() as session:
        before = rows_of(session)
    upgrade(database, migrations=later)
    with database.reading() as session:
        after = rows_of(session)
        motto, advice = session.execute(text("SELECT motto, advice FROM projects")).one()
    assert (motto, advice) == ("none", AWKWARD)
    assert checks_of(database) == rules
    assert after.pop("projects")[0][:8] == before.pop("projects")[0][:8]
    history = before.pop("rating_history")
    assert [[*row[:7], "import", *row[8:]] for row in history] == after.pop("rating_history")
    assert after == before


def fill_earlier(database: Database, folder: Path) -> dict[str, list[list[object]]]:
    """Fill a database of an earlier revision; the rows by table, of later tables none."""
    with new_database("sqlite", folder) as made:
        fill(made)
        rows = contents(made)
    with database.engine.begin() as connection:
        for table in Base.metadata.sorted_tables:
            if table.name not in inspect(connection).get_table_names():
                rows[table.name] = []
                continue
            there = {column["name"] for column in inspect(connection).get_columns(table.name)}
            for row in rows[table.name]:
                named = zip((column.name for column in table.columns), row, strict=True)
                connection.execute(table.insert(), {name: value for name, value in named if name in there})
    return rows


def test_the_history_of_second_grades_begins_with_those_that_stand(bare, tmp_path):
    upgrade(bare, to="0023")
    fill_earlier(bare, tmp_path)
    upgrade(bare)
    with bare.reading() as session:
        history = session.execute(text("SELECT quarters, previous_quarters FROM repeat_history")).all()
    assert history == [(3, None)]
    assert check(bare).problems == ()
    with pytest.raises(DBAPIError, match="append-only"), bare.session() as session:
        session.execute(text("UPDATE repeat_history SET quarters = 1"))


def test_the_grades_of_a_database_without_scales_stay_as_they_are(bare, tmp_path):
    upgrade(bare, to="0019")
    rows = fill_earlier(bare, tmp_path)
    upgrade(bare)
    assert contents(bare) == rows
    assert check(bare).problems == ()
    with bare.reading() as session:
        scales = session.execute(text("SELECT scale_step, scale_low, scale_high FROM projects")).all()
    assert {tuple(scale) for scale in scales} == {("0.25", 0, 16)}


def test_the_database_keeps_grades_on_the_scale_of_their_project(database):
    fill(database)
    before = contents(database)
    copied = "INSERT INTO rating_history SELECT {} FROM rating_history WHERE id = 1"
    names = [column.name for column in Base.metadata.tables["rating_history"].columns]
    for column, grade in (("quarters", 17), ("previous_quarters", -1)):
        values = {"id": "777", column: str(grade)}
        refused = copied.format(", ".join(values.get(name, name) for name in names))
        with pytest.raises(IntegrityError, match="off the scale"), database.session() as session:
            session.execute(text(refused))
    graded = ("ratings", "repeats", "set_aside_ratings", "adjudications", "training_pairs", "training_grades")
    for table in graded:
        with pytest.raises(IntegrityError, match="off the scale"), database.session() as session:
            session.execute(text(f"UPDATE {table} SET quarters = 17"))
    with pytest.raises(IntegrityError, match="off the scale"), database.session() as session:
        session.execute(text("UPDATE pairs SET intended_quarters = -1"))
    assert contents(database) == before
    with database.session() as session:
        session.execute(text("UPDATE projects SET scale_low = -8, scale_high = 40"))
        session.execute(text("UPDATE pairs SET intended_quarters = -8"))
        session.execute(text("UPDATE training_grades SET quarters = 40"))


def rows_of(session) -> dict[str, list[list[object]]]:
    return {
        name: [list(row) for row in session.execute(text(f"SELECT * FROM {name} ORDER BY 1, 2, 3"))]
        for name in Base.metadata.tables
    }


def test_history_and_references_are_guarded_again_after_an_upgrade(database, later):
    fill(database)
    upgrade(database, migrations=later)
    with pytest.raises(DBAPIError, match="append-only"), database.session() as session:
        session.execute(text("UPDATE rating_history SET quarters = 1"))
    for _ in range(3):  # on whichever connection of the pool
        with pytest.raises(IntegrityError), database.session() as session:
            session.execute(text("UPDATE memberships SET user_id = 77"))


@pytest.mark.parametrize(
    "more", ["op.execute('SELECT * FROM nowhere')", "op.execute('UPDATE pairs SET project_id = 77')"]
)
def test_a_step_that_fails_changes_nothing(database, tmp_path, more):
    fill(database)
    before = contents(database)
    with pytest.raises(DatabaseError, match="nothing was changed"):
        upgrade(database, migrations=next_version(tmp_path / "broken", more))
    assert current(database) == MIGRATIONS.head
    assert contents(database) == before
    assert check(database).problems == ()
    if database.path is not None:
        assert list(database.path.parent.glob("*.revision-*")) == []


def test_a_database_of_a_later_version_is_refused(database, later):
    upgrade(database, migrations=later)
    for begin in (prepare, upgrade):
        with pytest.raises(DatabaseError, match=f"revision {later.head}, which this version does not know"):
            begin(database)


def test_a_database_of_an_early_revision_is_refused_with_the_commit_that_upgrades_it(database):
    fill(database)
    with database.session() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0015'"))
    before = contents(database)
    said = (
        f"{database} has the tables of revision 0015, this version reads 0016 and later: upgrade it with "
        "commit 494830eb of kpdemo (`python -m db upgrade`), or give another --database-url."
    )
    for begin in (prepare, upgrade, check):
        with pytest.raises(DatabaseError) as refused:
            begin(database)
        assert str(refused.value) == said
    assert current(database) == "0015"
    assert contents(database) == before


def test_a_full_disk_is_one_sentence(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'full.db'}")
    event.listen(database.engine, "connect", lambda raw, _: raw.execute("PRAGMA max_page_count = 5"))
    with pytest.raises(DatabaseError, match=r"full\.db cannot be written \(.+ full\): free some space"):
        upgrade(database)
    database.dispose()


def test_tables_of_another_program_are_refused(bare):
    with bare.engine.begin() as connection:
        connection.execute(text("CREATE TABLE users (id INTEGER)"))
    with pytest.raises(DatabaseError, match=r"holds tables of another program \(users\)"):
        upgrade(bare)
    assert inspect(bare.engine).get_table_names() == ["users"]


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and long enough to be seen as none" * 10)
    database = Database(f"sqlite:///{path}")
    with pytest.raises(DatabaseError, match=r"notes\.txt cannot be used \(file is not a database\)"):
        prepare(database)
    assert path.read_text().startswith("not a database")


def test_a_server_that_does_not_answer_is_said_without_the_password():
    database = Database("postgresql://ana:geheim@127.0.0.1:1/x")
    with pytest.raises(
        DatabaseError, match=r"^postgresql://ana:\*\*\*@127\.0\.0\.1:1/x cannot be used"
    ) as told:
        prepare(database)
    assert "geheim" not in str(told.value)


UPGRADE = """
import sys
from db import Database
from db.migrations import upgrade
print("ready", flush=True)
sys.stdin.readline()
upgrade(Database(sys.argv[1]))
"""


def test_processes_that_start_at_once_do_not_upgrade_twice(bare):
    url = bare.url.render_as_string(hide_password=False)
    pipe = subprocess.PIPE
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", UPGRADE, url],
                    cwd=ROOT,
                    stdin=pipe,
                    stdout=pipe,
                    stderr=pipe,
                    text=True,
                )
            )
            for _ in range(3)
        ]
        assert [process.stdout.readline() for process in processes] == ["ready\n"] * 3
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        outcomes = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0] * 3, outcomes
    assert check(bare).problems == ()


def test_history_can_neither_be_changed_nor_deleted(database):
    fill(database)
    before = contents(database)
    statements = [
        *(f"UPDATE {table} SET at = '2026-03-01 12:00:00'" for table in APPEND_ONLY),
        *(f"DELETE FROM {table}" for table in APPEND_ONLY),
        "UPDATE audit_events SET project_id = NULL",  # the project still stands
        "DELETE FROM pairs",  # which would take its history along
    ]
    if database.is_sqlite:
        statements += [f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}" for table in APPEND_ONLY]
    else:
        statements += [f"TRUNCATE {table}" for table in APPEND_ONLY]
    for statement in statements:
        with pytest.raises(DBAPIError, match="append-only"), database.session() as session:
            session.execute(text(statement))
    assert contents(database) == before


def test_an_audit_event_outlives_its_project_but_nobody_else_may_change_it_then(database):
    fill(database)
    with database.session() as session:
        session.delete(session.scalars(select(Project)).one())
    for statement in ("DELETE FROM audit_events", "UPDATE audit_events SET user_id = NULL"):
        with pytest.raises(DBAPIError, match="append-only"), database.session() as session:
            session.execute(text(statement))
