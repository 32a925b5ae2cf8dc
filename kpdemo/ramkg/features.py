"""The ranker's features of a phrase: in its document, and compared with the retrieved keyphrases.

Letters: P phrases, K retrieved keyphrases, D width of the vectors, F features.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kpdemo.candidates.chunks import Candidate
from kpdemo.languages.names import ENGLISH
from kpdemo.languages.wording import folded
from kpdemo.ramkg.phrases import mine_phrases, mined_key
from kpdemo.ramkg.subwords import SubwordReader
from kpdemo.ramkg.terms import LanguageTerms, Lexicon, Translations
from kpdemo.types import Document, Span

OWN_FEATURES = (
    "present",
    "log count",
    "first place",
    "log first place",
    "last place",
    "in title",
    "words",
    "log characters",
    "inside longer",
    "capital",
    "log text",
    "log holding",
    "log keyphrases",
    "log share",
    "terms known",
    "likeness",
)
RETRIEVED_FEATURES = (
    "best likeness",
    "likeness to first",
    "votes",
    "written the same",
    "translation",
    "translations",
    "best passage",
    "lead of first",
)

MOST_KEYPHRASES = 12
"""Keyphrases that are taken from one retrieved passage, in training and in prediction."""

LIKELY_TERMS = 20
"""Absent terms that are candidates for their likeness to the document; as many more as translations."""

_VOTE_FROM = 0.5
_SPEAKS_FROM = 0.6
_SMOOTHING = 10
_UNSEEN = 0.3


@dataclass(frozen=True, slots=True)
class Phrase:
    """A candidate: present with all its spans, or absent without."""

    key: str
    text: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Help:
    """A retrieved keyphrase, with the rank of its passage, from 0, and its score."""

    text: str
    place: int
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The candidates of a document, ready to be scored.

    Attributes:
        own: (P, F) float32, `OWN_FEATURES`.
        retrieved: (P, F) float32, `RETRIEVED_FEATURES`; all 0 without retrieval.
        nearest: (P,) the number of the retrieved keyphrase that supports each candidate most; -1 for none.
    """

    phrases: tuple[Phrase, ...]
    own: NDArray[np.float32]
    retrieved: NDArray[np.float32]
    nearest: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Terms:
    """The keyphrases of a language that may be absent, with their vectors, (N, D)."""

    keys: tuple[str, ...]
    vectors: NDArray[np.float32]


@dataclass(frozen=True)
class Knowledge:
    """What the features are computed from.

    Attributes:
        banks: by language.
    """

    reader: SubwordReader
    lexicon: Lexicon
    banks: Mapping[str, Terms]

    @classmethod
    def of(cls, reader: SubwordReader, lexicon: Lexicon) -> Knowledge:
        """With the vectors of all terms."""
        banks = {}
        for language, terms in lexicon.terms.items():
            keys = tuple(terms.written)
            banks[language] = Terms(keys, reader.phrases([terms.written[key] for key in keys]))
        return cls(reader, lexicon, banks)

    def without_terms(self) -> Knowledge:
        """Without terms and translations, as for an unknown language."""
        return replace(self, lexicon=Lexicon({}, {}), banks={})

    def with_translations(self, translations: Mapping[str, Translations]) -> Knowledge:
        """The same with other translations."""
        return replace(self, lexicon=replace(self.lexicon, translations=translations))


def candidates_of(document: Document) -> tuple[Phrase, ...]:
    """The phrases of the text, as they are written most often."""
    return tuple(
        Phrase(candidate.key, _most_written(document, candidate), candidate.spans)
        for candidate in mine_phrases(document)
    )


def rank_input(
    document: Document,
    present: Sequence[Phrase],
    knowledge: Knowledge,
    help: Sequence[Help] = (),
    *,
    own_keys: Collection[str] | None = None,
) -> Ranked:
    """The candidates of a document with their features.

    Args:
        present: what `candidates_of` gives.
        help: keyphrases of retrieved passages, the best passage's first.
        own_keys: the document's own keyphrases, when the document is among those that the terms were counted
            in: it is then left out of the counts.
    """
    terms = knowledge.lexicon.terms.get(document.language, LanguageTerms())
    translated = _translated(help, knowledge.lexicon.translations.get(document.language, {}))
    [place] = knowledge.reader.documents([document])
    held = {phrase.key for phrase in present}
    absent = _absent(document, place, held, terms, translated, knowledge, own_keys)
    phrases = (*present, *absent)
    vectors = knowledge.reader.phrases([phrase.text for phrase in phrases])
    own = _own_features(document, phrases, terms, own_keys)
    own[:, OWN_FEATURES.index("likeness")] = vectors @ place
    retrieved = np.zeros((len(phrases), len(RETRIEVED_FEATURES)), dtype=np.float32)
    nearest = np.full(len(phrases), -1)
    if help and phrases:
        likeness = vectors @ knowledge.reader.phrases([item.text for item in help]).T
        nearest = _retrieved_features(retrieved, phrases, help, likeness, translated)
    return Ranked(phrases, own, retrieved, nearest)


def _absent(
    document: Document,
    place: NDArray[np.float32],
    held: Collection[str],
    terms: LanguageTerms,
    translated: Mapping[str, tuple[float, float, int]],
    knowledge: Knowledge,
    own_keys: Collection[str] | None,
) -> list[Phrase]:
    """Terms that the text does not hold: translations of the help, and those most like the document."""
    bank = knowledge.banks.get(document.language)
    if bank is None or not bank.keys:
        return []
    wanted = sorted((key for key in translated if key in terms.written), key=lambda key: -translated[key][0])
    order = np.argsort(-(bank.vectors @ place), kind="stable")
    near = [bank.keys[number] for number in order[: LIKELY_TERMS * 2].tolist()]
    known = own_keys or ()
    chosen: dict[str, None] = {}
    for group in (wanted, near):
        free = [key for key in group if key not in held and terms.keyphrases[key] > (key in known)]
        chosen.update(dict.fromkeys(free[:LIKELY_TERMS]))
    return [Phrase(key, terms.written[key]) for key in chosen]


def _translated(help: Sequence[Help], table: Translations) -> dict[str, tuple[float, float, int]]:
    """Key to its best and its summed probability, weighed with the passages' scores, and whose it is."""
    found: dict[str, tuple[float, float, int]] = {}
    for number, item in enumerate(help):
        for key, share in sorted(table.get(mined_key(item.text, ENGLISH), {}).items()):
            weighed = share * max(item.score, 0.0)
            best, total, whose = found.get(key, (0.0, 0.0, number))
            found[key] = (max(best, weighed), total + weighed, number if weighed > best else whose)
    return found


def _own_features(
    document: Document, phrases: Sequence[Phrase], terms: LanguageTerms, own_keys: Collection[str] | None
) -> NDArray[np.float32]:
    length = max(len(document.text), 1)
    counts = {phrase.key: len(phrase.spans) for phrase in phrases}
    longer = _longer(counts)
    left_out = own_keys is not None
    known = own_keys or ()
    rows = []
    for phrase in phrases:
        key, spans, text = phrase.key, phrase.spans, phrase.text
        first, last = (spans[0][0], spans[-1][0]) if spans else (length, length)
        holding = max(terms.holding.get(key, 0) - (left_out and bool(spans)), 0)
        keyphrases = max(terms.keyphrases.get(key, 0) - (key in known), 0)
        rows.append(
            (
                bool(spans),
                math.log1p(len(spans)),
                first / length,
                math.log1p(first),
                last / length,
                bool(spans) and first < document.body_start,
                key.count(" ") + 1,
                math.log(len(text)),
                longer.get(key, 0) / max(len(spans), 1),
                text[0].isupper(),
                math.log(length),
                math.log1p(holding),
                math.log1p(keyphrases),
                math.log((keyphrases + _UNSEEN) / (holding + _SMOOTHING)),
                bool(terms.holding),
                0.0,
            )
        )
    return np.array(rows, dtype=np.float32).reshape(-1, len(OWN_FEATURES))


def _longer(counts: Mapping[str, int]) -> dict[str, int]:
    """For each key the count of the most frequent longer one that contains it."""
    found: dict[str, int] = {}
    for key, count in counts.items():
        words = key.split(" ")
        for size in range(1, len(words)):
            for first in range(len(words) - size + 1):
                part = " ".join(words[first : first + size])
                if part in counts:
                    found[part] = max(found.get(part, 0), count)
    return found


def _retrieved_features(
    into: NDArray[np.float32],
    phrases: Sequence[Phrase],
    help: Sequence[Help],
    likeness: NDArray[np.float32],
    translated: Mapping[str, tuple[float, float, int]],
) -> NDArray[np.int64]:
    """Fill in (P, F) from the likeness (P, K); returns what speaks for each phrase most."""
    scores = np.array([item.score for item in help], dtype=np.float32)
    places = np.array([item.place for item in help])
    weighed = likeness * scores
    nearest = np.where(likeness.max(axis=1) >= _SPEAKS_FROM, weighed.argmax(axis=1), -1)
    by_place = [scores[places == place].max(initial=0.0) for place in (0, 1)]
    written = {folded_phrase(item.text) for item in help}
    into[:, 0] = weighed.max(axis=1)
    into[:, 1] = likeness[:, places == places.min()].max(axis=1)
    into[:, 2] = (np.clip(likeness - _VOTE_FROM, 0, None) * scores).sum(axis=1)
    into[:, 3] = [folded_phrase(phrase.text) in written for phrase in phrases]
    for number, phrase in enumerate(phrases):
        best, total, whose = translated.get(phrase.key, (0.0, 0.0, -1))
        into[number, 4:6] = best, total
        if best > 0 and (nearest[number] < 0 or best > into[number, 0]):
            nearest[number] = whose
    into[:, 6] = by_place[0]
    into[:, 7] = by_place[0] - by_place[1]
    return nearest


def folded_phrase(phrase: str) -> str:
    """The phrase with each word `folded` and single spaces."""
    return " ".join(map(folded, phrase.split()))


def _most_written(document: Document, candidate: Candidate) -> str:
    """On one line; of equals the first."""
    written = Counter(" ".join(document.text[start:end].split()) for start, end in candidate.spans)
    return written.most_common(1)[0][0]
