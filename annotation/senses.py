"""Senses of words: keys and labels, the senses around one in a network, how they are shown and drawn.

The neighbourhood is that of Jurgens et al. 2014, section 3.3: all synsets connected by at most three edges of
WordNet's network. Every pointer is an edge, also those between single words of two synsets (antonyms,
derived forms), without which most adjectives would have hardly any neighbours.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from annotation.translation import _, mark, ngettext

WORD_TO_SENSE = "word2sense"
MOST_EDGES = 3
WORDNET_ADVICE = mark(
    "on Debian and Ubuntu `apt install wordnet-base wordnet-sense-index` puts it into /usr/share/wordnet, "
    "elsewhere unpack WordNet 3.0 of wordnet.princeton.edu and name its folder dict with --wordnet"
)

NO_WORDNET = mark("There is no WordNet in {folder} (no {file}): {advice}.")
UNREADABLE_WORDNET = mark(
    "WordNet in {folder} cannot be read ({reason}): fix that, or name another with --wordnet."
)
WORDNET_PROBLEMS = (NO_WORDNET, UNREADABLE_WORDNET, WORDNET_ADVICE)
"""Of which what is kept of an error is made."""

PARTS_OF_SPEECH = {"n": "noun", "v": "verb", "a": "adjective", "r": "adverb"}
_LETTERS = {name: letter for letter, name in PARTS_OF_SPEECH.items()}
_SENSE_KEY = re.compile(r"[^%\s]+%[1-5]:\d\d:\d\d:[^:\s]*:\d*")
_SENSE_NUMBER = re.compile(r"([^#\s]+)#([nvars])#(\d{1,3})")
_MEANT_AS_KEY = re.compile(r"%|#|::")
_PERCENT = re.compile(r"%\d")
_WORD = re.compile(r"(.+?)(?:#([nvars])|(?<!\s)\s+\((noun|verb|adjective|adverb)\))?")


class Relation(StrEnum):
    """What the next sense is to the one before, in words for people."""

    MORE_GENERAL = "more general"
    MORE_SPECIFIC = "more specific"
    WHOLE = "whole"
    PART = "part"
    SIMILAR = "similar"
    OPPOSITE = "opposite"
    DERIVED = "derived form"
    ATTRIBUTE = "attribute"
    ENTAILED = "implied"
    CAUSED = "caused"
    SEE_ALSO = "see also"
    DOMAIN = "field of use"
    IN_DOMAIN = "in this field"


RELATIONS: dict[str, Relation] = {
    **dict.fromkeys(("@", "@i"), Relation.MORE_GENERAL),
    **dict.fromkeys(("~", "~i"), Relation.MORE_SPECIFIC),
    **dict.fromkeys(("#m", "#s", "#p"), Relation.WHOLE),
    **dict.fromkeys(("%m", "%s", "%p"), Relation.PART),
    **dict.fromkeys(("&", "$"), Relation.SIMILAR),
    "!": Relation.OPPOSITE,
    **dict.fromkeys(("+", "\\", "<"), Relation.DERIVED),
    "=": Relation.ATTRIBUTE,
    "*": Relation.ENTAILED,
    ">": Relation.CAUSED,
    "^": Relation.SEE_ALSO,
    **dict.fromkeys((";c", ";u", ";r"), Relation.DOMAIN),
    **dict.fromkeys(("-c", "-u", "-r"), Relation.IN_DOMAIN),
}
"""By the pointer symbols of wninput(5WN)."""


@dataclass(frozen=True, slots=True)
class Sense:
    """A synset as people read it."""

    synset: str
    """Part of speech and place in WordNet's file, such as "n03793489"."""
    words: tuple[str, ...]
    """With spaces between their parts, the most usual first."""
    keys: tuple[str, ...]
    """The sense key of each word."""
    part_of_speech: str
    """noun, verb, adjective or adverb."""
    definition: str
    """The whole gloss, examples included."""

    @property
    def label(self) -> str:
        """Such as "mouse, computer mouse (noun)"."""
        return f"{', '.join(self.words)} ({self.part_of_speech})"


class WordFlag(StrEnum):
    """Why the word's meaning is none of WordNet's."""

    OOV = "oov"
    """Out of vocabulary: the word is not in WordNet."""
    OOS = "oos"
    """Out of sense: the word is, the meaning is not."""


@dataclass(frozen=True, slots=True)
class SenseText:
    """A sense in words."""

    words: str
    """Such as "mouse, computer mouse (noun)"."""
    definition: str


@dataclass(frozen=True, slots=True)
class PairSenses:
    """Of a pair of type word2sense; what is not known is empty."""

    flag: WordFlag | None = None
    word_key: str | None = None
    """The sense key of the meaning intended, or, with a flag, of the closest sense."""
    word_definition: str = ""
    """The meaning intended: WordNet's definition, or, with a flag, the writer's."""
    sense: SenseText | None = None
    parents: tuple[SenseText, ...] = ()
    siblings: tuple[SenseText, ...] = ()
    sibling_count: int = 0
    """How many there are; not all are kept."""


def undescribed_text(pairs: int) -> str:
    """A warning that raters would grade pairs of a word and a sense by the key alone, and what to do."""
    return ngettext(
        "{count} pair has a sense key and no definition, as there is no WordNet here: raters would grade "
        "bare keys. Install it before they do ({advice}); then `python -m annotation pairs describe "
        "PROJECT`, or the page Word senses, adds the definitions.",
        "{count} pairs have sense keys and no definitions, as there is no WordNet here: raters would grade "
        "bare keys. Install it before they do ({advice}); then `python -m annotation pairs describe "
        "PROJECT`, or the page Word senses, adds the definitions.",
        pairs,
        count=f"{pairs:,}",
        advice=_(WORDNET_ADVICE),
    )


@dataclass(frozen=True, slots=True)
class Edge:
    relation: Relation
    synset: str


@dataclass(frozen=True, slots=True)
class SenseStep:
    """A synset of a neighbourhood, and one of the shortest ways to it."""

    synset: str
    distance: int
    """Edges from where the neighbourhood begins."""
    relation: Relation | None = None
    """To the one before it; None where the neighbourhood begins."""
    via: str | None = None
    """The synset before it."""


def neighbourhood(edges: Callable[[str], Sequence[Edge]], start: str) -> tuple[SenseStep, ...]:
    """All synsets at most `MOST_EDGES` from `start`, itself first, by distance; within one as they are met.

    Args:
        edges: those that leave a synset.
        start: a synset.
    """
    steps = {start: SenseStep(start, 0)}
    ring = [start]
    for distance in range(1, MOST_EDGES + 1):
        met: list[str] = []
        for here in ring:
            for edge in edges(here):
                if edge.synset not in steps:
                    steps[edge.synset] = SenseStep(edge.synset, distance, edge.relation, here)
                    met.append(edge.synset)
        ring = met
    return tuple(steps.values())


def is_sense_key(text: str) -> bool:
    """Whether `text` has the form of a sense key, such as "top%2:38:04::" (senseidx(5WN))."""
    return _SENSE_KEY.fullmatch(text) is not None


def looks_like_key(text: str) -> bool:
    """Whether `text` is no definition in words, but a sense key or number, maybe a wrong one."""
    is_one_word = not any(map(str.isspace, text.removesuffix("\n")))
    return _PERCENT.search(text) is not None or (is_one_word and _MEANT_AS_KEY.search(text) is not None)


def sense_number(text: str) -> tuple[str, str, int] | None:
    """Word, part of speech (n, v, a or r) and number of "pot#n#2"; None of another text."""
    found = _SENSE_NUMBER.fullmatch(text)
    if found is None:
        return None
    word, letter, number = found.groups()
    return word, "a" if letter == "s" else letter, int(number)


def word_of(item: str) -> tuple[str, str | None]:
    """A word and its part of speech, n, v, a or r: of "mouse#n", "mouse (noun)", or None of "mouse"."""
    found = _WORD.fullmatch(item.strip())
    if found is None:
        return item.strip(), None
    word, letter, name = found.groups()
    return word, "a" if letter == "s" else letter or _LETTERS.get(name or "")


def word_label(item: str) -> str:
    """The word as people read it: "ice cream (noun)" of "ice_cream#n"; other texts as they are."""
    word, letter = word_of(item)
    if letter is None or "#" not in item:
        return item
    return f"{word.replace('_', ' ')} ({PARTS_OF_SPEECH[letter]})"


FLAG_NOTES = {
    WordFlag.OOV: mark("The dictionary does not have this word. It means:"),
    WordFlag.OOS: mark("The dictionary does not have this meaning of the word:"),
}


@dataclass(frozen=True, slots=True)
class SenseGroup:
    """Senses around the one that is compared."""

    title: str
    texts: tuple[SenseText, ...]
    more: int = 0
    """How many others are not listed."""


@dataclass(frozen=True, slots=True)
class ItemView:
    """One side of a pair."""

    text: str
    note: str = ""
    definition: str = ""
    groups: tuple[SenseGroup, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the text is all there is."""
        return not (self.note or self.definition or self.groups)


def item_views(type: str, left: str, right: str, senses: PairSenses | None) -> tuple[ItemView, ItemView]:
    """Both sides of a pair of any type; without `senses` the texts as they were stored."""
    if type != WORD_TO_SENSE:
        return ItemView(left), ItemView(right)
    word = ItemView(word_label(left))
    if senses is None:
        return word, ItemView(right)
    note = "" if senses.flag is None else _(FLAG_NOTES[senses.flag])
    word = ItemView(word_label(left), note, senses.word_definition)
    return word, ItemView(right) if senses.sense is None else _sense_view(senses.sense, senses)


def _sense_view(sense: SenseText, senses: PairSenses) -> ItemView:
    more = max(0, senses.sibling_count - len(senses.siblings))
    groups = (
        SenseGroup(_("More general"), senses.parents),
        SenseGroup(_("Others of the same kind"), senses.siblings, more),
    )
    return ItemView(sense.words, "", sense.definition, tuple(group for group in groups if group.texts))


MOST_DRAWN = (1, 24, 30, 30)
"""At each distance; the list has the others."""
RADII = (0.0, 130.0, 225.0, 310.0)
GAP = 10
"""Between the middle of a dot and its name, which stands outwards of it."""
_LETTER = 8.0
_LINE = 14


@dataclass(frozen=True, slots=True)
class Node:
    """A sense in the plane, the middle at 0, 0; and where the one before it is."""

    step: SenseStep
    x: float
    y: float
    before: tuple[float, float] | None


def layout_nodes(steps: Sequence[SenseStep]) -> tuple[Node, ...]:
    """The senses that are drawn, from the middle outwards; each has a sector as wide as what is behind it.

    Args:
        steps: a neighbourhood.
    """
    children = _children(steps)
    [first] = [step for step in steps if step.distance == 0]
    leaves: dict[str, int] = {}
    for step in reversed(_in_order(first, children)):
        leaves[step.synset] = max(1, sum(leaves[child.synset] for child in children[step.synset]))
    nodes = [Node(first, 0.0, 0.0, None)]
    sectors = {first.synset: (-math.pi / 2, 2 * math.pi)}
    for node in nodes:  # grows meanwhile
        begin, width = sectors[node.step.synset]
        for child in children[node.step.synset]:
            share = width * leaves[child.synset] / leaves[node.step.synset]
            sectors[child.synset] = (begin, share)
            angle, radius = begin + share / 2, RADII[child.distance]
            nodes.append(Node(child, radius * math.cos(angle), radius * math.sin(angle), (node.x, node.y)))
            begin += share
    return tuple(nodes)


def nodes_with_names(names: Mapping[Node, str]) -> set[Node]:
    """Those that have their name beside them: the inner ones, where it meets no other name and no dot.

    Args:
        names: of each node as they are drawn, from the middle outwards.
    """
    named: list[Node] = []
    for node, name in names.items():
        is_free = all(abs(node.y - other.y) > _LINE or abs(node.x - other.x) > 120 for other in named)
        is_middle = node.step.distance == 0
        if is_middle or (is_free and not any(_lies_on_name(dot, node, name) for dot in names)):
            named.append(node)
    return set(named)


def _lies_on_name(dot: Node, node: Node, name: str) -> bool:
    outwards = dot.x - node.x if node.x >= 0 else node.x - dot.x
    return 0 < outwards < GAP + _LETTER * len(name) and abs(dot.y - node.y) < _LINE / 2


def _children(steps: Sequence[SenseStep]) -> dict[str, list[SenseStep]]:
    """What is drawn behind each: the first ones at each distance whose way there is drawn too."""
    drawn: set[str] = set()
    counts = dict.fromkeys(range(len(MOST_DRAWN)), 0)
    children: dict[str, list[SenseStep]] = defaultdict(list)
    for step in steps:
        has_way = step.via is None or step.via in drawn
        if not has_way or counts[step.distance] == MOST_DRAWN[step.distance]:
            continue
        counts[step.distance] += 1
        drawn.add(step.synset)
        if step.via is not None:
            children[step.via].append(step)
    return children


def _in_order(first: SenseStep, children: dict[str, list[SenseStep]]) -> list[SenseStep]:
    order = [first]
    for step in order:  # grows meanwhile
        order.extend(children[step.synset])
    return order
