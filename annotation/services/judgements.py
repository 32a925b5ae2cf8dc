"""What was graded of predicted keyphrases, and which model predicted it. Only for administrators."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.gold import Reason
from annotation.predictions.judgements import GradedDocument, GradedPhrase, JudgedPool
from annotation.services.gold_sums import pairs_with_sums, standing_in
from annotation.services.projects import as_project, find_project
from annotation.services.rating.queue_order import order_of
from db import Database
from db.models import (
    Pair,
    Project,
    SentDocument,
    SentPhrase,
    SentPrediction,
    SentRun,
)

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
                    _ranked(runs[row.id], {phrase.id for phrase in phrases[row.id]}),
                )
                for row in rows
            )
            return JudgedPool(documents, undecided, order_of(session, project_id))


def _phrases(session: Session, project: Project) -> tuple[dict[int, list[GradedPhrase]], int]:
    """The phrases of each document, in the order of import, and how many wait for a decision; none of a
    withdrawn pair."""
    of_phrase = SentPhrase.id, SentPhrase.document_id, SentPhrase.is_present, Pair.external_id, Pair.right
    rows = session.execute(
        pairs_with_sums(project.id, *of_phrase).join(SentPhrase, SentPhrase.pair_id == Pair.id)
    )
    found: dict[int, list[GradedPhrase]] = defaultdict(list)
    settings, undecided = as_project(project).settings, 0
    for row in rows:
        standing = standing_in(row)
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


def _ranked(
    runs: dict[str, list[tuple[int, float]]], in_use: set[int]
) -> dict[str, tuple[tuple[int, float], ...]]:
    """The runs without phrases whose pair is withdrawn, as if no model had predicted them."""
    return {
        model: tuple((phrase, score) for phrase, score in run if phrase in in_use)
        for model, run in runs.items()
    }
