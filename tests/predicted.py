"""Predictions of two models for two documents, for tests of what annotation makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from sqlalchemy import select

from annotation.predictions import TYPE, PredictedDocument, PredictedPhrase, Run
from annotation.services.imports import ImportService
from annotation.services.predictions import SendService
from annotation.services.projects import ProjectService
from annotation.types import NewRating, Project, ProjectSettings
from db import Database
from db.models import Pair
from kpdemo.text import phrase_key

FERRY = "Ferries leave the old harbour at noon. Gulls follow the ferries."
TRAIN = "The night train was late because of snow."


def run(model: str, present: Mapping[str, float], absent: Mapping[str, float] | None = None) -> Run:
    """A model's phrases with their scores."""
    return Run(
        model,
        tuple(
            PredictedPhrase(text, score, is_present, phrase_key(text))
            for phrases, is_present in ((present, True), (absent or {}, False))
            for text, score in phrases.items()
        ),
    )


def documents() -> list[PredictedDocument]:
    """Of the first one "ferries" is predicted by both models, in two spellings."""
    return [
        PredictedDocument(
            "ferry",
            "At sea",
            FERRY,
            "en",
            (
                run("north", {"ferries": 0.9, "old harbour": 0.5}, {"shipping": 0.3}),
                run("south", {"ferry": 0.7, "gulls": 0.6}),
            ),
        ),
        PredictedDocument("train", "", TRAIN, "en", (run("north", {"night train": 0.8}), run("south", {}))),
    ]


GRADES = {"ferries": "4", "old harbour": "2", "shipping": "3", "gulls": "1", "night train": "3.5"}
"""By the text of the pair, whose spelling is that of most models, then of the alphabet."""


def sent_project(database: Database, **settings: object) -> Project:
    """A project to which the documents were sent."""
    chosen = {"name": "sea", "types": (TYPE,), "raters_per_pair": 1, **settings}
    project = ProjectService(database).create(ProjectSettings(**chosen))
    SendService(database).send(project.id, documents())
    return project


def pairs_of(database: Database, project_id: int) -> dict[str, Pair]:
    """The pairs by the text of the phrase, in the order of rating."""
    with database.reading() as session:
        rows = select(Pair).where(Pair.project_id == project_id).order_by(Pair.position)
        return {row.right: row for row in session.scalars(rows)}


def grade(database: Database, project_id: int, grades: Mapping[str, str], rater: str = "ana") -> None:
    names = {text: pair.external_id for text, pair in pairs_of(database, project_id).items()}
    ratings = [NewRating(names[text], rater, Decimal(value)) for text, value in grades.items()]
    ImportService(database).import_pairs(project_id, ratings)
