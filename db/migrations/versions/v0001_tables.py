"""The tables of accounts, projects, pairs, ratings, adjudications, exports and audit events."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "sign_in_attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name_key", sa.String(length=240), nullable=False),
        sa.Column("address", sa.String(length=80), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_attempts")),
    )
    op.create_index(op.f("ix_sign_in_attempts_at"), "sign_in_attempts", ["at"], unique=False)
    op.create_table(
        "users",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("name_key", sa.String(length=240), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("is_administrator", sa.Boolean(), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name_key", name=op.f("uq_users_name_key")),
    )
    op.create_table(
        "projects",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("name_key", sa.String(length=360), nullable=False),
        sa.Column("guidelines", sa.Text(), nullable=False),
        sa.Column("types", sa.JSON(), nullable=False),
        sa.Column("raters_per_pair", sa.Integer(), nullable=False),
        sa.Column("threshold_quarters", sa.Integer(), nullable=False),
        sa.Column("step_quarters", sa.Integer(), nullable=False),
        sa.Column("is_random", sa.Boolean(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("may_revise", sa.Boolean(), nullable=False),
        sa.Column("lease_minutes", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("lease_minutes >= 1", name=op.f("ck_projects_lease_positive")),
        sa.CheckConstraint("raters_per_pair >= 1", name=op.f("ck_projects_at_least_one_rater")),
        sa.CheckConstraint("step_quarters IN (1, 2, 4)", name=op.f("ck_projects_step_known")),
        sa.CheckConstraint(
            "threshold_quarters BETWEEN 1 AND 16", name=op.f("ck_projects_threshold_on_scale")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_projects_created_by_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sa.UniqueConstraint("name_key", name=op.f("uq_projects_name_key")),
    )
    op.create_table(
        "user_sessions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_user_sessions_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_sessions")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_user_sessions_token_hash")),
    )
    op.create_index(op.f("ix_user_sessions_expires_at"), "user_sessions", ["expires_at"], unique=False)
    op.create_index(op.f("ix_user_sessions_user_id"), "user_sessions", ["user_id"], unique=False)
    op.create_table(
        "audit_events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_audit_events_project_id_projects"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_audit_events_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_events")),
    )
    op.create_index(op.f("ix_audit_events_at"), "audit_events", ["at"], unique=False)
    op.create_index(op.f("ix_audit_events_project_id"), "audit_events", ["project_id"], unique=False)
    op.create_table(
        "exports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("format", sa.String(length=16), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("manifest_sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_exports_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_exports_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exports")),
    )
    op.create_index(op.f("ix_exports_project_id"), "exports", ["project_id"], unique=False)
    op.create_table(
        "invitations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("is_administrator", sa.Boolean(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=True),
        sa.Column("created_by", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "role IN ('administrator', 'adjudicator', 'rater')", name=op.f("ck_invitations_role_known")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_invitations_created_by_users")),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_invitations_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_invitations_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_invitations_token_hash")),
    )
    op.create_index(op.f("ix_invitations_project_id"), "invitations", ["project_id"], unique=False)
    op.create_index(op.f("ix_invitations_user_id"), "invitations", ["user_id"], unique=False)
    op.create_table(
        "memberships",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.CheckConstraint(
            "role IN ('administrator', 'adjudicator', 'rater')", name=op.f("ck_memberships_role_known")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_memberships_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_memberships_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "user_id", "role", name=op.f("pk_memberships")),
    )
    op.create_index(op.f("ix_memberships_user_id"), "memberships", ["user_id"], unique=False)
    op.create_table(
        "pairs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("left", sa.Text(), nullable=False),
        sa.Column("right", sa.Text(), nullable=False),
        sa.Column("genre", sa.String(length=200), nullable=True),
        sa.Column("intended_quarters", sa.Integer(), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("import_order", sa.Integer(), nullable=False),
        sa.Column("open_slots", sa.Integer(), nullable=False),
        sa.Column("rating_count", sa.Integer(), nullable=False),
        sa.Column("low_quarters", sa.Integer(), nullable=True),
        sa.Column("high_quarters", sa.Integer(), nullable=True),
        sa.Column("spread_quarters", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "intended_quarters BETWEEN 0 AND 16", name=op.f("ck_pairs_intended_quarters_on_scale")
        ),
        sa.CheckConstraint("open_slots >= 0", name=op.f("ck_pairs_no_slot_given_twice")),
        sa.CheckConstraint("rating_count >= 0", name=op.f("ck_pairs_rating_count_positive")),
        sa.CheckConstraint("spread_quarters >= 0", name=op.f("ck_pairs_spread_positive")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_pairs_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairs")),
        sa.UniqueConstraint(
            "project_id", "external_id", "type", name=op.f("uq_pairs_project_id_external_id_type")
        ),
        sa.UniqueConstraint("project_id", "import_order", name=op.f("uq_pairs_project_id_import_order")),
    )
    op.create_index("ix_pairs_fingerprint", "pairs", ["project_id", "fingerprint"], unique=False)
    op.create_index(
        "ix_pairs_open",
        "pairs",
        ["project_id", "position"],
        unique=False,
        sqlite_where=sa.text("open_slots > 0"),
        postgresql_where=sa.text("open_slots > 0"),
    )
    op.create_index("ix_pairs_spread", "pairs", ["project_id", "spread_quarters"], unique=False)
    op.create_index(
        "ix_pairs_type",
        "pairs",
        ["project_id", "type", "genre", "rating_count", "spread_quarters"],
        unique=False,
    )
    op.create_table(
        "adjudication_history",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("adjudicator_id", sa.Integer(), nullable=False),
        sa.Column("quarters", sa.Integer(), nullable=True),
        sa.Column("cause", sa.String(length=24), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "quarters BETWEEN 0 AND 16", name=op.f("ck_adjudication_history_quarters_on_scale")
        ),
        sa.ForeignKeyConstraint(
            ["adjudicator_id"], ["users.id"], name=op.f("fk_adjudication_history_adjudicator_id_users")
        ),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_adjudication_history_pair_id_pairs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_adjudication_history_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_adjudication_history")),
    )
    op.create_index(
        op.f("ix_adjudication_history_pair_id"), "adjudication_history", ["pair_id"], unique=False
    )
    op.create_index(
        op.f("ix_adjudication_history_project_id"), "adjudication_history", ["project_id"], unique=False
    )
    op.create_table(
        "adjudications",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("adjudicator_id", sa.Integer(), nullable=False),
        sa.Column("quarters", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(length=24), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "cause IN ('overlooked_text', 'misunderstood', 'scale', 'guideline', 'true_ambiguity')",
            name=op.f("ck_adjudications_cause_known"),
        ),
        sa.CheckConstraint("quarters BETWEEN 0 AND 16", name=op.f("ck_adjudications_quarters_on_scale")),
        sa.ForeignKeyConstraint(
            ["adjudicator_id"], ["users.id"], name=op.f("fk_adjudications_adjudicator_id_users")
        ),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_adjudications_pair_id_pairs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_adjudications_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_adjudications")),
        sa.UniqueConstraint("pair_id", name=op.f("uq_adjudications_pair_id")),
    )
    op.create_index(op.f("ix_adjudications_project_id"), "adjudications", ["project_id"], unique=False)
    op.create_table(
        "assignments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state <> 'held' OR lease_expires_at IS NOT NULL", name=op.f("ck_assignments_held_has_lease")
        ),
        sa.CheckConstraint(
            "state IN ('held', 'rated', 'skipped', 'returned')", name=op.f("ck_assignments_state_known")
        ),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_assignments_pair_id_pairs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_assignments_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["rater_id"], ["users.id"], name=op.f("fk_assignments_rater_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
        sa.UniqueConstraint("pair_id", "rater_id", name=op.f("uq_assignments_pair_id_rater_id")),
    )
    op.create_index(
        "ix_assignments_lease",
        "assignments",
        ["project_id", "lease_expires_at"],
        unique=False,
        sqlite_where=sa.text("state = 'held'"),
        postgresql_where=sa.text("state = 'held'"),
    )
    op.create_index(
        "ix_assignments_queue", "assignments", ["project_id", "rater_id", "state", "position"], unique=False
    )
    op.create_table(
        "comments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("is_flagged", sa.Boolean(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_comments_pair_id_pairs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_comments_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_comments_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comments")),
        sa.UniqueConstraint("pair_id", "user_id", name=op.f("uq_comments_pair_id_user_id")),
    )
    op.create_index(op.f("ix_comments_project_id"), "comments", ["project_id"], unique=False)
    op.create_table(
        "rating_history",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("quarters", sa.Integer(), nullable=False),
        sa.Column("previous_quarters", sa.Integer(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("origin IN ('page', 'import')", name=op.f("ck_rating_history_origin_known")),
        sa.CheckConstraint(
            "previous_quarters BETWEEN 0 AND 16", name=op.f("ck_rating_history_previous_quarters_on_scale")
        ),
        sa.CheckConstraint("quarters BETWEEN 0 AND 16", name=op.f("ck_rating_history_quarters_on_scale")),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_rating_history_pair_id_pairs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_rating_history_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["rater_id"], ["users.id"], name=op.f("fk_rating_history_rater_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rating_history")),
    )
    op.create_index(op.f("ix_rating_history_pair_id"), "rating_history", ["pair_id"], unique=False)
    op.create_index(op.f("ix_rating_history_project_id"), "rating_history", ["project_id"], unique=False)
    op.create_table(
        "ratings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("quarters", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("quarters BETWEEN 0 AND 16", name=op.f("ck_ratings_quarters_on_scale")),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_ratings_pair_id_pairs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_ratings_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["rater_id"], ["users.id"], name=op.f("fk_ratings_rater_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ratings")),
        sa.UniqueConstraint("pair_id", "rater_id", name=op.f("uq_ratings_pair_id_rater_id")),
    )
    op.create_index("ix_ratings_recent", "ratings", ["project_id", "rater_id", "updated_at"], unique=False)
    op.create_table(
        "skips",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=24), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "reason IN ('not_understood', 'broken_text', 'not_my_language', 'other')",
            name=op.f("ck_skips_reason_known"),
        ),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_skips_pair_id_pairs"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_skips_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["rater_id"], ["users.id"], name=op.f("fk_skips_rater_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skips")),
    )
    op.create_index(op.f("ix_skips_pair_id"), "skips", ["pair_id"], unique=False)
    op.create_index(op.f("ix_skips_project_id"), "skips", ["project_id"], unique=False)
