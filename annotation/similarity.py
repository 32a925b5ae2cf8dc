"""How much two texts share, character by character: the two baselines of SemEval-2014 Task 3.

Both measures are 0 to 1, twice the shared characters over all of both texts (Dice). Case and white space
count. Texts hold no halves of characters: these mark what is tiled already.
"""

from __future__ import annotations

MINIMUM_MATCH = 6
"""The shortest tile, in characters, as in the task's baseline."""
_TILED = ("\ud800", "\ud801")


def substring_similarity(first: str, second: str) -> float:
    """The longest common substring's share (Clough and Stevenson 2011; the task's official baseline)."""
    _, length = _longest_match(*_by_length(first, second), longer_than=0)
    return _share(length, first, second)


def longest_common_piece(first: str, second: str) -> str:
    """The longest piece of the two, the first of equals; empty when they share nothing."""
    shorter, longer = _by_length(first, second)
    start, length = _longest_match(shorter, longer, longer_than=0)
    return shorter[start : start + length]


def tiling_similarity(first: str, second: str, minimum: int = MINIMUM_MATCH) -> float:
    """The share of all tiles of Greedy String Tiling (Wise 1996, YAP3).

    Again and again the longest piece that the two share is set apart, the first of equals, until none of
    `minimum` characters is left: what was moved about counts as well.
    """
    shorter, longer = _by_length(first, second)
    tiled = 0
    while True:
        start, length = _longest_match(shorter, longer, longer_than=minimum - 1)
        if not length:
            return _share(tiled, first, second)
        place = longer.find(shorter[start : start + length])
        shorter = shorter[:start] + _TILED[0] * length + shorter[start + length :]
        longer = longer[:place] + _TILED[1] * length + longer[place + length :]
        tiled += length


def _longest_match(pattern: str, text: str, *, longer_than: int) -> tuple[int, int]:
    """Where in `pattern` the first longest piece of `text` begins, and its length; (0, 0) if there is none.

    Asks at each place only for more than has been found, which leaves the search itself to `in`.
    """
    start, length = 0, longer_than
    for place in range(len(pattern) - longer_than):
        while place + length < len(pattern) and pattern[place : place + length + 1] in text:
            start, length = place, length + 1
    return (start, length) if length > longer_than else (0, 0)


def _by_length(first: str, second: str) -> tuple[str, str]:
    return (first, second) if len(first) <= len(second) else (second, first)


def _share(shared: int, first: str, second: str) -> float:
    return 2 * shared / max(len(first) + len(second), 1)
