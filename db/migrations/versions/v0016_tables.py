"""All tables, as revision 0016 has them: the first revision that this version reads.

Earlier ones had fifteen steps more; a database that they made has the columns in the same order.
"""

from typing import Any

from alembic import op
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
    text,
)

revision = "0016"
down_revision = None

Moment = DateTime(timezone=True)


def upgrade() -> None:
    _create_accounts_and_projects()
    _create_pairs_and_ratings()
    _create_quality()
    _create_writing()
    _create_predictions()
    _create_gold()


def _create_accounts_and_projects() -> None:
    op.create_table(
        "users",
        _id(),
        _column("name", String(80)),
        _column("name_key", String(240), unique=True),
        _column("password_hash", Text, nullable=True),
        _column("is_administrator", Boolean),
        _column("disabled_at", Moment, nullable=True),
        _column("created_at", Moment),
    )
    op.create_table(
        "projects",
        _id(),
        _column("name", String(120)),
        _column("name_key", String(360), unique=True),
        _column("guidelines", Text),
        _column("types", JSON),
        _column("raters_per_pair", Integer),
        _column("threshold_quarters", Integer, nullable=True),
        _column("step_quarters", Integer),
        _column("is_random", Boolean),
        _column("seed", BigInteger),
        _column("may_revise", Boolean),
        _column("lease_minutes", Integer),
        _reference("created_by", "users", nullable=True),
        _column("created_at", Moment),
        _reference("checks_of_id", "projects", ondelete="CASCADE", nullable=True),
        _column("most_per_rater", Integer, nullable=True),
        _column("consent", Text, nullable=True),
        _column("consent_sha256", String(64), nullable=True),
        _column("scale_words", Text, nullable=True),
        CheckConstraint("raters_per_pair >= 1", name="at_least_one_rater"),
        CheckConstraint("(consent IS NULL) = (consent_sha256 IS NULL)", name="consent_has_hash"),
        CheckConstraint("lease_minutes >= 1", name="lease_positive"),
        CheckConstraint("most_per_rater >= 1", name="most_per_rater_positive"),
        CheckConstraint("step_quarters IN (1, 2, 4)", name="step_known"),
        CheckConstraint("threshold_quarters BETWEEN 1 AND 16", name="threshold_on_scale"),
        Index("ix_projects_checks_of_id", "checks_of_id", unique=True),
    )
    op.create_table(
        "memberships",
        _project(primary_key=True),
        _reference("user_id", "users", ondelete="CASCADE", primary_key=True, index=True),
        _column("role", String(16), primary_key=True),
        _one_of("role", "administrator", "adjudicator", "editor", "writer", "rater"),
    )
    op.create_table(
        "consents",
        _id(),
        _project(),
        _reference("user_id", "users"),
        _column("text_sha256", String(64)),
        _column("at", Moment),
        UniqueConstraint("project_id", "user_id", "text_sha256"),
    )
    op.create_table(
        "user_sessions",
        _id(),
        _reference("user_id", "users", ondelete="CASCADE", index=True),
        _column("token_hash", String(64), unique=True),
        _column("created_at", Moment),
        _column("expires_at", Moment, index=True),
    )
    op.create_table(
        "sign_in_attempts",
        _id(),
        _column("name_key", String(240)),
        _column("address", String(80)),
        _column("at", Moment, index=True),
    )
    op.create_table(
        "invitations",
        _id(),
        _column("token_hash", String(64), unique=True),
        _column("is_administrator", Boolean),
        _reference("user_id", "users", ondelete="CASCADE", nullable=True, index=True),
        _reference("project_id", "projects", ondelete="CASCADE", nullable=True, index=True),
        _column("role", String(16), nullable=True),
        _reference("created_by", "users", nullable=True),
        _column("created_at", Moment),
        _column("expires_at", Moment),
        _column("used_at", Moment, nullable=True),
        _column("note", String(120), nullable=True),
        _one_of("role", "administrator", "adjudicator", "editor", "writer", "rater"),
    )
    op.create_table(
        "server_keys",
        _column("name", String(40), primary_key=True),
        _column("value", String(64)),
        _column("created_at", Moment),
    )
    op.create_table(
        "audit_events",
        _id(),
        _column("at", Moment, index=True),
        _reference("user_id", "users", nullable=True),
        _reference("project_id", "projects", ondelete="SET NULL", nullable=True, index=True),
        _column("action", String(40)),
        _column("detail", JSON),
    )


def _create_pairs_and_ratings() -> None:
    op.create_table(
        "pairs",
        _id(),
        _project(),
        _column("external_id", String(200)),
        _column("type", String(80)),
        _column("left", Text),
        _column("right", Text),
        _column("genre", String(200), nullable=True),
        _column("intended_quarters", Integer, nullable=True),
        _column("source", Text, nullable=True),
        _column("fingerprint", String(64)),
        _column("position", BigInteger),
        _column("import_order", Integer),
        _column("open_slots", Integer),
        _column("rating_count", Integer),
        _column("low_quarters", Integer, nullable=True),
        _column("high_quarters", Integer, nullable=True),
        _column("spread_quarters", Integer),
        _column("senses", JSON, nullable=True),
        _column("withdrawn_at", Moment, nullable=True),
        _on_scale("intended_quarters"),
        CheckConstraint("open_slots >= 0", name="no_slot_given_twice"),
        CheckConstraint("rating_count >= 0", name="rating_count_positive"),
        CheckConstraint("spread_quarters >= 0", name="spread_positive"),
        UniqueConstraint("project_id", "external_id", "type"),
        UniqueConstraint("project_id", "import_order"),
        Index("ix_pairs_fingerprint", "project_id", "fingerprint"),
        _index_where("open_slots > 0 AND withdrawn_at IS NULL", "ix_pairs_open", "project_id", "position"),
        Index("ix_pairs_spread", "project_id", "spread_quarters", "withdrawn_at"),
        Index(
            "ix_pairs_type", "project_id", "type", "genre", "rating_count", "spread_quarters", "withdrawn_at"
        ),
        _index_where("withdrawn_at IS NOT NULL", "ix_pairs_withdrawn", "project_id", "withdrawn_at"),
    )
    op.create_table(
        "assignments",
        _id(),
        _project(),
        _pair(),
        _reference("rater_id", "users"),
        _column("state", String(16)),
        _column("position", BigInteger),
        _column("claimed_at", Moment),
        _column("lease_expires_at", Moment, nullable=True),
        CheckConstraint("state <> 'held' OR lease_expires_at IS NOT NULL", name="held_has_lease"),
        _one_of("state", "held", "rated", "skipped", "returned", "barred", "set_aside"),
        UniqueConstraint("pair_id", "rater_id"),
        _index_where("state = 'held'", "ix_assignments_lease", "project_id", "lease_expires_at"),
        Index("ix_assignments_queue", "project_id", "rater_id", "state", "position"),
    )
    op.create_table(
        "ratings",
        _id(),
        _project(),
        _pair(),
        _reference("rater_id", "users"),
        _column("quarters", Integer),
        _column("seconds", Double, nullable=True),
        _column("created_at", Moment),
        _column("updated_at", Moment),
        _on_scale("quarters"),
        UniqueConstraint("pair_id", "rater_id"),
        Index("ix_ratings_recent", "project_id", "rater_id", "updated_at"),
    )
    op.create_table(
        "rating_history",
        _id(),
        _project(index=True),
        _pair(index=True),
        _reference("rater_id", "users"),
        _column("quarters", Integer),
        _column("previous_quarters", Integer, nullable=True),
        _column("seconds", Double, nullable=True),
        _column("origin", String(16)),
        _column("at", Moment),
        _one_of("origin", "page", "import"),
        _on_scale("previous_quarters"),
        _on_scale("quarters"),
    )
    op.create_table(
        "skips",
        _id(),
        _project(index=True),
        _pair(index=True),
        _reference("rater_id", "users"),
        _column("reason", String(24)),
        _column("note", Text),
        _column("at", Moment),
        _one_of("reason", "not_understood", "broken_text", "not_my_language", "other"),
    )
    op.create_table(
        "comments",
        _id(),
        _project(index=True),
        _pair(),
        _reference("user_id", "users"),
        _column("text", Text),
        _column("is_flagged", Boolean),
        _column("updated_at", Moment),
        UniqueConstraint("pair_id", "user_id"),
    )
    op.create_table(
        "set_asides",
        _id(),
        _project(),
        _reference("rater_id", "users"),
        _column("reason", Text),
        _column("at", Moment),
        Index("ix_set_asides_rater", "project_id", "rater_id"),
    )
    op.create_table(
        "set_aside_ratings",
        _id(),
        _reference("set_aside_id", "set_asides", ondelete="CASCADE", index=True),
        _project(),
        _pair(),
        _reference("rater_id", "users"),
        _column("quarters", Integer),
        _column("seconds", Double, nullable=True),
        _column("created_at", Moment),
        _column("updated_at", Moment),
        _on_scale("quarters"),
        UniqueConstraint("pair_id", "rater_id"),
        Index("ix_set_aside_ratings_rater", "project_id", "rater_id"),
    )
    op.create_table(
        "adjudications",
        _id(),
        _project(index=True),
        _pair(unique=True),
        _reference("adjudicator_id", "users"),
        _column("quarters", Integer),
        _column("cause", String(24)),
        _column("note", Text),
        _column("decided_at", Moment),
        _one_of("cause", "overlooked_text", "misunderstood", "scale", "guideline", "true_ambiguity"),
        _on_scale("quarters"),
    )
    op.create_table(
        "adjudication_history",
        _id(),
        _project(index=True),
        _pair(index=True),
        _reference("adjudicator_id", "users"),
        _column("quarters", Integer, nullable=True),
        _column("cause", String(24), nullable=True),
        _column("note", Text),
        _column("at", Moment),
        _on_scale("quarters"),
    )


def _create_quality() -> None:
    op.create_table(
        "quality_settings",
        _project(primary_key=True),
        _column("training_quarters", Integer),
        _column("pass_percent", Integer),
        _column("check_every", Integer),
        _column("check_quarters", Integer),
        CheckConstraint("check_every = 0 OR check_every >= 2", name="check_every_some"),
        _on_scale("check_quarters"),
        CheckConstraint("pass_percent BETWEEN 0 AND 100", name="pass_percent_share"),
        _on_scale("training_quarters"),
    )
    op.create_table(
        "rater_states",
        _project(primary_key=True),
        _reference("user_id", "users", ondelete="CASCADE", primary_key=True, index=True),
        _column("paused_at", Moment, nullable=True),
        _column("passed_at", Moment, nullable=True),
        _column("excused_at", Moment, nullable=True),
        _column("check_start", Integer, nullable=True),
        _column("check_given", Integer, nullable=True),
    )
    op.create_table(
        "training_pairs",
        _id(),
        _project(index=True),
        _column("external_id", String(200)),
        _column("type", String(80)),
        _column("left", Text),
        _column("right", Text),
        _column("senses", JSON, nullable=True),
        _column("quarters", Integer),
        _column("explanation", Text),
        _column("import_order", Integer),
        _column("retired_at", Moment, nullable=True),
        _on_scale("quarters"),
    )
    op.create_table(
        "training_attempts",
        _id(),
        _project(),
        _reference("user_id", "users"),
        _column("number", Integer),
        _column("accepted_quarters", Integer),
        _column("pass_percent", Integer),
        _column("started_at", Moment),
        _column("finished_at", Moment, nullable=True),
        _column("pairs", Integer),
        _column("accepted", Integer),
        _column("has_passed", Boolean),
        _on_scale("accepted_quarters"),
        CheckConstraint("pass_percent BETWEEN 0 AND 100", name="pass_percent_share"),
        UniqueConstraint("project_id", "user_id", "number"),
    )
    op.create_table(
        "training_grades",
        _id(),
        _reference("attempt_id", "training_attempts", ondelete="CASCADE"),
        _reference("training_pair_id", "training_pairs", ondelete="CASCADE", index=True),
        _column("quarters", Integer),
        _column("seconds", Double, nullable=True),
        _column("at", Moment),
        _on_scale("quarters"),
        UniqueConstraint("attempt_id", "training_pair_id"),
    )


def _create_writing() -> None:
    op.create_table(
        "writing_plans",
        _project(primary_key=True),
        _column("has_zeros", Boolean),
        _column("updated_at", Moment),
        _column("bounds", JSON),
    )
    op.create_table(
        "larger_items",
        _id(),
        _project(),
        _column("external_id", String(200)),
        _column("type", String(80)),
        _column("text", Text),
        _column("genre", String(200), nullable=True),
        _column("source", Text, nullable=True),
        _column("fingerprint", String(64)),
        _column("position", BigInteger),
        _column("import_order", Integer),
        _column("grade", Integer, nullable=True),
        _reference("pair_id", "pairs", ondelete="SET NULL", nullable=True, unique=True),
        _column("withdrawn_at", Moment, nullable=True),
        CheckConstraint("grade BETWEEN 0 AND 4", name="grade_known"),
        CheckConstraint("pair_id IS NULL OR grade IS NOT NULL", name="paired_has_grade"),
        UniqueConstraint("project_id", "external_id", "type"),
        UniqueConstraint("project_id", "fingerprint"),
        UniqueConstraint("project_id", "import_order"),
        Index("ix_larger_items_group", "project_id", "type", "genre", "grade"),
        _index_where("grade IS NULL", "ix_larger_items_open", "project_id", "position"),
    )
    op.create_table(
        "writings",
        _id(),
        _project(),
        _reference("item_id", "larger_items", ondelete="CASCADE"),
        _reference("writer_id", "users"),
        _column("state", String(16)),
        _column("grade", Integer),
        _column("text", Text),
        _column("version", Integer),
        _column("note", Text),
        _column("seconds", Double, nullable=True),
        _column("claimed_at", Moment),
        _column("updated_at", Moment),
        _column("lease_expires_at", Moment, nullable=True),
        _column("senses", JSON, nullable=True),
        CheckConstraint("grade BETWEEN 1 AND 4", name="grade_requested"),
        CheckConstraint("state <> 'held' OR lease_expires_at IS NOT NULL", name="held_has_lease"),
        _one_of("state", "held", "submitted", "sent_back", "accepted", "blank", "handed_on", "returned"),
        UniqueConstraint("item_id", "writer_id"),
        Index("ix_writings_mine", "project_id", "writer_id", "state"),
        _index_where(
            "state IN ('held', 'submitted', 'sent_back', 'accepted')",
            "ix_writings_one_writer",
            "item_id",
            unique=True,
        ),
        Index("ix_writings_queue", "project_id", "state", "updated_at"),
    )
    op.create_table(
        "grade_viewers",
        _reference("item_id", "larger_items", ondelete="CASCADE", primary_key=True),
        _reference("user_id", "users", primary_key=True),
        _column("first_at", Moment),
    )
    op.create_table(
        "writing_history",
        _id(),
        _project(index=True),
        _reference("item_id", "larger_items", ondelete="CASCADE", index=True),
        _reference("writer_id", "users"),
        _reference("user_id", "users"),
        _column("action", String(16)),
        _column("grade", Integer),
        _column("text", Text),
        _column("note", Text),
        _column("at", Moment),
        _one_of("action", "submitted", "blank", "sent_back", "handed_on", "edited", "accepted"),
        CheckConstraint("grade BETWEEN 1 AND 4", name="grade_requested"),
    )


def _create_predictions() -> None:
    op.create_table(
        "sent_documents",
        _id(),
        _project(),
        _column("external_id", String(200)),
        _column("title", Text),
        _column("body", Text),
        _column("language", String(16)),
        _column("fingerprint", String(64)),
        _column("created_at", Moment),
        UniqueConstraint("project_id", "external_id"),
        Index("ix_sent_documents_fingerprint", "project_id", "fingerprint", unique=True),
    )
    op.create_table(
        "sent_phrases",
        _id(),
        _project(index=True),
        _reference("document_id", "sent_documents", ondelete="CASCADE"),
        _pair(unique=True),
        _column("key", Text),
        _column("is_present", Boolean),
        UniqueConstraint("document_id", "key"),
    )
    op.create_table(
        "sent_runs",
        _id(),
        _reference("document_id", "sent_documents", ondelete="CASCADE"),
        _column("model", String(200)),
        UniqueConstraint("document_id", "model"),
    )
    op.create_table(
        "sent_predictions",
        _reference("run_id", "sent_runs", ondelete="CASCADE", primary_key=True),
        _reference("phrase_id", "sent_phrases", ondelete="CASCADE", primary_key=True, index=True),
        _column("rank", Integer),
        _column("score", Double),
        _column("text", Text),
        CheckConstraint("rank >= 1", name="rank_from_one"),
    )
    op.create_table(
        "sent_orders",
        _project(primary_key=True),
        _column("kind", String(16)),
        _column("chosen_at", Moment),
        _one_of("kind", "uncertain", "mixed", "document"),
    )


def _create_gold() -> None:
    op.create_table(
        "exports",
        _id(),
        _project(index=True),
        _reference("user_id", "users", nullable=True),
        _column("format", String(16)),
        _column("options", JSON),
        _column("pairs", Integer),
        _column("manifest_sha256", String(64)),
        _column("created_at", Moment),
    )
    op.create_table(
        "rater_numbers",
        _project(primary_key=True),
        _column("number", Integer, primary_key=True, autoincrement=False),
        _reference("rater_id", "users", nullable=True),
        _column("is_exported", Boolean),
        CheckConstraint("number >= 1", name="number_positive"),
        UniqueConstraint("project_id", "rater_id"),
    )
    op.create_table(
        "gold_sets",
        _id(),
        _project(),
        _column("name", String(200)),
        _column("sha256", String(64)),
        _column("pairs", Integer),
        _column("created_at", Moment),
        UniqueConstraint("project_id", "sha256"),
    )
    op.create_table(
        "gold_grades",
        _reference("gold_set_id", "gold_sets", ondelete="CASCADE", primary_key=True),
        _column("place", Integer, primary_key=True, autoincrement=False),
        _column("type", String(80)),
        _column("external_id", String(200)),
        _column("left", Text),
        _column("right", Text),
        _column("genre", String(200), nullable=True),
        _column("gold", Double),
    )
    op.create_table(
        "systems",
        _id(),
        _reference("gold_set_id", "gold_sets", ondelete="CASCADE"),
        _column("name", String(80)),
        _column("name_key", String(240)),
        _column("origin", String(16)),
        _column("remark", Text),
        _reference("user_id", "users", nullable=True),
        _column("created_at", Moment),
        _one_of("origin", "scores", "lcs", "gst", "embedding"),
        UniqueConstraint("gold_set_id", "name_key"),
    )
    op.create_table(
        "system_scores",
        _reference("system_id", "systems", ondelete="CASCADE", primary_key=True),
        _column("place", Integer, primary_key=True, autoincrement=False),
        _column("score", Double),
    )


def _column(name: str, type_: Any, *, nullable: bool = False, **options: Any) -> Column[Any]:
    return Column(name, type_, nullable=nullable, **options)


def _id() -> Column[Any]:
    return _column("id", Integer, primary_key=True)


def _reference(
    name: str, table: str, *, ondelete: str | None = None, nullable: bool = False, **options: Any
) -> Column[Any]:
    target = ForeignKey(f"{table}.id", ondelete=ondelete)
    return Column(name, Integer, target, nullable=nullable, **options)


def _project(**options: Any) -> Column[Any]:
    return _reference("project_id", "projects", ondelete="CASCADE", **options)


def _pair(**options: Any) -> Column[Any]:
    return _reference("pair_id", "pairs", ondelete="CASCADE", **options)


def _index_where(condition: str, name: str, *columns: str, unique: bool = False) -> Index:
    where = text(condition)
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


def _on_scale(column: str) -> CheckConstraint:
    return CheckConstraint(f"{column} BETWEEN 0 AND 16", name=f"{column}_on_scale")


def _one_of(column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")
