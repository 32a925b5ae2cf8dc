"""Comparison types: what stands left and right, the question, examples, and how large items may be.

The first four are those of SemEval-2014 Task 3 (Jurgens et al. 2014, section 2.1). A project may have types
of its own; those named like "abstract2title" are labelled from their name, and in others none of the two
items is larger.

Size is counted in words and sentences. Words are what stands between white space and has a letter or digit;
where a script writes no spaces, two characters are taken as a word. A sentence ends at a full stop, question
or exclamation mark before white space, but not after an initial, a title or an abbreviation with a dot
within; a rest without an end is one too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.errors import SettingsError
from annotation.translation import _, ngettext
from annotation.wording import quote_value
from kpdemo.text import number_of

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
    return sorted(set(types), key=rank_of_type)


def foreign_type_text(type: str, types: Iterable[str]) -> str:
    """What follows the place of an imported row whose comparison type is none of the project's."""
    return (
        f", field 'type': {type!r} is not a type of the project, which has {', '.join(types)}; fix it or add "
        "it to the project."
    )


def rank_of_type(type: str) -> tuple[int, str]:
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
    # A type may turn the order of the task's round, as phrase2paragraph does.
    is_turned = {left, right} <= _RANKS.keys() and _RANKS[left] < _RANKS[right]
    larger, smaller = (right, left) if is_turned else (left, right)
    possessive = f"{larger}'" if larger.endswith("s") else f"{larger}'s"
    return f"How much of the {possessive} meaning does the {smaller} carry?"


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


MOST = 100_000
"""The largest bound that can be set."""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_END = re.compile(  # a run of marks is looked at once, from its first
    r"(?<![.!?…؟۔।])[.!?…؟۔।]++[\"'”’»)\]]*+(?=\s+[^\sa-z]|\s*$)|[。！？]++[”’」』）]*"
)
_NO_END = re.compile(r"(?:\b(?:[^\W\d_]|Mrs?|Ms|Dr|St|Prof|Jr|Sr|vs|cf|Fig)|\.[^\W\d_]+)\.$")
_RANGE = re.compile(r"\s*(\d{1,6})\s*(?:[-–—]|to)\s*(\d{1,6})\s*")


@dataclass(frozen=True, slots=True)
class Size:
    words: int
    sentences: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """Fewest and most, both allowed."""

    words: tuple[int, int]
    sentences: tuple[int, int]

    def problem(self, size: Size) -> str:
        """Why a text of that size does not fit, as "has 3 words, not 4 to 80"; empty when it does."""
        for name, count, (low, high) in (
            ("word", size.words, self.words),
            ("sentence", size.sentences, self.sentences),
        ):
            if not low <= count <= high:
                wanted = f"{low:,}" if low == high else f"{low:,} to {high:,}"
                return f"has {number_of(count, name)}, not {wanted}"
        return ""


@dataclass(frozen=True, slots=True)
class PairBounds:
    larger: Bounds
    smaller: Bounds


ANY = Bounds((1, 20_000), (1, 2_000))
DEFAULTS: Mapping[str, Bounds] = {
    "document": Bounds((20, 20_000), (1, 2_000)),
    "paragraph": Bounds((20, 400), (2, 30)),
    "sentence": Bounds((4, 80), (1, 3)),
    "phrase": Bounds((2, 15), (1, 1)),
    "keyphrase": Bounds((1, 8), (1, 1)),
    "word": Bounds((1, 2), (1, 1)),
    "sense": Bounds((1, 80), (1, 6)),
}
"""By the name of the size; a paragraph of SemEval-2014 Task 3 has 3.8 sentences on average (section 3.1)."""


def size_of(text: str) -> Size:
    """Words and sentences of a text."""
    words = sum(_words(chunk) for chunk in text.split())
    return Size(words, _sentences(text) if words else 0)


def bounds_of(type: str, changed: Mapping[str, Any]) -> PairBounds:
    """How large the items of a type may be.

    Args:
        type: its name, such as sentence2phrase.
        changed: what a project has of its own, as `check_bounds` gives it.
    """
    kind, own = comparison_type(type), changed.get(type, {})
    return PairBounds(
        _with(DEFAULTS.get(kind.larger.lower(), ANY), own.get("larger", {})),
        _with(DEFAULTS.get(kind.smaller.lower(), ANY), own.get("smaller", {})),
    )


def bounds_json(bounds: PairBounds) -> dict[str, dict[str, list[int]]]:
    """Bounds as they are kept and printed."""
    return {
        side: {"words": list(each.words), "sentences": list(each.sentences)}
        for side, each in (("larger", bounds.larger), ("smaller", bounds.smaller))
    }


def check_range(text: str, what: str) -> tuple[int, int]:
    """The fewest and most in a text such as "4-80".

    Args:
        what: begins the sentence: "Words of the paragraph".

    Raises:
        SettingsError: it is not such a range.
    """
    found = _RANGE.fullmatch(text)
    low, high = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= low <= high <= MOST:
        raise SettingsError(
            _(
                "{what}: {value} is not a range from 1 to {most}, give one such as 4-80.",
                what=what,
                value=quote_value(text),
                most=f"{MOST:,}",
            )
        )
    return low, high


def range_text(bounds: tuple[int, int]) -> str:
    """1 to 3, or 1."""
    low, high = bounds
    return f"{low:,}" if low == high else _("{low} to {high}", low=f"{low:,}", high=f"{high:,}")


def guidance(bounds: Bounds) -> str:
    """What to write, in words: "4 to 80 words, 1 to 3 sentences"."""
    words = _counted(bounds.words, "{count} word", "{count} words")
    if bounds.sentences[1] == 1:
        return words
    return f"{words}, {_counted(bounds.sentences, '{count} sentence', '{count} sentences')}"


def _counted(bounds: tuple[int, int], one: str, more: str) -> str:
    """ "4 to 80 words", in the form of the largest number."""
    return ngettext(one, more, bounds[1], count=range_text(bounds))


def _with(usual: Bounds, own: Mapping[str, Iterable[int]]) -> Bounds:
    words, sentences = (
        tuple(own.get(name, kept)) for name, kept in (("words", usual.words), ("sentences", usual.sentences))
    )
    return Bounds((words[0], words[1]), (sentences[0], sentences[1]))


def _words(chunk: str) -> int:
    unspaced = len(_UNSPACED.findall(chunk))
    rest = _UNSPACED.sub("", chunk) if unspaced else chunk
    return (unspaced + 1) // 2 + any(character.isalnum() for character in rest)


def _sentences(text: str) -> int:
    ends, last = 0, 0
    for match in _END.finditer(text):
        is_last = not text[match.end() :].strip()
        if is_last or not _NO_END.search(text[max(0, match.start() - 24) : match.start() + 1]):
            ends, last = ends + 1, match.end()
    rest = text[last:]
    return ends + any(character.isalnum() for character in rest)
