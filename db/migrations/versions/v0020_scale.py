"""The scale of a project; earlier projects have 0 to 4 in quarters.

That a grade is on the scale was a CHECK of each table, which cannot look at another one: the triggers see to
it now (db/triggers.py). No grade changes.
"""

from alembic import op
from sqlalchemy import Column, Integer, String

revision = "0020"
down_revision = "0019"

_GRADES = {
    "pairs": ("intended_quarters",),
    "ratings": ("quarters",),
    "rating_history": ("quarters", "previous_quarters"),
    "set_aside_ratings": ("quarters",),
    "adjudications": ("quarters",),
    "adjudication_history": ("quarters",),
    "training_pairs": ("quarters",),
    "training_grades": ("quarters",),
}
_DISTANCES = {
    "quality_settings": ("training_quarters", "check_quarters"),
    "training_attempts": ("accepted_quarters",),
}
_POINTS = {
    "larger_items": ("grade_known", 0),
    "writings": ("grade_requested", 1),
    "writing_history": ("grade_requested", 1),
}


def upgrade() -> None:
    with op.batch_alter_table("projects") as projects:
        projects.add_column(Column("scale_step", String(16), nullable=False, server_default="0.25"))
        projects.add_column(Column("scale_low", Integer, nullable=False, server_default="0"))
        projects.add_column(Column("scale_high", Integer, nullable=False, server_default="16"))
        projects.drop_constraint("threshold_on_scale", type_="check")
        projects.drop_constraint("step_known", type_="check")
        projects.create_check_constraint("scale_has_steps", "scale_high - scale_low BETWEEN 1 AND 400")
        projects.create_check_constraint(
            "threshold_on_scale", "threshold_quarters BETWEEN 1 AND scale_high - scale_low"
        )
        projects.create_check_constraint(
            "step_on_scale", "step_quarters BETWEEN 1 AND scale_high - scale_low"
        )
    for name, columns in _GRADES.items():
        with op.batch_alter_table(name) as table:
            for column in columns:
                table.drop_constraint(f"{column}_on_scale", type_="check")
    for name, columns in _DISTANCES.items():
        with op.batch_alter_table(name) as table:
            for column in columns:
                table.drop_constraint(f"{column}_on_scale", type_="check")
                table.create_check_constraint(f"{column}_distance", f"{column} BETWEEN 0 AND 400")
    for name, (check, first) in _POINTS.items():
        with op.batch_alter_table(name) as table:
            table.drop_constraint(check, type_="check")
            table.create_check_constraint(check, f"grade BETWEEN {first} AND 10")
