"""An encoder with fewer subwords: those that the languages it is to read use, and every single character.

Of multilingual-e5-small's 118 million weights 96 million are the embeddings of 250,037 subwords. What is
taken out falls back to shorter subwords, down to single characters, so that a text of a language that was not
counted is still read, in more tokens.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from tokenizers import Tokenizer
from torch import nn
from transformers import PreTrainedTokenizerFast

from kpdemo.errors import ConfigError
from kpdemo.languages import ENGLISH
from kpdemo.simckp.encoder import E5, load_backbone, load_tokenizer
from kpdemo.training.data import Positive, Source, read_source, refuse_repeats

TEXTS_AT_ONCE = 1_000
CAPITALISED = 0.1
"""How often a word of a list stands at the beginning of a sentence or of a title, of all its places."""
SPACE = "▁"

Coverage = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True)
class VocabularyTraining:
    """Attributes:
    train: documents whose subwords are counted, each language by itself.
    coverage: kept are, of each language, the fewest subwords that make up this share of its documents.
    languages: the same of frequent words: a share for each language of which the package wordfreq has a list.
    words: as many of each list, the most frequent ones.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Source, ...] = ()
    coverage: Coverage = 0.999
    languages: Mapping[str, Coverage] = field(default_factory=dict)
    words: Positive = 60_000
    backbone: str = E5
    data: Path = Path("data")
    output: Path = Path("runs/encoder")

    def __post_init__(self) -> None:
        refuse_repeats(self.train, "The vocabulary counts")


def train_vocabulary(config: VocabularyTraining) -> dict[str, int]:
    """Write the encoder with the subwords that are kept into `output`, which other parts name as `backbone`.

    Returns:
        How many subwords the documents and the words of each language keep, and "all" how many there are.

    Raises:
        ConfigError: the encoder's vocabulary cannot be cut, or a language has no list of words.
    """
    tokenizer = load_tokenizer(config.backbone).backend_tokenizer
    documents = count_documents(tokenizer, config.train, config.data)
    frequent = {
        f"documents of {language}": frequent_pieces(counts, config.coverage)
        for language, counts in documents.items()
    } | {
        f"words of {language}": frequent_pieces(count_words(tokenizer, language, config.words), share)
        for language, share in config.languages.items()
    }
    kept = np.unique(np.concatenate([basic_pieces(tokenizer), *frequent.values()]))
    encoder, whole = load_backbone(config.backbone)
    save_pruned(config.output, encoder, whole, kept)
    return {name: len(own) for name, own in frequent.items()} | {"all": len(kept)}


def count_documents(
    tokenizer: Tokenizer, sources: Sequence[Source], folder: Path
) -> dict[str, NDArray[np.float64]]:
    """By language, how often its documents use each subword; see `count_pieces`."""
    counts: dict[str, NDArray[np.float64]] = defaultdict(lambda: np.zeros(tokenizer.get_vocab_size()))
    for source in sources:
        documents = read_source(source, folder)
        while group := list(islice(documents, TEXTS_AT_ONCE)):
            for language in {document.language or ENGLISH for document in group}:
                texts = [one.text for one in group if (one.language or ENGLISH) == language]
                counts[language] += count_pieces(tokenizer, texts, np.ones(len(texts)))
    return dict(counts)


def count_words(tokenizer: Tokenizer, language: str, most: int) -> NDArray[np.float64]:
    """(V,) how often a language's frequent words use each subword, by the lists of the package wordfreq.

    Raises:
        ConfigError: the package has no list of the language.
    """
    from wordfreq import get_frequency_dict

    try:
        listed = dict(islice(get_frequency_dict(language, "best").items(), most))
    except LookupError as error:
        raise ConfigError(
            f"wordfreq has no words of {language!r}: leave that out of `languages`, and give documents of it."
        ) from error
    frequencies = np.fromiter(listed.values(), np.float64, len(listed))
    return count_pieces(tokenizer, list(listed), frequencies) + count_pieces(
        tokenizer, [word.capitalize() for word in listed], CAPITALISED * frequencies
    )


def count_pieces(
    tokenizer: Tokenizer, texts: Sequence[str], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(V,) how often the texts use each subword.

    Args:
        weights: (N,) how often each of the texts counts.
    """
    read = [encoding.ids for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)]
    used = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in read])
    each = np.repeat(weights, list(map(len, read)))
    return np.bincount(used, each, tokenizer.get_vocab_size()).astype(np.float64)


def frequent_pieces(counts: NDArray[np.float64], coverage: float) -> NDArray[np.int64]:
    """The fewest subwords that make up a share of all occurrences.

    Args:
        counts: (V,) how often each is used.
    """
    order = np.argsort(-counts, kind="stable")
    shares = np.cumsum(counts[order]) / counts.sum()
    needed = int(np.searchsorted(shares, coverage * (1 - 1e-12))) + 1  # the last sum is 1 but for rounding
    return np.sort(order[:needed])


def basic_pieces(tokenizer: Tokenizer) -> NDArray[np.int64]:
    """The tokens that have a meaning of their own, and single characters, with and without a space before."""
    special = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    single = {
        number for piece, number in tokenizer.get_vocab().items() if len(piece.removeprefix(SPACE)) <= 1
    }
    return np.array(sorted(special | single), dtype=np.int64)


def prune_tokenizer(tokenizer: Tokenizer, kept: NDArray[np.int64]) -> Tokenizer:
    """The tokenizer with the subwords `kept`, (K,) ascending numbers, numbered anew in that order.

    Raises:
        ConfigError: its vocabulary is no list of subwords with scores, or a token with a meaning is not kept.
    """
    described = json.loads(tokenizer.to_str())
    model = described["model"]
    if model["type"] != "Unigram":
        raise ConfigError(
            f"Only a vocabulary of the kind Unigram is cut, not {model['type']}: choose another `backbone`."
        )
    numbers = {old: new for new, old in enumerate(kept.tolist())}
    model["vocab"] = [model["vocab"][number] for number in kept]
    try:
        model["unk_id"] = numbers[model["unk_id"]]
        for token in described["added_tokens"]:
            token["id"] = numbers[token["id"]]
        for token in (described["post_processor"] or {}).get("special_tokens", {}).values():
            token["ids"] = [numbers[number] for number in token["ids"]]
    except KeyError as error:
        raise ConfigError(
            f"The token {error} has a meaning of its own: it has to be among those kept."
        ) from error
    return Tokenizer.from_str(json.dumps(described))


def save_pruned(folder: Path, encoder: Any, tokenizer: Any, kept: NDArray[np.int64]) -> None:
    """Write an encoder with the subwords `kept`, and its tokenizer, as Transformers opens them.

    Args:
        encoder, tokenizer: from `load_backbone`; the encoder is changed.
        kept: (K,) ascending numbers.
    """
    pruned = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=prune_tokenizer(tokenizer.backend_tokenizer, kept),
        model_max_length=tokenizer.model_max_length,
        **tokenizer.special_tokens_map,
    )
    rows = encoder.get_input_embeddings().weight.detach()[torch.from_numpy(kept)]
    encoder.set_input_embeddings(nn.Embedding(len(kept), rows.shape[1], _weight=rows))
    encoder.config.vocab_size, encoder.config.pad_token_id = len(kept), pruned.pad_token_id
    encoder.save_pretrained(folder)
    pruned.save_pretrained(folder)
