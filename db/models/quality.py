"""The quality of raters: training, checks and pauses."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, is_distance


class QualitySettings(Base):
    """How a project looks after the quality of its raters; without a row it has the defaults."""

    __tablename__ = "quality_settings"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    training_quarters: Mapped[int]
    """A training grade so far from the known one, or nearer, is accepted."""
    pass_percent: Mapped[int]
    check_every: Mapped[int]
    """One pair in so many is a check pair; 0 for none."""
    check_quarters: Mapped[int]
    """A grade of a check pair so far from the known one, or nearer, is accepted."""
    training_tries: Mapped[int] = mapped_column(default=0, server_default="0")
    """How often a rater may go through the training pairs; 0 for any number."""
    block_wrong: Mapped[int] = mapped_column(default=0, server_default="0")
    """A rater with so many wrong check grades among their last `block_of` is blocked; 0 for never."""
    block_of: Mapped[int] = mapped_column(default=0, server_default="0")

    __table_args__ = (
        CheckConstraint("training_tries >= 0", name="training_tries_counted"),
        CheckConstraint("block_wrong BETWEEN 0 AND block_of", name="block_within"),
        is_distance("training_quarters"),
        is_distance("check_quarters"),
        CheckConstraint("pass_percent BETWEEN 0 AND 100", name="pass_percent_share"),
        CheckConstraint("check_every = 0 OR check_every >= 2", name="check_every_some"),
    )


class RaterState(Base):
    """How a rater stands in a project: at work or paused, trained or excused, and when checks are due."""

    __tablename__ = "rater_states"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    paused_at: Mapped[datetime | None]
    passed_at: Mapped[datetime | None]
    excused_at: Mapped[datetime | None]
    check_start: Mapped[int | None]
    """Pairs that they had when checks began; null until they are given a pair after that."""
    check_given: Mapped[int | None]
    """Check pairs that they had been given by then."""
    blocked_at: Mapped[datetime | None]
    """Since when their check grades keep them from going on; they are paused as well then."""
    unblocked_at: Mapped[datetime | None]
    """Only check grades given after this moment can block them again."""


class TrainingPair(Base):
    """A pair with a known grade, which a rater grades before their work begins. A retired one is kept for its
    attempts."""

    __tablename__ = "training_pairs"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    external_id: Mapped[str] = mapped_column(String(200))
    type: Mapped[str] = mapped_column(String(80))
    left: Mapped[str]
    right: Mapped[str]
    senses: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """As those of a pair."""
    quarters: Mapped[int]
    explanation: Mapped[str] = mapped_column(default="")
    import_order: Mapped[int]
    retired_at: Mapped[datetime | None]


class TrainingAttempt(Base):
    """A rater's way through the training pairs, with the settings by which it is judged."""

    __tablename__ = "training_attempts"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    number: Mapped[int]
    accepted_quarters: Mapped[int]
    pass_percent: Mapped[int]
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    pairs: Mapped[int] = mapped_column(default=0)
    """Of a finished attempt, like the next two."""
    accepted: Mapped[int] = mapped_column(default=0)
    has_passed: Mapped[bool] = mapped_column(default=False)

    __table_args__ = (
        UniqueConstraint("project_id", "user_id", "number"),
        is_distance("accepted_quarters"),
        CheckConstraint("pass_percent BETWEEN 0 AND 100", name="pass_percent_share"),
    )


class TrainingGrade(Base):
    """What a rater gave a training pair; its known grade was shown to them then, so that it stays."""

    __tablename__ = "training_grades"

    id: Mapped[int] = mapped_column(primary_key=True)
    attempt_id: Mapped[int] = mapped_column(ForeignKey("training_attempts.id", ondelete="CASCADE"))
    training_pair_id: Mapped[int] = mapped_column(
        ForeignKey("training_pairs.id", ondelete="CASCADE"), index=True
    )
    quarters: Mapped[int]
    seconds: Mapped[float | None]
    at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("attempt_id", "training_pair_id"),)
