"""Texts that wait for an editor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from annotation.authoring import Check
from annotation.senses.network import PairSenses
from annotation.senses.pair_senses import senses_from_json
from db.models import LargerItem, Writing, WritingChange
from db.models import User as UserRow


@dataclass(frozen=True, slots=True)
class WritingStep:
    """Something that was done with a text."""

    at: datetime
    action: str
    by: str
    text: str
    note: str


@dataclass(frozen=True, slots=True)
class Submitted:
    """A text that waits for an editor."""

    id: int
    item_id: str
    type: str
    genre: str | None
    left: str
    text: str
    grade: int
    writer: str
    at: datetime
    version: int
    senses: PairSenses | None = None
    """Of a word and a sense what raters will see of it."""
    no_meaning: str = ""
    """Why there is none of a sense that was typed by its key, in a sentence."""
    check: Check | None = None
    scale_words: str = ""
    """Of the project, which name the grade."""
    steps: tuple[WritingStep, ...] = ()


def waiting_texts(project_id: int) -> Select[Writing, LargerItem, str]:
    """Each with its item and its writer, the first submitted first."""
    return (
        select(Writing, LargerItem, UserRow.name)
        .join(LargerItem, LargerItem.id == Writing.item_id)
        .join(UserRow, UserRow.id == Writing.writer_id)
        .where(Writing.project_id == project_id, Writing.state == "submitted")
        .order_by(Writing.updated_at, Writing.id)
    )


def steps_of(session: Session, item_id: int) -> tuple[WritingStep, ...]:
    """What was done with the texts of an item, the first step first."""
    steps = session.execute(
        select(WritingChange.at, WritingChange.action, UserRow.name, WritingChange.text, WritingChange.note)
        .join(UserRow, UserRow.id == WritingChange.user_id)
        .where(WritingChange.item_id == item_id)
        .order_by(WritingChange.id)
    )
    return tuple(WritingStep(*step) for step in steps)


def as_submitted(row: Writing, item: LargerItem, writer: str, senses: dict[str, Any] | None) -> Submitted:
    return Submitted(
        id=row.id,
        item_id=item.external_id,
        type=item.type,
        genre=item.genre,
        left=item.text,
        text=row.text,
        grade=row.grade,
        writer=writer,
        at=row.updated_at,
        version=row.version,
        senses=senses_from_json(senses),
    )
