"""What people agreed to before they worked in a project."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base


class Consent(Base):
    """That a user agreed to a text; it is never changed, and one who leaves did agree."""

    __tablename__ = "consents"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    text_sha256: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("project_id", "user_id", "text_sha256"),)
