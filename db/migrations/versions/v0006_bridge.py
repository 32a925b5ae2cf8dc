"""What keyphrase pages send to projects: documents, phrases, predictions, and the order of their pairs."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "sent_documents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("language", sa.String(length=16), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_sent_documents_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sent_documents")),
        sa.UniqueConstraint(
            "project_id", "external_id", name=op.f("uq_sent_documents_project_id_external_id")
        ),
    )
    op.create_index(
        "ix_sent_documents_fingerprint", "sent_documents", ["project_id", "fingerprint"], unique=True
    )
    op.create_table(
        "sent_phrases",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("is_present", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_sent_phrases_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sent_documents.id"],
            name=op.f("fk_sent_phrases_document_id_sent_documents"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_sent_phrases_pair_id_pairs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sent_phrases")),
        sa.UniqueConstraint("pair_id", name=op.f("uq_sent_phrases_pair_id")),
        sa.UniqueConstraint("document_id", "key", name=op.f("uq_sent_phrases_document_id_key")),
    )
    op.create_index(op.f("ix_sent_phrases_project_id"), "sent_phrases", ["project_id"], unique=False)
    op.create_table(
        "sent_runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["sent_documents.id"],
            name=op.f("fk_sent_runs_document_id_sent_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sent_runs")),
        sa.UniqueConstraint("document_id", "model", name=op.f("uq_sent_runs_document_id_model")),
    )
    op.create_table(
        "sent_predictions",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("phrase_id", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.CheckConstraint("rank >= 1", name=op.f("ck_sent_predictions_rank_from_one")),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["sent_runs.id"],
            name=op.f("fk_sent_predictions_run_id_sent_runs"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["phrase_id"],
            ["sent_phrases.id"],
            name=op.f("fk_sent_predictions_phrase_id_sent_phrases"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", "phrase_id", name=op.f("pk_sent_predictions")),
    )
    op.create_index(op.f("ix_sent_predictions_phrase_id"), "sent_predictions", ["phrase_id"], unique=False)
    op.create_table(
        "sent_orders",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("chosen_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('uncertain', 'mixed')", name=op.f("ck_sent_orders_kind_known")),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_sent_orders_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_sent_orders")),
    )
