"""Predicted keyphrases that were sent to a project."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, one_of


class HandOver(Base):
    """Predictions of the public page that wait, for an hour, until an administrator chooses a project."""

    __tablename__ = "hand_overs"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    sender: Mapped[str] = mapped_column(String(80))
    content: Mapped[bytes] = mapped_column(LargeBinary)
    """JSON, compressed; empty once it was sent."""
    size: Mapped[int]
    """Bytes of the content: a sum of them reads no content."""
    project_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    """Where it was sent, which is remembered for a day."""
    at: Mapped[datetime] = mapped_column(index=True)


class SentDocument(Base):
    """A document whose predicted keyphrases were sent to a project, to be graded as pairs."""

    __tablename__ = "sent_documents"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    external_id: Mapped[str] = mapped_column(String(200))
    title: Mapped[str]
    body: Mapped[str]
    language: Mapped[str] = mapped_column(String(16))
    """ISO 639-1; empty where nobody has told it."""
    fingerprint: Mapped[str] = mapped_column(String(64))
    """SHA-256 of title and body: tells the same document under another id."""
    created_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("project_id", "external_id"),
        Index("ix_sent_documents_fingerprint", "project_id", "fingerprint", unique=True),
    )


class SentPhrase(Base):
    """The pair of a document and a phrase that some model predicted for it."""

    __tablename__ = "sent_phrases"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    document_id: Mapped[int] = mapped_column(ForeignKey("sent_documents.id", ondelete="CASCADE"))
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id", ondelete="CASCADE"), unique=True)
    key: Mapped[str]
    """Its stems: two phrases of a document with the same key are one."""
    is_present: Mapped[bool]

    __table_args__ = (UniqueConstraint("document_id", "key"),)


class SentRun(Base):
    """That a model read a document, whatever it predicted. Never shown to raters."""

    __tablename__ = "sent_runs"

    id: Mapped[int] = mapped_column(primary_key=True)
    document_id: Mapped[int] = mapped_column(ForeignKey("sent_documents.id", ondelete="CASCADE"))
    model: Mapped[str] = mapped_column(String(200))

    __table_args__ = (UniqueConstraint("document_id", "model"),)


class SentPrediction(Base):
    """What a model said of a phrase: rank, score, and its own spelling. Never shown to raters."""

    __tablename__ = "sent_predictions"

    run_id: Mapped[int] = mapped_column(ForeignKey("sent_runs.id", ondelete="CASCADE"), primary_key=True)
    phrase_id: Mapped[int] = mapped_column(
        ForeignKey("sent_phrases.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    rank: Mapped[int]
    """From 1, in one ranking of present and absent phrases."""
    score: Mapped[float]
    text: Mapped[str]

    __table_args__ = (CheckConstraint("rank >= 1", name="rank_from_one"),)


class SentOrder(Base):
    """A project in which raters meet predicted keyphrases in another order than the project's own."""

    __tablename__ = "sent_orders"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    chosen_at: Mapped[datetime]

    __table_args__ = (one_of("kind", "uncertain", "mixed", "document"),)
