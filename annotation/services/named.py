"""Pairs and larger items of a project by the ids that somebody wrote, in a transaction that changes them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.characters import can_be_stored
from annotation.errors import AnnotationError, NotFoundError, PairError, WritingError
from annotation.services.bulk import is_among, parts
from db.models import LargerItem, Pair

_NOUNS: dict[type[Pair | LargerItem], str] = {Pair: "pair", LargerItem: "larger item"}
_ERRORS: dict[type[Pair | LargerItem], type[AnnotationError]] = {Pair: PairError, LargerItem: WritingError}


def find_named(
    session: Session,
    table: type[Pair | LargerItem],
    project_id: int,
    ids: Sequence[str],
    type: str | None,
) -> dict[str, int]:
    """The number of each, by its id, in the order of `ids`; a check pair is not among them.

    Raises:
        NotFoundError: the project has no such pair or item.
        PairError, WritingError: an id is that of pairs, of items of several types.
    """
    noun, of_type = _NOUNS[table], [] if type is None else [table.type == type]
    wanted = list(dict.fromkeys(ids))
    found: dict[str, dict[str, int]] = {}
    for some in parts([id for id in wanted if can_be_stored(id)]):
        among = select(table.external_id, table.type, table.id).where(
            table.project_id == project_id, is_among(session, table.external_id, some), *of_type
        )
        for id, its_type, number in session.execute(among):
            found.setdefault(id, {})[its_type] = number
    for id in wanted:
        if id not in found:
            with_type = "" if type is None else f" of the type {type}"
            raise NotFoundError(f"There is no {noun} {id!r}{with_type} in this project: look at the list.")
        if len(found[id]) > 1:
            types = ", ".join(sorted(found[id]))
            raise _ERRORS[table](f"There are {noun}s {id!r} of several types ({types}): say which type.")
    return {id: next(iter(found[id].values())) for id in wanted}
