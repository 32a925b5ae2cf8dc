"""New databases with the tables that the migrations make, on both systems, as fast as tests need them."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
from alembic.config import Config
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.orm import Session

from db import Database, checks
from db.database import parse_url
from db.migrations import MIGRATIONS, revision_of, upgrade
from db.models import (
    AccessToken,
    Adjudication,
    AdjudicationChange,
    Arrival,
    Assignment,
    AuditEvent,
    Base,
    Comment,
    Consent,
    CrowdSettings,
    Export,
    GoldGrade,
    GoldSet,
    GradeViewer,
    HandOver,
    Invitation,
    KeptAgreement,
    LargerItem,
    Membership,
    Pair,
    Project,
    QualitySettings,
    RaterNumber,
    RaterState,
    Rating,
    RatingChange,
    Repeat,
    RepeatChange,
    ScoredSystem,
    SentDocument,
    SentOrder,
    SentPhrase,
    SentPrediction,
    SentRun,
    ServerKey,
    SetAside,
    SetAsideRating,
    SharedLink,
    SignInAttempt,
    Skip,
    SystemScore,
    TrainingAttempt,
    TrainingGrade,
    TrainingPair,
    User,
    UserSession,
    Writing,
    WritingChange,
    WritingPlan,
)

POSTGRESQL_URL = os.environ.get("POSTGRESQL_URL", "postgresql://127.0.0.1:5432/test")


@contextmanager
def new_database(system: str, folder: Path) -> Iterator[Database]:
    """A database without rows: a file in `folder`, or a schema of its own on the PostgreSQL server."""
    if system == "sqlite":
        path = folder / "test.db"
        path.write_bytes(migrated_file())
        database = Database(f"sqlite:///{path}")
        try:
            yield database
        finally:
            database.dispose()
        return
    idle = idle_schemas()
    schema = idle.pop() if idle else _migrated_schema()
    database = Database(_url_of(schema.name))
    try:
        yield database
    finally:
        database.dispose()
        if _is_emptied(schema):
            idle.append(schema)
        else:
            _drop(schema.name)


@dataclass(frozen=True)
class Schema:
    """One of the PostgreSQL server's, with all tables."""

    name: str
    parts: str
    """A hash of its columns, constraints, triggers and revision when it was made."""


@cache
def idle_schemas() -> list[Schema]:
    """Schemas with all tables and no rows, for the tests to come: to make one takes ten times as long."""
    return []


def drop_idle_schemas() -> None:
    while idle_schemas():
        _drop(idle_schemas().pop().name)
    if _kept_connection.cache_info().currsize:
        _kept_connection().close()
        _kept_connection.cache_clear()


@contextmanager
def empty_schema() -> Iterator[str]:
    """The URL of a new PostgreSQL schema without tables, which is dropped afterwards."""
    schema = _new_schema()
    try:
        yield _url_of(schema)
    finally:
        _drop(schema)


def _new_schema() -> str:
    schema = f"kpdemo_{uuid.uuid4().hex}"
    with _server() as server:
        server.execute(text(f"CREATE SCHEMA {schema}"))
    return schema


def _migrated_schema() -> Schema:
    script, name = _migration_script(), _new_schema()
    with _within(name) as server:
        server.execute(script)
        return Schema(name, server.execute(_LOOK).fetchall()[0][0])


def _drop(schema: str) -> None:
    with _server() as server:
        # A transaction that a failed test left open would make this wait for ever.
        server.execute(text(f"SET LOCAL lock_timeout = '20s'; DROP SCHEMA {schema} CASCADE"))


_LOOK = """
WITH relations AS (
  SELECT oid, xmin, relkind, reltuples FROM pg_class WHERE relnamespace = current_schema()::regnamespace
), parts AS (
  SELECT concat(oid, ' ', xmin) AS part FROM relations
  UNION ALL SELECT concat(attrelid, ' ', attnum, ' ', xmin) FROM pg_attribute
  WHERE attrelid IN (SELECT oid FROM relations) AND attnum > 0
  UNION ALL SELECT concat(oid, ' ', xmin) FROM pg_constraint
  WHERE connamespace = current_schema()::regnamespace
  UNION ALL SELECT concat(oid, ' ', xmin) FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM relations)
  UNION ALL SELECT version_num FROM alembic_version
)
SELECT (SELECT md5(string_agg(part, ',' ORDER BY part)) FROM parts),
  (SELECT max(reltuples) FROM relations WHERE relkind = 'r'),
  (SELECT sum(pg_relation_size(oid)) FROM relations)
"""
_LARGEST_KEPT = 10_000_000
"""Bytes of tables and indexes; empty ones have under 1,000,000."""


def _is_emptied(schema: Schema) -> bool:
    """Delete all rows of a schema that is as it was made; False where it is not, or cannot be emptied.

    One whose rows PostgreSQL has counted is not: statements would be planned by them.
    """
    delete = "; ".join(f"DELETE FROM {table.name}" for table in reversed(Base.metadata.sorted_tables))
    empty = f"""
    SET LOCAL lock_timeout = '20s';
    SET LOCAL session_replication_role = replica; -- no triggers: what is kept for good goes, too
    {delete};
    SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE schemaname = current_schema() AND last_value IS NOT NULL"""
    try:
        with _within(schema.name) as server:
            parts, tuples, size = server.execute(_LOOK).fetchall()[0]
            if parts != schema.parts or tuples >= 0 or size > _LARGEST_KEPT:
                return False
            server.execute(empty)
    except psycopg.Error:
        return False
    return True


@cache
def migrated_file() -> bytes:
    """An SQLite file with all tables and no rows: to write it takes a hundredth of making it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "template.db"
        database = Database(f"sqlite:///{path}")
        upgrade(database)
        database.dispose()  # the last connection moves everything from the -wal into the file
        return path.read_bytes()


def upgrade_by_copying(run_steps: Callable[[Config, str], None], config: Config, to: str) -> None:
    """What Alembic's `upgrade` does, without its steps where an SQLite database has no tables yet."""
    connection = config.attributes["connection"]
    folder = config.get_main_option("script_location")
    is_new = connection.dialect.name == "sqlite" and revision_of(connection) is None
    if not (is_new and folder == str(MIGRATIONS.folder) and to == MIGRATIONS.head):
        return run_steps(config, to)
    for statement in _statements():
        connection.exec_driver_sql(statement)
    return None


@cache
def _statements() -> list[str]:
    """What makes the tables, without the triggers, which an upgrade puts there after the last step."""
    with tempfile.TemporaryDirectory() as folder, closing(sqlite3.connect(f"{folder}/x.db")) as connection:
        Path(folder, "x.db").write_bytes(migrated_file())
        made = "SELECT sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL"
        statements = [statement for (statement,) in connection.execute(made)]
    return [*statements, f"INSERT INTO alembic_version VALUES ('{MIGRATIONS.head}')"]


@cache
def _migration_script() -> str:
    """What the migrations say to PostgreSQL, in one piece: half the time of running them."""
    statements: list[str] = []

    def keep(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.split(maxsplit=1)[0] in ("CREATE", "ALTER", "INSERT", "UPDATE", "DROP"):
            statements.append(statement.replace("%%", "%"))

    with empty_schema() as url:
        database = Database(url)
        event.listen(database.engine, "before_cursor_execute", keep)
        upgrade(database)
        database.dispose()
    return ";\n".join(statements)


def _url_of(schema: str) -> str:
    url = parse_url(POSTGRESQL_URL).set(drivername="postgresql")
    options = f"-csearch_path={schema} -csynchronous_commit=off"  # nothing need outlive the server
    return url.update_query_dict({"options": options}).render_as_string(hide_password=False)


@contextmanager
def _server(schema: str = "public") -> Iterator[Connection]:
    """A transaction on the PostgreSQL server."""
    engine = create_engine(parse_url(_url_of(schema)))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def _within(schema: str) -> Iterator[psycopg.Connection]:
    """A transaction in a schema, of the connection that stays: it knows the tables from the times before."""
    if _kept_connection().closed:
        _kept_connection.cache_clear()
    with _kept_connection().transaction():
        _kept_connection().execute(f"SET LOCAL search_path TO {schema}".encode())
        yield _kept_connection()


@cache
def _kept_connection() -> psycopg.Connection:
    options = "-csynchronous_commit=off"
    return psycopg.connect(POSTGRESQL_URL, autocommit=True, prepare_threshold=None, options=options)


def spoil(database: Database, table: str) -> None:
    """Overwrite the first page of a table in an SQLite file, as a broken disk does."""
    database.dispose()
    assert database.path is not None
    with closing(sqlite3.connect(database.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # everything is in the file
        statement = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        [page] = connection.execute(statement, (table,)).fetchone()
        [size] = connection.execute("PRAGMA page_size").fetchone()
    with database.path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
AWKWARD = "naïve — 🦜 שלום 短語 <b>&amp;</b> 'quoted' \"twice\" 100 % :name\n\ttabbed"


def fill(database: Database) -> None:
    """A small project in which every table has a row and everything agrees."""
    with database.session() as session:
        ana, ben = (
            User(name="Ana", name_key="ana", password_hash="$argon2id$x"),
            User(name="Ben", name_key="ben"),
        )
        ana.created_at = ben.created_at = NOON
        session.add_all([ana, ben])
        session.flush()
        project = Project(
            name="Pets",
            name_key="pets",
            guidelines=AWKWARD,
            types=["phrase2word", "短語"],
            raters_per_pair=3,
            threshold_quarters=4,
            step_quarters=1,
            is_random=True,
            seed=2**62 + 1,
            may_revise=True,
            lease_minutes=30,
            most_per_rater=2,
            consent=AWKWARD,
            consent_sha256=sha256(AWKWARD.encode()).hexdigest(),
            scale_words=AWKWARD,
            created_by=ana.id,
            created_at=NOON,
        )
        session.add(project)
        session.flush()
        for number in range(3):
            pair = new_pair(project.id, number)
            session.add(pair)
            session.flush()
            _rate(session, pair, {ana.id: number, ben.id: number + 5})
        pair.withdrawn_at = NOON
        _add_the_rest(session, project, pair, ana, ben)


def new_pair(project_id: int, number: int, *, open_slots: int = 3) -> Pair:
    return Pair(
        project_id=project_id,
        external_id=f"id {number}",
        type="phrase2word",
        left=f"{AWKWARD} {number}",
        right="parrot",
        senses=None if number else {"word_definition": AWKWARD, "parents": []},
        fingerprint=f"{number:064}",
        position=2**62 + number,
        import_order=number,
        open_slots=open_slots,
    )


def _rate(session: Session, pair: Pair, quarters: dict[int, int]) -> None:
    here = {"project_id": pair.project_id, "pair_id": pair.id}
    for rater, given in quarters.items():
        mine = {**here, "rater_id": rater}
        session.add(Assignment(**mine, state="rated", position=pair.position, claimed_at=NOON))
        session.add(Rating(**mine, quarters=given, seconds=0.1 + 0.2, created_at=NOON, updated_at=NOON))
        for before, after in ((None, 0), (0, given)):
            change = {"quarters": after, "previous_quarters": before, "seconds": 0.15}
            session.add(RatingChange(**mine, **change, origin="page", at=NOON))
    pair.open_slots -= len(quarters)
    pair.rating_count = len(quarters)
    pair.low_quarters, pair.high_quarters = min(quarters.values()), max(quarters.values())
    pair.spread_quarters = pair.high_quarters - pair.low_quarters


def _add_the_rest(session: Session, project: Project, pair: Pair, ana: User, ben: User) -> None:
    later = NOON + timedelta(days=1, microseconds=1)
    _add_a_system(session, project)
    here = {"project_id": project.id, "pair_id": pair.id}
    decision = {**here, "adjudicator_id": ana.id, "quarters": 3, "cause": "scale", "note": AWKWARD}
    item = LargerItem(
        project_id=project.id,
        external_id="item 1",
        type="phrase2word",
        text=AWKWARD,
        genre="pets",
        fingerprint="d" * 64,
        position=2**62,
        import_order=0,
        grade=4,
        pair_id=pair.id,
    )
    session.add(item)
    session.flush()
    written = {
        "project_id": project.id,
        "item_id": item.id,
        "writer_id": ben.id,
        "grade": 4,
        "text": "parrot",
    }
    session.add_all(
        [
            WritingPlan(
                project_id=project.id, updated_at=NOON, bounds={"phrase2word": {"larger": {"words": [1, 90]}}}
            ),
            Writing(**written, state="accepted", seconds=0.3, claimed_at=NOON, updated_at=later),
            GradeViewer(item_id=item.id, user_id=ana.id, first_at=NOON),
            ServerKey(name="pairs", value="0" * 64, created_at=NOON),
            WritingChange(**written, user_id=ana.id, action="accepted", note=AWKWARD, at=later),
            UserSession(user_id=ana.id, token_hash="a" * 64, created_at=NOON, expires_at=later),
            SignInAttempt(name_key="ana", address="::1", at=NOON),
            Invitation(token_hash="b" * 64, project_id=project.id, created_at=NOON, expires_at=later),
            Membership(project_id=project.id, user_id=ben.id, role="rater"),
            Skip(**here, rater_id=ben.id, reason="other", note=AWKWARD, at=NOON),
            Consent(project_id=project.id, user_id=ben.id, text_sha256="e" * 64, at=NOON),
            Comment(**here, user_id=ben.id, text=AWKWARD, is_flagged=True, updated_at=later),
            Adjudication(**decision, decided_at=NOON),
            AdjudicationChange(**decision, at=NOON),
            Export(
                project_id=project.id,
                format="csv",
                options={"שם": ["🦜", None, 0.1]},
                pairs=3,
                manifest_sha256="c" * 64,
                created_at=NOON,
            ),
            RaterNumber(project_id=project.id, rater_id=ben.id, number=2, is_exported=True),
            RaterNumber(project_id=project.id, rater_id=None, number=1, is_exported=True),
            KeptAgreement(
                project_id=project.id, version=AWKWARD, content="{}", seconds=0.1 + 0.2, made_at=NOON
            ),
            HandOver(token_hash="f" * 64, sender="::1", content=b"\x00\xff", size=2, at=NOON),
            AuditEvent(at=NOON, project_id=project.id, user_id=ana.id, action="x", detail={"b": 1, "a": {}}),
        ]
    )
    token = {"name": "שם", "token_hash": "a" * 64, "last_used_at": NOON, "expires_at": NOON}
    session.add(AccessToken(user_id=ana.id, **token, created_at=NOON))
    whose = {"project_id": project.id, "pair_id": pair.id, "rater_id": ana.id}
    again = {"state": "rated", "graded_before": 3, "first_quarters": 2, "quarters": 3, "comment": AWKWARD}
    session.add(Repeat(**whose, **again, seconds=0.1 + 0.2, claimed_at=NOON, answered_at=NOON))
    session.add(RepeatChange(**whose, quarters=again["quarters"], seconds=0.1 + 0.2, at=NOON))
    _send(session, project, pair)
    _add_quality(session, project, ben)
    _set_aside(session, pair)


def _send(session: Session, project: Project, pair: Pair) -> None:
    """A document with one phrase, which one model predicted."""
    document = SentDocument(
        project_id=project.id,
        external_id="שם",
        title=AWKWARD,
        body=AWKWARD,
        language="en",
        fingerprint="d" * 64,
        created_at=NOON,
    )
    session.add_all([document, SentOrder(project_id=project.id, kind="mixed", chosen_at=NOON)])
    session.flush()
    here = {"project_id": project.id, "document_id": document.id}
    phrase = SentPhrase(**here, pair_id=pair.id, key="短語", is_present=True)
    run = SentRun(document_id=document.id, model="🦜")
    session.add_all([phrase, run])
    session.flush()
    session.add(SentPrediction(run_id=run.id, phrase_id=phrase.id, rank=1, score=0.1 + 0.2, text=AWKWARD))


def _add_quality(session: Session, project: Project, ben: User) -> None:
    here = {"project_id": project.id}
    known = TrainingPair(
        **here, external_id="t", type="phrase2word", left=AWKWARD, right="x", quarters=9, import_order=0
    )
    attempt = TrainingAttempt(
        **here, user_id=ben.id, number=1, accepted_quarters=2, pass_percent=80, started_at=NOON
    )
    settings = QualitySettings(**here, training_quarters=2, pass_percent=80, check_every=20, check_quarters=4)
    state = RaterState(**here, user_id=ben.id, paused_at=NOON, check_start=3, check_given=0)
    told = CrowdSettings(
        **here, completion_code="C1", screen_out_code="", return_address="https://example.org", contact="שם"
    )
    link = SharedLink(**here, token_hash="e" * 64, most=12, created_at=NOON, expires_at=NOON)
    session.add_all([known, attempt, settings, state, told, link])
    session.flush()
    came = {"link_id": link.id, "user_id": ben.id, "source": "prolific", "worker_id": "5f3a", "key": "k7"}
    session.add(Arrival(**here, **came, arrived_at=NOON, ended_at=NOON, outcome="finished", code="C1"))
    session.add(TrainingGrade(attempt_id=attempt.id, training_pair_id=known.id, quarters=8, at=NOON))


def _set_aside(session: Session, pair: Pair) -> None:
    """The grade of a third rater, which counts no longer."""
    cleo = User(name="Cleo", name_key="cleo", created_at=NOON)
    session.add(cleo)
    session.flush()
    mine = {"project_id": pair.project_id, "rater_id": cleo.id}
    kept = SetAside(**mine, reason=AWKWARD, at=NOON)
    session.add(kept)
    session.flush()
    mine["pair_id"] = pair.id
    given = {"quarters": 16, "seconds": 0.1 + 0.2}
    session.add_all(
        [
            Assignment(**mine, state="set_aside", position=pair.position, claimed_at=NOON),
            RatingChange(**mine, **given, origin="page", at=NOON),
            SetAsideRating(**mine, **given, set_aside_id=kept.id, created_at=NOON, updated_at=NOON),
        ]
    )


def _add_a_system(session: Session, project: Project) -> None:
    gold = GoldSet(project_id=project.id, name=AWKWARD, sha256="d" * 64, pairs=1, created_at=NOON)
    session.add(gold)
    session.flush()
    grade = {"type": "短語", "external_id": "id 0", "left": AWKWARD, "right": "🦜", "gold": 0.1 + 0.2}
    system = {"name": "שם", "name_key": "שם", "origin": "scores", "created_at": NOON}
    row = ScoredSystem(gold_set_id=gold.id, **system)
    session.add_all([GoldGrade(gold_set_id=gold.id, place=0, **grade), row])
    session.flush()
    session.add(SystemScore(system_id=row.id, place=0, score=1e-300))


def row_problems(database: Database) -> list[str]:
    """What `db check` says of the rows; tests leave the tables as they are, which take long to look at."""
    with database.reading() as session:
        return checks.row_problems(session.connection())


def contents(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, for comparing databases."""
    with database.reading() as session:
        return {
            table.name: [tuple(row) for row in session.execute(table.select().order_by(*table.primary_key))]
            for table in Base.metadata.sorted_tables
        }
