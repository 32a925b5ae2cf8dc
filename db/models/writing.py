"""Larger items, and the texts that are written for them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, index_where, one_of

_IS_AT_WORK = "state IN ('held', 'submitted', 'sent_back', 'accepted')"
"""Of a writing: nobody else writes for its item."""


class WritingPlan(Base):
    """How pairs are written in a project; whoever hands out larger items locks it."""

    __tablename__ = "writing_plans"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    has_zeros: Mapped[bool] = mapped_column(default=True)
    """Whether a share of the larger items is reserved for pairs of grade 0."""
    updated_at: Mapped[datetime]
    bounds: Mapped[dict[str, Any]]
    """By type: what sizes its items may have, where they are not the usual ones."""


LAST_POINT = 10
"""Requested grades are numbers of the scale's points, from 0: on the usual one the grades themselves."""


class LargerItem(Base):
    """A text for which a smaller one is to be written. Who has it, and at which grade, is in its `grade`."""

    __tablename__ = "larger_items"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    external_id: Mapped[str] = mapped_column(String(200))
    type: Mapped[str] = mapped_column(String(80))
    text: Mapped[str]
    genre: Mapped[str | None] = mapped_column(String(200))
    source: Mapped[str | None]
    fingerprint: Mapped[str] = mapped_column(String(64))
    """SHA-256 of type and text: tells the same item under another id."""
    position: Mapped[int] = mapped_column(BigInteger)
    """Its place in the order of writing."""
    import_order: Mapped[int]
    grade: Mapped[int | None]
    """The requested grade, 1 to 4, while a writer has it or its pair is made; 0 once it is reserved."""
    pair_id: Mapped[int | None] = mapped_column(ForeignKey("pairs.id", ondelete="SET NULL"), unique=True)
    """The pair that was made of it."""
    withdrawn_at: Mapped[datetime | None]
    """Since then no writer is given it; its drafts are kept."""

    __table_args__ = (
        UniqueConstraint("project_id", "external_id", "type"),
        UniqueConstraint("project_id", "fingerprint"),
        UniqueConstraint("project_id", "import_order"),
        Index("ix_larger_items_group", "project_id", "type", "genre", "grade"),
        index_where("grade IS NULL", "ix_larger_items_open", "project_id", "position"),
        CheckConstraint(f"grade BETWEEN 0 AND {LAST_POINT}", name="grade_known"),
        CheckConstraint("pair_id IS NULL OR grade IS NOT NULL", name="paired_has_grade"),
    )


class Writing(Base):
    """A writer's text for a larger item: a draft as it is typed, then what is reviewed."""

    __tablename__ = "writings"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    item_id: Mapped[int] = mapped_column(ForeignKey("larger_items.id", ondelete="CASCADE"))
    writer_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    state: Mapped[str] = mapped_column(String(16))
    """held, sent_back: the writer has the item; submitted: an editor; blank, handed_on, returned: nobody."""
    grade: Mapped[int]
    """The grade that was requested, 1 to 4."""
    text: Mapped[str] = mapped_column(default="")
    senses: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Where the text is a sense key: the pair's `senses`, and under "key" the text that they are of."""
    version: Mapped[int] = mapped_column(default=0)
    """Counts the changes of `text`, so that an old window cannot overwrite a newer one."""
    note: Mapped[str] = mapped_column(default="")
    """Of the editor who sent it back, or of the writer who left it blank."""
    seconds: Mapped[float | None]
    """How long the writer looked at the item."""
    claimed_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    lease_expires_at: Mapped[datetime | None]

    __table_args__ = (
        UniqueConstraint("item_id", "writer_id"),
        index_where(_IS_AT_WORK, "ix_writings_one_writer", "item_id", unique=True),
        Index("ix_writings_queue", "project_id", "state", "updated_at"),
        Index("ix_writings_mine", "project_id", "writer_id", "state"),
        one_of("state", "held", "submitted", "sent_back", "accepted", "blank", "handed_on", "returned"),
        CheckConstraint(f"grade BETWEEN 1 AND {LAST_POINT}", name="grade_requested"),
        CheckConstraint("state <> 'held' OR lease_expires_at IS NOT NULL", name="held_has_lease"),
    )


class GradeViewer(Base):
    """An editor who opened a text and saw the grade requested for its item: they never grade the pair."""

    __tablename__ = "grade_viewers"

    item_id: Mapped[int] = mapped_column(ForeignKey("larger_items.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    first_at: Mapped[datetime]


class WritingChange(Base):
    """The history of written texts, append-only: submitted, left blank, sent back, edited, accepted."""

    __tablename__ = "writing_history"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("larger_items.id", ondelete="CASCADE"), index=True)
    writer_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    """Who did it: the writer or an editor."""
    action: Mapped[str] = mapped_column(String(16))
    grade: Mapped[int]
    text: Mapped[str] = mapped_column(default="")
    note: Mapped[str] = mapped_column(default="")
    at: Mapped[datetime]

    __table_args__ = (
        one_of("action", "submitted", "blank", "sent_back", "handed_on", "edited", "accepted"),
        CheckConstraint(f"grade BETWEEN 1 AND {LAST_POINT}", name="grade_requested"),
    )
