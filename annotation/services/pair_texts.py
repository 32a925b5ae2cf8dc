"""What a new pair keeps of its word and sense, within a transaction of a service's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from annotation.pair_senses import senses_as_json, senses_from_json
from annotation.senses import WORD_TO_SENSE
from db.models import Pair


def senses_of(
    session: Session, project_id: int, type: str, right: str, chosen: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The writer's choice; else what another pair says of the same sense, without its word.

    Args:
        right: the smaller item.
        chosen: with the sense key that it is of, as "key".
    """
    if type != WORD_TO_SENSE:
        return None
    if chosen is not None and chosen.get("key") == right:
        return {name: value for name, value in chosen.items() if name != "key"}
    same = select(Pair.senses).where(
        Pair.project_id == project_id, Pair.type == type, Pair.right == right, Pair.senses.is_not(None)
    )
    known = senses_from_json(session.scalar(same.limit(1)))
    if known is None or known.sense is None:
        return None
    return senses_as_json(replace(known, flag=None, word_key=None, word_definition=""))
