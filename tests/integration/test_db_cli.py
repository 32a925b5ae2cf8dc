"""python -m db, as a user calls it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from db import Database
from db.cli import main
from db.migrations import MIGRATIONS, upgrade
from tests.databases import fill

ROOT = Path(__file__).parent.parent.parent
HEAD = MIGRATIONS.head


def url_of(database: Database) -> str:
    return database.url.render_as_string(hide_password=False)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_new_database_is_made_checked_backed_up_and_restored(tmp_path, capsys):
    made, other = f"sqlite:///{tmp_path}/made.db", f"sqlite:///{tmp_path}/other.db"
    for command in (("current",), ("check",), ("backup", tmp_path / "b.db")):
        status, out, err = run(capsys, *command, "--database-url", made)
        assert (status, out) == (1, "")
        assert err.startswith(f"There is no database at {tmp_path}/made.db: check the URL, or create ")
    assert list(tmp_path.iterdir()) == []
    status, out, _ = run(capsys, "upgrade", "--database-url", made)
    assert (status, out) == (0, f"{tmp_path}/made.db is upgraded: revision none to {HEAD}.\n")
    assert "is up to date" in run(capsys, "upgrade", "--database-url", made)[1]
    fill(Database(made))
    status, out, _ = run(capsys, "check", "--database-url", made)
    assert (status, out) == (0, f"{tmp_path}/made.db is intact: revision {HEAD}, 76 rows.\n")
    assert run(capsys, "backup", tmp_path / "b.db", "--database-url", made)[0] == 0
    status, out, _ = run(capsys, "restore", tmp_path / "b.db", "--database-url", other)
    assert status == 0
    assert out.endswith(": 76 rows. Everybody has to sign in again.\n")


def test_a_new_file_with_nothing_in_it_is_said_to_be_empty_with_what_makes_its_tables(tmp_path, capsys):
    new = tmp_path / "new.db"
    new.touch()
    said = f"There is nothing in {new} yet: make its tables with `python -m db upgrade --database-url sqlite:///{new}`."
    assert run(capsys, "check", "--database-url", f"sqlite:///{new}") == (1, "", f"{said}\n")
    status, out, err = run(capsys, "check", "--json", "--database-url", f"sqlite:///{new}")
    assert (status, err) == (1, f"{said}\n")
    assert json.loads(out) == {"ok": False, "revision": None, "newest": HEAD, "problems": [said], "rows": {}}


def test_figures_are_printed_as_json(database, tmp_path, capsys):
    fill(database)
    database.dispose()  # restore refuses while anybody has the file open
    url = ("--database-url", url_of(database), "--json")
    assert json.loads(run(capsys, "current", *url)[1]) == {"revision": HEAD, "newest": HEAD}
    assert json.loads(run(capsys, "upgrade", *url)[1]) == {"before": HEAD, "after": HEAD, "copy": None}
    found = json.loads(run(capsys, "check", *url)[1])
    assert (found["ok"], found["problems"], found["rows"]["ratings"]) == (True, [], 6)
    file = str(tmp_path / "b.db")
    size = json.loads(run(capsys, "backup", file, *url)[1])["bytes"]
    assert size == os.path.getsize(file)
    restored = json.loads(run(capsys, "restore", file, "--force", *url)[1])
    assert restored == {"file": file, "revision": HEAD, "rows": sum(found["rows"].values())}


def test_a_problem_is_an_exit_status_with_the_problems_on_standard_output(sqlite_database, capsys):
    fill(sqlite_database)
    sqlite_database.dispose()
    with closing(sqlite3.connect(sqlite_database.path)) as connection:
        connection.execute("UPDATE pairs SET open_slots = 2")
        connection.commit()
    status, out, err = run(capsys, "check", "--database-url", url_of(sqlite_database))
    assert status == 1
    assert out.startswith("Violated by 3 pairs (1, 2, 3): open slots are the raters per pair less ")
    assert out.count("\n") == 1
    assert err == f"{sqlite_database.path} has one problem.\n"


@pytest.mark.parametrize("content", [b"no database at all", None])
def test_what_is_wrong_with_a_broken_database_is_json_too(tmp_path, capsys, content):
    file = tmp_path / "broken.db"
    if content is None:
        upgrade(Database(f"sqlite:///{file}"))
        size = file.stat().st_size
        with file.open("r+b") as stream:
            stream.seek(size // 2)
            stream.write(b"\xff" * (size - size // 2))
    else:
        file.write_bytes(content)
    status, out, err = run(capsys, "check", "--json", "--database-url", f"sqlite:///{file}")
    found = json.loads(out)
    assert (status, found["ok"], found["newest"]) == (1, False, HEAD)
    assert found["problems"]
    assert err.startswith(str(file))
    assert err.count("\n") == 1


@pytest.mark.parametrize("table", ["books", "alembic_version"])
def test_the_file_of_another_program_stays_as_it_is(tmp_path, capsys, table):
    file = tmp_path / "books.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"CREATE TABLE {table} (version_num)")
        connection.execute("CREATE TABLE authors (name)")
    before = file.read_bytes()
    for command in ("current", "check", "upgrade"):
        status, out, err = run(capsys, command, "--database-url", f"sqlite:///{file}")
        assert (status, out) == (1, "")
        assert err.startswith(f"{file} holds tables of another program (")
    assert run(capsys, "backup", tmp_path / "b.db", "--database-url", f"sqlite:///{file}")[0] == 1
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_overwritten_without_force(database, tmp_path, capsys):
    fill(database)
    url = ("--database-url", url_of(database))
    assert run(capsys, "backup", tmp_path / "b.db", *url)[0] == 0
    status, out, err = run(capsys, "backup", tmp_path / "b.db", *url)
    assert (status, out) == (1, "")
    assert "--force" in err
    status, out, err = run(capsys, "restore", tmp_path / "b.db", *url)
    assert (status, out) == (1, "")
    assert "--force" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("folder", ["", "."])
def test_a_folder_is_no_backup(sqlite_database, capsys, folder):
    call = ("backup", folder, "--force", "--database-url", url_of(sqlite_database))
    assert run(capsys, *call) == (1, "", ". is a folder, not a file: give the name of a file.\n")


def test_the_url_may_come_from_the_environment(sqlite_database, capsys, monkeypatch):
    monkeypatch.setenv("KPDEMO_DATABASE_URL", url_of(sqlite_database))
    assert (
        run(capsys, "current")[1]
        == f"{sqlite_database.path} has revision {HEAD}; this version needs {HEAD}.\n"
    )


@pytest.mark.parametrize("command", [["current"], ["check"], ["upgrade"], ["backup", "x.db"]])
def test_a_password_is_never_printed(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *command, "--database-url", "postgresql://ana:geheim@127.0.0.1:1/x")
    assert status == 1
    assert "postgresql://ana:***@127.0.0.1:1/x" in err
    assert "geheim" not in out + err


def test_a_backup_that_is_not_there_is_a_wrong_call(tmp_path, capsys):
    result = run(capsys, "restore", tmp_path / "none.db", "--database-url", f"sqlite:///{tmp_path}/new.db")
    assert result == (2, "", f"{tmp_path}/none.db: no such file; check the name.\n")


@pytest.mark.parametrize("arguments", [["backup"], ["restore"], ["downgrade"], ["current", "--nonsense"]])
def test_a_wrong_call_is_one_sentence_and_status_2(arguments, capsys):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert "--help`." in err
    assert err.count("\n") == 1


def test_a_later_version_takes_databases_and_backups_of_this_one(database, tmp_path, capsys):
    fill(database)
    url = url_of(database)
    assert run(capsys, "backup", tmp_path / "old.db", "--database-url", url)[0] == 0
    database.dispose()
    shutil.copy(tmp_path / "old.db", tmp_path / "broken.db")
    with closing(sqlite3.connect(tmp_path / "broken.db")) as connection:
        connection.execute("DROP TABLE users")
        connection.commit()
    later = tmp_path / "later"
    shutil.copytree(ROOT / "db", later / "db", ignore=shutil.ignore_patterns("__pycache__"))
    (later / "kpdemo").symlink_to(ROOT / "kpdemo")
    number = f"{int(HEAD) + 1:04}"
    (later / "db" / "migrations" / "versions" / f"v{number}_next.py").write_text(
        f"from alembic import op\nrevision = '{number}'\ndown_revision = '{HEAD}'\n"
        "def upgrade():\n    op.execute(\"UPDATE users SET name = name || ' 2'\")\n"
    )
    # One process for all commands: starting Python takes longer than they do.
    code = (
        "import sys; from db.cli import main\n"
        "for command in sys.argv[4:]:\n"
        "    status = main([command, *([sys.argv[2], '--force'] if command == 'restore' else []),"
        " '--database-url', sys.argv[1], '--json'])\n"
        "    if status: sys.exit(status)\n"
        "sys.exit(main(['restore', sys.argv[3], '--force', '--database-url', sys.argv[1]]))"
    )
    commands = ["upgrade", "check", "restore", "check"]
    result = subprocess.run(
        [sys.executable, "-c", code, url, tmp_path / "old.db", tmp_path / "broken.db", *commands],
        cwd=later,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr == (
        f"{tmp_path}/broken.db cannot be upgraded (no such table: users): nothing was changed; "
        "keep using the previous version.\n"
    )
    upgraded, first, restored, second = map(json.loads, result.stdout.splitlines())
    assert (upgraded["before"], upgraded["after"]) == (HEAD, number)
    assert (upgraded["copy"] is None) == (not database.is_sqlite)
    assert (first["ok"], second["ok"], restored["revision"]) == (True, True, HEAD)
    status, _, err = run(capsys, "check", "--database-url", url)
    assert (status, "install the version that made them" in err) == (1, True)
    with database.reading() as session:
        names = session.scalars(text("SELECT name FROM users ORDER BY id")).all()
    assert names == ["Ana 2", "Ben 2", "Cleo 2"]
