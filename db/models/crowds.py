"""Shared links, who came by them, and what they are told at the end."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, one_of

ARRIVAL_SOURCES = ("open", "prolific", "mturk")
OUTCOMES = ("finished", "screened_out", "nothing_left")


class SharedLink(Base):
    """A link that makes raters of one project of many people, until it is full, ends or is revoked."""

    __tablename__ = "shared_links"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    most: Mapped[int]
    """The most people who come in by it."""
    note: Mapped[str] = mapped_column(String(120), default="")
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]

    __table_args__ = (CheckConstraint("most >= 1", name="most_positive"),)


class Arrival(Base):
    """Somebody who came by a shared link; a worker of a crowd is known by the platform's id."""

    __tablename__ = "arrivals"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    link_id: Mapped[int] = mapped_column(ForeignKey("shared_links.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    source: Mapped[str] = mapped_column(String(16))
    worker_id: Mapped[str | None] = mapped_column(String(80))
    """PROLIFIC_PID or workerId; null for who chose a name."""
    study_id: Mapped[str] = mapped_column(String(80), default="")
    """STUDY_ID or hitId."""
    session_id: Mapped[str] = mapped_column(String(80), default="")
    """SESSION_ID or assignmentId, of the last time that they came."""
    key: Mapped[str] = mapped_column(String(16))
    """Their own part of a completion code."""
    arrived_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str | None] = mapped_column(String(16))
    code: Mapped[str | None] = mapped_column(String(120))
    """The completion code that they were shown."""

    __table_args__ = (
        UniqueConstraint("project_id", "user_id"),
        UniqueConstraint("project_id", "source", "worker_id"),
        one_of("source", *ARRIVAL_SOURCES),
        one_of("outcome", *OUTCOMES),
        CheckConstraint("(source = 'open') = (worker_id IS NULL)", name="workers_have_ids"),
        CheckConstraint("(ended_at IS NULL) = (outcome IS NULL)", name="end_has_outcome"),
    )


class CrowdSettings(Base):
    """What is shown at the end to who came by a shared link; without a row, nothing is."""

    __tablename__ = "crowd_settings"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    completion_code: Mapped[str] = mapped_column(String(80))
    screen_out_code: Mapped[str] = mapped_column(String(80))
    return_address: Mapped[str]
    contact: Mapped[str] = mapped_column(String(200))
    """Whom to ask."""
