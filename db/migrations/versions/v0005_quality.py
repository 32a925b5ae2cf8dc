"""Quality of raters: training before the work, hidden check pairs, and raters who pause."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    with op.batch_alter_table("projects") as projects:
        projects.add_column(sa.Column("checks_of_id", sa.Integer(), nullable=True))
        projects.create_foreign_key(
            op.f("fk_projects_checks_of_id_projects"),
            "projects",
            ["checks_of_id"],
            ["id"],
            ondelete="CASCADE",
        )
    op.create_index("ix_projects_checks_of_id", "projects", ["checks_of_id"], unique=True)
    _create_settings()
    _create_training()


def _create_settings() -> None:
    op.create_table(
        "quality_settings",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("training_quarters", sa.Integer(), nullable=False),
        sa.Column("pass_percent", sa.Integer(), nullable=False),
        sa.Column("check_every", sa.Integer(), nullable=False),
        sa.Column("check_quarters", sa.Integer(), nullable=False),
        _on_scale("quality_settings", "training_quarters"),
        _on_scale("quality_settings", "check_quarters"),
        sa.CheckConstraint(
            "pass_percent BETWEEN 0 AND 100", name=op.f("ck_quality_settings_pass_percent_share")
        ),
        sa.CheckConstraint(
            "check_every = 0 OR check_every >= 2", name=op.f("ck_quality_settings_check_every_some")
        ),
        _of_project("quality_settings"),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_quality_settings")),
    )
    op.create_table(
        "rater_states",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("passed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("excused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("check_start", sa.Integer(), nullable=True),
        sa.Column("check_given", sa.Integer(), nullable=True),
        _of_project("rater_states"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_rater_states_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_rater_states")),
    )
    op.create_index(op.f("ix_rater_states_user_id"), "rater_states", ["user_id"], unique=False)


def _create_training() -> None:
    op.create_table(
        "training_pairs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("left", sa.Text(), nullable=False),
        sa.Column("right", sa.Text(), nullable=False),
        sa.Column("senses", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("quarters", sa.Integer(), nullable=False),
        sa.Column("explanation", sa.Text(), nullable=False),
        sa.Column("import_order", sa.Integer(), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        _on_scale("training_pairs", "quarters"),
        _of_project("training_pairs"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_training_pairs")),
    )
    op.create_index(op.f("ix_training_pairs_project_id"), "training_pairs", ["project_id"], unique=False)
    op.create_table(
        "training_attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("accepted_quarters", sa.Integer(), nullable=False),
        sa.Column("pass_percent", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("accepted", sa.Integer(), nullable=False),
        sa.Column("has_passed", sa.Boolean(), nullable=False),
        _on_scale("training_attempts", "accepted_quarters"),
        sa.CheckConstraint(
            "pass_percent BETWEEN 0 AND 100", name=op.f("ck_training_attempts_pass_percent_share")
        ),
        _of_project("training_attempts"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_training_attempts_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_training_attempts")),
        sa.UniqueConstraint(
            "project_id", "user_id", "number", name=op.f("uq_training_attempts_project_id_user_id_number")
        ),
    )
    op.create_table(
        "training_grades",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("attempt_id", sa.Integer(), nullable=False),
        sa.Column("training_pair_id", sa.Integer(), nullable=False),
        sa.Column("quarters", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        _on_scale("training_grades", "quarters"),
        sa.ForeignKeyConstraint(
            ["attempt_id"],
            ["training_attempts.id"],
            name=op.f("fk_training_grades_attempt_id_training_attempts"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["training_pair_id"],
            ["training_pairs.id"],
            name=op.f("fk_training_grades_training_pair_id_training_pairs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_training_grades")),
        sa.UniqueConstraint(
            "attempt_id", "training_pair_id", name=op.f("uq_training_grades_attempt_id_training_pair_id")
        ),
    )
    op.create_index(
        op.f("ix_training_grades_training_pair_id"), "training_grades", ["training_pair_id"], unique=False
    )


def _on_scale(table: str, column: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} BETWEEN 0 AND 16", name=op.f(f"ck_{table}_{column}_on_scale"))


def _of_project(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id"],
        ["projects.id"],
        name=op.f(f"fk_{table}_project_id_projects"),
        ondelete="CASCADE",
    )
