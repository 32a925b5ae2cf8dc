"""What all tables share: moments in UTC, names of constraints, and two checks of columns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, DateTime, Dialect, Index, MetaData, Text, TypeDecorator, text
from sqlalchemy.orm import DeclarativeBase

NAMING = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
MOST_STEPS = 400
"""Of a scale: from its lowest grade to its highest."""
ROLES = ("administrator", "adjudicator", "editor", "writer", "rater")


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


def index_where(condition: str, name: str, *columns: str, unique: bool = False) -> Index:
    """An index of the rows that meet the condition."""
    where = text(condition)
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


def is_distance(column: str) -> CheckConstraint:
    """Between two grades; that a grade is on its project's scale is for the triggers (db/triggers.py)."""
    return CheckConstraint(f"{column} BETWEEN 0 AND {MOST_STEPS}", name=f"{column}_distance")


def one_of(column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")
