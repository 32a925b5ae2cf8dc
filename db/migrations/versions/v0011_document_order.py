"""Predicted keyphrases may be graded document by document."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    known = op.f("ck_sent_orders_kind_known")
    with op.batch_alter_table("sent_orders") as orders:
        orders.drop_constraint(known, type_="check")
        orders.create_check_constraint(known, sa.text("kind IN ('uncertain', 'mixed', 'document')"))
