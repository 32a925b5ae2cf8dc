"""Grades of a rater that an administrator has set aside: kept as they were, and counted nowhere."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, on_scale


class SetAside(Base):
    """That a rater's grades were set aside, and why; it goes once all of them are brought back."""

    __tablename__ = "set_asides"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    reason: Mapped[str]
    at: Mapped[datetime]

    __table_args__ = (Index("ix_set_asides_rater", "project_id", "rater_id"),)


class SetAsideRating(Base):
    """A rating as it was; its history stays, and its assignment says set_aside."""

    __tablename__ = "set_aside_ratings"

    id: Mapped[int] = mapped_column(primary_key=True)
    set_aside_id: Mapped[int] = mapped_column(ForeignKey("set_asides.id", ondelete="CASCADE"), index=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int]
    seconds: Mapped[float | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("pair_id", "rater_id"),
        Index("ix_set_aside_ratings_rater", "project_id", "rater_id"),
        on_scale("quarters"),
    )
