"""The numbers of raters in a table of their own: exports kept them among their options before.

Where exports disagree, as those that ran at once used to, the earliest stands; a number that was given to
somebody else in a later one stays, and is nobody's.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_EXPORTS = sa.table(
    "exports",
    sa.column("id", sa.Integer()),
    sa.column("project_id", sa.Integer()),
    sa.column("format", sa.String()),
    sa.column("options", sa.JSON()),
)
_USERS = sa.table("users", sa.column("id", sa.Integer()))


def upgrade() -> None:
    numbers = op.create_table(
        "rater_numbers",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("rater_id", sa.Integer(), nullable=True),
        sa.Column("is_exported", sa.Boolean(), nullable=False),
        sa.CheckConstraint("number >= 1", name=op.f("ck_rater_numbers_number_positive")),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name=op.f("fk_rater_numbers_project_id_projects"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["rater_id"], ["users.id"], name=op.f("fk_rater_numbers_rater_id_users")),
        sa.PrimaryKeyConstraint("project_id", "number", name=op.f("pk_rater_numbers")),
        sa.UniqueConstraint("project_id", "rater_id", name=op.f("uq_rater_numbers_project_id_rater_id")),
    )
    op.bulk_insert(numbers, _given())
    # They were no gold sets: they stood among these for their numbers.
    op.execute(_EXPORTS.delete().where(_EXPORTS.c.format == "ratings"))


def _given() -> list[dict[str, object]]:
    connection = op.get_bind()
    accounts = set(connection.scalars(sa.select(_USERS.c.id)))
    owners: dict[int, dict[int, int]] = {}
    used: dict[int, set[int]] = {}
    kept = sa.select(_EXPORTS.c.project_id, _EXPORTS.c.options).order_by(_EXPORTS.c.id)
    for project, options in connection.execute(kept):
        owner = owners.setdefault(project, {})
        for rater, number in options.get("rater_numbers", {}).items():
            used.setdefault(project, set()).add(number)
            if int(rater) in accounts and int(rater) not in owner.values():
                owner.setdefault(number, int(rater))
    return [
        {
            "project_id": project,
            "number": number,
            "rater_id": owners[project].get(number),
            "is_exported": True,
        }
        for project, numbers in used.items()
        for number in sorted(numbers)
    ]
