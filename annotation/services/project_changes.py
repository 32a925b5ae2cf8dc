"""Changing a project's settings: what may change, and what follows for its pairs, in the same transaction."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

from sqlalchemy import ColumnElement, Table, bindparam, func, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from annotation.assignment import place_in
from annotation.consent import text_hash
from annotation.errors import SettingsError
from annotation.names import name_key
from annotation.services.bulk import STREAMED_AT_ONCE, count_where
from annotation.services.checks import shelf_of
from annotation.services.known_grades import distances, out_of_reach, quality_of, training_in_use
from annotation.services.rating.desk import lock_pairs
from annotation.services.rating.queue_order import follow_pairs, reorder
from annotation.types import ProjectSettings, from_quarters, to_quarters
from db.models import (
    Adjudication,
    LargerItem,
    Pair,
    Project,
    Rating,
    RatingChange,
    SetAsideRating,
    TrainingPair,
)


def apply_settings(session: Session, row: Project, before: ProjectSettings, after: ProjectSettings) -> None:
    """Write the settings to the project's row, and bring its pairs and larger items in line.

    Raises:
        SettingsError: the change would falsify what was graded already; nothing is written then.
    """
    _check_types(session, row, before, after)
    reordered = (before.is_random, before.seed) != (after.is_random, after.seed)
    coarser = before.step % after.step != 0
    if reordered or coarser or before.raters_per_pair != after.raters_per_pair:
        lock_pairs(session, row.id)
    if coarser:
        _check_step(session, row, before.step, after.step)
    if before.raters_per_pair != after.raters_per_pair:
        _change_slots(session, row, after.raters_per_pair - before.raters_per_pair)
    for column, value in setting_columns(after).items():
        setattr(row, column, value)
    if reordered:
        _reorder(session, row)


def setting_columns(settings: ProjectSettings) -> dict[str, Any]:
    """The settings as the columns of a project's row."""
    return {
        "name": settings.name,
        "name_key": name_key(settings.name),
        "guidelines": settings.guidelines,
        "types": list(settings.types),
        "raters_per_pair": settings.raters_per_pair,
        "threshold_quarters": None if settings.threshold is None else to_quarters(settings.threshold),
        "step_quarters": to_quarters(settings.step),
        "is_random": settings.is_random,
        "seed": settings.seed,
        "may_revise": settings.may_revise,
        "lease_minutes": settings.lease_minutes,
        "most_per_rater": settings.most_per_rater,
        "consent": settings.consent or None,
        "consent_sha256": text_hash(settings.consent),
        "scale_words": settings.scale_words or None,
    }


def _check_types(session: Session, row: Project, before: ProjectSettings, after: ProjectSettings) -> None:
    """A type stays as long as anything of it is there to be graded or written for."""
    kept: tuple[tuple[str, type[Pair | LargerItem | TrainingPair], ColumnElement[bool]], ...] = (
        ("pairs", Pair, Pair.project_id == row.id),
        ("larger items", LargerItem, LargerItem.project_id == row.id),
        ("training pairs", TrainingPair, training_in_use(row.id)),
        ("check pairs", Pair, Pair.project_id == shelf_of(session, row.id)),
    )
    for name in before.types:
        if name in after.types:
            continue
        for what, table, is_there in kept:
            if count := count_where(session, is_there, table.type == name):
                raise SettingsError(f"The type {name!r} has {count:,} {what}: keep it.")


def _check_step(session: Session, row: Project, before: Decimal, after: Decimal) -> None:
    """A coarser step must hold the grades that were given, and one that is accepted of each known pair."""
    step = to_quarters(after)
    grades: tuple[tuple[str, InstrumentedAttribute[Any], ColumnElement[bool]], ...] = (
        ("grade", Rating.quarters, Rating.project_id == row.id),
        ("grade that is set aside", SetAsideRating.quarters, SetAsideRating.project_id == row.id),
        ("decision", Adjudication.quarters, Adjudication.project_id == row.id),
    )
    for what, quarters, in_project in grades:
        off = session.scalar(select(quarters).where(in_project, quarters % step != 0).limit(1))
        if off is not None:
            raise SettingsError(
                f"There is a {what} of {from_quarters(off)} already, which steps of {after} have not: "
                f"keep {before}."
            )
    for kind, distance in distances(quality_of(session, row.id)).items():
        if problem := out_of_reach(session, row.id, kind, after, distance):
            raise SettingsError(f"{problem}: keep {before}, or accept a larger distance on the tab Quality.")


def _change_slots(session: Session, row: Project, difference: int) -> None:
    if difference < 0:
        fewest = session.scalar(select(func.min(Pair.open_slots)).where(Pair.project_id == row.id))
        if fewest is not None and fewest + difference < 0:
            taken = row.raters_per_pair - fewest
            raise SettingsError(
                f"There is a pair that {taken} raters have graded or hold: "
                f"{row.raters_per_pair + difference} for each pair is too few, give {taken} or more."
            )
    session.execute(
        update(Pair).where(Pair.project_id == row.id).values(open_slots=Pair.open_slots + difference)
    )


def _reorder(session: Session, row: Project) -> None:
    rated = session.scalar(select(RatingChange.id).where(RatingChange.project_id == row.id).limit(1))
    if rated is not None:
        raise SettingsError(
            "The order and its seed stay as they are once a pair is graded: raters would meet pairs in an "
            "order that nobody can repeat."
        )
    for table in (Pair, LargerItem):
        _move(session, row, cast(Table, table.__table__))
    follow_pairs(session, row.id)
    reorder(session, row)


def _move(session: Session, row: Project, table: Table) -> None:
    """Give everything of a table the place that the settings say."""
    columns = table.c
    found = (
        select(columns.id, columns.type, columns.external_id, columns.import_order)
        .where(columns.project_id == row.id)
        .execution_options(yield_per=STREAMED_AT_ONCE)
    )
    move = update(table).where(columns.id == bindparam("which")).values(position=bindparam("place"))
    for part in session.execute(found).partitions():
        moves = [
            {"which": id, "place": place_in(row, type, external_id, import_order)}
            for id, type, external_id, import_order in part
        ]
        session.connection().execute(move, moves)
