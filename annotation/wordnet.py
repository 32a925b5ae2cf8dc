"""WordNet 3.0 from a folder of its database files, by NLTK's reader.

NLTK is imported with this module; import it when WordNet is needed, or let
`annotation.sense_pairs.Dictionary` do so.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from threading import RLock
from typing import Any

import nltk.data
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.corpus.reader.wordnet import WordNetError as NltkWordNetError

from annotation.errors import WordNetError
from annotation.senses import PARTS_OF_SPEECH, RELATIONS, Edge, Relation, Sense, is_sense_key

SYSTEM_FOLDER = Path("/usr/share/wordnet")
"""Where Debian's packages put it."""
MOST_KEPT = 20_000
"""Synsets that stay in memory, about 50 MB."""
_PARTS = ("adj", "adv", "noun", "verb")
NEEDED = (
    *(f"data.{part}" for part in _PARTS),
    *(f"index.{part}" for part in (*_PARTS, "sense")),
    *(f"{part}.exc" for part in _PARTS),
)
ADVICE = (
    "on Debian and Ubuntu `apt install wordnet-base wordnet-sense-index` puts it into /usr/share/wordnet, "
    "elsewhere unpack WordNet 3.0 of wordnet.princeton.edu and name its folder dict with --wordnet"
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


class WordNet:
    """Senses by word, by sense key and by synset. A definition is the whole gloss: its examples belong to it.

    NLTK reads from one open file for each part of speech, so one thread at a time asks.
    """

    def __init__(self, folder: Path) -> None:
        """Read the indices of `folder`; takes a few seconds.

        Raises:
            WordNetError: the folder has no WordNet, or one that cannot be read.
        """
        self._lock = RLock()
        missing = [name for name in NEEDED if not (folder / name).is_file()]
        if missing:
            raise WordNetError(f"There is no WordNet in {folder} (no {missing[0]}): {ADVICE}.")
        try:
            self._reader = _Reader(folder.resolve())
        except (OSError, ValueError, AssertionError, StopIteration, NltkWordNetError) as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise WordNetError(
                f"WordNet in {folder} cannot be read ({reason}): fix that, or name another with --wordnet."
            ) from error

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
            return [self._sense(synset) for synset in found]

    def sense(self, key: str) -> Sense | None:
        """The sense with this key; None of an unknown one."""
        with self._lock:
            synset = self._of_key(key)
            return None if synset is None else self._sense(synset)

    def synset(self, synset: str) -> Sense:
        """The sense of a synset that was met before."""
        with self._lock:
            return self._sense(self._synset(synset))

    def key_of(self, word: str, part_of_speech: str, number: int) -> str | None:
        """The key of a word's sense by its number, from 1: of "pot#n#2"; None when it has none."""
        with self._lock:
            word = word.lower()
            offsets = self._reader.offsets(word, part_of_speech)
            if not 1 <= number <= len(offsets):
                return None
            synset = self._reader.synset_from_pos_and_offset(part_of_speech, offsets[number - 1])
            keys = (str(lemma.key()) for lemma in synset.lemmas() if lemma.name().lower() == word)
            return next(keys, None)

    def number_of(self, key: str) -> str | None:
        """The sense as word, part of speech and number, such as "pot#n#2"; None of an unknown key."""
        with self._lock:
            synset = self._of_key(key)
            if synset is None:
                return None
            word = next(lemma.name() for lemma in synset.lemmas() if lemma.key() == key.lower())
            letter = _letter(synset.pos())
            offsets = self._reader.offsets(word.lower(), letter)
            return f"{word}#{letter}#{offsets.index(synset.offset()) + 1}"

    def edges(self, synset: str) -> list[Edge]:
        """Every pointer of a synset and of its words, those between synsets first; always in one order."""
        with self._lock:
            found = self._synset(synset)
            # NLTK keeps them in sets, whose order is another one in each process.
            pointers = [(symbol, sorted(targets)) for symbol, targets in found._pointers.items()]
            pointers += [(symbol, targets) for (_, symbol), targets in found._lemma_pointers.items()]
            return [
                Edge(RELATIONS[symbol], _id(pos, offset))
                for symbol, targets in pointers
                if symbol in RELATIONS
                for pos, offset, *_ in targets
            ]

    def parents(self, synset: str) -> list[Sense]:
        """What it is a kind of; of an adjective in a cluster the head of the cluster."""
        with self._lock:
            return [self.synset(parent) for parent in self._parents(synset)]

    def siblings(self, synset: str) -> list[Sense]:
        """The other children of its parents, in the order of WordNet's files."""
        with self._lock:
            found: dict[str, None] = {}
            for parent in self._parents(synset):
                down = Relation.SIMILAR if parent[0] == "a" else Relation.MORE_SPECIFIC
                found.update(
                    dict.fromkeys(edge.synset for edge in self.edges(parent) if edge.relation is down)
                )
            return [self.synset(sibling) for sibling in found if sibling != synset]

    def _parents(self, synset: str) -> list[str]:
        is_satellite = self._synset(synset).pos() == "s"
        up = Relation.SIMILAR if is_satellite else Relation.MORE_GENERAL
        return list(dict.fromkeys(edge.synset for edge in self.edges(synset) if edge.relation is up))

    def _of_key(self, key: str) -> Any | None:
        if not is_sense_key(key):
            return None
        try:
            return self._reader.synset_from_sense_key(key)
        except (NltkWordNetError, ValueError, KeyError):
            return None

    def _synset(self, synset: str) -> Any:
        self._reader.forget()
        return self._reader.synset_from_pos_and_offset(synset[0], int(synset[1:]))

    def _sense(self, synset: Any) -> Sense:
        lemmas = synset.lemmas()
        return Sense(
            _id(synset.pos(), synset.offset()),
            tuple(lemma.name().replace("_", " ") for lemma in lemmas),
            tuple(lemma.key() for lemma in lemmas),
            PARTS_OF_SPEECH[_letter(synset.pos())],
            self._reader.gloss(synset),
        )


def _letter(part_of_speech: str) -> str:
    """n, v, a or r; satellites stand with the adjectives."""
    return "a" if part_of_speech == "s" else part_of_speech


def _id(part_of_speech: str, offset: int) -> str:
    return f"{_letter(part_of_speech)}{offset:08}"


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
        if file == "lexnames":
            names = enumerate(_LEXICOGRAPHER_FILES.split())
            return io.StringIO("".join(f"{number:02}\t{name}\t0\n" for number, name in names))
        return super().open(file)

    def map_wn(self, version: str = "wordnet") -> None:
        """No map to the numbers of another WordNet, which NLTK would look for among its own corpora."""

    def offsets(self, word: str, part_of_speech: str) -> list[int]:
        """Where the synsets of a word are, in the order of their numbers; none of an unknown word."""
        return list(self._lemma_pos_offset_map.get(word, {}).get(part_of_speech, ()))

    def forget(self) -> None:
        """Drop what was read when it gets much; NLTK would keep it all."""
        if sum(map(len, self._synset_offset_cache.values())) > MOST_KEPT:
            self._synset_offset_cache.clear()

    def gloss(self, synset: Any) -> str:
        """What stands behind the bar in the line of a synset."""
        file = self._data_file(synset.pos())
        file.seek(synset.offset())
        return str(file.readline()).partition("|")[2].strip()


def open_wordnet(folder: Path | None) -> WordNet:
    """WordNet in `folder`, by default the system's.

    Raises:
        WordNetError: see `WordNet`.
    """
    return WordNet(folder or SYSTEM_FOLDER)
