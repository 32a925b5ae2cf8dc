"""Which terms a phrase bank holds: what several documents use as author keyphrases."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from kpdemo.errors import ConfigError, InputError
from kpdemo.json_text import parse_json
from kpdemo.markup import plain_document
from kpdemo.reading.document_rows import document_from_row
from kpdemo.simckp.associations import Associations
from kpdemo.simckp.terms import LONGEST_TERM, straight, term_key
from kpdemo.storage import replace_file
from kpdemo.training.arrays import cache_errors, cache_name
from kpdemo.training.sources import Source, chosen, source_hashes, source_rows

CACHE_VERSION = 8
LONGEST_TEXT = 80  # characters: anything longer is a sentence among the keyphrases

_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")
_NO_TEXT = {"text": "–"}  # lists of keyphrases without their documents count too


@dataclass(frozen=True, slots=True)
class Term:
    """Attributes:
    key: see `term_key`.
    text: the commonest spelling.
    documents: how many documents have it among their keyphrases.
    frequency: the same, each document counted as often as its source says.
    """

    key: str
    text: str
    documents: int
    frequency: int


@dataclass(frozen=True)
class TermCollection:
    """Attributes:
    terms: sorted by key.
    pairs: (E, 3) two terms by number, the smaller first, and how many documents have both; ascending.
    documents: how many with keyphrases were read.
    """

    terms: Sequence[Term]
    pairs: Sequence[tuple[int, int, int]]
    documents: int

    def associations(self) -> Associations:
        uses = np.array([term.documents for term in self.terms], dtype=np.int32)
        pairs = np.array(self.pairs, dtype=np.int32).reshape(-1, 3)
        return Associations(uses, pairs[:, 0], pairs[:, 1], pairs[:, 2], self.documents)


def collect_terms(
    sources: Sequence[Source], folder: Path, *, minimum: int, together: int = 2
) -> TermCollection:
    """The terms that at least `minimum` documents of the sources use as keyphrases.

    A title that comes again is the same document. `repeat` of a source weighs its documents in the frequency.
    "arthritis, rheumatoid" is left out where "rheumatoid arthritis" is a term; "teaching, learning" and
    "learning, teaching" both stay.

    Args:
        together: pairs of terms are kept that at least this many documents use both of.

    Raises:
        ConfigError: a file is missing, or no term is used often enough.
    """
    documents: Counter[str] = Counter()
    frequency: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    lists: list[list[str]] = []
    for keyphrases, weight in _keyphrase_lists(sources, folder):
        found = {term_key(text): text for text in map(bare, keyphrases) if len(text) <= LONGEST_TEXT}
        lists.append([key for key in found if _is_term(key)])
        for key in lists[-1]:
            documents[key] += 1
            frequency[key] += weight
            spellings.setdefault(key, Counter())[found[key]] += 1
    texts = {key: commonest(spellings[key]) for key, count in sorted(documents.items()) if count >= minimum}
    terms = [
        Term(key, text, documents[key], frequency[key])
        for key, text in texts.items()
        if (usual := texts.get(term_key(straight(text)), text)) == text or straight(usual) != usual
    ]
    if not terms:
        raise ConfigError(
            f"No keyphrase is used by {minimum} documents: give more documents, or a smaller `minimum`."
        )
    return TermCollection(terms, _pairs(terms, lists, together), len(lists))


def _pairs(
    terms: Sequence[Term], lists: Iterable[Sequence[str]], together: int
) -> list[tuple[int, int, int]]:
    numbers = {term.key: number for number, term in enumerate(terms)}
    counts: Counter[tuple[int, int]] = Counter()
    for keys in lists:
        counts.update(combinations(sorted(numbers[key] for key in keys if key in numbers), 2))
    return [(*pair, count) for pair, count in sorted(counts.items()) if count >= together]


def commonest(spellings: Counter[str]) -> str:
    """The commonest spelling, of equals the first in the alphabet; lower case where that is usual too."""
    best = min(spellings, key=lambda text: (-spellings[text], text))
    capitalised = all(word.islower() or word.istitle() for word in re.findall(r"[^\W\d_]+", best))
    return best.lower() if capitalised and 4 * spellings[best.lower()] >= spellings[best] else best


def bare(keyphrase: str) -> str:
    """Without the abbreviation in brackets that some authors put after it, and with single spaces."""
    return " ".join(_BRACKETS.sub("", keyphrase).split()) or keyphrase


def _is_term(key: str) -> bool:
    return any(map(str.isalpha, key)) and key.count(" ") < LONGEST_TERM


def _keyphrase_lists(sources: Iterable[Source], folder: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """The keyphrases of each document, and its weight."""
    titles: set[str] = set()
    for source in sources:
        for title, keyphrases in chosen(_titled_lists(source_rows(source, folder)), source):
            if title in titles:
                continue
            if title:
                titles.add(title)
            yield keyphrases, source.repeat


def _titled_lists(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The title of each row that has keyphrases, in lower case, with these."""
    for where, row in rows:
        if keyphrases := _keyphrases(row, where):
            yield str(row.get("title") or "").strip().lower(), keyphrases


def _keyphrases(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    try:
        return plain_document(document_from_row({**_NO_TEXT, **row}, where=where)).keyphrases
    except InputError:
        return ()


def cached_terms(
    sources: Sequence[Source], folder: Path, cache: Path, *, minimum: int, together: int = 2
) -> TermCollection:
    """`collect_terms`, read from `cache` when they are there; its errors."""
    name = cache_name([CACHE_VERSION, source_hashes(sources, folder), minimum, together])
    path = cache / f"terms-{name}.json"
    if path.is_file():
        with cache_errors(path):
            terms, pairs, documents = parse_json(path.read_text(encoding="utf-8"))
            return TermCollection([Term(*values) for values in terms], pairs, documents)
    found = collect_terms(sources, folder, minimum=minimum, together=together)
    stored = [[astuple(term) for term in found.terms], found.pairs, found.documents]
    replace_file(path, json.dumps(stored).encode())
    return found
