"""URLs of databases: which there are, and how one is shown."""

from __future__ import annotations

import pytest

from db import Database, DatabaseError


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sqlite:////k.db?mode=ro",
        "data/kpdemo.db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?uri=1",
    ],
)
def test_what_names_no_database_file_is_refused(url):
    with pytest.raises(DatabaseError, match="give sqlite:///PATH or postgresql://USER@HOST/NAME"):
        Database(url)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ana:geheim@localhost/x",
        "postgresql:/ana:geheim@localhost/x",
        "postgresql://ana:geheim@localhost:port/x",
        "ana:geheim@localhost",
    ],
)
def test_a_refused_url_is_shown_without_its_password(url):
    with pytest.raises(DatabaseError) as refused:
        Database(url)
    assert "geheim" not in str(refused.value)


def test_the_name_of_a_database_has_no_password():
    plain = Database("postgresql://ana:geheim@localhost/x?password=geheim&options=-csearch_path%3Da")
    assert str(plain) == "postgresql://ana:***@localhost/x?options=-csearch_path%3Da&password=..."
