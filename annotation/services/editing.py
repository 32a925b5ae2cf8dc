"""What editors do with written texts: accept, edit, send back; the pairs made of them, and the report.

Whoever saw the grade requested for an item is barred from grading its pair, in the transaction that makes it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import chain, count, groupby
from statistics import median
from typing import Any

from sqlalchemy import Select, exists, func, select
from sqlalchemy.orm import Session

from annotation.assignment import position_in
from annotation.authoring import (
    LONGEST_WRITTEN,
    UNRELATED,
    Candidate,
    Check,
    JudgedPair,
    WriterCounts,
    WritingReport,
    ZeroItem,
    long_text_problem,
    writing_report,
    zero_partners,
)
from annotation.comparison import UNNAMED, comparison_type
from annotation.errors import NotFoundError, WordNetError, WritingError
from annotation.exchange import LONGEST_ID, fingerprint
from annotation.gold import standing_of
from annotation.scale import CLSS, Scale
from annotation.sense_pairs import Dictionary, describe_sense, senses_from_json, senses_to_json
from annotation.senses import WORD_TO_SENSE, PairSenses, is_sense_key, looks_like_key
from annotation.services.audit import record
from annotation.services.gold import stream_pairs
from annotation.services.known_pairs import training_prints
from annotation.services.numbering import names_of
from annotation.services.project_rows import (
    IN_USE,
    SmallerItem,
    as_project,
    checks_project_of,
    find_project,
    next_order,
    scale_of,
    senses_of,
    senses_of_all,
)
from annotation.services.rater_queue import bar_raters
from annotation.services.transactions import count_where, in_transaction
from annotation.services.users import id_of
from annotation.services.writing import (
    admit,
    balance_of,
    compare_with_earlier,
    lock_plan,
    read_plan,
    refuse_absent,
    remember,
    remember_viewer,
    same_group,
    task_of,
    viewers_of,
)
from annotation.translation import _, mark
from annotation.types import Clock, Project, Role, User, utcnow
from annotation.wording import LONGEST_NOTE, MOST_SHOWN, clean_text, normalise_note
from db import Database
from db.models import LargerItem, Pair, Writing, WritingChange
from db.models import User as UserRow
from kpdemo.text import shorten


@dataclass(frozen=True, slots=True)
class WritingStep:
    """Something that was done with a text."""

    at: datetime
    action: str
    by: str
    text: str
    note: str


@dataclass(frozen=True, slots=True)
class WaitingText:
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
    scale: Scale = CLSS
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


def waiting_text(row: Writing, item: LargerItem, writer: str, senses: dict[str, Any] | None) -> WaitingText:
    return WaitingText(
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


@dataclass(frozen=True, slots=True)
class Zeros:
    """What became of the items that are reserved for pairs of grade 0."""

    made: int
    waiting: int
    """Items for which no smaller item is there yet."""


def add_pair(
    session: Session,
    project: Project,
    item: LargerItem,
    right: str,
    grade: int,
    barred: Iterable[int],
    now: datetime,
    senses: Mapping[str, Any] | None = None,
) -> int:
    """Add a pair to be graded; its id. The row of the project is locked.

    Args:
        barred: the users who may not grade it.
        senses: what the writer chose; of another text they are passed over.

    Raises:
        WritingError: it is there already, or is a training pair.
    """
    settings = project.settings
    mark = fingerprint(item.type, item.text, right)
    if session.scalar(_pair_prints(session, project.id).where(Pair.fingerprint == mark).limit(1)) is not None:
        raise WritingError(_("The same pair already exists: change the text, or hand the item on."))
    if mark in training_prints(session, project.id):
        raise WritingError(
            _(
                "This is a training pair of the project, and training reveals its grade: change the text, or "
                "hand the item on."
            )
        )
    order = next_order(session, Pair, project.id)
    external_id = _free_id(session, project.id, item)
    pair = Pair(
        project_id=project.id,
        external_id=external_id,
        type=item.type,
        left=item.text,
        right=right,
        genre=item.genre,
        intended_quarters=settings.scale.to_steps(Decimal(settings.scale.points[grade])),
        source=item.source,
        senses=senses_of(session, project.id, item.type, right, senses),
        fingerprint=mark,
        position=position_in(settings, item.type, external_id, order),
        import_order=order,
        open_slots=settings.raters_per_pair,
    )
    session.add(pair)
    session.flush()
    bar_raters(session.connection(), pair, barred, now)
    return pair.id


def _pair_prints(session: Session, project_id: int) -> Select[str]:
    return select(Pair.fingerprint).where(
        Pair.project_id.in_((project_id, checks_project_of(session, project_id)))
    )


def make_zeros(session: Session, project_id: int, now: datetime) -> Zeros:
    """Pair every item that is reserved with a smaller item of another one; project and plan are locked."""
    project = as_project(find_project(session, project_id))
    plan = read_plan(session, project_id)
    found = session.scalars(
        select(LargerItem).where(
            LargerItem.project_id == project_id, LargerItem.grade == UNRELATED, LargerItem.pair_id.is_(None)
        )
    )
    # Sorted here: databases differ in what comes first.
    reserved = sorted(found, key=lambda item: (item.type, item.genre or "", item.import_order))
    there: set[str] = set()
    if reserved:  # check and training pairs count: raters would meet them twice
        there.update(session.scalars(_pair_prints(session, project_id)))
        there.update(training_prints(session, project_id))
    made = 0
    for (type, genre), group in groupby(reserved, key=lambda item: (item.type, item.genre)):
        items = {item.external_id: item for item in group}
        partners = zero_partners(
            [ZeroItem(item.external_id, item.text, item.source) for item in items.values()],
            [*_candidates(session, project, type, genre)],
            plan.of(type).smaller,
            seed=project.settings.seed,
            used=_partners_in_use(session, project_id, type, genre),
            is_there=partial(_is_pair, there, type),
        )
        for zero, partner in partners:
            item = items[zero.id]
            barred = viewers_of(session, item.id, partner.larger_id)
            item.pair_id = add_pair(session, project, item, partner.text, UNRELATED, barred, now)
            there.add(fingerprint(type, item.text, partner.text))
            made += 1
    session.flush()
    return Zeros(made, len(reserved) - made)


def _is_pair(there: Container[str], type: str, item: ZeroItem, partner: Candidate) -> bool:
    """Whether the two are a pair already, as after an import."""
    return fingerprint(type, item.left, partner.text) in there


def _free_id(session: Session, project_id: int, item: LargerItem) -> str:
    """The id of the item, unless an imported pair has it."""
    names = chain((item.external_id,), (f"{item.external_id[: LONGEST_ID - 8]}-{n}" for n in count(2)))
    for name in names:
        taken = select(Pair.id).where(
            Pair.project_id == project_id, Pair.external_id == name, Pair.type == item.type
        )
        if session.scalar(taken) is None:
            return name
    raise AssertionError("there is always another number")


def _candidates(session: Session, project: Project, type: str, genre: str | None) -> Iterator[Candidate]:
    """Accepted texts of the type and genre, and larger items of other types that are of the right kind."""
    written = session.execute(
        select(LargerItem.external_id, Pair.right, LargerItem.source, LargerItem.id)
        .join(Pair, Pair.id == LargerItem.pair_id)
        .join(Writing, Writing.item_id == LargerItem.id)
        .where(same_group(project.id, type, genre), Writing.state == "accepted", IN_USE)
        .order_by(LargerItem.import_order)
    )
    for item_id, text, source, larger_id in written:
        yield Candidate(item_id, text, source, larger_id)
    smaller = comparison_type(type).smaller
    for other in project.settings.types:
        if other == type or smaller == UNNAMED or comparison_type(other).larger != smaller:
            continue
        corpus = session.execute(
            select(LargerItem.external_id, LargerItem.text, LargerItem.source, LargerItem.id)
            .where(same_group(project.id, other, genre), LargerItem.withdrawn_at.is_(None))
            .order_by(LargerItem.import_order)
        )
        for item_id, text, source, larger_id in corpus:
            yield Candidate(f"{other} {item_id}", text, source, larger_id)


def _partners_in_use(session: Session, project_id: int, type: str, genre: str | None) -> list[str]:
    """The smaller items of the pairs of grade 0 that there are."""
    return list(
        session.scalars(
            select(Pair.right)
            .join(LargerItem, LargerItem.pair_id == Pair.id)
            .where(same_group(project_id, type, genre), LargerItem.grade == UNRELATED)
        )
    )


EDITORS = (Role.EDITOR, Role.ADMINISTRATOR)
LISTED = 200
NO_WORDNET = mark(
    "Raters will see this key without its meaning, as there is no WordNet on this server: its administrator "
    "can add one, see docs/annotation_texts.md."
)


class EditingService:
    """Every call checks that the user is an editor or administrator of the project."""

    def __init__(
        self, database: Database, clock: Clock = utcnow, dictionary: Dictionary | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._dictionary = dictionary or Dictionary()

    def queue(self, project_id: int, editor_id: int) -> tuple[WaitingText, ...]:
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
            return tuple(waiting_text(*row, its) for row, its in zip(rows, senses, strict=True))

    def text(self, project_id: int, writing_id: int, editor_id: int) -> WaitingText:
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
            check = compare_with_earlier(
                session, task_of(session, writing, read_plan(session, project_id))
            ).check
            senses = senses_of(session, project_id, item.type, writing.text, writing.senses)
            found = replace(
                waiting_text(writing, item, name, senses),
                check=check,
                scale_words=(project := find_project(session, project_id)).scale_words or "",
                scale=scale_of(project),
                steps=steps_of(session, writing.item_id),
            )
        if found.senses is not None:
            return found
        meaning, reason = self._look_up(found.type, found.text)
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
            if text is not None and (edited := _check_edited(text)) != row.text:
                row.text, row.version = edited, row.version + 1
                remember(session, row, "edited", editor_id, now)
            item = session.get_one(LargerItem, row.item_id)
            barred = {editor_id, *viewers_of(session, item.id)}
            chosen = row.senses
            if senses_of(session, project_id, item.type, row.text, chosen) is None:
                found, _ = self._look_up(item.type, row.text)
                chosen = None if found is None else {"key": row.text, **senses_to_json(found)}
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

    def _look_up(self, type: str, text: str) -> tuple[PairSenses | None, str]:
        """What WordNet says of a sense that was typed by its key, or why there is nothing, in a sentence."""
        if type != WORD_TO_SENSE or not looks_like_key(text):
            return None, ""
        try:
            wordnet = self._dictionary.open()
        except WordNetError:
            return None, _(NO_WORDNET)
        found = describe_sense(text, wordnet) if is_sense_key(text) else None
        if found is not None:
            return found, ""
        return None, _(
            "WordNet has no sense with the key “{key}”, which raters would see without meaning: write one "
            "such as {example}, or send it back.",
            key=shorten(text, MOST_SHOWN),
            example="top%2:38:04::",
        )

    def _refuse(
        self, project_id: int, writing_id: int, editor_id: int, note: str, version: int, action: str
    ) -> None:
        said = normalise_note(note, "note", LONGEST_NOTE)
        if not said:
            raise WritingError(
                _("The note is empty: say in a sentence what the writer should do differently.")
            )

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
    return NotFoundError(
        _("The text {number} is no longer waiting for an editor: choose another one.", number=writing_id)
    )


def _lock(session: Session, project_id: int, writing_id: int, version: int) -> Writing:
    row = session.scalar(
        select(Writing)
        .where(Writing.id == writing_id, Writing.project_id == project_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if row is None:
        raise NotFoundError(
            _("There is no text {number} in this project: choose another one.", number=writing_id)
        )
    if row.state != "submitted" or row.version != version:
        raise WritingError(_("Another editor was faster with this text: see how it reads now, or go on."))
    return row


def _check_edited(text: str) -> str:
    kept = clean_text(text).strip()
    if not kept:
        raise WritingError(_("The text is empty: write it, or send it back."))
    if len(kept) > LONGEST_WRITTEN:
        raise WritingError(long_text_problem(kept))
    return kept


class WritingReportService:
    """Who is allowed to see it is for the caller to `require`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def report(self, project_id: int) -> WritingReport:
        """Everything there is to know of the writing in a project.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = as_project(find_project(session, project_id))
            writers = _writers_of_pairs(session, project_id)
            writer_ids = select(Writing.writer_id).where(Writing.project_id == project_id).distinct()
            names = names_of(session, sorted(session.scalars(writer_ids)))
            of_project = LargerItem.project_id == project_id
            is_unpaired = LargerItem.grade == UNRELATED, LargerItem.pair_id.is_(None)
            left_blank = exists().where(Writing.item_id == LargerItem.id, Writing.state == "blank")
            is_open = LargerItem.grade.is_(None), LargerItem.withdrawn_at.is_(None)
            is_submitted = Writing.project_id == project_id, Writing.state == "submitted"
            return writing_report(
                project.name,
                project.settings.types,
                list(_judge_pairs(session, project, writers, names)),
                balance_of(session, project_id, project.settings),
                _counts(session, project_id, names),
                reserved=count_where(session, of_project, *is_unpaired),
                waiting=count_where(session, *is_submitted),
                not_understood=count_where(session, of_project, *is_open, left_blank),
                scale=project.settings.scale,
            )


def _judge_pairs(
    session: Session, project: Project, writers: dict[int, int], names: dict[int, str]
) -> Iterator[JudgedPair]:
    for pair in stream_pairs(session, project.id):
        standing = standing_of([grade for _, grade in pair.ratings], pair.adjudicated)
        obtained = standing.gold(project.settings)
        writer = writers.get(pair.id)
        yield JudgedPair(pair.type, pair.intended, obtained, None if writer is None else names[writer])


def _writers_of_pairs(session: Session, project_id: int) -> dict[int, int]:
    rows = session.execute(
        select(LargerItem.pair_id, Writing.writer_id)
        .join(Writing, Writing.item_id == LargerItem.id)
        .where(
            LargerItem.project_id == project_id,
            LargerItem.pair_id.is_not(None),
            Writing.state == "accepted",
        )
    )
    return {pair_id: writer_id for pair_id, writer_id in rows if pair_id is not None}


def _counts(session: Session, project_id: int, names: dict[int, str]) -> list[WriterCounts]:
    states: Counter[tuple[int, str]] = Counter()
    seconds: defaultdict[int, list[float]] = defaultdict(list)
    rows = session.execute(
        select(Writing.writer_id, Writing.state, Writing.seconds).where(Writing.project_id == project_id)
    )
    for writer, state, spent in rows:
        states[writer, state] += 1
        if spent is not None and state in ("submitted", "accepted"):
            seconds[writer].append(spent)
    backs = (
        select(WritingChange.writer_id, func.count())
        .where(WritingChange.project_id == project_id, WritingChange.action == "sent_back")
        .group_by(WritingChange.writer_id)
    )
    sent_back = dict(session.execute(backs).all())
    return [
        WriterCounts(
            writer=name,
            submitted=states[writer, "submitted"],
            accepted=states[writer, "accepted"],
            sent_back=sent_back.get(writer, 0),
            blank=states[writer, "blank"],
            handed_on=states[writer, "handed_on"],
            seconds=median(seconds[writer]) if writer in seconds else None,
        )
        for writer, name in sorted(names.items(), key=lambda each: each[1].casefold())
    ]
