"""Whether the database is whole: its tables, its file, and what one table says of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import Connection, inspect, text

from db.database import Database
from db.errors import DamagedError, DatabaseError
from db.migrations import (
    MIGRATIONS,
    current,
    refuse_foreign,
    refuse_missing,
    refuse_unknown,
    revision_of,
    upgrade_command,
)
from db.models import Base
from db.triggers import trigger_names

_WITH_PAIRS = sorted(
    table.name
    for table in Base.metadata.tables.values()
    if {"pair_id", "project_id"} <= set(table.columns.keys())
)


@dataclass(frozen=True, slots=True)
class Check:
    revision: str | None
    problems: tuple[str, ...]
    """A sentence each; none when all is well."""
    rows: dict[str, int]
    """By table; empty when the tables are not those of this version."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A rule that always holds, and a query for the ids of what violates it."""

    rule: str
    violations: str
    what: str = "pair"
    """What the ids are of."""


INVARIANTS = (
    Invariant(
        "open slots are the raters per pair less the assignments held or rated",
        """
        SELECT pairs.id FROM pairs JOIN projects ON projects.id = pairs.project_id
        LEFT JOIN (SELECT pair_id, COUNT(*) AS taken FROM assignments
                   WHERE state IN ('held', 'rated') GROUP BY pair_id) AS counted ON counted.pair_id = pairs.id
        WHERE pairs.open_slots <> projects.raters_per_pair - COALESCE(counted.taken, 0)
        """,
    ),
    Invariant(
        "count, lowest, highest and spread are those of the ratings",
        """
        SELECT pairs.id FROM pairs
        LEFT JOIN (SELECT pair_id, COUNT(*) AS ratings, MIN(quarters) AS low, MAX(quarters) AS high
                   FROM ratings GROUP BY pair_id) AS counted ON counted.pair_id = pairs.id
        WHERE pairs.rating_count <> COALESCE(counted.ratings, 0)
           OR COALESCE(pairs.low_quarters, -1) <> COALESCE(counted.low, -1)
           OR COALESCE(pairs.high_quarters, -1) <> COALESCE(counted.high, -1)
           OR pairs.spread_quarters <> COALESCE(counted.high - counted.low, 0)
        """,
    ),
    Invariant(
        "nobody holds a pair that is withdrawn",
        """
        SELECT pairs.id FROM assignments JOIN pairs ON pairs.id = assignments.pair_id
        WHERE assignments.state = 'held' AND pairs.withdrawn_at IS NOT NULL
        """,
    ),
    Invariant(
        "a rating has an assignment that says rated",
        """
        SELECT ratings.pair_id FROM ratings LEFT JOIN assignments
            ON assignments.pair_id = ratings.pair_id AND assignments.rater_id = ratings.rater_id
        WHERE assignments.state IS NULL OR assignments.state <> 'rated'
        """,
    ),
    Invariant(
        "an assignment that says rated has a rating",
        """
        SELECT assignments.pair_id FROM assignments LEFT JOIN ratings
            ON assignments.pair_id = ratings.pair_id AND assignments.rater_id = ratings.rater_id
        WHERE assignments.state = 'rated' AND ratings.id IS NULL
        """,
    ),
    Invariant(
        "a rating that is set aside has an assignment that says so, and the other way round",
        """
        SELECT set_aside_ratings.pair_id FROM set_aside_ratings LEFT JOIN assignments
            ON assignments.pair_id = set_aside_ratings.pair_id
            AND assignments.rater_id = set_aside_ratings.rater_id
        WHERE assignments.state IS NULL OR assignments.state <> 'set_aside'
        UNION ALL
        SELECT assignments.pair_id FROM assignments LEFT JOIN set_aside_ratings
            ON set_aside_ratings.pair_id = assignments.pair_id
            AND set_aside_ratings.rater_id = assignments.rater_id
        WHERE assignments.state = 'set_aside' AND set_aside_ratings.id IS NULL
        """,
    ),
    Invariant(
        "an assignment has the position of its pair",
        """
        SELECT pairs.id FROM assignments JOIN pairs ON pairs.id = assignments.pair_id
        WHERE assignments.position <> pairs.position
        """,
    ),
    Invariant(
        "a rating is the last of its history, also one that is set aside",
        """
        SELECT ratings.pair_id
        FROM (SELECT pair_id, rater_id, quarters FROM ratings
              UNION ALL SELECT pair_id, rater_id, quarters FROM set_aside_ratings) AS ratings
        LEFT JOIN (SELECT pair_id, rater_id, MAX(id) AS id FROM rating_history
                   GROUP BY pair_id, rater_id) AS last
            ON last.pair_id = ratings.pair_id AND last.rater_id = ratings.rater_id
        LEFT JOIN rating_history AS change ON change.id = last.id
        WHERE change.id IS NULL OR change.quarters <> ratings.quarters
        """,
    ),
    Invariant(
        "a second grade is the last of its history",
        """
        SELECT repeats.pair_id FROM repeats
        LEFT JOIN (SELECT pair_id, rater_id, MAX(id) AS id FROM repeat_history
                   GROUP BY pair_id, rater_id) AS last
            ON last.pair_id = repeats.pair_id AND last.rater_id = repeats.rater_id
        LEFT JOIN repeat_history AS change ON change.id = last.id
        WHERE COALESCE(change.quarters, -1) <> COALESCE(repeats.quarters, -1)
        """,
    ),
    Invariant(
        "a decision is the last of its history",
        """
        SELECT adjudications.pair_id FROM adjudications
        LEFT JOIN (SELECT pair_id, MAX(id) AS id FROM adjudication_history GROUP BY pair_id) AS last
            ON last.pair_id = adjudications.pair_id
        LEFT JOIN adjudication_history AS change ON change.id = last.id
        WHERE change.id IS NULL OR COALESCE(change.quarters, -1) <> adjudications.quarters
        """,
    ),
    Invariant(
        "an item with a requested grade is with one writer, and no other item is with any",
        """
        SELECT larger_items.id FROM larger_items
        LEFT JOIN (SELECT item_id, MAX(grade) AS grade FROM writings
                   WHERE state IN ('held', 'submitted', 'sent_back', 'accepted')
                   GROUP BY item_id) AS work ON work.item_id = larger_items.id
        WHERE COALESCE(work.grade, 0) <> COALESCE(larger_items.grade, 0)
        """,
        "larger item",
    ),
    *(
        Invariant(
            f"what is in {table} belongs to the project of its pair",
            f"""
            SELECT pairs.id FROM {table} JOIN pairs ON pairs.id = {table}.pair_id
            WHERE {table}.project_id <> pairs.project_id
            """,
        )
        for table in _WITH_PAIRS
    ),
)


def check(database: Database) -> Check:
    """Run all checks on one view of the data; the database may be in use.

    Raises:
        DatabaseError: there is none or nothing in it, it cannot be reached, or its revision is unknown here.
    """
    refuse_missing(database)
    problems: list[str] = []
    try:
        revision = current(database)
        if revision is None:
            refuse_foreign(database)
            command = upgrade_command(database)
            raise DatabaseError(f"There is nothing in {database} yet: make its tables with `{command}`.")
        refuse_unknown(database, revision)
        with database.explain_errors(), database.reading() as session:
            connection = session.connection()
            if revision == MIGRATIONS.head and (missing := missing_tables(connection)):
                problems.append(f"Tables are missing ({', '.join(missing)}): restore a backup.")
                return Check(revision, tuple(problems), {})
            if database.is_sqlite:
                problems += _damaged_pages(connection)
                problems += _lost_rows(connection)
            if (found := revision_of(connection)) != MIGRATIONS.head:
                problems.append(
                    f"The tables are those of revision {found}, this version needs {MIGRATIONS.head}: run "
                    f"`{upgrade_command(database)}`."
                )
                return Check(revision, tuple(problems), {})
            problems += _schema_problems(connection)
            if not problems:
                problems += row_problems(connection)
            tables = sorted(Base.metadata.tables)
            rows = {name: connection.scalar(text(f"SELECT COUNT(*) FROM {name}")) or 0 for name in tables}
            return Check(revision, tuple(problems), rows)
    except DamagedError as error:  # too badly to go on
        return Check(None, tuple(problems or [_damage(error.reason)]), {})


def row_problems(connection: Connection) -> list[str]:
    """A sentence for each invariant that does not hold; the tables must be those of this version."""
    problems = []
    for each in INVARIANTS:
        query = f"WITH violations (id) AS ({each.violations}) SELECT DISTINCT id FROM violations ORDER BY id"
        if found := connection.scalars(text(query)).all():
            problems.append(_violation(each.rule, found, each.what))
    consents = connection.execute(  # here, as SQLite has no SHA-256
        text("SELECT id, consent, consent_sha256 FROM projects WHERE consent IS NOT NULL ORDER BY id")
    )
    if wrong := [id for id, consent, digest in consents if sha256(consent.encode()).hexdigest() != digest]:
        rule = "a consent text has the SHA-256 that is stored with it"
        problems.append(_violation(rule, wrong, "project"))
    return problems


def _violation(rule: str, found: Sequence[int], what: str) -> str:
    shown = ", ".join(map(str, found[:5])) + (", …" if len(found) > 5 else "")
    counted = f"{len(found)} {what}{'' if len(found) == 1 else 's'}"
    return f"Violated by {counted} ({shown}): {rule}."


def missing_tables(connection: Connection) -> list[str]:
    """Those of this version that are not there; in an earlier revision some are missing by design."""
    return sorted(Base.metadata.tables.keys() - set(inspect(connection).get_table_names()))


def _damaged_pages(connection: Connection) -> list[str]:
    found = [row[0] for row in connection.execute(text("PRAGMA integrity_check(5)"))]
    return [] if found == ["ok"] else [_damage(line) for line in found]


def _damage(reason: str) -> str:
    return f"The file is damaged: {' '.join(reason.split())}; restore a backup."


def _lost_rows(connection: Connection) -> list[str]:
    lost = connection.execute(text("PRAGMA foreign_key_check")).all()
    tables = ", ".join(sorted({row[0] for row in lost}))
    if not lost:
        return []
    return [f"Rows of {tables} refer to rows that are not there ({len(lost)}): restore a backup."]


def _schema_problems(connection: Connection) -> list[str]:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    options = {"include_object": _is_ours, "compare_type": True}
    differences = compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata)
    problems = [f"The tables are not those of this version: {_describe(each)}." for each in differences]
    is_sqlite = connection.dialect.name == "sqlite"
    there = connection.scalars(
        text(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            if is_sqlite
            else "SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
            "WHERE relnamespace = CAST(current_schema() AS regnamespace) AND tgenabled IN ('O', 'A')"
        )
    )
    if missing := trigger_names(is_sqlite=is_sqlite) - set(there):
        problems.append(
            f"History can be changed: {', '.join(sorted(missing))} is not active; restore a backup."
        )
    return problems


def _is_ours(item: object, name: str | None, kind: str, *_: object) -> bool:
    return kind != "table" or name in Base.metadata.tables


def _describe(difference: object) -> str:
    while isinstance(difference, list):
        difference = difference[0]
    kind, *what = difference if isinstance(difference, tuple) else (difference,)
    names = [
        name for each in what if (name := getattr(each, "name", each)) is not None and isinstance(name, str)
    ]
    return " ".join([str(kind).replace("_", " "), *names])
