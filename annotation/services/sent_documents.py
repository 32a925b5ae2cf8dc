"""What was sent into a project already: documents, their phrases, and who predicted what."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.predictions.pool import PooledPhrase, PredictedDocument, pool
from db.models import SentDocument, SentPhrase, SentPrediction, SentRun


def is_kept(session: Session, project_id: int, document: PredictedDocument) -> bool:
    """Whether the same models have predicted the same for the document."""
    row = document_row(session, project_id, document)
    if row is None:
        return False
    return all(
        _kept_run(session, row.id, run.model) == [(phrase.text, phrase.score) for phrase in run.ranked()]
        for run in document.runs
    )


def _kept_run(session: Session, document_id: int, model: str) -> list[tuple[str, float]] | None:
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
