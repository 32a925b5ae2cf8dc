"""Pairs of a project by the ids that somebody wrote, in a transaction that changes them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.characters import can_be_stored
from annotation.errors import NotFoundError, PairError
from annotation.services.bulk import is_among, parts
from db.models import Pair


def find_pairs(session: Session, project_id: int, ids: Sequence[str], type: str | None) -> dict[str, int]:
    """The number of each pair, by its id, in the order of `ids`; a check pair is not among them.

    Raises:
        NotFoundError: the project has no such pair.
        PairError: an id is that of pairs of several types.
    """
    of_type = [] if type is None else [Pair.type == type]
    wanted = list(dict.fromkeys(ids))
    found: dict[str, dict[str, int]] = {}
    for some in parts([id for id in wanted if can_be_stored(id)]):
        among = select(Pair.external_id, Pair.type, Pair.id).where(
            Pair.project_id == project_id, is_among(session, Pair.external_id, some), *of_type
        )
        for id, its_type, pair_id in session.execute(among):
            found.setdefault(id, {})[its_type] = pair_id
    for id in wanted:
        if id not in found:
            with_type = "" if type is None else f" of the type {type}"
            raise NotFoundError(f"There is no pair {id!r}{with_type} in this project: look at the list.")
        if len(found[id]) > 1:
            types = ", ".join(sorted(found[id]))
            raise PairError(f"There are pairs {id!r} of several types ({types}): say which type.")
    return {id: next(iter(found[id].values())) for id in wanted}
