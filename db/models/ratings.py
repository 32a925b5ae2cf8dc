"""Who has a pair, its grades and decisions with their history, and what raters said of it.

Grades of a rater that an administrator has set aside are kept as they were, and counted nowhere.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, index_where, one_of


class Assignment(Base):
    """A pair that a rater holds, rated, skipped, let go, or may not have. Held ones end with their lease."""

    __tablename__ = "assignments"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    state: Mapped[str] = mapped_column(String(16))
    """held and rated take a slot of the pair; skipped, returned, barred (wrote it, saw the requested grade,
    or decided on it) and set_aside (see `SetAsideRating`) do not."""
    position: Mapped[int] = mapped_column(BigInteger)
    """The pair's, so that a rater's queue needs no join."""
    claimed_at: Mapped[datetime]
    lease_expires_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("pair_id", "rater_id"),
        Index("ix_assignments_queue", "project_id", "rater_id", "state", "position"),
        index_where("state = 'held'", "ix_assignments_lease", "project_id", "lease_expires_at"),
        one_of("state", "held", "rated", "skipped", "returned", "barred", "set_aside"),
        CheckConstraint("state <> 'held' OR lease_expires_at IS NOT NULL", name="held_has_lease"),
    )


class Rating(Base):
    """The grade that counts. Every change of it is in the history."""

    __tablename__ = "ratings"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int]
    seconds: Mapped[float | None]
    """From showing the pair to the last submit, summed over revisions; null for imported ratings."""
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("pair_id", "rater_id"),
        Index("ix_ratings_recent", "project_id", "rater_id", "updated_at"),
    )


class RatingChange(Base):
    """The history of ratings, append-only: a trigger refuses changes."""

    __tablename__ = "rating_history"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), index=True)
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int]
    previous_quarters: Mapped[int | None]
    seconds: Mapped[float | None]
    origin: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime]

    __table_args__ = (one_of("origin", "page", "import"),)


class Repeat(Base):
    """A pair that came back to its rater: their second answer, which is no rating and counts nowhere else.

    Every change of its grade is in the history.
    """

    __tablename__ = "repeats"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    state: Mapped[str] = mapped_column(String(16))
    """A held one waits for its rater, without a lease: it is in nobody's way."""
    graded_before: Mapped[int]
    """Pairs that the rater had graded when this one came back."""
    first_quarters: Mapped[int | None]
    """What their rating was when they graded the pair again; a later change of it is not."""
    quarters: Mapped[int | None]
    seconds: Mapped[float | None]
    comment: Mapped[str] = mapped_column(default="")
    is_flagged: Mapped[bool] = mapped_column(default=False)
    claimed_at: Mapped[datetime]
    answered_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("pair_id", "rater_id"),
        Index("ix_repeats_rater", "project_id", "rater_id", "state"),
        one_of("state", "held", "rated", "skipped"),
        CheckConstraint("(state = 'rated') = (quarters IS NOT NULL)", name="rated_has_grade"),
        CheckConstraint("(quarters IS NULL) = (first_quarters IS NULL)", name="grade_has_first"),
    )


class RepeatChange(Base):
    """The history of second grades, append-only as that of ratings."""

    __tablename__ = "repeat_history"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), index=True)
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int]
    previous_quarters: Mapped[int | None]
    seconds: Mapped[float | None]
    at: Mapped[datetime]


class KeptAgreement(Base):
    """The report on agreement of a large project, which its page shows while the next one is made."""

    __tablename__ = "kept_agreement"

    project_id: Mapped[int] = mapped_column(
        ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    version: Mapped[str]
    """Of the data that it is of."""
    content: Mapped[str]
    """JSON, of the version of the program that made it."""
    seconds: Mapped[float]
    """How long making it took."""
    made_at: Mapped[datetime]


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
    )


class Skip(Base):
    """A rater's reason for passing over a pair; the pair goes to somebody else."""

    __tablename__ = "skips"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), index=True)
    rater_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    reason: Mapped[str] = mapped_column(String(24))
    note: Mapped[str] = mapped_column(default="")
    at: Mapped[datetime]

    __table_args__ = (one_of("reason", "not_understood", "broken_text", "not_my_language", "other"),)


class Comment(Base):
    """A rater's comment on a pair, one for each, the last wording; a flagged one asks to be looked at."""

    __tablename__ = "comments"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    text: Mapped[str]
    is_flagged: Mapped[bool] = mapped_column(default=False)
    updated_at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("pair_id", "user_id"),)


class Adjudication(Base):
    """The decision on a pair; it is the gold grade for as long as it stands."""

    __tablename__ = "adjudications"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), unique=True)
    adjudicator_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int]
    cause: Mapped[str] = mapped_column(String(24))
    note: Mapped[str] = mapped_column(default="")
    decided_at: Mapped[datetime]

    __table_args__ = (
        one_of("cause", "overlooked_text", "misunderstood", "scale", "guideline", "true_ambiguity"),
    )


class AdjudicationChange(Base):
    """The history of decisions, append-only; a withdrawn decision has no grade."""

    __tablename__ = "adjudication_history"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), index=True)
    adjudicator_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    quarters: Mapped[int | None]
    cause: Mapped[str | None] = mapped_column(String(24))
    note: Mapped[str] = mapped_column(default="")
    at: Mapped[datetime]
