"""What a leaderboard takes: how many pairs and systems, and texts that can be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from annotation.errors import ScoreFileError, SettingsError
from annotation.names import name_key
from annotation.services.system_rows import Gold

MOST_PAIRS = 50_000
MOST_SYSTEMS = 40
"""On one gold set: each is compared with each other one."""
_LONGEST = {"type": 80, "id": 200, "genre": 200}


def check_training(pairs: int, grouped: Callable[[int], str] = "{:,}".format) -> None:
    """So many pairs may be calibrated on.

    Args:
        grouped: writes a large number.

    Raises:
        ScoreFileError: they are too many.
    """
    if pairs > MOST_PAIRS:
        raise ScoreFileError(
            f"There are {grouped(pairs)} training pairs, and the leaderboard takes {grouped(MOST_PAIRS)}: "
            "use `python -m annotation score`."
        )


def check_names(names: Sequence[str], kept: Sequence[str]) -> None:
    """So many more systems have room on a gold set, and names of their own.

    Args:
        names: of the new ones.
        kept: keys of the names that are there.

    Raises:
        SettingsError: a name is taken, or there are too many systems.
    """
    taken = set(kept)
    for name in names:
        if name_key(name) in taken:
            raise SettingsError(
                f"A system named {name!r} already exists: give another name, or remove that one."
            )
        taken.add(name_key(name))
    if len(kept) >= MOST_SYSTEMS:
        raise SettingsError(
            f"There are {len(kept)} systems on this gold set, as many as can be: remove some first."
        )
    if len(taken) > MOST_SYSTEMS:
        raise SettingsError(
            f"{len(taken)} systems would be on this gold set, and {MOST_SYSTEMS} can be: add fewer, or "
            "remove some first."
        )


def check_gold(gold: Gold) -> None:
    """Systems may be measured on it.

    Raises:
        ScoreFileError: it has no pairs or too many, or texts that cannot be kept.
    """
    if not gold.pairs:
        raise ScoreFileError(
            "The gold set has no pairs with a grade yet: have some graded and adjudicated, or choose another "
            "one."
        )
    if len(gold.pairs) > MOST_PAIRS:
        raise ScoreFileError(
            f"The gold set has {len(gold.pairs):,} pairs, and the leaderboard takes {MOST_PAIRS:,}: use "
            "`python -m annotation score`."
        )
    for pair in gold.pairs:
        fields = {"type": pair.type, "id": pair.id, "genre": pair.genre or ""}
        for field, value in fields.items():
            if len(value) > _LONGEST[field]:
                most = _LONGEST[field]
                raise ScoreFileError(
                    f"{pair.place}, field {field!r}: has {len(value)} characters; shorten it to {most}."
                )
        if any("\0" in text for text in (*fields.values(), pair.left, pair.right)):
            raise ScoreFileError(f"{pair.place}: holds the character U+0000; delete it.")
