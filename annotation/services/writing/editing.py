"""What editors do with written texts: accept, edit, send back, hand on; and the pairs of grade 0.

Whoever saw the grade requested for an item is barred from grading its pair, in the transaction that makes it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.authoring import LONGEST_WRITTEN
from annotation.characters import shortened
from annotation.clock import Clock, utcnow
from annotation.errors import NotFoundError, WordNetError, WritingError
from annotation.notes import LONGEST_NOTE, clean_text, kept_text
from annotation.senses.dictionary import Dictionary
from annotation.senses.network import WORD_TO_SENSE, PairSenses, is_meant_as_key, is_sense_key
from annotation.senses.pair_senses import described, senses_as_json
from annotation.services.access.users import id_of
from annotation.services.audit import record
from annotation.services.pair_texts import SmallerItem, senses_of, senses_of_all
from annotation.services.projects import find_project
from annotation.services.transactions import in_transaction
from annotation.services.writing.pairs import Zeros, add_pair, make_zeros
from annotation.services.writing.plan import lock_plan, read_plan
from annotation.services.writing.rows import admit, refuse_absent, remember, remember_viewer, viewers_of
from annotation.services.writing.tasks import compared, task_of
from annotation.services.writing.waiting_texts import Submitted, as_submitted, steps_of, waiting_texts
from annotation.types import Role, User
from db import Database
from db.models import LargerItem, Writing

EDITORS = (Role.EDITOR, Role.ADMINISTRATOR)
LISTED = 200
NO_WORDNET = (
    "Raters will see this key without its meaning, as there is no WordNet on this server: its administrator "
    "can add one, see docs/annotation.md."
)


class EditingService:
    """Every call checks that the user is an editor or administrator of the project."""

    def __init__(
        self, database: Database, clock: Clock = utcnow, dictionary: Dictionary | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._dictionary = dictionary or Dictionary()

    def queue(self, project_id: int, editor_id: int) -> tuple[Submitted, ...]:
        """The texts that wait, the first submitted first, at most `LISTED`.

        Raises:
            NotFoundError: there is no such project.
            AccessError: the user is not an editor in it.
        """
        with self._database.reading() as session:
            admit(session, project_id, editor_id, *EDITORS)
            rows = session.execute(waiting_texts(project_id).limit(LISTED)).all()
            items = [SmallerItem(item.type, row.text, row.senses) for row, item, _ in rows]
            senses = senses_of_all(session, project_id, items)
            return tuple(as_submitted(*row, its) for row, its in zip(rows, senses, strict=True))

    def text(self, project_id: int, writing_id: int, editor_id: int) -> Submitted:
        """A text that waits, with what is to be said of it and what was done with it.

        The editor sees the requested grade with it, which is written down: they never grade the pair.

        Raises:
            NotFoundError: there is none, or another editor was faster.
            AccessError: the user is not an editor in the project.
        """
        in_transaction(
            self._database,
            self._clock,
            lambda session, now: _open(session, project_id, writing_id, editor_id, now),
        )
        with self._database.reading() as session:
            admit(session, project_id, editor_id, *EDITORS)
            row = session.execute(waiting_texts(project_id).where(Writing.id == writing_id)).one_or_none()
            if row is None:
                raise _gone(writing_id)
            writing, item, name = row
            check = compared(session, task_of(session, writing, read_plan(session, project_id))).check
            senses = senses_of(session, project_id, item.type, writing.text, writing.senses)
            found = replace(
                as_submitted(writing, item, name, senses),
                check=check,
                scale_words=find_project(session, project_id).scale_words or "",
                steps=steps_of(session, writing.item_id),
            )
        if found.senses is not None:
            return found
        meaning, reason = self._looked_up(found.type, found.text)
        return replace(found, senses=meaning, no_meaning=reason)

    def accept(
        self, project_id: int, writing_id: int, editor_id: int, *, version: int, text: str | None = None
    ) -> int:
        """Make a pair of the text, or of what the editor made of it; the id of the pair.

        The requested grade becomes the pair's intended one, which raters do not see. Whoever saw it
        never grades the pair.

        Raises:
            NotFoundError: there is no such text.
            AccessError: the user is not an editor in the project.
            WritingError: another editor was faster, the text is empty, or the pair is there already.
        """

        def accept(session: Session, now: datetime) -> int:
            project, _ = admit(session, project_id, editor_id, *EDITORS)
            find_project(session, project_id, lock=True)
            row = _lock(session, project_id, writing_id, version)
            if text is not None and (edited := _checked(text)) != row.text:
                row.text, row.version = edited, row.version + 1
                remember(session, row, "edited", editor_id, now)
            item = session.get_one(LargerItem, row.item_id)
            barred = {editor_id, *viewers_of(session, item.id)}
            chosen = row.senses
            if senses_of(session, project_id, item.type, row.text, chosen) is None:
                found, _ = self._looked_up(item.type, row.text)
                chosen = None if found is None else {"key": row.text, **senses_as_json(found)}
            pair_id = add_pair(session, project, item, row.text, row.grade, barred, now, chosen)
            item.pair_id = pair_id
            row.state, row.updated_at = "accepted", now
            remember(session, row, "accepted", editor_id, now)
            return pair_id

        return in_transaction(self._database, self._clock, accept)

    def send_back(self, project_id: int, writing_id: int, editor_id: int, note: str, *, version: int) -> None:
        """Have the writer rewrite it; the note says why.

        Raises:
            NotFoundError, AccessError: as of `accept`.
            WritingError: another editor was faster, the note is empty, or the writer has left.
        """
        self._refuse(project_id, writing_id, editor_id, note, version, "sent_back")

    def hand_on(self, project_id: int, writing_id: int, editor_id: int, note: str, *, version: int) -> None:
        """Have another writer write for the item; the note says why. Errors are those of `send_back`."""
        self._refuse(project_id, writing_id, editor_id, note, version, "handed_on")

    def make_zeros(self, project_id: int, *, by: User | None = None) -> Zeros:
        """Pairs of grade 0 of the items that are reserved. Who is allowed to is for the caller to `require`.

        Raises:
            NotFoundError: there is no such project.
        """

        def make(session: Session, now: datetime) -> Zeros:
            find_project(session, project_id, lock=True)
            lock_plan(session, project_id, now)
            zeros = make_zeros(session, project_id, now)
            record(
                session,
                now,
                "zero pairs made",
                user_id=id_of(by),
                project_id=project_id,
                pairs=zeros.made,
                without_partner=zeros.waiting,
            )
            return zeros

        return in_transaction(self._database, self._clock, make)

    def _looked_up(self, type: str, text: str) -> tuple[PairSenses | None, str]:
        """What WordNet says of a sense that was typed by its key, or why there is nothing, in a sentence."""
        if type != WORD_TO_SENSE or not is_meant_as_key(text):
            return None, ""
        try:
            wordnet = self._dictionary.open()
        except WordNetError:
            return None, NO_WORDNET
        found = described(text, wordnet) if is_sense_key(text) else None
        if found is not None:
            return found, ""
        return None, (
            f"WordNet has no sense with the key “{shortened(text)}”, which raters would see without meaning: "
            "write one such as top%2:38:04::, or send it back."
        )

    def _refuse(
        self, project_id: int, writing_id: int, editor_id: int, note: str, version: int, action: str
    ) -> None:
        said = kept_text(note, "note", LONGEST_NOTE)
        if not said:
            raise WritingError("The note is empty: say in a sentence what the writer should do differently.")

        def refuse(session: Session, now: datetime) -> None:
            admit(session, project_id, editor_id, *EDITORS)
            lock_plan(session, project_id, now)
            row = _lock(session, project_id, writing_id, version)
            if action == "sent_back":
                refuse_absent(session, project_id, row.writer_id)
            else:
                session.get_one(LargerItem, row.item_id).grade = None
            row.state, row.note, row.updated_at = action, said, now
            remember(session, row, action, editor_id, now, said)

        in_transaction(self._database, self._clock, refuse)


def _open(session: Session, project_id: int, writing_id: int, editor_id: int, now: datetime) -> None:
    """Note that the editor opens a text; the lock keeps this apart from accepting it."""
    admit(session, project_id, editor_id, *EDITORS)
    row = session.scalar(
        select(Writing)
        .where(Writing.id == writing_id, Writing.project_id == project_id, Writing.state == "submitted")
        .with_for_update()
    )
    if row is None:
        raise _gone(writing_id)
    remember_viewer(session, row.item_id, editor_id, now)


def _gone(writing_id: int) -> NotFoundError:
    return NotFoundError(f"The text {writing_id} is no longer waiting for an editor: choose another one.")


def _lock(session: Session, project_id: int, writing_id: int, version: int) -> Writing:
    row = session.scalar(
        select(Writing)
        .where(Writing.id == writing_id, Writing.project_id == project_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if row is None:
        raise NotFoundError(f"There is no text {writing_id} in this project: choose another one.")
    if row.state != "submitted" or row.version != version:
        raise WritingError("Another editor was faster with this text: see how it reads now, or go on.")
    return row


def _checked(text: str) -> str:
    kept = clean_text(text).strip()
    if not kept:
        raise WritingError("The text is empty: write it, or send it back.")
    if len(kept) > LONGEST_WRITTEN:
        raise WritingError(f"The text has {len(kept):,} characters: shorten it to {LONGEST_WRITTEN:,}.")
    return kept
