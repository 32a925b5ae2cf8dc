"""Making pairs of what was written, and pairs of grade 0, in the transaction of an editor."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, count, groupby
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from annotation.assignment import place_in
from annotation.authoring import UNRELATED, Candidate, ZeroItem, zero_partners
from annotation.comparison import UNNAMED, comparison_type
from annotation.errors import WritingError
from annotation.exchange import fingerprint
from annotation.files.row_reader import LONGEST_ID
from annotation.services.checks import shelf_of
from annotation.services.imports.known_pairs import training_prints
from annotation.services.imports.order import next_order
from annotation.services.in_use import IN_USE
from annotation.services.pair_texts import senses_of
from annotation.services.projects import as_project, find_project
from annotation.services.rating.barring import bar
from annotation.services.writing.plan import read_plan
from annotation.services.writing.rows import same_group, viewers_of
from annotation.types import QUARTERS_PER_POINT, Project
from db.models import LargerItem, Pair, Writing


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
        raise WritingError("The same pair already exists: change the text, or hand the item on.")
    if mark in training_prints(session, project.id):
        raise WritingError(
            "This is a training pair of the project, and training reveals its grade: change the text, or "
            "hand the item on."
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
        intended_quarters=grade * QUARTERS_PER_POINT,
        source=item.source,
        senses=senses_of(session, project.id, item.type, right, senses),
        fingerprint=mark,
        position=place_in(settings, item.type, external_id, order),
        import_order=order,
        open_slots=settings.raters_per_pair,
    )
    session.add(pair)
    session.flush()
    bar(session.connection(), pair, barred, now)
    return pair.id


def _fingerprints(session: Session, project_id: int) -> set[str]:
    """Those of the pairs, check and training pairs among them: raters would meet them twice."""
    return {*session.scalars(_pair_prints(session, project_id)), *training_prints(session, project_id)}


def _pair_prints(session: Session, project_id: int) -> Select[str]:
    return select(Pair.fingerprint).where(Pair.project_id.in_((project_id, shelf_of(session, project_id))))


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
    there = _fingerprints(session, project_id) if reserved else set()
    made = 0
    for (type, genre), group in groupby(reserved, key=lambda item: (item.type, item.genre)):
        items = {item.external_id: item for item in group}
        partners = zero_partners(
            [ZeroItem(item.external_id, item.text, item.source) for item in items.values()],
            [*_candidates(session, project, type, genre)],
            plan.of(type).smaller,
            seed=project.settings.seed,
            used=_used(session, project_id, type, genre),
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


def _used(session: Session, project_id: int, type: str, genre: str | None) -> list[str]:
    """The smaller items of the pairs of grade 0 that there are."""
    return list(
        session.scalars(
            select(Pair.right)
            .join(LargerItem, LargerItem.pair_id == Pair.id)
            .where(same_group(project_id, type, genre), LargerItem.grade == UNRELATED)
        )
    )
