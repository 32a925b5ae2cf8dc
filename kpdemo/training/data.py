"""Which documents a model is trained on, and a cache of them as examples."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tqdm import tqdm

from kpdemo.candidates.chunks import (
    Candidate,
    CandidateConfig,
    candidate_key,
    mine_candidates,
    random_candidates,
)
from kpdemo.candidates.tagger import TAGGER_ASSET, load_tagger
from kpdemo.documents import document_from_row, read_rows
from kpdemo.errors import ConfigError, InputError
from kpdemo.evaluation.frequency import FREQUENCY_ASSET
from kpdemo.simckp.examples import FEATURES, Example, build_example
from kpdemo.text import StemmedText, phrase_key
from kpdemo.types import Document

CACHE_VERSION = 2

_RANDOM_SEED = 1  # of random negatives: they are drawn once, for the cache

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """One file of training documents.

    Attributes:
        path: JSON Lines, plain, .gz or .xz; relative to the data folder.
        where: fields that a row must have with exactly these values.
        skip_ids: a regular expression; rows whose id it matches from the start are left out.
        repeat: times each document stands in one epoch.
        limit: only the first so many documents that pass.
        every: only every n-th row of those that pass.
        fields: what the file calls fields of a document, such as {"title": "fr_title", "abstract": "fr"}.
        language: of its documents, where they do not tell.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    path: Path
    where: Mapping[str, Any] = field(default_factory=dict)
    skip_ids: str = ""
    repeat: int = 1
    limit: int | None = None
    every: int = 1
    fields: Mapping[str, str] = field(default_factory=dict)
    language: str = ""

    def __repr__(self) -> str:
        """Without what is not set of the last two: caches and runs from before they came keep their names."""
        added = ("fields", "language")
        shown = {name: value for name, value in vars(self).items() if name not in added or value}
        return f"Source({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


@dataclass(frozen=True)
class FrequencyConfig:
    """Where the document frequencies of the TF-IDF baseline are counted."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...]
    data: Path = Path("data")
    output: Path = FREQUENCY_ASSET


def read_source(source: Source, folder: Path) -> Iterator[Document]:
    """The documents of a source that have gold keyphrases, in the order of the file."""
    return (document for document, _ in read_source_rows(source, folder))


def read_source_rows(source: Source, folder: Path) -> Iterator[tuple[Document, Mapping[str, Any]]]:
    """As `read_source`, each document with its row."""
    return islice(
        islice(_documents(source_rows(source, folder), source), 0, None, source.every), source.limit
    )


def source_rows(source: Source, folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of a source's file that pass `where` and `skip_ids`, each after its place for messages.

    Raises:
        ConfigError: there is no such file.
    """
    path = source_file(source, folder)
    return _passing(path, source.where, re.compile(source.skip_ids) if source.skip_ids else None)


def source_file(source: Source, folder: Path) -> Path:
    """Where the file of a source is.

    Raises:
        ConfigError: there is none.
    """
    path = folder / source.path
    if not path.is_file():
        raise ConfigError(f"No training data at {path}: check `data` and `path` in the configuration.")
    return path


def source_sizes(sources: Iterable[Source], folder: Path) -> list[tuple[str, int]]:
    """Each source with the bytes of its file: what the name of a cache says of them.

    Raises:
        ConfigError: a file is missing.
    """
    return [(str(source), source_file(source, folder).stat().st_size) for source in sources]


def _passing(
    path: Path, where: Mapping[str, Any], skipped: re.Pattern[str] | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in read_rows(path):
        if any(row.get(key) != value for key, value in where.items()):
            continue
        if skipped and skipped.match(str(row.get("id", ""))):
            continue
        yield f"{path.name}, line {number}", row


def _documents(
    rows: Iterable[tuple[str, Mapping[str, Any]]], source: Source
) -> Iterator[tuple[Document, Mapping[str, Any]]]:
    for where, row in rows:
        named = {**row, **{ours: row.get(theirs) for ours, theirs in source.fields.items()}}
        try:
            document = document_from_row(named, where=where)
        except InputError as error:
            logger.warning("left out: %s", error)
            continue
        if document.keyphrases:
            told = document.language or source.language
            yield replace(document, language=told), row


@dataclass(frozen=True)
class ExampleSettings:
    """All that decides how a document becomes an example; part of the cache's name.

    Attributes:
        random_negatives: in place of the candidates that are not gold, as many random runs of words.
    """

    tokenizer: str
    window: int
    overlap: int
    most_windows: int | None
    candidates: CandidateConfig
    random_negatives: bool = field(default=False, repr=False)  # caches without them keep their names


@dataclass(frozen=True)
class LabelledExample:
    """An example with its gold.

    Attributes:
        positive: (P,) bool, which of its candidates are gold.
        absent: the token ids of each keyphrase that the document does not hold, in the authors' order.
    """

    example: Example
    positive: NDArray[np.bool_]
    absent: tuple[NDArray[np.int64], ...] = ()

    @property
    def tokens(self) -> int:
        return sum(len(window) for window in self.example.windows)


def label_document(document: Document, settings: ExampleSettings, tokenizer: Tokenizer) -> LabelledExample:
    """Mine, align and label one document; candidates cut off by `most_windows` are left out."""
    candidates = mine_candidates(document, load_tagger(), settings.candidates)
    if settings.random_negatives:
        candidates = _with_random_negatives(document, candidates, settings.candidates)
    example = build_example(
        document,
        candidates,
        tokenizer,
        window=settings.window,
        overlap=settings.overlap,
        most_windows=settings.most_windows,
    )
    seen = sorted({candidate for _, candidate, _ in example.rows})
    number = {candidate: position for position, candidate in enumerate(seen)}
    rows = [(window, number[candidate], tokens) for window, candidate, tokens in example.rows]
    return LabelledExample(
        Example(example.windows, rows, example.features[seen]),
        gold_candidates(document, candidates)[seen],
        tuple(phrase_tokens(phrase, tokenizer) for phrase in absent_keyphrases(document)),
    )


def _with_random_negatives(
    document: Document, candidates: Sequence[Candidate], config: CandidateConfig
) -> list[Candidate]:
    """The candidates that are gold, and a random run of words for each of the others."""
    is_gold = gold_candidates(document, candidates)
    gold = [candidate for candidate, right in zip(candidates, is_gold, strict=True) if right]
    keys = {candidate_key(keyphrase) for keyphrase in document.keyphrases}
    others = len(candidates) - len(gold)
    return gold + random_candidates(document, others, config, without=keys, seed=_RANDOM_SEED)


def gold_candidates(document: Document, candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
    """(P,) true where a candidate is one of the document's keyphrases."""
    gold = {candidate_key(keyphrase) for keyphrase in document.keyphrases}
    return np.array([candidate.key in gold for candidate in candidates], dtype=bool)


def absent_keyphrases(document: Document) -> list[str]:
    """The document's keyphrases that do not stand in its text, each once, in their order."""
    text = StemmedText(document)
    found: dict[str, str] = {}
    for phrase in document.keyphrases:
        if any(map(str.isalnum, phrase)) and not text.contains(phrase):
            found.setdefault(phrase_key(phrase), phrase)
    return list(found.values())


def phrase_tokens(phrase: str, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """The token ids of a phrase by itself, without special tokens."""
    return np.asarray(tokenizer.encode(phrase, add_special_tokens=False).ids, dtype=np.int64)


class ExampleCache:
    """Labelled examples of many documents in flat arrays, so that 300,000 fit in memory.

    One window a document; those from which neither extraction nor generation can be learnt are left out.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = dict(arrays)
        self._token_starts = _starts(self._arrays["token_counts"])
        self._phrase_starts = _starts(self._arrays["phrase_counts"])
        self._member_starts = _starts(self._arrays["member_counts"])
        self._absent_starts = _starts(self._arrays["absent_counts"])
        self._absent_token_starts = _starts(self._arrays["absent_token_counts"])

    def __len__(self) -> int:
        return len(self._arrays["token_counts"])

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Tokens of each example."""
        lengths: NDArray[np.int32] = self._arrays["token_counts"]
        return lengths

    @property
    def weights(self) -> NDArray[np.int32]:
        """How often each example stands in one epoch."""
        weights: NDArray[np.int32] = self._arrays["repeats"]
        return weights

    @property
    def extractable(self) -> NDArray[np.bool_]:
        """Which examples have both a positive and a negative candidate."""
        hits = _starts(self._arrays["positive"])[self._phrase_starts]
        positives = np.diff(hits)
        return (positives > 0) & (positives < self._arrays["phrase_counts"])

    @property
    def generatable(self) -> NDArray[np.bool_]:
        """Which examples have an absent keyphrase."""
        counts: NDArray[np.int32] = self._arrays["absent_counts"]
        return counts > 0

    @property
    def absent_tokens(self) -> NDArray[np.int32]:
        """The token ids of all absent keyphrases of all examples, one after the other."""
        tokens: NDArray[np.int32] = self._arrays["absent_tokens"]
        return tokens

    def __getitem__(self, index: int) -> LabelledExample:
        arrays = self._arrays
        tokens = arrays["tokens"][self._token_starts[index] : self._token_starts[index + 1]]
        first, end = self._phrase_starts[index], self._phrase_starts[index + 1]
        members = [
            arrays["members"][self._member_starts[phrase] : self._member_starts[phrase + 1]].astype(np.int64)
            for phrase in range(first, end)
        ]
        example = Example(
            [tokens.astype(np.int64)],
            [(0, phrase, row) for phrase, row in enumerate(members)],
            arrays["features"][first:end].astype(np.float32),
        )
        return LabelledExample(example, arrays["positive"][first:end], self._absent(index))

    def _absent(self, index: int) -> tuple[NDArray[np.int64], ...]:
        starts = self._absent_token_starts
        return tuple(
            self.absent_tokens[starts[phrase] : starts[phrase + 1]].astype(np.int64)
            for phrase in range(self._absent_starts[index], self._absent_starts[index + 1])
        )

    def save(self, path: Path) -> None:
        save_arrays(path, self._arrays)

    @classmethod
    def load(cls, path: Path) -> ExampleCache:
        return cls(load_arrays(path))

    @classmethod
    def build(cls, labelled: Iterable[tuple[LabelledExample, int]]) -> ExampleCache:
        """From examples of one window each, with the number of times each is repeated in an epoch."""
        columns: dict[str, list[NDArray[Any]]] = {name: [] for name in _DTYPES}
        for item, repeat in labelled:
            members = [tokens for _, _, tokens in item.example.rows]
            contrast = item.positive.any() and not item.positive.all()
            if not members or not (contrast or item.absent):
                continue
            values = {
                "token_counts": [item.tokens],
                "tokens": item.example.windows[0],
                "phrase_counts": [len(members)],
                "member_counts": [len(tokens) for tokens in members],
                "members": np.concatenate(members),
                "features": item.example.features,
                "positive": item.positive,
                "repeats": [repeat],
                "absent_counts": [len(item.absent)],
                "absent_token_counts": [len(tokens) for tokens in item.absent],
                "absent_tokens": [token for tokens in item.absent for token in tokens],
            }
            for name, value in values.items():
                columns[name].append(np.asarray(value, dtype=_DTYPES[name]))
        return cls(_concatenate([{name: np.concatenate(parts) for name, parts in columns.items() if parts}]))

    @classmethod
    def join(cls, caches: Iterable[ExampleCache]) -> ExampleCache:
        """All examples of `caches`, in order."""
        return cls(_concatenate([cache._arrays for cache in caches]))


_DTYPES: dict[str, Any] = {
    "token_counts": np.int32,
    "tokens": np.int32,
    "phrase_counts": np.int32,
    "member_counts": np.int32,
    "members": np.int16,
    "features": np.float16,
    "positive": np.bool_,
    "repeats": np.int32,
    "absent_counts": np.int32,
    "absent_token_counts": np.int32,
    "absent_tokens": np.int32,
}


def _concatenate(columns: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    empty = {
        name: np.zeros((0, len(FEATURES)) if name == "features" else 0, dtype)
        for name, dtype in _DTYPES.items()
    }
    return {name: np.concatenate([part.get(name, empty[name]) for part in columns]) for name in _DTYPES}


def _starts(counts: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def cached_examples(
    sources: Sequence[Source],
    folder: Path,
    settings: ExampleSettings,
    cache: Path,
    *,
    documents: int,
    seed: int,
    workers: int | None = None,
) -> ExampleCache:
    """Examples of `documents` documents drawn from all sources, read from `cache` when they are there.

    A source with `repeat` above 1 is always taken whole, the rest is drawn at random.
    """
    path = cache / f"{_fingerprint(sources, folder, settings, documents, seed)}.npz"
    if path.is_file():
        return ExampleCache.load(path)
    chosen = draw_documents(sources, folder, documents, seed)
    examples = ExampleCache.join(_label_all(chosen, settings, workers or os.cpu_count() or 1))
    if not len(examples):
        raise ConfigError("No training document has a keyphrase and a candidate: check the sources.")
    examples.save(path)
    return examples


def draw_documents(
    sources: Sequence[Source], folder: Path, documents: int, seed: int
) -> list[tuple[Document, int]]:
    """At most `documents` documents, each with its repetitions in an epoch.

    A source with `repeat` above 1 is always taken whole, the rest is drawn at random.
    """
    always = [
        (doc, source.repeat) for source in sources if source.repeat > 1 for doc in read_source(source, folder)
    ]
    pool = [(doc, 1) for source in sources if source.repeat == 1 for doc in read_source(source, folder)]
    random.Random(seed).shuffle(pool)
    logger.info("%d documents in the sources", len(pool) + len(always))
    return [*always, *pool[: max(documents - len(always), 0)]]


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write beside `path` and rename, so that a crash leaves no half of a cache."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, allow_pickle=False, **arrays)
    partial.replace(path)


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """What `save_arrays` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _label_all(
    documents: Sequence[tuple[Document, int]], settings: ExampleSettings, workers: int
) -> Iterator[ExampleCache]:
    size = 64
    groups = [documents[first : first + size] for first in range(0, len(documents), size)]
    label = partial(_label_group, settings)
    with (
        ProcessPoolExecutor(workers) as pool,
        tqdm(total=len(documents), desc="candidates", unit="doc") as bar,
    ):
        for group, labelled in zip(groups, pool.map(label, groups), strict=True):
            yield labelled
            bar.update(len(group))


def _label_group(settings: ExampleSettings, group: Sequence[tuple[Document, int]]) -> ExampleCache:
    from kpdemo.simckp.backbone import load_tokenizer

    tokenizer = load_tokenizer(settings.tokenizer).backend_tokenizer
    return ExampleCache.build(
        (label_document(document, settings, tokenizer), repeat) for document, repeat in group
    )


def _fingerprint(
    sources: Sequence[Source], folder: Path, settings: ExampleSettings, documents: int, seed: int
) -> str:
    tagger = hashlib.sha256(TAGGER_ASSET.read_bytes()).hexdigest()
    parts = [CACHE_VERSION, source_sizes(sources, folder), str(settings), tagger, documents, seed]
    if settings.random_negatives:
        parts.append(_RANDOM_SEED)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
