"""Predicted keyphrases become pairs: one pool for each document, and privately who predicted what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from annotation.clock import Clock, utcnow
from annotation.errors import ImportFileError
from annotation.exchange import fingerprint
from annotation.predictions.pool import TYPE, PooledPhrase, PredictedDocument, Run, pair_name, pool
from annotation.predictions.queue_order import QueueOrder
from annotation.services.access.users import id_of
from annotation.services.audit import PROJECT_CHANGED, record
from annotation.services.bulk import insert_rows, is_among
from annotation.services.imports.importing import Importing
from annotation.services.imports.known_pairs import known_prints
from annotation.services.projects import as_project, find_project
from annotation.services.rating.queue_order import order_of, reorder, usual_order
from annotation.services.sent_documents import document_row, is_kept, phrases_by_key, unknown_phrases
from annotation.setting_changes import told_changes
from annotation.types import NewPair, User
from db import Database, models
from db.models import Pair, SentDocument, SentOrder, SentPhrase, SentPrediction, SentRun

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
            if TYPE not in project.types:
                _add_type(session, project, self._clock(), by)
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
                project_id=project_id,
                documents=summary.documents,
                pairs=summary.pairs,
                known=summary.known,
                models=list(summary.models),
            )
            if order is not None:
                _choose_order(session, project, order, self._clock(), by)
        return summary

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


def _add_type(session: Session, project: models.Project, now: datetime, by: User | None) -> None:
    before = as_project(project).settings
    project.types = [*project.types, TYPE]
    session.flush()
    detail = told_changes(before, as_project(project).settings)
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
        self.importing = Importing(session, as_project(project), clock, merges_equal_texts=True)

    def summary(self) -> SentSummary:
        return SentSummary(self.documents, self.pairs, self.known, tuple(self.models))

    def add_all(self, documents: Iterable[PredictedDocument], progress: Callable[[int], None] | None) -> None:
        for document in documents:
            self.add(document)
            if progress is not None and self.documents % _BETWEEN_CALLS == 0:
                progress(self.documents)
        if not self.documents:
            raise ImportFileError("There is no document with predictions: predict some first.")

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
            raise ImportFileError(
                f"The document {document.name!r} already exists with another text; give it another id."
            )
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
                raise ImportFileError(
                    f"The phrase {pair.right!r} of the document {name!r} is a {what} of the project, whose "
                    f"grade is known: stop using the {what}s on the tab Quality, or choose another project."
                )
        for _ in self.importing.add(pairs):
            pass
        self.pairs = self.importing.summary().pairs
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
        for rank, phrase in enumerate(run.ranked(), start=1):
            said = {"rank": rank, "score": phrase.score, "text": phrase.text}
            phrase_id = phrases[phrase.key]
            rows.setdefault(phrase_id, {"run_id": kept.id, "phrase_id": phrase_id, **said})
        insert_rows(self.session, SentPrediction, list(rows.values()))
