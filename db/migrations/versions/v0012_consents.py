"""A text that raters and writers agree to before they work, and who agreed to which."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("projects", sa.Column("consent", sa.Text(), nullable=True))
    # In one statement, which both systems take: for a constraint of its own SQLite would copy the table.
    op.execute(
        "ALTER TABLE projects ADD COLUMN consent_sha256 VARCHAR(64) "
        "CONSTRAINT ck_projects_consent_has_hash CHECK ((consent IS NULL) = (consent_sha256 IS NULL))"
    )
    op.create_table(
        "consents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("text_sha256", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_consents_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_consents_user_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_consents")),
        sa.UniqueConstraint(
            "project_id", "user_id", "text_sha256", name=op.f("uq_consents_project_id_user_id_text_sha256")
        ),
    )
