"""The roles of writers and editors, and the tables of larger items and of what is written for them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ROLES = "role IN ('administrator', 'adjudicator', 'editor', 'writer', 'rater')"
_STATES = "state IN ('held', 'rated', 'skipped', 'returned', 'barred')"


def upgrade() -> None:
    for table, rule, name in (
        ("memberships", _ROLES, "ck_memberships_role_known"),
        ("invitations", _ROLES, "ck_invitations_role_known"),
        ("assignments", _STATES, "ck_assignments_state_known"),
    ):
        with op.batch_alter_table(table) as changed:
            changed.drop_constraint(op.f(name), type_="check")
            changed.create_check_constraint(op.f(name), rule)
    op.create_table(
        "writing_plans",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("has_zeros", sa.Boolean(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("bounds", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_writing_plans_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_writing_plans")),
    )
    op.create_table(
        "larger_items",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("genre", sa.String(length=200), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("import_order", sa.Integer(), nullable=False),
        sa.Column("grade", sa.Integer(), nullable=True),
        sa.Column("pair_id", sa.Integer(), nullable=True),
        sa.CheckConstraint("grade BETWEEN 0 AND 4", name=op.f("ck_larger_items_grade_known")),
        sa.CheckConstraint(
            "pair_id IS NULL OR grade IS NOT NULL", name=op.f("ck_larger_items_paired_has_grade")
        ),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_larger_items_pair_id_pairs"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_larger_items_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_larger_items")),
        sa.UniqueConstraint("pair_id", name=op.f("uq_larger_items_pair_id")),
        sa.UniqueConstraint(
            "project_id", "external_id", "type", name=op.f("uq_larger_items_project_id_external_id_type")
        ),
        sa.UniqueConstraint("project_id", "fingerprint", name=op.f("uq_larger_items_project_id_fingerprint")),
        sa.UniqueConstraint(
            "project_id", "import_order", name=op.f("uq_larger_items_project_id_import_order")
        ),
    )
    op.create_index(
        "ix_larger_items_group", "larger_items", ["project_id", "type", "genre", "grade"], unique=False
    )
    op.create_index(
        "ix_larger_items_open",
        "larger_items",
        ["project_id", "position"],
        unique=False,
        sqlite_where=sa.text("grade IS NULL"),
        postgresql_where=sa.text("grade IS NULL"),
    )
    op.create_table(
        "writing_history",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("writer_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("grade", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "action IN ('submitted', 'blank', 'sent_back', 'handed_on', 'edited', 'accepted')",
            name=op.f("ck_writing_history_action_known"),
        ),
        sa.CheckConstraint("grade BETWEEN 1 AND 4", name=op.f("ck_writing_history_grade_requested")),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["larger_items.id"],
            name=op.f("fk_writing_history_item_id_larger_items"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_writing_history_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_writing_history_user_id_users")),
        sa.ForeignKeyConstraint(["writer_id"], ["users.id"], name=op.f("fk_writing_history_writer_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_writing_history")),
    )
    op.create_index(op.f("ix_writing_history_item_id"), "writing_history", ["item_id"], unique=False)
    op.create_index(op.f("ix_writing_history_project_id"), "writing_history", ["project_id"], unique=False)
    op.create_table(
        "writings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("writer_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("grade", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state <> 'held' OR lease_expires_at IS NOT NULL", name=op.f("ck_writings_held_has_lease")
        ),
        sa.CheckConstraint(
            "state IN ('held', 'submitted', 'sent_back', 'accepted', 'blank', 'handed_on', 'returned')",
            name=op.f("ck_writings_state_known"),
        ),
        sa.CheckConstraint("grade BETWEEN 1 AND 4", name=op.f("ck_writings_grade_requested")),
        sa.ForeignKeyConstraint(
            ["item_id"],
            ["larger_items.id"],
            name=op.f("fk_writings_item_id_larger_items"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_writings_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["writer_id"], ["users.id"], name=op.f("fk_writings_writer_id_users")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_writings")),
        sa.UniqueConstraint("item_id", "writer_id", name=op.f("uq_writings_item_id_writer_id")),
    )
    op.create_index("ix_writings_mine", "writings", ["project_id", "writer_id", "state"], unique=False)
    op.create_index(
        "ix_writings_one_writer",
        "writings",
        ["item_id"],
        unique=True,
        sqlite_where=sa.text("state IN ('held', 'submitted', 'sent_back', 'accepted')"),
        postgresql_where=sa.text("state IN ('held', 'submitted', 'sent_back', 'accepted')"),
    )
    op.create_index("ix_writings_queue", "writings", ["project_id", "state", "updated_at"], unique=False)
