"""Which terms a phrase bank holds, and the documents that were given them, by terms and by words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from tokenizers import Tokenizer

from kpdemo.errors import ConfigError, InputError
from kpdemo.io.documents import document_from_row
from kpdemo.io.files import parse_json, replace_file
from kpdemo.markup import plain_document
from kpdemo.simckp.examples import document_tokens
from kpdemo.simckp.phrase_bank import Associations
from kpdemo.simckp.terms import TermIndex, clean_term, solid_spellings, term_key, text_stems
from kpdemo.training.data import (
    Source,
    cache_errors,
    cache_name,
    choose_rows,
    draw_documents,
    in_groups,
    load_arrays,
    read_source,
    save_arrays,
    source_hashes,
    source_rows,
    tokenizer_hash,
)
from kpdemo.types import Document

TERMS_VERSION = 9

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
    What `clean_term` refuses is left out, and spellings that `solid_spellings` makes the same are one term:
    that which most documents use.

    Args:
        together: pairs of terms are kept that at least this many documents use both of.

    Raises:
        ConfigError: a file is missing, or no term is used often enough.
    """
    spellings: dict[str, Counter[str]] = {}
    lists: list[tuple[list[str], int]] = []
    for keyphrases, weight in _keyphrase_lists(sources, folder):
        found = {term_key(text): text for text in map(clean_term, map(bare, keyphrases)) if text}
        lists.append((list(found), weight))
        for key, text in found.items():
            spellings.setdefault(key, Counter())[text] += 1
    usual = _usual_keys(spellings)
    documents: Counter[str] = Counter()
    frequency: Counter[str] = Counter()
    for keys, weight in lists:
        for key in {usual[key] for key in keys}:
            documents[key] += 1
            frequency[key] += weight
    terms = [
        Term(key, commonest(spellings[key]), count, frequency[key])
        for key, count in sorted(documents.items())
        if count >= minimum
    ]
    if not terms:
        raise ConfigError(
            f"No keyphrase is used by {minimum} documents: give more documents, or a smaller `minimum`."
        )
    pairs = _pairs(terms, ({usual[key] for key in keys} for keys, _ in lists), together)
    return TermCollection(terms, pairs, len(lists))


def _usual_keys(spellings: Mapping[str, Counter[str]]) -> dict[str, str]:
    """For each key the one that most documents use of those with its solid spelling."""
    order = sorted(spellings, key=lambda key: (-spellings[key].total(), key))
    first: dict[str, str] = {}
    solids = solid_spellings([commonest(spellings[key]) for key in order])
    return {key: first.setdefault(solid, key) for key, solid in zip(order, solids, strict=True)}


def _pairs(
    terms: Sequence[Term], lists: Iterable[Collection[str]], together: int
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


def _keyphrase_lists(sources: Iterable[Source], folder: Path) -> Iterator[tuple[tuple[str, ...], int]]:
    """The keyphrases of each document, and its weight."""
    titles: set[str] = set()
    for source in sources:
        for title, keyphrases in choose_rows(_lists_by_title(source_rows(source, folder)), source):
            if title in titles:
                continue
            if title:
                titles.add(title)
            yield keyphrases, source.repeat


def _lists_by_title(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, tuple[str, ...]]]:
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
    name = cache_name([TERMS_VERSION, source_hashes(sources, folder), minimum, together])
    path = cache / f"terms-{name}.json"
    if path.is_file():
        with cache_errors(path):
            terms, pairs, documents = parse_json(path.read_text(encoding="utf-8"))
            return TermCollection([Term(*values) for values in terms], pairs, documents)
    found = collect_terms(sources, folder, minimum=minimum, together=together)
    stored = [[astuple(term) for term in found.terms], found.pairs, found.documents]
    replace_file(path, json.dumps(stored).encode())
    return found


PAIRS_VERSION = 4
PAIRS_GROUP = 1024  # documents that a process reads for one copy of all terms


@dataclass(frozen=True)
class TermPair:
    """A document as the dual encoder reads it, and its terms by number.

    Attributes:
        tokens: (T,) token ids.
        gold: (G,) the terms among its keyphrases, ascending.
        present: (S,) the terms that occur in its text, ascending; gold ones too.
    """

    tokens: NDArray[np.int32]
    gold: NDArray[np.int32]
    present: NDArray[np.int32]


def make_pair(document: Document, index: TermIndex, tokenizer: Tokenizer, *, length: int) -> TermPair:
    return TermPair(
        np.asarray(document_tokens(document, tokenizer, length), dtype=np.int32),
        np.asarray(gold_terms(document, index), dtype=np.int32),
        np.asarray(index.read(document).numbers, dtype=np.int32),
    )


def gold_terms(document: Document, index: TermIndex) -> list[int]:
    """The terms among a document's keyphrases, ascending."""
    found = (index.number(clean_term(bare(text)), document.language) for text in document.keyphrases)
    return sorted({number for number in found if number is not None})


_COLUMNS = ("tokens", "gold", "present")


class PairCache:
    """Pairs of many documents in flat arrays; documents without a gold term are left out."""

    def __init__(self, arrays: Mapping[str, NDArray[np.int32]]) -> None:
        self._arrays = dict(arrays)
        self._starts = {
            name: np.append(0, np.cumsum(arrays[f"{name}_counts"], dtype=np.int64)) for name in _COLUMNS
        }

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Tokens of each document."""
        return self._arrays["tokens_counts"]

    @property
    def repeats(self) -> NDArray[np.int32]:
        """How often each document occurs in one epoch."""
        return self._arrays["repeats"]

    def __getitem__(self, number: int) -> TermPair:
        def row(name: str) -> NDArray[np.int32]:
            first, end = self._starts[name][number : number + 2]
            return self._arrays[name][first:end]

        return TermPair(row("tokens"), row("gold"), row("present"))

    def save(self, path: Path) -> None:
        save_arrays(path, self._arrays)

    @classmethod
    def load(cls, path: Path) -> PairCache:
        return cls(load_arrays(path))

    @classmethod
    def build(cls, pairs: Iterable[tuple[TermPair, int]]) -> PairCache:
        """From pairs, each with the number of times it occurs in an epoch."""
        columns: dict[str, list[NDArray[np.int32]]] = {name: [] for name in _COLUMNS}
        repeats: list[int] = []
        for pair, repeat in pairs:
            if len(pair.gold):
                for name in _COLUMNS:
                    columns[name].append(getattr(pair, name))
                repeats.append(repeat)
        empty = np.zeros(0, dtype=np.int32)
        arrays: dict[str, NDArray[Any]] = {"repeats": np.asarray(repeats, dtype=np.int32)}
        for name, rows in columns.items():
            arrays[name] = np.concatenate([empty, *rows])
            arrays[f"{name}_counts"] = np.asarray([len(row) for row in rows], dtype=np.int32)
        return cls(arrays)

    @classmethod
    def join(cls, caches: Iterable[PairCache]) -> PairCache:
        """All pairs of `caches`, in order."""
        parts = [cls.build(())._arrays, *(cache._arrays for cache in caches)]
        return cls({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def cached_pairs(
    sources: Sequence[Source],
    folder: Path,
    index: TermIndex,
    tokenizer: Tokenizer,
    cache: Path,
    *,
    length: int,
    documents: int,
    seed: int,
) -> PairCache:
    """Pairs of `documents` documents drawn from all sources, read from `cache` when they are there.

    A source with `repeat` above 1 is always taken whole, the rest is drawn at random.

    Raises:
        ConfigError: a file is missing, or no document has a term of the bank among its keyphrases.
    """
    parts = [
        PAIRS_VERSION,
        source_hashes(sources, folder),
        list(index.keys),
        tokenizer_hash(tokenizer),
        length,
        documents,
        seed,
    ]
    path = cache / f"pairs-{cache_name(parts)}.npz"
    if path.is_file():
        return PairCache.load(path)
    chosen = draw_documents(sources, folder, documents, seed)
    make = partial(_pair_group, index, tokenizer, length)
    pairs = PairCache.join(in_groups(make, chosen, size=PAIRS_GROUP, description="terms"))
    if not len(pairs):
        raise ConfigError("No training document has a keyphrase of the bank: check the sources.")
    pairs.save(path)
    return pairs


def _pair_group(
    index: TermIndex, tokenizer: Tokenizer, length: int, group: Sequence[tuple[Document, int]]
) -> PairCache:
    return PairCache.build(
        (make_pair(document, index, tokenizer, length=length), repeat) for document, repeat in group
    )


WORDS_VERSION = 2
WORDS_GROUP = 1024


@dataclass(frozen=True)
class DocumentWords:
    """Of B documents with a term of the bank.

    Attributes:
        words: W stems that several documents have.
        documents: (B, W) float32, 1 where a document has the word.
        gold: (B, N) float32, 1 where a term is among its keyphrases.
    """

    words: tuple[str, ...]
    documents: csr_matrix
    gold: csr_matrix


def cached_words(
    sources: Sequence[Source],
    folder: Path,
    index: TermIndex,
    cache: Path,
    *,
    least: int,
) -> DocumentWords:
    """The words of all documents of the sources, read from `cache` when they are there.

    Args:
        index: of the bank's N terms.
        least: documents that have a word before it counts.

    Raises:
        ConfigError: a file is missing, or no document has a term of the bank among its keyphrases.
        TrainingError: the cache is damaged.
    """
    hashes = source_hashes(sources, folder)
    path = cache / f"words-{cache_name([WORDS_VERSION, hashes, list(index.keys), least])}.npz"
    if path.is_file():
        stored = load_arrays(path)
    else:
        documents = [document for source in sources for document in read_source(source, folder)]
        stored = _collect(documents, index, least)
        save_arrays(path, stored)
    words = tuple(stored["words"].tobytes().decode().split("\n"))
    return DocumentWords(
        words,
        _rows_of_ones(stored["held"], stored["held_counts"], len(words)),
        _rows_of_ones(stored["gold"], stored["gold_counts"], len(index.keys)),
    )


def _collect(documents: Sequence[Document], index: TermIndex, least: int) -> dict[str, NDArray[Any]]:
    """Rows of word and term numbers, one after the other, and how long they are."""
    known: dict[str, int] = {}
    held, gold = [], []
    for document, stems in zip(documents, _stems_of(documents), strict=True):
        if own := gold_terms(document, index):
            gold.append(np.array(own, dtype=np.int32))
            held.append(np.array([known.setdefault(stem, len(known)) for stem in stems], dtype=np.int32))
    if not gold:
        raise ConfigError("No training document has a keyphrase of the bank: check the sources.")
    used = np.bincount(np.concatenate(held), minlength=len(known)) >= least
    if not used.any():
        raise ConfigError(f"No word occurs in {least} documents: give more of them, or a smaller `least`.")
    renumbered = np.cumsum(used, dtype=np.int32) - 1
    kept = [renumbered[row[used[row]]] for row in held]
    words = [word for word, number in known.items() if used[number]]
    return {
        "words": np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
        "held": np.concatenate(kept),
        "held_counts": np.array(list(map(len, kept)), dtype=np.int32),
        "gold": np.concatenate(gold),
        "gold_counts": np.array(list(map(len, gold)), dtype=np.int32),
    }


def _stems_of(documents: Sequence[Document]) -> Iterator[list[str]]:
    for group in in_groups(_group_stems, documents, size=WORDS_GROUP, description="words"):
        yield from group


def _group_stems(documents: Sequence[Document]) -> list[list[str]]:
    return [sorted(text_stems(document)) for document in documents]


def _rows_of_ones(columns: NDArray[np.int32], counts: NDArray[np.int32], width: int) -> csr_matrix:
    starts = np.append(0, np.cumsum(counts, dtype=np.int64))
    return csr_matrix((np.ones(len(columns), dtype=np.float32), columns, starts), shape=(len(counts), width))
