"""Predicted keyphrases: from the public page into a project as pairs, and judged by their grades.

Predictions that the public page hands over wait until an administrator has confirmed them. Whoever pasted
the texts may be nobody that this server knows: they wait apart from all projects, for an hour, and only who
has the address, and is signed in, gets them.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session

from annotation.changes import describe_changes
from annotation.errors import HandOverError, ImportFileError, SettingsError
from annotation.exchange import fingerprint
from annotation.files.predictions import read_bundle
from annotation.gold import Reason
from annotation.guidelines import starter_guidelines
from annotation.predictions import TYPE, PooledPhrase, PredictedDocument, QueueOrder, Run, pair_name, pool
from annotation.projects import check_settings
from annotation.relevance import GradedDocument, GradedPhrase, JudgedPool
from annotation.scale import CLSS
from annotation.services.audit import PROJECT_CHANGED, record
from annotation.services.gold import pairs_with_grades, standing_in
from annotation.services.imports import PairImporter
from annotation.services.known_pairs import known_prints
from annotation.services.project_rows import (
    as_project,
    find_project,
    order_of,
    reorder,
    scale_of,
    usual_order,
)
from annotation.services.projects import add_project
from annotation.services.sign_in import address_key, token_hash
from annotation.services.transactions import insert_rows, is_among
from annotation.services.users import id_of
from annotation.translation import _, mark, ngettext
from annotation.types import Clock, NewPair, ProjectSettings, User, utcnow
from annotation.wording import beginning, check_name, name_key
from db import Database, models
from db.errors import DamagedError, UnreachableError
from db.models import HandOver, Pair, Project, SentDocument, SentOrder, SentPhrase, SentPrediction, SentRun
from kpdemo.translation import ENGLISH

KEPT_MINUTES = 60
REMEMBERED_HOURS = 24
"""Where a bundle was sent, for whoever comes back to its address."""
LARGEST = 32 * 1024 * 1024
"""Bytes of JSON of one bundle."""
MOST_OF_ONE = LARGEST
"""Bytes of the bundles of one sender as they are kept, compressed."""
MOST_KEPT = 8 * LARGEST
"""The same of all senders. What is too much is refused: nothing that is kept goes before its time."""
PATH = "/annotate/send/"
_KEPT = timedelta(minutes=KEPT_MINUTES)
_REMEMBERED = timedelta(hours=REMEMBERED_HOURS)
_TOKEN_BYTES = 24
LONGEST_TITLE = 50
"""Characters of a document's title in the name of a project for it."""


class HandOvers:
    """Keeps bundles under addresses that nobody can guess, for every process of the pages."""

    def __init__(self, database: Database, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def keep(self, bundle: Mapping[str, Any], sender: str = "") -> str:
        """The address where `bundle` can be sent on to a project, for `KEPT_MINUTES`.

        Args:
            sender: the network address that it comes from.

        Raises:
            ImportFileError: it is not a bundle of predictions.
            HandOverError: it is too large, there are too many, or the database cannot keep it.
        """
        read_bundle(bundle)
        content = json.dumps(bundle, ensure_ascii=False).encode()
        if len(content) > LARGEST:
            raise HandOverError(
                _(
                    "The predictions have {bytes} bytes, and the page sends at most {most}: send fewer "
                    "documents, or use the command line (python -m annotation send), which has no limit.",
                    bytes=f"{len(content):,}",
                    most=f"{LARGEST:,}",
                )
            )
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        packed = zlib.compress(content)

        def add(session: Session) -> None:
            now = self._clock()
            _drop_old(session, now)
            _check_room(session, address_key(sender), len(packed))
            session.add(
                HandOver(
                    token_hash=token_hash(token),
                    sender=address_key(sender),
                    content=packed,
                    size=len(packed),
                    at=now,
                )
            )

        try:
            self._database.transact(add)
        except (UnreachableError, DamagedError) as error:
            raise HandOverError(_(error.for_users)) from error
        return f"{PATH}{token}"

    def documents(self, token: str) -> tuple[PredictedDocument, ...]:
        """What was handed over under `token`; it stays.

        Raises:
            HandOverError: there is nothing, or it was too long ago.
        """
        kept = select(HandOver.content).where(
            HandOver.token_hash == token_hash(token),
            HandOver.project_id.is_(None),
            HandOver.at > self._clock() - _KEPT,
        )
        with self._database.reading() as session:
            content = session.scalar(kept)
        if content is None:
            raise HandOverError(
                _(
                    "These predictions are no longer kept (after {minutes} minutes): predict and send them "
                    "again; pairs that a project has already do not come twice.",
                    minutes=KEPT_MINUTES,
                )
            )
        return read_bundle(json.loads(zlib.decompress(content)))

    def mark_sent(self, token: str, project_id: int) -> None:
        """Forget what was handed over, and remember for a day to which project it went."""
        sent = {"content": b"", "size": 0, "project_id": project_id, "at": self._clock()}
        with self._database.session() as session:
            session.execute(update(HandOver).where(HandOver.token_hash == token_hash(token)).values(sent))

    def project_of(self, token: str) -> int | None:
        """The project that was sent to from here, if any was of late."""
        found = select(HandOver.project_id).where(
            HandOver.token_hash == token_hash(token), HandOver.at > self._clock() - _REMEMBERED
        )
        with self._database.reading() as session:
            return session.scalar(found)


def _drop_old(session: Session, now: datetime) -> None:
    is_sent = HandOver.project_id.is_not(None)
    session.execute(delete(HandOver).where(~is_sent, HandOver.at <= now - _KEPT))
    session.execute(delete(HandOver).where(is_sent, HandOver.at <= now - _REMEMBERED))


def _check_room(session: Session, sender: str, size: int) -> None:
    """Of two at the same moment each may find the room that only one has: a little more is kept then."""
    sizes = func.coalesce(func.sum(HandOver.size), 0)
    if session.scalars(select(sizes).where(HandOver.sender == sender)).one() + size > MOST_OF_ONE:
        raise HandOverError(
            _(
                "Too many predictions from your address are already waiting: choose projects for those, "
                "come back in {minutes} minutes, or use the command line (python -m annotation send).",
                minutes=KEPT_MINUTES,
            )
        )
    if session.scalars(select(sizes)).one() + size > MOST_KEPT:
        raise HandOverError(
            _(
                "The server cannot keep more predictions for now: come back in {minutes} minutes, or use "
                "the command line (python -m annotation send).",
                minutes=KEPT_MINUTES,
            )
        )


def is_kept(session: Session, project_id: int, document: PredictedDocument) -> bool:
    """Whether the same models have predicted the same for the document."""
    row = document_row(session, project_id, document)
    if row is None:
        return False
    return all(
        _find_run(session, row.id, run.model) == [(phrase.text, phrase.score) for phrase in run.rank()]
        for run in document.runs
    )


def _find_run(session: Session, document_id: int, model: str) -> list[tuple[str, float]] | None:
    """What a model predicted for a document, best first; None where it was never sent."""
    run_id = session.scalar(
        select(SentRun.id).where(SentRun.document_id == document_id, SentRun.model == model)
    )
    if run_id is None:
        return None
    kept = select(SentPrediction.text, SentPrediction.score).where(SentPrediction.run_id == run_id)
    return [(row.text, row.score) for row in session.execute(kept.order_by(SentPrediction.rank))]


def unknown_phrases(session: Session, project_id: int, document: PredictedDocument) -> Iterator[PooledPhrase]:
    """The phrases of a document that were not sent yet."""
    row = document_row(session, project_id, document)
    known = set() if row is None else set(phrases_by_key(session, row.id))
    return (phrase for phrase in pool(document) if phrase.key not in known)


def document_row(session: Session, project_id: int, document: PredictedDocument) -> SentDocument | None:
    return session.scalar(
        select(SentDocument).where(
            SentDocument.project_id == project_id, SentDocument.fingerprint == document.fingerprint
        )
    )


def phrases_by_key(session: Session, document_id: int) -> dict[str, int]:
    kept = select(SentPhrase.key, SentPhrase.id).where(SentPhrase.document_id == document_id)
    return dict(session.execute(kept).all())


_BETWEEN_CALLS = 20
"""Documents, between two calls of `progress`."""


@dataclass(frozen=True, slots=True)
class SentSummary:
    """What came of sending."""

    documents: int
    pairs: int
    """New ones."""
    known: int
    """Phrases whose pairs were there already."""
    models: tuple[str, ...]


class SendService:
    """Brings predictions into projects. Who is allowed to is for the caller to `require`."""

    def __init__(self, database: Database, *, clock: Clock = utcnow) -> None:
        self._database = database
        self._clock = clock

    def send(
        self,
        project_id: int,
        documents: Iterable[PredictedDocument],
        *,
        order: QueueOrder | None = None,
        by: User | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> SentSummary:
        """Make pairs of all predicted phrases, or, when anything is wrong, of none.

        A document that is there already gets the phrases that it has not yet; what the same model predicted
        for it earlier is replaced. A project without the type document2keyphrase gets it.

        Args:
            project_id: where to.
            documents: read once, as they are needed.
            order: in which raters meet predicted keyphrases from now on; None leaves the order as it is.
            by: who sends; None stands for the command line.
            progress: called now and then with the number of documents done.

        Raises:
            NotFoundError: there is no such project.
            ImportFileError: there is no document, or one cannot be used.
        """
        with self._database.session() as session:
            project = find_project(session, project_id, lock=True)
            if refusal := _scale_refusal(project):
                raise ImportFileError(refusal)
            if TYPE not in project.types:
                _add_type(session, project, self._clock(), by)
            return self._send(session, project, documents, order, by, progress)

    def send_to_new(
        self,
        name: str,
        documents: Iterable[PredictedDocument],
        *,
        order: QueueOrder | None = None,
        by: User | None = None,
        language: str = ENGLISH,
    ) -> tuple[int, SentSummary]:
        """As `send`, to a project that is made for it, with the type of keyphrases; its id. Both or neither.

        Args:
            language: of the project, and of the guidelines that it starts with.

        Raises:
            SettingsError: the name cannot be used, or is taken.
            ImportFileError: as of `send`.
        """
        guidelines = starter_guidelines((TYPE,), language)
        settings = ProjectSettings(name, types=(TYPE,), guidelines=guidelines, language=language)
        kept = check_settings(settings)
        with self._database.session() as session:
            project = add_project(session, kept, self._clock(), by)
            return project.id, self._send(session, project, documents, order, by, None)

    def _send(
        self,
        session: Session,
        project: models.Project,
        documents: Iterable[PredictedDocument],
        order: QueueOrder | None,
        by: User | None,
        progress: Callable[[int], None] | None,
    ) -> SentSummary:
        sending = _Sending(session, project, self._clock)
        sending.add_all(documents, progress)
        session.flush()
        reorder(session, project)
        summary = sending.summary()
        record(
            session,
            self._clock(),
            "predictions sent",
            user_id=id_of(by),
            project_id=project.id,
            documents=summary.documents,
            pairs=summary.pairs,
            known=summary.known,
            models=list(summary.models),
        )
        if order is not None:
            _choose_order(session, project, order, self._clock(), by)
        return summary

    def refusals(self, project_ids: Sequence[int], documents: Sequence[PredictedDocument]) -> dict[int, str]:
        """Why projects cannot take the documents, a sentence each; those that can are not in it."""
        with self._database.reading() as session:
            chosen = select(models.Project).where(models.Project.id.in_(project_ids))
            projects = session.scalars(chosen).all()
            found = ((project.id, _refusal(session, project, documents)) for project in projects)
            return {project_id: refusal for project_id, refusal in found if refusal}

    def unused_name(self, documents: Sequence[PredictedDocument]) -> str:
        """A name for a project of these documents that no other project has."""
        first = documents[0]
        count = len(documents)
        name = ngettext(
            "Keyphrases of {count} document", "Keyphrases of {count} documents", count, count=f"{count:,}"
        )
        if count == 1:
            with suppress(SettingsError):  # of a title with invisible characters
                title = beginning(first.title or first.body, LONGEST_TITLE)
                name = check_name(_("Keyphrases of {title}", title=title))
        with self._database.reading() as session:

            def is_taken(name: str) -> bool | None:
                return session.scalar(select(exists().where(models.Project.name_key == name_key(name))))

            names = (name, *(f"{name} ({number})" for number in range(2, 100)))
            return next((one for one in names if not is_taken(one)), name)

    def choose_order(self, project_id: int, order: QueueOrder, *, by: User | None = None) -> None:
        """In which order raters meet predicted keyphrases that they are given from now on.

        Raises:
            NotFoundError: there is no such project.
        """
        now = self._clock()
        with self._database.session() as session:
            _choose_order(session, find_project(session, project_id, lock=True), order, now, by)

    def usual_order(self, project_id: int) -> QueueOrder:
        """The order to send in unless one is said: the project's, or by document if nothing was sent yet."""
        with self._database.reading() as session:
            return usual_order(session, find_project(session, project_id).id)

    def lacks_type(self, project_id: int) -> bool:
        """Whether `send` would add the comparison type of keyphrases to the project."""
        with self._database.reading() as session:
            return TYPE not in find_project(session, project_id).types

    def count_new(self, project_id: int, documents: Iterable[PredictedDocument]) -> int:
        """How many pairs `send` would add; phrases in another spelling than before count only once."""
        with self._database.reading() as session:
            find_project(session, project_id)
            return sum(len(list(unknown_phrases(session, project_id, document))) for document in documents)

    def has_all(self, project_id: int, documents: Iterable[PredictedDocument]) -> bool:
        """Whether `send` would change nothing: the same models have predicted the same for each document."""
        with self._database.reading() as session:
            find_project(session, project_id)
            return all(is_kept(session, project_id, document) for document in documents)


def _scale_refusal(project: models.Project) -> str:
    scale = scale_of(project)
    if scale == CLSS:
        return ""
    return _(
        "{project} grades {grades}, and predicted keyphrases are graded {wanted}: make a project with that "
        "scale.",
        project=project.name,
        grades=scale.words,
        wanted=CLSS.words,
    )


def _refusal(session: Session, project: models.Project, documents: Sequence[PredictedDocument]) -> str:
    """Why a project cannot take the documents; empty where it can."""
    if refusal := _scale_refusal(project):
        return refusal
    names = {document.name: document.fingerprint for document in documents}
    columns = SentDocument.external_id, SentDocument.fingerprint
    there = dict(session.execute(select(*columns).where(SentDocument.project_id == project.id)).all())
    texts = set(there.values())
    for name, print in names.items():
        if name in there and print not in texts:
            return _taken_text(name)
    with_grades = known_prints(session, project.id)
    for document in documents if with_grades else ():
        for phrase in pool(document):
            if what := with_grades.get(fingerprint(TYPE, document.text, phrase.text)):
                return _graded_text(phrase.text, document.name, what)
    return ""


def _taken_text(name: str) -> str:
    return _("The document {name} already exists with another text; give it another id.", name=repr(name))


_KNOWN = {
    "training pair": mark(
        "The phrase {phrase} of the document {document} is a training pair of the project, whose grade is "
        "known: stop using the training pairs on the tab Quality, or choose another project."
    ),
    "check pair": mark(
        "The phrase {phrase} of the document {document} is a check pair of the project, whose grade is "
        "known: stop using the check pairs on the tab Quality, or choose another project."
    ),
}


def _graded_text(phrase: str, name: str, what: str) -> str:
    return _(_KNOWN[what], phrase=repr(phrase), document=repr(name))


def _add_type(session: Session, project: models.Project, now: datetime, by: User | None) -> None:
    before = as_project(project).settings
    project.types = [*project.types, TYPE]
    session.flush()
    detail = describe_changes(before, as_project(project).settings)
    record(session, now, PROJECT_CHANGED, user_id=id_of(by), project_id=project.id, **detail)


def _choose_order(
    session: Session, project: models.Project, order: QueueOrder, now: datetime, by: User | None
) -> None:
    before = order_of(session, project.id)
    if order is before:
        return
    session.execute(delete(SentOrder).where(SentOrder.project_id == project.id))
    if order is not QueueOrder.PROJECT:
        session.add(SentOrder(project_id=project.id, kind=order.value, chosen_at=now))
    session.flush()
    reorder(session, project, before=before)
    record(session, now, "order chosen", user_id=id_of(by), project_id=project.id, order=order.value)


class _Sending:
    """The transaction of one `send`."""

    def __init__(self, session: Session, project: models.Project, clock: Clock) -> None:
        self.session, self.project, self.clock = session, project, clock
        self.documents = self.pairs = self.known = 0
        self.models: dict[str, None] = {}
        self.with_known_grades = known_prints(session, project.id)
        self.importer = PairImporter(session, as_project(project), clock, merges_equal_texts=True)

    def summary(self) -> SentSummary:
        return SentSummary(self.documents, self.pairs, self.known, tuple(self.models))

    def add_all(self, documents: Iterable[PredictedDocument], progress: Callable[[int], None] | None) -> None:
        for document in documents:
            self.add(document)
            if progress is not None and self.documents % _BETWEEN_CALLS == 0:
                progress(self.documents)
        if not self.documents:
            raise ImportFileError(_("There is no document with predictions: predict some first."))

    def add(self, document: PredictedDocument) -> None:
        """Keep a document with its runs, and import the pairs of phrases that are new."""
        row = self._keep_document(document)
        phrases = phrases_by_key(self.session, row.id)
        pooled = pool(document)
        new = [phrase for phrase in pooled if phrase.key not in phrases]
        if new:
            phrases |= self._add_phrases(row, document, new)
        self._note_present(row, {phrases[phrase.key] for phrase in pooled if phrase.is_present})
        for run in document.runs:
            self.models[run.model] = None
            self._keep_run(row, run, phrases)
        self.documents += 1
        self.known += len(pooled) - len(new)

    def _keep_document(self, document: PredictedDocument) -> SentDocument:
        row = document_row(self.session, self.project.id, document)
        if row is not None:
            return row
        taken = self.session.scalar(
            select(SentDocument.id).where(
                SentDocument.project_id == self.project.id, SentDocument.external_id == document.name
            )
        )
        if taken is not None:
            raise ImportFileError(_taken_text(document.name))
        row = SentDocument(
            project_id=self.project.id,
            external_id=document.name,
            title=document.title,
            body=document.body,
            language=document.language[:16],
            fingerprint=document.fingerprint,
            created_at=self.clock(),
        )
        self.session.add(row)
        self.session.flush()
        return row

    def _add_phrases(
        self, row: SentDocument, document: PredictedDocument, new: Sequence[PooledPhrase]
    ) -> dict[str, int]:
        """Import the pairs of new phrases; the id of each phrase by its key.

        A pair that was imported before under another id is taken for it. Whoever hands phrases over may give
        the same text two keys: they stay one pair, and one phrase.
        """
        name = row.external_id
        pairs = [
            NewPair(pair_name(name, phrase.key), TYPE, document.text, phrase.text, source=name)
            for phrase in new
        ]
        prints = [fingerprint(pair.type, pair.left, pair.right) for pair in pairs]
        for pair, print in zip(pairs, prints, strict=True):
            if what := self.with_known_grades.get(print):
                raise ImportFileError(_graded_text(pair.right, name, what))
        self.importer.add(pairs)
        self.pairs = self.importer.summary().pairs
        of_project = Pair.project_id == self.project.id
        found = self.session.execute(
            select(Pair.fingerprint, Pair.id, SentPhrase.id.label("phrase_id"))
            .outerjoin(SentPhrase, SentPhrase.pair_id == Pair.id)
            .where(of_project, is_among(self.session, Pair.fingerprint, prints))
            .order_by(SentPhrase.id.is_not(None), Pair.import_order.desc())  # the last of equal ones is taken
        )
        there = {known.fingerprint: known for known in found}
        rows: dict[int, dict[str, object]] = {}
        for phrase, print in zip(new, prints, strict=True):
            if there[print].phrase_id is None:
                said = {"key": phrase.key, "is_present": phrase.is_present}
                whose = {"project_id": self.project.id, "document_id": row.id, "pair_id": there[print].id}
                rows.setdefault(there[print].id, {**whose, **said})
        insert_rows(self.session, SentPhrase, list(rows.values()))
        of_document = select(SentPhrase.pair_id, SentPhrase.id).where(SentPhrase.document_id == row.id)
        made = dict(self.session.execute(of_document).all())
        return {
            phrase.key: there[print].phrase_id or made[there[print].id]
            for phrase, print in zip(new, prints, strict=True)
        }

    def _note_present(self, row: SentDocument, phrase_ids: set[int]) -> None:
        """A phrase that one model found in the text is present, whatever the others say."""
        absent = SentPhrase.document_id == row.id, SentPhrase.is_present.is_(False)
        for phrase in self.session.scalars(select(SentPhrase).where(*absent)):
            phrase.is_present = phrase.id in phrase_ids

    def _keep_run(self, row: SentDocument, run: Run, phrases: Mapping[str, int]) -> None:
        """Replace what the model predicted before."""
        self.session.execute(delete(SentRun).where(SentRun.document_id == row.id, SentRun.model == run.model))
        kept = SentRun(document_id=row.id, model=run.model)
        self.session.add(kept)
        self.session.flush()
        rows: dict[int, dict[str, object]] = {}
        for rank, phrase in enumerate(run.rank(), start=1):
            said = {"rank": rank, "score": phrase.score, "text": phrase.text}
            phrase_id = phrases[phrase.key]
            rows.setdefault(phrase_id, {"run_id": kept.id, "phrase_id": phrase_id, **said})
        insert_rows(self.session, SentPrediction, list(rows.values()))


Runs = dict[int, dict[str, list[tuple[int, float]]]]
"""By document and model: phrase and score, best first."""


class JudgementService:
    def __init__(self, database: Database) -> None:
        self._database = database

    def pool(self, project_id: int) -> JudgedPool:
        """Everything as of one moment, documents in the order in which they were sent.

        Raises:
            NotFoundError: there is no such project.
        """
        with self._database.reading() as session:
            project = find_project(session, project_id)
            phrases, undecided = _phrases(session, project)
            runs = _runs(session, project_id)
            rows = session.scalars(
                select(SentDocument).where(SentDocument.project_id == project_id).order_by(SentDocument.id)
            )
            documents = tuple(
                GradedDocument(
                    row.external_id,
                    row.title,
                    row.body,
                    row.language,
                    tuple(phrases[row.id]),
                    _without_withdrawn(runs[row.id], {phrase.id for phrase in phrases[row.id]}),
                )
                for row in rows
            )
            return JudgedPool(documents, undecided, order_of(session, project_id))


def _phrases(session: Session, project: Project) -> tuple[dict[int, list[GradedPhrase]], int]:
    """The phrases of each document, in the order of import, and how many wait for a decision; none of a
    withdrawn pair."""
    of_phrase = SentPhrase.id, SentPhrase.document_id, SentPhrase.is_present, Pair.external_id, Pair.right
    rows = session.execute(
        pairs_with_grades(project.id, *of_phrase).join(SentPhrase, SentPhrase.pair_id == Pair.id)
    )
    found: dict[int, list[GradedPhrase]] = defaultdict(list)
    settings, undecided = as_project(project).settings, 0
    for row in rows:
        standing = standing_in(row, settings.scale)
        undecided += standing.reason(settings) is Reason.NOT_ADJUDICATED
        grade = standing.gold(settings)
        phrase = GradedPhrase(row.id, row.external_id, row.right, row.is_present, grade)
        found[row.document_id].append(phrase)
    return found, undecided


def _runs(session: Session, project_id: int) -> Runs:
    """A model that predicted nothing for a document has an empty run there."""
    runs: Runs = defaultdict(dict)
    rows = session.execute(
        select(SentRun.document_id, SentRun.model, SentPrediction.phrase_id, SentPrediction.score)
        .join(SentDocument, SentDocument.id == SentRun.document_id)
        .outerjoin(SentPrediction, SentPrediction.run_id == SentRun.id)
        .where(SentDocument.project_id == project_id)
        .order_by(SentRun.id, SentPrediction.rank)
    )
    for document_id, model, phrase_id, score in rows:
        run = runs[document_id].setdefault(model, [])
        if phrase_id is not None:
            run.append((phrase_id, score))
    return runs


def _without_withdrawn(
    runs: dict[str, list[tuple[int, float]]], in_use: set[int]
) -> dict[str, tuple[tuple[int, float], ...]]:
    """The runs without phrases whose pair is withdrawn, as if no model had predicted them."""
    return {
        model: tuple((phrase, score) for phrase, score in run if phrase in in_use)
        for model, run in runs.items()
    }
