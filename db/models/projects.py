"""Projects, their members, what these agreed to, and the pairs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import MOST_STEPS, ROLES, Base, index_where, one_of


class Project(Base):
    __tablename__ = "projects"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(120))
    name_key: Mapped[str] = mapped_column(String(360), unique=True)
    guidelines: Mapped[str] = mapped_column(default="")
    """Markdown, shown to raters."""
    types: Mapped[list[str]]
    """Comparison types in the order of reports, such as sentence2phrase."""
    raters_per_pair: Mapped[int]
    threshold_quarters: Mapped[int | None]
    """Ratings so far apart flag a pair; null for no adjudication."""
    step_quarters: Mapped[int]
    """In which raters grade."""
    scale_step: Mapped[str] = mapped_column(String(16), server_default="0.25")
    """Of the scale, as a decimal: what a stored grade is a whole number of."""
    scale_low: Mapped[int] = mapped_column(server_default="0")
    """The lowest grade, in steps."""
    scale_high: Mapped[int] = mapped_column(server_default="16")
    is_random: Mapped[bool]
    seed: Mapped[int] = mapped_column(BigInteger)
    may_revise: Mapped[bool]
    lease_minutes: Mapped[int]
    most_per_rater: Mapped[int | None]
    """The most pairs that one rater is given; null for any number."""
    created_by: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime]
    consent: Mapped[str | None]
    """Markdown that raters and writers agree to before they work; null for none."""
    consent_sha256: Mapped[str | None] = mapped_column(String(64))
    """Of the text as it reads now."""
    scale_words: Mapped[str | None]
    """The project's own names and descriptions of the five points; null for those of the paper's Table 1."""
    average: Mapped[str] = mapped_column(String(8), server_default="mean")
    """Of a pair's ratings: the gold grade where there is no decision."""
    language: Mapped[str] = mapped_column(String(8), server_default="en")
    """In which raters meet the pages, as a code such as de."""
    repeat_percent: Mapped[int] = mapped_column(server_default="0")
    """So many percent of a rater's pairs come back to them."""
    checks_of_id: Mapped[int | None] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    """The project whose check pairs are kept here, out of all that is counted there; it is in no list."""

    __table_args__ = (
        Index("ix_projects_checks_of_id", "checks_of_id", unique=True),
        CheckConstraint("raters_per_pair >= 1", name="at_least_one_rater"),
        CheckConstraint(f"scale_high - scale_low BETWEEN 1 AND {MOST_STEPS}", name="scale_has_steps"),
        CheckConstraint("threshold_quarters BETWEEN 1 AND scale_high - scale_low", name="threshold_on_scale"),
        CheckConstraint("step_quarters BETWEEN 1 AND scale_high - scale_low", name="step_on_scale"),
        CheckConstraint("lease_minutes >= 1", name="lease_positive"),
        CheckConstraint("most_per_rater >= 1", name="most_per_rater_positive"),
        one_of("average", "mean", "median"),
        CheckConstraint("repeat_percent BETWEEN 0 AND 50", name="repeat_percent_share"),
        CheckConstraint("(consent IS NULL) = (consent_sha256 IS NULL)", name="consent_has_hash"),
    )


class Membership(Base):
    """A role of a user in a project; one user may have several."""

    __tablename__ = "memberships"

    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[str] = mapped_column(String(16), primary_key=True)

    __table_args__ = (one_of("role", *ROLES),)


class Consent(Base):
    """That a user agreed to a text; it is never changed, and one who leaves did agree."""

    __tablename__ = "consents"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    text_sha256: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("project_id", "user_id", "text_sha256"),)


class Pair(Base):
    """A larger and a smaller item. What is counted from its ratings changes in the same transaction."""

    __tablename__ = "pairs"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    external_id: Mapped[str] = mapped_column(String(200))
    """The id in the file that it came from."""
    type: Mapped[str] = mapped_column(String(80))
    left: Mapped[str]
    right: Mapped[str]
    genre: Mapped[str | None] = mapped_column(String(200))
    intended_quarters: Mapped[int | None]
    source: Mapped[str | None]
    senses: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Of a word and a sense: flag, definitions, parents, siblings (annotation.sense_pairs)."""
    fingerprint: Mapped[str] = mapped_column(String(64))
    """SHA-256 of type and texts: tells the same pair under another id."""
    position: Mapped[int] = mapped_column(BigInteger)
    """Its place in the order of rating."""
    import_order: Mapped[int]
    """Its place in the order of import, which exports keep; unique in the project."""
    open_slots: Mapped[int]
    """How many more raters may still take it: raters_per_pair less held and rated assignments."""
    rating_count: Mapped[int] = mapped_column(default=0)
    low_quarters: Mapped[int | None]
    high_quarters: Mapped[int | None]
    spread_quarters: Mapped[int] = mapped_column(default=0)
    """high_quarters - low_quarters; 0 with fewer than two ratings."""
    withdrawn_at: Mapped[datetime | None]
    """Since when it is given to no rater and counts nowhere; what was said of it is kept."""

    __table_args__ = (
        UniqueConstraint("project_id", "external_id", "type"),
        UniqueConstraint("project_id", "import_order"),
        Index("ix_pairs_fingerprint", "project_id", "fingerprint"),
        index_where("open_slots > 0 AND withdrawn_at IS NULL", "ix_pairs_open", "project_id", "position"),
        Index("ix_pairs_spread", "project_id", "spread_quarters", "withdrawn_at"),
        # With what is counted, so that a project's counts are read from the index and never touch the texts.
        Index(
            "ix_pairs_type",
            "project_id",
            "type",
            "genre",
            "rating_count",
            "spread_quarters",
            "withdrawn_at",
        ),
        # With the column of its condition: else SQLite takes a larger index that has it, and reads all of it.
        index_where("withdrawn_at IS NOT NULL", "ix_pairs_withdrawn", "project_id", "withdrawn_at"),
        CheckConstraint("open_slots >= 0", name="no_slot_given_twice"),
        CheckConstraint("rating_count >= 0", name="rating_count_positive"),
        CheckConstraint("spread_quarters >= 0", name="spread_positive"),
    )
