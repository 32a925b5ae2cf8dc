"""The tables. Grades are whole numbers of quarters: 0 to 16 stand for 0 to 4 in steps of 0.25."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
TOP_QUARTERS = 16
ROLES = ("administrator", "adjudicator", "editor", "writer", "rater")

_IS_AT_WORK = text("state IN ('held', 'submitted', 'sent_back', 'accepted')")
"""Of a writing: nobody else writes for its item."""
_IS_UNWRITTEN = text("grade IS NULL")
"""Of a larger item: nobody writes for it."""


class UtcDateTime(TypeDecorator[datetime]):
    """A moment with its zone, which SQLite would forget: stored in UTC, read in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012  # SQLAlchemy reads it from the class
        datetime: UtcDateTime,
        dict[str, Any]: JSON,
        list[str]: JSON,
        str: Text,
    }


def _quarters(column: str) -> CheckConstraint:
    return CheckConstraint(f"{column} BETWEEN 0 AND {TOP_QUARTERS}", name=f"{column}_on_scale")


def _one_of(column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


class User(Base):
    """An account. Without a password hash it cannot sign in: it was invited, or its ratings were imported."""

    __tablename__ = "users"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(80))
    name_key: Mapped[str] = mapped_column(String(240), unique=True)
    """The name case-folded and NFKC: Ana and ANA are one account."""
    password_hash: Mapped[str | None]
    is_administrator: Mapped[bool] = mapped_column(default=False)
    disabled_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class UserSession(Base):
    """A browser that is signed in. The cookie holds the token, the table only its SHA-256."""

    __tablename__ = "user_sessions"

    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)


class SignInAttempt(Base):
    """A failed sign-in; many of them in a short time close the door for a while."""

    __tablename__ = "sign_in_attempts"

    id: Mapped[int] = mapped_column(primary_key=True)
    name_key: Mapped[str] = mapped_column(String(240))
    address: Mapped[str] = mapped_column(String(80))
    at: Mapped[datetime] = mapped_column(index=True)


class Invitation(Base):
    """A link that makes one account, once. With `is_administrator` it is the set-up link."""

    __tablename__ = "invitations"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    is_administrator: Mapped[bool] = mapped_column(default=False)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    """An account that exists and has yet to choose its password."""
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    role: Mapped[str | None] = mapped_column(String(16))
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    __table_args__ = (_one_of("role", *ROLES),)


class Project(Base):
    __tablename__ = "projects"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(120))
    name_key: Mapped[str] = mapped_column(String(360), unique=True)
    guidelines: Mapped[str] = mapped_column(default="")
    """Markdown, shown to raters."""
    types: Mapped[list[str]]
    """Comparison types in the order of reports, such as sentence2phrase."""
    raters_per_pair: Mapped[int]
    threshold_quarters: Mapped[int]
    step_quarters: Mapped[int]
    is_random: Mapped[bool]
    seed: Mapped[int] = mapped_column(BigInteger)
    may_revise: Mapped[bool]
    lease_minutes: Mapped[int]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    checks_of_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    """The project whose check pairs are kept here, out of all that is counted there; it is in no list."""

    __table_args__ = (
        Index("ix_projects_checks_of_id", "checks_of_id", unique=True),
        CheckConstraint("raters_per_pair >= 1", name="at_least_one_rater"),
        CheckConstraint(f"threshold_quarters BETWEEN 1 AND {TOP_QUARTERS}", name="threshold_on_scale"),
        CheckConstraint("step_quarters IN (1, 2, 4)", name="step_known"),
        CheckConstraint("lease_minutes >= 1", name="lease_positive"),
    )


class Membership(Base):
    """A role of a user in a project; one user may have several."""

    __tablename__ = "memberships"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[str] = mapped_column(String(16), primary_key=True)

    __table_args__ = (_one_of("role", *ROLES),)


class Pair(Base):
    """A larger and a smaller item. What is counted from its ratings changes in the same transaction."""

    __tablename__ = "pairs"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    external_id: Mapped[str] = mapped_column(String(200))
    """The id in the file that it came from."""
    type: Mapped[str] = mapped_column(String(80))
    left: Mapped[str]
    right: Mapped[str]
    genre: Mapped[str | None] = mapped_column(String(200))
    intended_quarters: Mapped[int | None]
    source: Mapped[str | None]
    senses: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Of a word and a sense: flag, definitions, parents, siblings; annotation.pair_senses writes them."""
    fingerprint: Mapped[str] = mapped_column(String(64))
    """SHA-256 of type and texts: tells the same pair under another id."""
    position: Mapped[int] = mapped_column(BigInteger)
    """Its place in the order of rating."""
    import_order: Mapped[int]
    """Its place in the order of import, which exports keep; unique in the project."""
    open_slots: Mapped[int]
    """How many more raters may still take it: raters_per_pair less held and rated assignments."""
    rating_count: Mapped[int] = mapped_column(default=0)
    low_quarters: Mapped[int | None]
    high_quarters: Mapped[int | None]
    spread_quarters: Mapped[int] = mapped_column(default=0)
    """high_quarters - low_quarters; 0 with fewer than two ratings."""

    __table_args__ = (
        UniqueConstraint("project_id", "external_id", "type"),
        UniqueConstraint("project_id", "import_order"),
        Index("ix_pairs_fingerprint", "project_id", "fingerprint"),
        Index(
            "ix_pairs_open",
            "project_id",
            "position",
            sqlite_where=text("open_slots > 0"),
            postgresql_where=text("open_slots > 0"),
        ),
        Index("ix_pairs_spread", "project_id", "spread_quarters"),
        # With what is counted, so that a project's counts are read from the index and never touch the texts.
        Index("ix_pairs_type", "project_id", "type", "genre", "rating_count", "spread_quarters"),
        CheckConstraint("open_slots >= 0", name="no_slot_given_twice"),
        CheckConstraint("rating_count >= 0", name="rating_count_positive"),
        CheckConstraint("spread_quarters >= 0", name="spread_positive"),
        _quarters("intended_quarters"),
    )


class Assignment(Base):
    """A pair that a rater holds, rated, skipped, let go, or may not have. Held ones end with their lease."""

    __tablename__ = "assignments"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    state: Mapped[str] = mapped_column(String(16))
    """held and rated take a slot of the pair; skipped, returned and barred (wrote or edited it) do not."""
    position: Mapped[int] = mapped_column(BigInteger)
    """The pair's, so that a rater's queue needs no join."""
    claimed_at: Mapped[datetime]
    lease_expires_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("pair_id", "rater_id"),
        Index("ix_assignments_queue", "project_id", "rater_id", "state", "position"),
        Index(
            "ix_assignments_lease",
            "project_id",
            "lease_expires_at",
            sqlite_where=text("state = 'held'"),
            postgresql_where=text("state = 'held'"),
        ),
        _one_of("state", "held", "rated", "skipped", "returned", "barred"),
        CheckConstraint("state <> 'held' OR lease_expires_at IS NOT NULL", name="held_has_lease"),
    )


class Rating(Base):
    """The grade that counts. Every change of it is in the history."""

    __tablename__ = "ratings"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int]
    seconds: Mapped[float | None]
    """From showing the pair to the last submit, summed over revisions; null for imported ratings."""
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("pair_id", "rater_id"),
        Index("ix_ratings_recent", "project_id", "rater_id", "updated_at"),
        _quarters("quarters"),
    )


class RatingChange(Base):
    """The history of ratings, append-only: a trigger refuses changes."""

    __tablename__ = "rating_history"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), index=True)
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int]
    previous_quarters: Mapped[int | None]
    seconds: Mapped[float | None]
    origin: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime]

    __table_args__ = (
        _quarters("quarters"),
        _quarters("previous_quarters"),
        _one_of("origin", "page", "import"),
    )


class Skip(Base):
    """A rater's reason for passing over a pair; the pair goes to somebody else."""

    __tablename__ = "skips"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), index=True)
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    reason: Mapped[str] = mapped_column(String(24))
    note: Mapped[str] = mapped_column(default="")
    at: Mapped[datetime]

    __table_args__ = (_one_of("reason", "not_understood", "broken_text", "not_my_language", "other"),)


class Comment(Base):
    """A rater's comment on a pair, one for each, the last wording; a flagged one asks to be looked at."""

    __tablename__ = "comments"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    text: Mapped[str]
    is_flagged: Mapped[bool] = mapped_column(default=False)
    updated_at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("pair_id", "user_id"),)


class Adjudication(Base):
    """The decision on a pair; it is the gold grade for as long as it stands."""

    __tablename__ = "adjudications"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), unique=True)
    adjudicator_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int]
    cause: Mapped[str] = mapped_column(String(24))
    note: Mapped[str] = mapped_column(default="")
    decided_at: Mapped[datetime]

    __table_args__ = (
        _quarters("quarters"),
        _one_of("cause", "overlooked_text", "misunderstood", "scale", "guideline", "true_ambiguity"),
    )


class AdjudicationChange(Base):
    """The history of decisions, append-only; a withdrawn decision has no grade."""

    __tablename__ = "adjudication_history"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), index=True)
    adjudicator_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int | None]
    cause: Mapped[str | None] = mapped_column(String(24))
    note: Mapped[str] = mapped_column(default="")
    at: Mapped[datetime]

    __table_args__ = (_quarters("quarters"),)


class WritingPlan(Base):
    """How pairs are written in a project; whoever hands out larger items locks it."""

    __tablename__ = "writing_plans"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    has_zeros: Mapped[bool] = mapped_column(default=True)
    """Whether a share of the larger items is set aside for pairs of grade 0."""
    updated_at: Mapped[datetime]
    bounds: Mapped[dict[str, Any]]
    """By type: what sizes its items may have, where they are not the usual ones."""


class LargerItem(Base):
    """A text for which a smaller one is to be written. Who has it, and at which grade, is in its `grade`."""

    __tablename__ = "larger_items"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    external_id: Mapped[str] = mapped_column(String(200))
    type: Mapped[str] = mapped_column(String(80))
    text: Mapped[str]
    genre: Mapped[str | None] = mapped_column(String(200))
    source: Mapped[str | None]
    fingerprint: Mapped[str] = mapped_column(String(64))
    """SHA-256 of type and text: tells the same item under another id."""
    position: Mapped[int] = mapped_column(BigInteger)
    """Its place in the order of writing."""
    import_order: Mapped[int]
    grade: Mapped[int | None]
    """The requested grade, 1 to 4, while a writer has it or its pair is made; 0 once it is set aside."""
    pair_id: Mapped[int | None] = mapped_column(ForeignKey("pairs.id", ondelete="SET NULL"), unique=True)
    """The pair that was made of it."""

    __table_args__ = (
        UniqueConstraint("project_id", "external_id", "type"),
        UniqueConstraint("project_id", "fingerprint"),
        UniqueConstraint("project_id", "import_order"),
        Index("ix_larger_items_group", "project_id", "type", "genre", "grade"),
        Index(
            "ix_larger_items_open",
            "project_id",
            "position",
            sqlite_where=_IS_UNWRITTEN,
            postgresql_where=_IS_UNWRITTEN,
        ),
        CheckConstraint("grade BETWEEN 0 AND 4", name="grade_known"),
        CheckConstraint("pair_id IS NULL OR grade IS NOT NULL", name="paired_has_grade"),
    )


class Writing(Base):
    """A writer's text for a larger item: a draft as it is typed, then what is reviewed."""

    __tablename__ = "writings"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    item_id: Mapped[int] = mapped_column(ForeignKey("larger_items.id", ondelete="CASCADE"))
    writer_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    state: Mapped[str] = mapped_column(String(16))
    """held, sent_back: the writer has the item; submitted: an editor; blank, handed_on, returned: nobody."""
    grade: Mapped[int]
    """The grade that was requested, 1 to 4."""
    text: Mapped[str] = mapped_column(default="")
    senses: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Where the text is a sense key: the pair's `senses`, and under "key" the text that they are of."""
    version: Mapped[int] = mapped_column(default=0)
    """Counts the changes of `text`, so that an old window cannot overwrite a newer one."""
    note: Mapped[str] = mapped_column(default="")
    """Of the editor who sent it back, or of the writer who left it blank."""
    seconds: Mapped[float | None]
    """How long the writer looked at the item."""
    claimed_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    lease_expires_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("item_id", "writer_id"),
        Index(
            "ix_writings_one_writer",
            "item_id",
            unique=True,
            sqlite_where=_IS_AT_WORK,
            postgresql_where=_IS_AT_WORK,
        ),
        Index("ix_writings_queue", "project_id", "state", "updated_at"),
        Index("ix_writings_mine", "project_id", "writer_id", "state"),
        _one_of("state", "held", "submitted", "sent_back", "accepted", "blank", "handed_on", "returned"),
        CheckConstraint("grade BETWEEN 1 AND 4", name="grade_requested"),
        CheckConstraint("state <> 'held' OR lease_expires_at IS NOT NULL", name="held_has_lease"),
    )


class WritingChange(Base):
    """The history of written texts, append-only: submitted, left blank, sent back, edited, accepted."""

    __tablename__ = "writing_history"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("larger_items.id", ondelete="CASCADE"), index=True)
    writer_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    """Who did it: the writer or an editor."""
    action: Mapped[str] = mapped_column(String(16))
    grade: Mapped[int]
    text: Mapped[str] = mapped_column(default="")
    note: Mapped[str] = mapped_column(default="")
    at: Mapped[datetime]

    __table_args__ = (
        _one_of("action", "submitted", "blank", "sent_back", "handed_on", "edited", "accepted"),
        CheckConstraint("grade BETWEEN 1 AND 4", name="grade_requested"),
    )


class Export(Base):
    """A gold set that was written: when, by whom, with what options, and the hash of its manifest."""

    __tablename__ = "exports"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    format: Mapped[str] = mapped_column(String(16))
    options: Mapped[dict[str, Any]]
    pairs: Mapped[int]
    manifest_sha256: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]


class GoldSet(Base):
    """Gold grades as they were when systems were measured on them: the project's of that day, or others."""

    __tablename__ = "gold_sets"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(200))
    """Of the files they came from; empty for the project's own."""
    sha256: Mapped[str] = mapped_column(String(64))
    """Of types, ids, texts, genres and grades: tells one version of the gold from another."""
    pairs: Mapped[int]
    created_at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("project_id", "sha256"),)


class GoldGrade(Base):
    """A pair of a gold set, with all that running a system on it takes."""

    __tablename__ = "gold_grades"

    gold_set_id: Mapped[int] = mapped_column(ForeignKey("gold_sets.id", ondelete="CASCADE"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """In the order of the gold set, from 0."""
    type: Mapped[str] = mapped_column(String(80))
    external_id: Mapped[str] = mapped_column(String(200))
    left: Mapped[str]
    right: Mapped[str]
    genre: Mapped[str | None] = mapped_column(String(200))
    gold: Mapped[float]


class ScoredSystem(Base):
    """A system that is measured on a gold set."""

    __tablename__ = "systems"

    id: Mapped[int] = mapped_column(primary_key=True)
    gold_set_id: Mapped[int] = mapped_column(ForeignKey("gold_sets.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(80))
    name_key: Mapped[str] = mapped_column(String(240))
    origin: Mapped[str] = mapped_column(String(16))
    """scores: of a file; else which system was run here."""
    remark: Mapped[str] = mapped_column(default="")
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("gold_set_id", "name_key"),
        _one_of("origin", "scores", "lcs", "gst", "embedding"),
    )


class SystemScore(Base):
    """The score of a system for a pair of its gold set; a type that it leaves out has none."""

    __tablename__ = "system_scores"

    system_id: Mapped[int] = mapped_column(ForeignKey("systems.id", ondelete="CASCADE"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Of the pair in the gold set."""
    score: Mapped[float]


class SentDocument(Base):
    """A document whose predicted keyphrases were sent to a project, to be graded as pairs."""

    __tablename__ = "sent_documents"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    external_id: Mapped[str] = mapped_column(String(200))
    title: Mapped[str]
    body: Mapped[str]
    language: Mapped[str] = mapped_column(String(16))
    """ISO 639-1; empty where nobody has told it."""
    fingerprint: Mapped[str] = mapped_column(String(64))
    """SHA-256 of title and body: tells the same document under another id."""
    created_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("project_id", "external_id"),
        Index("ix_sent_documents_fingerprint", "project_id", "fingerprint", unique=True),
    )


class SentPhrase(Base):
    """The pair of a document and a phrase that some model predicted for it."""

    __tablename__ = "sent_phrases"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    document_id: Mapped[int] = mapped_column(ForeignKey("sent_documents.id", ondelete="CASCADE"))
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), unique=True)
    key: Mapped[str]
    """Its stems: two phrases of a document with the same key are one."""
    is_present: Mapped[bool]

    __table_args__ = (UniqueConstraint("document_id", "key"),)


class SentRun(Base):
    """That a model read a document, whatever it predicted. Never shown to raters."""

    __tablename__ = "sent_runs"

    id: Mapped[int] = mapped_column(primary_key=True)
    document_id: Mapped[int] = mapped_column(ForeignKey("sent_documents.id", ondelete="CASCADE"))
    model: Mapped[str] = mapped_column(String(200))

    __table_args__ = (UniqueConstraint("document_id", "model"),)


class SentPrediction(Base):
    """What a model said of a phrase: rank, score, and its own spelling. Never shown to raters."""

    __tablename__ = "sent_predictions"

    run_id: Mapped[int] = mapped_column(ForeignKey("sent_runs.id", ondelete="CASCADE"), primary_key=True)
    phrase_id: Mapped[int] = mapped_column(
        ForeignKey("sent_phrases.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    rank: Mapped[int]
    """From 1, in one ranking of present and absent phrases."""
    score: Mapped[float]
    text: Mapped[str]

    __table_args__ = (CheckConstraint("rank >= 1", name="rank_from_one"),)


class SentOrder(Base):
    """A project in which raters meet predicted keyphrases in another order than the project's own."""

    __tablename__ = "sent_orders"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    chosen_at: Mapped[datetime]

    __table_args__ = (_one_of("kind", "uncertain", "mixed"),)


class QualitySettings(Base):
    """How a project looks after the quality of its raters; without a row it has the defaults."""

    __tablename__ = "quality_settings"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    training_quarters: Mapped[int]
    """A training grade so far from the known one, or nearer, is accepted."""
    pass_percent: Mapped[int]
    check_every: Mapped[int]
    """One pair in so many is a check pair; 0 for none."""
    check_quarters: Mapped[int]
    """A grade of a check pair so far from the known one, or nearer, is accepted."""

    __table_args__ = (
        _quarters("training_quarters"),
        _quarters("check_quarters"),
        CheckConstraint("pass_percent BETWEEN 0 AND 100", name="pass_percent_share"),
        CheckConstraint("check_every = 0 OR check_every >= 2", name="check_every_some"),
    )


class RaterState(Base):
    """How a rater stands in a project: at work or paused, trained or excused, and when checks are due."""

    __tablename__ = "rater_states"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    paused_at: Mapped[datetime | None]
    passed_at: Mapped[datetime | None]
    excused_at: Mapped[datetime | None]
    check_start: Mapped[int | None]
    """Pairs that he had when checks began; null until he is given a pair after that."""
    check_given: Mapped[int | None]
    """Check pairs that he had been given by then."""


class TrainingPair(Base):
    """A pair with a known grade, which a rater grades before his work begins. A retired one is kept for its
    attempts."""

    __tablename__ = "training_pairs"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    external_id: Mapped[str] = mapped_column(String(200))
    type: Mapped[str] = mapped_column(String(80))
    left: Mapped[str]
    right: Mapped[str]
    senses: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """As those of a pair."""
    quarters: Mapped[int]
    explanation: Mapped[str] = mapped_column(default="")
    import_order: Mapped[int]
    retired_at: Mapped[datetime | None]

    __table_args__ = (_quarters("quarters"),)


class TrainingAttempt(Base):
    """A rater's way through the training pairs, with the settings by which it is judged."""

    __tablename__ = "training_attempts"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    number: Mapped[int]
    accepted_quarters: Mapped[int]
    pass_percent: Mapped[int]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    pairs: Mapped[int] = mapped_column(default=0)
    """Of a finished attempt, like the next two."""
    accepted: Mapped[int] = mapped_column(default=0)
    has_passed: Mapped[bool] = mapped_column(default=False)

    __table_args__ = (
        UniqueConstraint("project_id", "user_id", "number"),
        _quarters("accepted_quarters"),
        CheckConstraint("pass_percent BETWEEN 0 AND 100", name="pass_percent_share"),
    )


class TrainingGrade(Base):
    """What a rater gave a training pair; its known grade was shown to him then, so that it stays."""

    __tablename__ = "training_grades"

    id: Mapped[int] = mapped_column(primary_key=True)
    attempt_id: Mapped[int] = mapped_column(ForeignKey("training_attempts.id", ondelete="CASCADE"))
    training_pair_id: Mapped[int] = mapped_column(
        ForeignKey("training_pairs.id", ondelete="CASCADE"), index=True
    )
    quarters: Mapped[int]
    seconds: Mapped[float | None]
    at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("attempt_id", "training_pair_id"), _quarters("quarters"))


class AuditEvent(Base):
    """Who did what: accounts, roles, settings, imports, exports. Append-only: a trigger refuses changes."""

    __tablename__ = "audit_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    """Null for the command line."""
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="SET NULL"), index=True)
    action: Mapped[str] = mapped_column(String(40))
    detail: Mapped[dict[str, Any]]


APPEND_ONLY = ("rating_history", "adjudication_history", "writing_history", "audit_events")
