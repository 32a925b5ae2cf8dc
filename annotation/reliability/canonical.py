"""A canonical order of classes of pairs: it depends on grades, not on how raters and pairs are numbered.

By colour refinement (Weisfeiler and Leman 1968): raters and classes are rehashed by each other until no more
raters can be told apart, then one of those still tied is singled out, and so on. Only contrived designs, such
as rings of equal grades, tie raters who are not interchangeable: there other numbers may change the draws.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from annotation.agreement import Floats, Integers

Hashes = npt.NDArray[np.uint64]
"""Of 64 bits; combined by addition, so that order does not matter."""


def class_order(sizes: Integers, classes: Integers, raters: Integers, *said: Floats) -> Integers:
    """A permutation (C,) of the classes that does not depend on how classes and raters are numbered.

    Args:
        sizes: how many pairs are of each class (C,).
        classes: of each rating (E,).
        raters: of each rating (E,).
        said: what else there is to a rating, each (E,).
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
    """The bit pattern of each value, the same of 0 and -0."""
    return (values + 0.0).view(np.uint64)


def hashed(*parts: Hashes) -> Hashes:
    """A hash (N,) of the values at each position of the parts (N,), mixed as in SplitMix64."""
    found = np.zeros_like(parts[0])
    for part in parts:
        found = (found ^ part) + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found ^= found >> np.uint64(31)
    return found


def added(places: Integers, hashes: Hashes, count: int) -> Hashes:
    """The sums (count,) of the hashes (E,) at each place."""
    sums = np.zeros(count, np.uint64)
    np.add.at(sums, places, hashes)
    return sums


def _numbered(keys: Hashes) -> Hashes:
    """How many equal keys come before each key (N,): raters who said the same are interchangeable."""
    order = np.argsort(keys, kind="stable")
    _, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    numbers = np.empty(len(keys), np.uint64)
    numbers[order] = np.arange(len(keys)) - np.repeat(starts, counts)
    return numbers
