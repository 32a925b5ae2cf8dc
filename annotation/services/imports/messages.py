"""What the messages of every import say alike."""

from __future__ import annotations

from collections.abc import Iterable

from annotation.authoring import NewItem
from annotation.types import NewPair, NewRating


def place_of(read: NewPair | NewRating | NewItem) -> str:
    """Where it stands in its file, for the beginning of a message."""
    if isinstance(read, NewItem):
        return read.place or f"Item {read.id!r}"
    id = read.pair_id if isinstance(read, NewRating) else read.id
    return read.place or f"Pair {id!r}"


def foreign_type_text(type: str, types: Iterable[str]) -> str:
    """What follows the place of a row whose comparison type is none of the project's."""
    return (
        f", field 'type': {type!r} is no type of the project, which has {', '.join(types)}; mend it or add "
        "it to the project."
    )
