"""An order of the classes of pairs that grades alone tell: not who raters are, nor where pairs stand.

Raters and classes are hashed by each other in turn until no more raters are told apart (Weisfeiler and Leman
1968); of those still alike one is set apart, and so on. Only in contrived designs, such as rings of equal
grades, are some alike who are not interchangeable: there other numbers may still bring other draws.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from annotation.agreement import Floats, Integers

Hashes = npt.NDArray[np.uint64]
"""Of 64 bits; they are added up, which no order changes."""


def class_order(sizes: Integers, classes: Integers, raters: Integers, *said: Floats) -> Integers:
    """The places (C,) of classes in an order that the numbers of classes and raters do not change.

    Args:
        sizes: how many pairs are of each class (C,).
        classes: of each rating that matters (E,).
        raters: who gave it (E,).
        said: numbers that tell all of a rating that matters, each (E,).
    """
    found, numbers = np.unique(raters, return_inverse=True)
    links, alone = hashed(*map(bits, said)), hashed(sizes.astype(np.uint64))
    rows = added(numbers, hashed(links, classes.astype(np.uint64)), len(found))
    told, known = hashed(_numbered(rows)), 0
    while True:
        seen = alone + added(classes, hashed(links + told[numbers]), len(sizes))
        kinds, counts = np.unique(told, return_counts=True)
        if len(kinds) == len(told):
            return np.argsort(seen, kind="stable")
        if len(kinds) > known:
            known = len(kinds)
            told = hashed(told, added(numbers, hashed(links + seen[classes]), len(told)))
        else:  # interchangeable, so that any of them will do
            one = np.flatnonzero(told == kinds[counts > 1][0])[:1]
            told[one] = hashed(told[one])


def bits(values: Floats) -> Hashes:
    """Of each value those that it is stored in; of 0, one pattern."""
    return (values + 0.0).view(np.uint64)


def hashed(*parts: Hashes) -> Hashes:
    """A hash (N,) of what stands at the same place of each part (N,), by the steps of SplitMix64."""
    found = np.zeros_like(parts[0])
    for part in parts:
        found = (found ^ part) + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found ^= found >> np.uint64(31)
    return found


def added(places: Integers, hashes: Hashes, count: int) -> Hashes:
    """Hashes (E,) added up at their places (count,)."""
    sums = np.zeros(count, np.uint64)
    np.add.at(sums, places, hashes)
    return sums


def _numbered(keys: Hashes) -> Hashes:
    """Of each key (N,) how many equal ones stand before it: raters who said the same may change places."""
    order = np.argsort(keys, kind="stable")
    _, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    numbers = np.empty(len(keys), np.uint64)
    numbers[order] = np.arange(len(keys)) - np.repeat(starts, counts)
    return numbers
