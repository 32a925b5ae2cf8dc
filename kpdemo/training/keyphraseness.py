"""Counting of how often phrases are keyphrases of the documents whose text has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import torch
from tqdm import tqdm

from kpdemo.candidates.chunks import candidate_key, stem_runs
from kpdemo.errors import ConfigError
from kpdemo.simckp.keyphraseness import Keyphraseness
from kpdemo.training.data import Source, cache_name, load_arrays, read_source, save_arrays, source_hashes
from kpdemo.types import Document

KEYPHRASENESS_VERSION = 1


def cached_keyphraseness(
    sources: Sequence[Source], folder: Path, cache: Path, *, fewest: int
) -> Keyphraseness:
    """The counts of all documents of the sources, read from `cache` when they are there.

    Args:
        fewest: documents that use a phrase before the table has it.

    Raises:
        ConfigError: a file is missing, or no phrase is used so often.
    """
    name = cache_name([KEYPHRASENESS_VERSION, source_hashes(sources, folder), fewest])
    path = cache / f"keyphraseness-{name}.npz"
    if not path.is_file():

        def read() -> Iterator[Document]:
            return (document for source in sources for document in read_source(source, folder))

        counted = count_keyphraseness(read, fewest=fewest)
        save_arrays(path, {key: value.numpy() for key, value in counted.packed().items()})
    return Keyphraseness.unpacked({key: torch.from_numpy(value) for key, value in load_arrays(path).items()})


def count_keyphraseness(read: Callable[[], Iterable[Document]], *, fewest: int) -> Keyphraseness:
    """Count in two readings: first which phrases are keyphrases, then which documents have these in the text.

    Raises:
        ConfigError: no phrase is used by `fewest` documents.
    """
    key = lru_cache(maxsize=500_000)(candidate_key)
    uses: Counter[str] = Counter()
    for document in tqdm(read(), desc="keyphrases", unit="doc"):
        uses.update({key(phrase, document.language) for phrase in document.keyphrases})
    phrases = {phrase for phrase, count in uses.items() if count >= fewest and phrase}
    if not phrases:
        raise ConfigError(f"No keyphrase is used by {fewest} documents: give more, or a smaller `fewest`.")
    beginnings = {" ".join(words[:end]) for words in map(str.split, phrases) for end in range(1, len(words))}
    texts: Counter[str] = Counter()
    for document in tqdm(read(), desc="texts", unit="doc"):
        found = {phrase for run in stem_runs(document) for phrase in _phrases(run, beginnings)} & phrases
        texts.update(found)
    return Keyphraseness.of({phrase: (texts[phrase], uses[phrase]) for phrase in phrases})


def _phrases(run: Sequence[str], beginnings: set[str]) -> Iterator[str]:
    """All that begin anywhere, each as long as it may still become a longer phrase."""
    for first in range(len(run)):
        phrase = run[first]
        yield phrase
        for word in run[first + 1 :]:
            if phrase not in beginnings:
                break
            phrase = f"{phrase} {word}"
            yield phrase
