"""WordNet 3.0 from a folder of its database files (wndb(5WN)).

NLTK's reader finds the synsets of words, of their forms and of sense keys. What a synset says is read from
its line: NLTK has no public name for some pointers, takes glosses apart and keeps every synset it has seen.

NLTK is imported with this module; import it when WordNet is needed, or let
`annotation.sense_pairs.Dictionary` do so.
"""

from __future__ import annotations

import io
import re
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Self

import nltk.data
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.corpus.reader.wordnet import WordNetError as NltkWordNetError

from annotation.errors import WordNetError
from annotation.senses import (
    NO_WORDNET,
    PARTS_OF_SPEECH,
    RELATIONS,
    UNREADABLE_WORDNET,
    WORDNET_ADVICE,
    Edge,
    Relation,
    Sense,
    is_sense_key,
)
from annotation.translation import _

SYSTEM_FOLDER = Path("/usr/share/wordnet")
"""Where Debian's packages put it."""
_FILES = {"a": "adj", "r": "adv", "n": "noun", "v": "verb"}
NEEDED = (
    *(f"data.{part}" for part in _FILES.values()),
    *(f"index.{part}" for part in (*_FILES.values(), "sense")),
    *(f"{part}.exc" for part in _FILES.values()),
)
# lexnames(5WN): the lexicographer files in the order of their numbers. Debian's package leaves the file out.
_LEXICOGRAPHER_FILES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body "
    "noun.cognition noun.communication noun.event noun.feeling noun.food noun.group noun.location "
    "noun.motive noun.object noun.person noun.phenomenon noun.plant noun.possession noun.process "
    "noun.quantity noun.relation noun.shape noun.state noun.substance noun.time verb.body verb.change "
    "verb.cognition verb.communication verb.competition verb.consumption verb.contact verb.creation "
    "verb.emotion verb.motion verb.perception verb.possession verb.social verb.stative verb.weather adj.ppl"
)

_MARKER = re.compile(r"\([^()]*\)$")
"""Where an adjective may stand, such as "(a)" for before a noun."""


class WordNet:
    """Senses by word, by sense key and by synset. A definition is the whole gloss: its examples belong to it.

    NLTK reads from one open file for each part of speech, so one thread at a time asks it.
    """

    def __init__(self, folder: Path) -> None:
        """Read the indices of `folder`; takes a few seconds.

        Raises:
            WordNetError: the folder has no WordNet, or one that cannot be read.
        """
        self._lock = Lock()
        self._folder = folder.resolve()
        missing = [name for name in NEEDED if not (folder / name).is_file()]
        if missing:
            advice = _(WORDNET_ADVICE)
            raise WordNetError(_(NO_WORDNET, folder=folder, file=missing[0], advice=advice))
        try:
            self._reader = _Reader(self._folder)
        except (OSError, ValueError, AssertionError, StopIteration, NltkWordNetError) as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise WordNetError(_(UNREADABLE_WORDNET, folder=folder, reason=reason)) from error

    def of_word(self, word: str, part_of_speech: str | None = None) -> list[str]:
        """The definition of each sense of a word or one of its forms, the most frequent sense first.

        Args:
            word: spaces or underscores between its parts.
            part_of_speech: n, v, a or r; None is any.
        """
        return [sense.definition for sense in self.senses_of(word, part_of_speech)]

    def of_key(self, sense_key: str) -> str | None:
        """The definition of the sense with this key, such as "top%2:38:04::"; None of an unknown one."""
        sense = self.sense(sense_key)
        return None if sense is None else sense.definition

    def senses_of(self, word: str, part_of_speech: str | None = None) -> list[Sense]:
        """The senses of a word or one of its forms; see `of_word`."""
        with self._lock:
            found = self._reader.synsets("_".join(word.split()), part_of_speech)
        return [self.synset(_id(synset.pos(), synset.offset())) for synset in found]

    def sense(self, key: str) -> Sense | None:
        """The sense with this key; None of an unknown one."""
        synset = self._of_key(key)
        return None if synset is None else self.synset(synset)

    def synset(self, synset: str) -> Sense:
        """The sense of a synset that was met before."""
        entry = self._entry(synset)
        words = tuple(word.replace("_", " ") for word, _ in entry.words)
        return Sense(synset, words, self._keys(entry), PARTS_OF_SPEECH[synset[0]], entry.gloss)

    def key_of(self, word: str, part_of_speech: str, number: int) -> str | None:
        """The key of a word's sense by its number, from 1: of "pot#n#2"; None when it has none."""
        keys = list(self._keys_of_word(word, part_of_speech).values())
        return keys[number - 1] if 1 <= number <= len(keys) else None

    def number_of(self, key: str) -> str | None:
        """The sense as word, part of speech and number, such as "pot#n#2"; None of an unknown key."""
        synset = self._of_key(key)
        if synset is None:
            return None
        entry = self._entry(synset)
        word, _ = entry.words[self._keys(entry).index(key.lower())]
        number = list(self._keys_of_word(word, synset[0])).index(synset) + 1
        return f"{word}#{synset[0]}#{number}"

    def edges(self, synset: str) -> list[Edge]:
        """Every pointer of a synset and of its words, those between synsets first; always in one order."""
        between: dict[str, set[str]] = defaultdict(set)
        of_words: dict[tuple[str, str], list[str]] = defaultdict(list)
        for symbol, target, words in self._entry(synset).pointers:
            if words == "0000":
                between[symbol].add(target)
            else:
                of_words[words[:2], symbol].append(target)
        found = [(symbol, sorted(targets)) for symbol, targets in between.items()]
        found += [(symbol, targets) for (_, symbol), targets in of_words.items()]
        return [
            Edge(RELATIONS[symbol], target)
            for symbol, targets in found
            if symbol in RELATIONS
            for target in targets
        ]

    def parents(self, synset: str) -> list[Sense]:
        """What it is a kind of; of an adjective in a cluster the head of the cluster."""
        return [self.synset(parent) for parent in self._parents(synset)]

    def siblings(self, synset: str) -> list[Sense]:
        """The other children of its parents, in the order of WordNet's files."""
        found: dict[str, None] = {}
        for parent in self._parents(synset):
            down = Relation.SIMILAR if parent[0] == "a" else Relation.MORE_SPECIFIC
            found.update(dict.fromkeys(edge.synset for edge in self.edges(parent) if edge.relation is down))
        return [self.synset(sibling) for sibling in found if sibling != synset]

    def _parents(self, synset: str) -> list[str]:
        up = Relation.SIMILAR if self._entry(synset).pos == "s" else Relation.MORE_GENERAL
        return list(dict.fromkeys(edge.synset for edge in self.edges(synset) if edge.relation is up))

    def _of_key(self, key: str) -> str | None:
        if not is_sense_key(key):
            return None
        try:
            with self._lock:
                found = self._reader.synset_from_sense_key(key)
        except (NltkWordNetError, ValueError, KeyError):
            return None
        return _id(found.pos(), found.offset())

    def _keys_of_word(self, word: str, part_of_speech: str) -> dict[str, str]:
        """The synsets of a word in the order of their numbers, each with the word's key there."""
        keys: dict[str, str] = {}
        with self._lock:
            for lemma in self._reader.lemmas(word, part_of_speech):
                synset = lemma.synset()
                keys.setdefault(_id(synset.pos(), synset.offset()), str(lemma.key()))
        return keys

    def _entry(self, synset: str) -> _Entry:
        with (self._folder / f"data.{_FILES[synset[0]]}").open("rb") as file:
            file.seek(int(synset[1:]))
            return _Entry.parse(file.readline().decode("utf-8"))

    def _keys(self, entry: _Entry) -> tuple[str, ...]:
        """The sense key of each word (senseidx(5WN)); that of a satellite names the head of its cluster."""
        head = ":"
        if entry.pos == "s":
            cluster = next(target for symbol, target, _ in entry.pointers if symbol == "&")
            word, number = self._entry(cluster).words[0]
            head = f"{word}:{number:02}"
        begin = f"{'nvars'.index(entry.pos) + 1}:{entry.lexicographer}"
        return tuple(f"{word}%{begin}:{number:02}:{head}".lower() for word, number in entry.words)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A synset, as its line in a data file says."""

    lexicographer: str
    """The number of the lexicographer's file, two digits."""
    pos: str
    """n, v, a, r, or s of an adjective in a cluster."""
    words: list[tuple[str, int]]
    """Each with its number among the words of the lexicographer's file that are written alike."""
    pointers: list[tuple[str, str, str]]
    """Symbol, synset, and the numbers of the words it connects, two digits each: 0000 of none."""
    gloss: str

    @classmethod
    def parse(cls, line: str) -> Self:
        columns, _, gloss = line.partition("|")
        _, lexicographer, pos, count, *fields = columns.split()
        end = 2 * int(count, 16)
        words = [(_MARKER.sub("", fields[at]), int(fields[at + 1], 16)) for at in range(0, end, 2)]
        pointers = [
            (fields[at], _id(fields[at + 2], int(fields[at + 1])), fields[at + 3])
            for at in range(end + 1, end + 1 + 4 * int(fields[end]), 4)
        ]
        return cls(lexicographer, pos, words, pointers, gloss.strip())


def _id(part_of_speech: str, offset: int) -> str:
    letter = "a" if part_of_speech == "s" else part_of_speech  # satellites stand with the adjectives
    return f"{letter}{offset:08}"


class _Reader(WordNetCorpusReader):  # type: ignore[misc]  # NLTK has no types
    """NLTK's, for a folder that needs no other corpus beside it."""

    def __init__(self, folder: Path) -> None:
        if str(folder) not in nltk.data.path:
            nltk.data.path.append(str(folder))  # NLTK reads nowhere else
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that other languages are missing
            super().__init__(nltk.data.FileSystemPathPointer(str(folder)), None)
        for name in NEEDED:  # some are opened only when they are asked
            self.open(name).close()

    def open(self, file: str) -> Any:
        """A file of the folder; that of the lexicographers' names is the same in each."""
        if file == "lexnames":
            names = enumerate(_LEXICOGRAPHER_FILES.split())
            return io.StringIO("".join(f"{number:02}\t{name}\t0\n" for number, name in names))
        return super().open(file)

    def map_wn(self, version: str = "wordnet") -> None:
        """No map to the numbers of another WordNet, which NLTK would look for among its own corpora."""


def open_wordnet(folder: Path | None) -> WordNet:
    """WordNet in `folder`, by default the system's.

    Raises:
        WordNetError: see `WordNet`.
    """
    return WordNet(folder or SYSTEM_FOLDER)
