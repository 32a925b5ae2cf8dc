"""Exports, gold sets, and the systems that are measured on them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, one_of


class Export(Base):
    """A gold set that was written: when, by whom, with what options, and the hash of its manifest."""

    __tablename__ = "exports"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    format: Mapped[str] = mapped_column(String(16))
    options: Mapped[dict[str, Any]]
    pairs: Mapped[int]
    manifest_sha256: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]


class RaterNumber(Base):
    """The number that stands for a rater in a project where names are not shown; it is theirs for good."""

    __tablename__ = "rater_numbers"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    rater_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    """None of a number that is nobody's, since earlier versions gave it to two raters."""
    is_exported: Mapped[bool]
    """It stands in an exported file, so that an imported one may mean this rater by it."""

    __table_args__ = (
        UniqueConstraint("project_id", "rater_id"),
        CheckConstraint("number >= 1", name="number_positive"),
    )


class GoldSet(Base):
    """Gold grades as they were when systems were measured on them: the project's of that day, or others."""

    __tablename__ = "gold_sets"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(200))
    """Of the files they came from; empty for the project's own."""
    sha256: Mapped[str] = mapped_column(String(64))
    """Of types, ids, texts, genres and grades: tells one version of the gold from another."""
    pairs: Mapped[int]
    created_at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("project_id", "sha256"),)


class GoldGrade(Base):
    """A pair of a gold set, with all that running a system on it takes."""

    __tablename__ = "gold_grades"

    gold_set_id: Mapped[int] = mapped_column(ForeignKey("gold_sets.id", ondelete="CASCADE"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """In the order of the gold set, from 0."""
    type: Mapped[str] = mapped_column(String(80))
    external_id: Mapped[str] = mapped_column(String(200))
    left: Mapped[str]
    right: Mapped[str]
    genre: Mapped[str | None] = mapped_column(String(200))
    gold: Mapped[float]


class ScoredSystem(Base):
    """A system that is measured on a gold set."""

    __tablename__ = "systems"

    id: Mapped[int] = mapped_column(primary_key=True)
    gold_set_id: Mapped[int] = mapped_column(ForeignKey("gold_sets.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(80))
    name_key: Mapped[str] = mapped_column(String(240))
    origin: Mapped[str] = mapped_column(String(16))
    """scores: of a file; else which system was run here."""
    remark: Mapped[str] = mapped_column(default="")
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("gold_set_id", "name_key"),
        one_of("origin", "scores", "lcs", "gst", "embedding"),
    )


class SystemScore(Base):
    """The score of a system for a pair of its gold set; a type that it leaves out has none."""

    __tablename__ = "system_scores"

    system_id: Mapped[int] = mapped_column(ForeignKey("systems.id", ondelete="CASCADE"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Of the pair in the gold set."""
    score: Mapped[float]
