"""What a new pair keeps of its word and sense, within a transaction of a service's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from annotation.senses.network import WORD_TO_SENSE
from annotation.senses.pair_senses import senses_as_json, senses_from_json
from annotation.services.bulk import is_among, parts
from db.models import Pair


class SmallerItem(NamedTuple):
    """A text that is, or may become, the smaller item of a pair."""

    type: str
    text: str
    chosen: Mapping[str, Any] | None
    """What its writer chose, with the sense key that it is of, as "key"."""

    @property
    def is_chosen(self) -> bool:
        return self.chosen is not None and self.chosen.get("key") == self.text


def senses_of(
    session: Session, project_id: int, type: str, right: str, chosen: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The writer's choice; else what another pair says of the same sense, without its word."""
    [senses] = senses_of_all(session, project_id, [SmallerItem(type, right, chosen)])
    return senses


def senses_of_all(
    session: Session, project_id: int, items: Sequence[SmallerItem]
) -> list[dict[str, Any] | None]:
    """The same of many: the pairs are looked through once, as no index has their texts."""
    asked = {item.text for item in items if item.type == WORD_TO_SENSE and not item.is_chosen}
    known: dict[str, dict[str, Any] | None] = {}
    for texts in parts(sorted(asked)):
        first = select(func.min(Pair.id)).where(
            Pair.project_id == project_id,
            Pair.type == WORD_TO_SENSE,
            Pair.senses.is_not(None),
            is_among(session, Pair.right, texts),
        )
        of_first = select(Pair.right, Pair.senses).where(Pair.id.in_(first.group_by(Pair.right)))
        known |= {right: _without_word(senses) for right, senses in session.execute(of_first)}
    return [_of(item, known) for item in items]


def _of(item: SmallerItem, known: Mapping[str, dict[str, Any] | None]) -> dict[str, Any] | None:
    if item.type != WORD_TO_SENSE:
        return None
    if item.chosen is not None and item.is_chosen:
        return {name: value for name, value in item.chosen.items() if name != "key"}
    return known.get(item.text)


def _without_word(senses: Mapping[str, Any] | None) -> dict[str, Any] | None:
    known = senses_from_json(senses)
    if known is None or known.sense is None:
        return None
    return senses_as_json(replace(known, flag=None, word_key=None, word_definition=""))
