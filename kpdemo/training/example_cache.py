"""Labelled examples of many documents in flat arrays, and in a file of the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kpdemo.candidates.tagger import TAGGER_ASSET
from kpdemo.errors import ConfigError
from kpdemo.simckp.backbone import load_tokenizer
from kpdemo.simckp.examples import FEATURES, Example, Rows
from kpdemo.simckp.model import Batch
from kpdemo.training.arrays import cache_name, load_arrays, save_arrays, tokenizer_hash
from kpdemo.training.labelling import RANDOM_SEED, ExampleSettings, LabelledExample, label_document
from kpdemo.training.sources import Source, draw_documents, source_hashes
from kpdemo.training.workers import in_groups
from kpdemo.types import Document

CACHE_VERSION = 8


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
        """What `kpdemo.simckp.batches.collate` makes of these examples, cut from the arrays in one go.

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
    parts = [CACHE_VERSION, source_hashes(sources, folder), str(content), tagger, documents, seed]
    if settings.random_negatives:
        parts.append(RANDOM_SEED)
    return cache_name(parts)
