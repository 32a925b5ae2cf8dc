"""Pairs of a word and a sense: making them from a choice, and describing those that came without WordNet."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, TypeAlias, cast

from sqlalchemy import ColumnElement, Select, select, true, update
from sqlalchemy.orm import Session

from annotation.authoring import WritingDesk
from annotation.sense_pairs import (
    Dictionary,
    SenseChoice,
    SenseError,
    describe_sense,
    pair_of_choice,
    senses_from_json,
    senses_of_choice,
    senses_to_json,
)
from annotation.senses import WORD_TO_SENSE, PairSenses, is_sense_key
from annotation.services.audit import SENSES_DESCRIBED, record
from annotation.services.imports import PairImporter
from annotation.services.project_rows import as_project, checks_project_of, find_project, next_order
from annotation.services.rater_queue import bar_raters
from annotation.services.transactions import count_where
from annotation.services.users import id_of
from annotation.services.writing import WritingService
from annotation.translation import _
from annotation.types import Clock, NewPair, User, utcnow
from db import Database
from db.models import Pair, TrainingPair

if TYPE_CHECKING:
    from annotation.wordnet import WordNet

_DESCRIBED_AT_ONCE = 200
_Kind: TypeAlias = type[Pair] | type[TrainingPair]
_KINDS: tuple[_Kind, ...] = (Pair, TrainingPair)


class SenseService:
    """Who is allowed to call is for the caller to `require`."""

    def __init__(
        self,
        database: Database,
        dictionary: Dictionary,
        writing: WritingService,
        *,
        clock: Clock = utcnow,
    ) -> None:
        self._database = database
        self._dictionary = dictionary
        self._writing = writing
        self._clock = clock

    def add_pair(self, project_id: int, choice: SenseChoice, grade: Decimal, *, by: User) -> NewPair:
        """Make a pair of what was chosen, intended to deserve `grade`; the pair with its id.

        Who chose the grade never rates the pair.

        Raises:
            NotFoundError: there is no such project.
            WordNetError: there is no WordNet.
            SenseError: the choice makes no pair, or the same pair is there already.
            GradeError: the grade is not on the scale.
        """
        wanted = pair_of_choice(choice, grade, "", self._dictionary.open())
        with self._database.session() as session:
            project = as_project(find_project(session, project_id, lock=True))
            project.settings.scale.check(grade)
            ids = (f"w2s-{number}" for number in count(next_order(session, Pair, project_id) + 1))
            free = next(id for id in ids if session.scalar(_pairs_of_id(project_id, id)) is None)
            pair = replace(wanted, id=free)
            importer = PairImporter(session, project, self._clock)
            importer.add([pair])
            if importer.summary().equal_texts:
                raise SenseError(
                    _(
                        "The pair of {left} and {right} already exists: choose another sense.",
                        left=pair.left,
                        right=pair.right,
                    )
                )
            row = session.scalars(_pairs_of_id(project_id, pair.id)).one()
            now = self._clock()
            bar_raters(session.connection(), row, [by.id], now)
            record(session, now, "pairs imported", user_id=by.id, project_id=project_id, pairs=1)
        return pair

    def submit(
        self, writing_id: int, writer_id: int, choice: SenseChoice, seconds: float | None = None
    ) -> WritingDesk:
        """Hand what a writer chose for the word of their task to the editors; their desk after it.

        Args:
            seconds: how long the writer was at it since they opened the page.

        Raises:
            NotFoundError, AccessError, WritingError, StaleTextError: as of `WritingService.submit`.
            WordNetError: there is no WordNet.
            SenseError: the choice makes no pair, or the task is of another type.
        """
        task = self._writing.task(writing_id, writer_id)
        if task.type != WORD_TO_SENSE:
            raise SenseError(_("Your item is not a word: continue with it under Write."))
        found = senses_of_choice(replace(choice, word=task.left), self._dictionary.open())
        senses = {"key": choice.key, **senses_to_json(found)}
        spent = None if seconds is None else task.seconds + seconds
        return self._writing.submit(writing_id, writer_id, choice.key, task.version, spent, senses)

    def count_undescribed(self, project_id: int) -> int:
        """How many pairs have a sense key and no definitions: they were imported without WordNet.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            find_project(session, project_id)
            return sum(count_where(session, *_lacking(session, kind, project_id)) for kind in _KINDS)

    def describe(self, project_id: int, *, by: User | None = None) -> tuple[int, int]:
        """Add definitions to pairs without any; how many have them now, and how many WordNet does not know.

        The event names the pairs that raters had graded by their bare keys: a gold set says so.

        Raises:
            NotFoundError: there is no such project.
            WordNetError: there is no WordNet.
        """
        wordnet = self._dictionary.open()
        done = missing = 0
        graded: list[str] = []
        for kind in _KINDS:
            last = 0
            while True:
                with self._database.session() as session:  # some at a time: raters save in between
                    find_project(session, project_id)
                    rows = session.execute(
                        select(kind.id, kind.right, kind.senses)
                        .where(*_lacking(session, kind, project_id), kind.id > last)
                        .order_by(kind.id)
                        .limit(_DESCRIBED_AT_ONCE)
                    ).all()
                    described = []
                    for id, right, known in rows:
                        senses = _describe(right.strip(), senses_from_json(known) or PairSenses(), wordnet)
                        missing += senses is None
                        if senses is not None:
                            # Somebody else may have asked at the same moment.
                            is_lacking = kind.id == id, _has_no_sense(kind)
                            found = senses_to_json(senses)
                            session.execute(update(kind).where(*is_lacking).values(senses=found))
                            described.append(id)
                    done += len(described)
                    if kind is Pair:
                        graded += session.scalars(
                            select(Pair.external_id)
                            .where(
                                Pair.project_id == project_id, Pair.id.in_(described), Pair.rating_count > 0
                            )
                            .order_by(Pair.id)
                        )
                if not rows:
                    break
                last = rows[-1].id
        with self._database.session() as session:
            find_project(session, project_id)
            record(
                session,
                self._clock(),
                SENSES_DESCRIBED,
                user_id=id_of(by),
                project_id=project_id,
                pairs=done,
                graded=graded,
            )
        return done, missing


def _describe(key: str, known: PairSenses, wordnet: WordNet) -> PairSenses | None:
    """What WordNet says of the sense, beside what the file said of the word; None of an unknown key."""
    if not is_sense_key(key):
        return None
    return describe_sense(
        key, wordnet, flag=known.flag, word_key=known.word_key, word_definition=known.word_definition
    )


def _has_no_sense(kind: _Kind) -> ColumnElement[bool]:
    return cast(ColumnElement[bool], kind.senses["sense"].as_string().is_(None))


def _pairs_of_id(project_id: int, external_id: str) -> Select[Pair]:
    return select(Pair).where(
        Pair.project_id == project_id, Pair.type == WORD_TO_SENSE, Pair.external_id == external_id
    )


def _lacking(session: Session, kind: _Kind, project_id: int) -> tuple[ColumnElement[bool], ...]:
    """Check pairs are among them: without definitions they would stand out in a rater's queue."""
    return (
        kind.project_id.in_((project_id, checks_project_of(session, project_id) or project_id)),
        TrainingPair.retired_at.is_(None) if kind is TrainingPair else true(),
        kind.type == WORD_TO_SENSE,
        _has_no_sense(kind),
        kind.right.like("%\\%_:__:__:%", escape="\\"),
    )
