"""How a document becomes an example with its gold, and the cache of examples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import nn

from kpdemo.candidates.chunks import Candidate, CandidateConfig, random_candidates
from kpdemo.candidates.mining import mine_candidates, mined_key
from kpdemo.candidates.tagger import TAGGER_ASSET, load_tagger
from kpdemo.errors import ConfigError
from kpdemo.evaluation.metrics import MacroFigures, named_metrics
from kpdemo.simckp.encoder import load_tokenizer
from kpdemo.simckp.examples import FEATURES, Example, Rows, build_example
from kpdemo.simckp.extractor import Batch
from kpdemo.text import StemmedText, phrase_key
from kpdemo.training.data import (
    Source,
    cache_name,
    draw_documents,
    in_groups,
    load_arrays,
    save_arrays,
    source_hashes,
    tokenizer_hash,
)
from kpdemo.training.fine_tuning import ExtractorTraining
from kpdemo.training.loop import Metrics
from kpdemo.training.processes import join_processes
from kpdemo.types import Document

if TYPE_CHECKING:
    from kpdemo.training.reranker import RerankerTraining


RANDOM_SEED = 1
"""Of random negatives: they are drawn once, for the cache."""


@dataclass(frozen=True)
class ExampleSettings:
    """All that decides how a document becomes an example; part of the cache's name.

    Attributes:
        tokenizer: the backbone's name or folder; the cache's name has its content.
        random_negatives: in place of the candidates that are not gold, as many random runs of words.
    """

    tokenizer: str
    window: int
    overlap: int
    candidates: CandidateConfig
    random_negatives: bool = False


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
    """Mine, align and label one document; candidates beyond its first window are left out."""
    candidates = mine_candidates(document, load_tagger(), settings.candidates)
    if settings.random_negatives:
        candidates = _with_random_negatives(document, candidates, settings.candidates)
    example = build_example(
        document,
        candidates,
        tokenizer,
        window=settings.window,
        overlap=settings.overlap,
        most_windows=1,  # a cached example has one
    )
    seen, numbers = np.unique(example.rows.candidates, return_inverse=True)
    return LabelledExample(
        Example(example.windows, replace(example.rows, candidates=numbers), example.features[seen]),
        gold_candidates(document, candidates)[seen],
        tuple(bare_phrase_tokens(phrase, tokenizer) for phrase in absent_keyphrases(document)),
    )


def _with_random_negatives(
    document: Document, candidates: Sequence[Candidate], config: CandidateConfig
) -> list[Candidate]:
    """The candidates that are gold, and a random run of words for each of the others."""
    is_gold = gold_candidates(document, candidates)
    gold = [candidate for candidate, right in zip(candidates, is_gold, strict=True) if right]
    keys = {mined_key(keyphrase, document.language) for keyphrase in document.keyphrases}
    others = len(candidates) - len(gold)
    return gold + random_candidates(document, others, config, without=keys, seed=RANDOM_SEED)


def gold_candidates(document: Document, candidates: Sequence[Candidate]) -> NDArray[np.bool_]:
    """(P,) true where a candidate is one of the document's keyphrases."""
    gold = {mined_key(keyphrase, document.language) for keyphrase in document.keyphrases}
    return np.array([candidate.key in gold for candidate in candidates], dtype=bool)


def absent_keyphrases(document: Document) -> list[str]:
    """The document's keyphrases that do not occur in its text, each once, in order."""
    text = StemmedText(document)
    found: dict[str, str] = {}
    for phrase in document.keyphrases:
        if any(map(str.isalnum, phrase)) and not text.contains(phrase):
            found.setdefault(phrase_key(phrase), phrase)
    return list(found.values())


def bare_phrase_tokens(phrase: str, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """The token ids of a phrase on its own, without special tokens."""
    return np.asarray(tokenizer.encode(phrase, add_special_tokens=False).ids, dtype=np.int64)


EXAMPLES_VERSION = 9


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
        return self._arrays["token_counts"]

    @property
    def repeats(self) -> NDArray[np.int32]:
        """How often each example occurs in one epoch."""
        return self._arrays["repeats"]

    @property
    def extractable(self) -> NDArray[np.bool_]:
        """Which examples have both a positive and a negative candidate."""
        hits = _starts(self._arrays["positive"])[self._phrase_starts]
        positives = np.diff(hits)
        return (positives > 0) & (positives < self._arrays["phrase_counts"])

    @property
    def generatable(self) -> NDArray[np.bool_]:
        """Which examples have an absent keyphrase."""
        return self._arrays["absent_counts"] > 0

    @property
    def absent_tokens(self) -> NDArray[np.int32]:
        """The token ids of all absent keyphrases of all examples, one after the other."""
        return self._arrays["absent_tokens"]

    def __getitem__(self, index: int) -> LabelledExample:
        arrays = self._arrays
        tokens = arrays["tokens"][self._token_starts[index] : self._token_starts[index + 1]]
        first, end = self._phrase_starts[index], self._phrase_starts[index + 1]
        rows = Rows(
            np.zeros(end - first, dtype=np.int64),
            np.arange(end - first),
            arrays["member_counts"][first:end].astype(np.int64),
            arrays["members"][self._member_starts[first] : self._member_starts[end]].astype(np.int64),
        )
        example = Example(
            [tokens.astype(np.int64)],
            rows,
            arrays["features"][first:end].astype(np.float32),
        )
        return LabelledExample(example, arrays["positive"][first:end], self.absent(index))

    def absent(self, index: int) -> tuple[NDArray[np.int64], ...]:
        """The token ids of each absent keyphrase of an example."""
        starts = self._absent_token_starts
        return tuple(
            self.absent_tokens[starts[phrase] : starts[phrase + 1]].astype(np.int64)
            for phrase in range(self._absent_starts[index], self._absent_starts[index + 1])
        )

    def batch(self, indices: Sequence[int], *, padding: int) -> Batch:
        """What `kpdemo.simckp.extractor.collate` makes of these examples, cut from the arrays in one go.

        Args:
            padding: the pad token id.
        """
        chosen = np.asarray(indices)
        documents = np.arange(len(chosen))
        token_counts, phrase_counts = (
            self._arrays[name][chosen] for name in ("token_counts", "phrase_counts")
        )
        real = np.arange(token_counts.max()) < token_counts[:, None]
        input_ids = np.full(real.shape, padding, dtype=np.int64)
        input_ids[real] = _cut(self._arrays["tokens"], self._token_starts, chosen)
        phrases = self._phrase_starts
        sizes = _cut(self._arrays["member_counts"], phrases, chosen).astype(np.int64)
        member_starts = self._member_starts[phrases]
        first_token = np.repeat(documents * real.shape[1], np.diff(member_starts)[chosen])
        owners = torch.from_numpy(np.repeat(documents, phrase_counts))
        return Batch(
            input_ids=torch.from_numpy(input_ids),
            attention_mask=torch.from_numpy(real).long(),
            window_document=torch.from_numpy(documents),
            members=torch.from_numpy(_cut(self._arrays["members"], member_starts, chosen) + first_token),
            row_starts=torch.from_numpy(np.cumsum(sizes) - sizes),
            row_phrase=torch.arange(len(sizes)),
            row_window=owners,
            phrase_document=owners,
            features=torch.from_numpy(_cut(self._arrays["features"], phrases, chosen).astype(np.float32)),
            positive=torch.from_numpy(_cut(self._arrays["positive"], phrases, chosen)),
            documents=len(chosen),
        )

    def save(self, path: Path) -> None:
        save_arrays(path, self._arrays)

    @classmethod
    def load(cls, path: Path) -> ExampleCache:
        return cls(load_arrays(path))

    @classmethod
    def build(cls, labelled: Iterable[tuple[LabelledExample, int]]) -> ExampleCache:
        """From examples of one window each, with the number of times each is repeated in an epoch."""
        columns = {name: [empty] for name, empty in _empty().items()}
        for item, repeat in labelled:
            rows = item.example.rows
            contrast = item.positive.any() and not item.positive.all()
            if not rows or not (contrast or item.absent):
                continue
            values = {
                "token_counts": [item.tokens],
                "tokens": item.example.windows[0],
                "phrase_counts": [len(rows)],
                "member_counts": rows.sizes,
                "members": rows.tokens,
                "features": item.example.features,
                "positive": item.positive,
                "repeats": [repeat],
                "absent_counts": [len(item.absent)],
                "absent_token_counts": [len(tokens) for tokens in item.absent],
                "absent_tokens": [token for tokens in item.absent for token in tokens],
            }
            for name, value in values.items():
                columns[name].append(np.asarray(value, dtype=_DTYPES[name]))
        return cls({name: np.concatenate(parts) for name, parts in columns.items()})

    @classmethod
    def join(cls, caches: Iterable[ExampleCache]) -> ExampleCache:
        """All examples of `caches`, in order."""
        parts = [_empty(), *(cache._arrays for cache in caches)]
        return cls({name: np.concatenate([part[name] for part in parts]) for name in _DTYPES})


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


def _empty() -> dict[str, NDArray[Any]]:
    return {
        name: np.zeros((0, len(FEATURES)) if name == "features" else 0, dtype)
        for name, dtype in _DTYPES.items()
    }


def _starts(counts: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _cut(values: NDArray[Any], starts: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[Any]:
    """The stretches of `values` that belong to the `chosen` examples, one after the other.

    Args:
        starts: (N + 1,) where the stretch of each example begins.
    """
    stretches = zip(starts[chosen].tolist(), starts[chosen + 1].tolist(), strict=True)
    return np.concatenate([values[first:end] for first, end in stretches])


def cached_examples(
    sources: Sequence[Source],
    folder: Path,
    settings: ExampleSettings,
    cache: Path,
    *,
    documents: int,
    seed: int,
) -> ExampleCache:
    """Examples of `documents` documents drawn from all sources, read from `cache` when they are there.

    A source with `repeat` above 1 is always taken whole, the rest is drawn at random.
    """
    path = cache / f"{_fingerprint(sources, folder, settings, documents, seed)}.npz"
    with join_processes().first_alone():
        if path.is_file():
            return ExampleCache.load(path)
        chosen = draw_documents(sources, folder, documents, seed)
        label = partial(_label_group, settings)
        examples = ExampleCache.join(in_groups(label, chosen, size=64, description="candidates"))
        if not len(examples):
            raise ConfigError("No training document has a keyphrase and a candidate: check the sources.")
        examples.save(path)
        return examples


def _label_group(settings: ExampleSettings, group: Sequence[tuple[Document, int]]) -> ExampleCache:
    tokenizer = load_tokenizer(settings.tokenizer).backend_tokenizer
    return ExampleCache.build(
        (label_document(document, settings, tokenizer), repeat) for document, repeat in group
    )


def _fingerprint(
    sources: Sequence[Source], folder: Path, settings: ExampleSettings, documents: int, seed: int
) -> str:
    tagger = hashlib.sha256(TAGGER_ASSET.read_bytes()).hexdigest()
    tokenizer = load_tokenizer(settings.tokenizer).backend_tokenizer
    content = replace(settings, tokenizer=tokenizer_hash(tokenizer))
    parts = [EXAMPLES_VERSION, source_hashes(sources, folder), str(content), tagger, documents, seed]
    if settings.random_negatives:
        parts.append(RANDOM_SEED)
    return cache_name(parts)


def training_examples(config: ExtractorTraining) -> ExampleCache:
    """The cached examples of the configuration's sources, made first when they are missing."""
    settings = ExampleSettings(
        config.backbone,
        config.model.window,
        config.model.overlap,
        config.model.candidates,
        random_negatives=config.negatives == "random",
    )
    return cached_examples(
        config.train, config.data, settings, config.cache, documents=config.pool, seed=config.loop.seed
    )


def chosen_repeats(examples: ExampleCache, chosen: NDArray[np.bool_], need: str) -> NDArray[np.int32]:
    """How often each example occurs in an epoch of those `chosen`, (N,) bool.

    Raises:
        ConfigError: there are none; the sentence says that no document has `need`.
    """
    if not chosen.any():
        raise ConfigError(f"No training document has {need}: check the sources.")
    return np.where(chosen, examples.repeats, 0)


def validation_metrics(figures: MacroFigures, *more: str) -> Metrics:
    """What an evaluation reports, 0 where no document has gold of the kind.

    Args:
        more: names of `named_metrics` besides F1@5, F1@M, P@M and R@M.
    """
    named = named_metrics(figures)
    return {name: named[name] or 0.0 for name in ("F1@5", "F1@M", "P@M", "R@M", *more)}


def trained_parameters(
    module: nn.Module, pretrained: Iterable[nn.Parameter], config: ExtractorTraining | RerankerTraining
) -> list[dict[str, Any]]:
    """The parameters that are not frozen: backbone and heads, each with its own learning rate."""
    known = {id(parameter) for parameter in pretrained}
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    groups = [
        ([parameter for parameter in parameters if id(parameter) in known], config.learning_rate),
        ([parameter for parameter in parameters if id(parameter) not in known], config.head_learning_rate),
    ]
    return [
        {"params": group, "lr": rate, "weight_decay": config.weight_decay} for group, rate in groups if group
    ]


class ExamplePart:
    """What the training of extractor and generator have in common: batches of cached examples."""

    def __init__(
        self, config: ExtractorTraining, examples: ExampleCache, repeats: NDArray[np.int32], padding: int
    ) -> None:
        """Args:
        repeats: (N,) how often each example occurs in an epoch.
        padding: the pad token id.
        """
        self._config = config
        self._examples = examples
        self.lengths, self.repeats = examples.lengths, repeats
        self._padding = padding

    def __getitem__(self, index: int) -> int:
        return index  # a batch is cut from the cache in one go: collating items would keep a GPU waiting

    def batch_of(self, numbers: Sequence[int]) -> Batch:
        """The examples of these numbers as the extractor reads them."""
        return self._examples.batch(numbers, padding=self._padding)
