"""Comparison types: what stands left and right, the question, and an example of each grade.

The first four are those of SemEval-2014 Task 3 (Jurgens et al. 2014, section 2.1). A project may have types
of its own; those named like "abstract2title" are labelled from their name, and in others none of the two
items is larger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_RANKS = {
    **dict.fromkeys(("document", "article"), 5),
    **dict.fromkeys(("paragraph", "abstract"), 4),
    "sentence": 3,
    **dict.fromkeys(("title", "headline", "phrase", "keyphrase"), 2),
    "word": 1,
}
"""How large some kinds of text are beside others; a sense is as large as its definition."""
_ITEM = "item"
UNNAMED = _ITEM.capitalize()
"""What an item is called where the name of its type does not say what it is."""
_SIZES = re.compile(r"([^\W\d](?:[^\W_]|[_-])*?)2([^\W\d](?:[^\W_]|[_-])*)")


@dataclass(frozen=True, slots=True)
class Example:
    """A pair and the grade that it deserves."""

    grade: int
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class ComparisonType:
    name: str
    """As files and projects write it, such as sentence2phrase."""
    label: str
    """As people read it, such as "sentence to phrase"."""
    larger: str
    """What the left item is, which is the larger one in the types of the task; `UNNAMED` if none says it."""
    smaller: str
    """What the right item is."""
    headings: tuple[str, str]
    """Of the left and the right item: these words, or "First sentence" and "Second sentence"."""
    question: str
    examples: tuple[Example, ...] = ()
    """From 4 to 0, with one larger item, so that only the smaller one changes; none for a project's own."""

    @property
    def is_of_equals(self) -> bool:
        """Whether none is larger: both are of one kind, as in sentence2sentence, or of none that is named."""
        return self.larger.casefold() == self.smaller.casefold()


def comparison_type(name: str) -> ComparisonType:
    """The type of that name: one of the five known, else one made from the name."""
    known = COMPARISON_TYPES.get(name)
    if known is not None:
        return known
    sizes = _SIZES.fullmatch(name)
    if sizes is None:
        return _type(name, _ITEM, _ITEM, label=name)
    larger, smaller = (size.replace("_", " ").strip(" -") for size in sizes.groups())
    return _type(name, larger or _ITEM, smaller or _ITEM)


def types_in_order(types: Iterable[str]) -> list[str]:
    """The task's own types first, in its order, then the others by name."""
    return sorted(set(types), key=place_of_type)


def foreign_type_text(type: str, types: Iterable[str]) -> str:
    """What follows the place of an imported row whose comparison type is none of the project's."""
    return (
        f", field 'type': {type!r} is not a type of the project, which has {', '.join(types)}; fix it or add "
        "it to the project."
    )


def place_of_type(type: str) -> tuple[int, str]:
    """Sorts types as `types_in_order` has them."""
    known = list(COMPARISON_TYPES)
    return (known.index(type), "") if type in known else (len(known), type)


def _type(
    name: str,
    larger: str,
    smaller: str,
    left: str = "",
    rights: tuple[str, ...] = (),
    *,
    label: str = "",
) -> ComparisonType:
    names = larger[:1].upper() + larger[1:], smaller[:1].upper() + smaller[1:]
    grades = range(len(rights) - 1, -1, -1)
    return ComparisonType(
        name=name,
        label=label or f"{larger} to {smaller}",
        larger=names[0],
        smaller=names[1],
        headings=(f"First {larger}", f"Second {larger}")
        if larger.casefold() == smaller.casefold()
        else names,
        question=_question(larger, smaller),
        examples=tuple(Example(grade, left, right) for grade, right in zip(grades, rights, strict=True)),
    )


def _question(left: str, right: str) -> str:
    if left.casefold() == right.casefold():
        return f"How similar in meaning are the first and the second {left}?"
    larger, smaller = (right, left) if _is_smaller(left, right) else (left, right)
    possessive = f"{larger}'" if larger.endswith("s") else f"{larger}'s"
    return f"How much of the {possessive} meaning does the {smaller} carry?"


def _is_smaller(left: str, right: str) -> bool:
    """Whether a type turns the order of the task's round, as phrase2paragraph does."""
    return {left, right} <= _RANKS.keys() and _RANKS[left] < _RANKS[right]


_KNOWN = (
    _type(
        "paragraph2sentence",
        "paragraph",
        "sentence",
        "The library closed its reading room for the summer because the roof let in rain. Volunteers carried "
        "nine thousand books into the school gym, where readers can borrow them on weekdays. The room is to "
        "open again in October, once the new roof is on.",
        (
            "Until its reading room gets a new roof in October, because rain came in, the library lends its "
            "books from the school gym.",
            "While its leaking roof is repaired, a library lends some of its books from the town hall.",
            "Volunteers at the school sorted old books for a sale that will pay for new gym equipment.",
            "The town museum opens at ten and is free for children.",
            "Add the egg whites slowly, or the dough will not rise.",
        ),
    ),
    _type(
        "sentence2phrase",
        "sentence",
        "phrase",
        "The night train to Vienna was cancelled because snow had brought down a power line.",
        (
            "cancellation of the Vienna night train after snow broke a power line",
            "a train delayed by winter weather",
            "clearing snow from the railway tracks",
            "the queue at the ticket office",
            "the taste of ripe apricots",
        ),
    ),
    _type(
        "phrase2word",
        "phrase",
        "word",
        "a small boat moved with oars",
        ("rowboat", "canoe", "oar", "harbour", "grammar"),
    ),
    _type(
        "word2sense",
        "word",
        "sense",
        "mouse (noun)",
        (
            "mouse (noun): a device under the hand that moves the pointer on a computer screen",
            "touchpad (noun): a flat surface that moves the pointer on a screen when a finger slides over it",
            "pointer (noun): the small arrow on a screen that shows where a click will go",
            "printer (noun): a machine that puts on paper what a computer sends to it",
            "hailstone (noun): a lump of ice that falls from a cloud",
        ),
    ),
    _type(
        "document2keyphrase",
        "document",
        "keyphrase",
        "Where to put stations for hired bicycles. A city can pay for only so many stations. We describe the "
        "trips of a year as a graph and choose the stations with a greedy algorithm whose result is provably "
        "close to the best. In three cities the chosen stations serve a fifth more trips than those that "
        "the planners had picked.",
        (
            "placement of bicycle hire stations",
            "bike sharing",
            "greedy algorithm",
            "car parking fees",
            "protein folding",
        ),
    ),
)
COMPARISON_TYPES = {known.name: known for known in _KNOWN}
