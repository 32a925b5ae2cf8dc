"""An encoder of texts as bags of subwords: the weighted sum of a vector for each subword.

It ignores the order of words, and costs no more than an embedding lookup. Letters: B texts, N subwords of all
texts together, V vocabulary, D width.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedTokenizerFast

from kpdemo.simckp.batches import Movable
from kpdemo.simckp.checkpoint import open_folder, write_folder
from kpdemo.simckp.examples import encoder_text
from kpdemo.types import Document

KIND = "ramkg-subwords"
UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN)
LONGEST_ALPHABET = 9_000
"""Characters that are subwords by themselves; Chinese needs thousands."""

LEAST_FREQUENT = 3
"""How often two subwords must be adjacent to be merged."""

_LEAST_WEIGHT = 0.05
_AT_ONCE = 1_024  # texts that are encoded together


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """The subwords of one text.

    Attributes:
        ids: (n,) int64, each once.
        amounts: (n,) float32, log(1 + how often).
    """

    ids: NDArray[np.int64]
    amounts: NDArray[np.float32]


@dataclass(frozen=True)
class Bags(Movable):
    """Some texts, flattened.

    Attributes:
        ids: (N,) long.
        amounts: (N,) float.
        starts: (B,) long, where each text begins.
    """

    ids: Tensor
    amounts: Tensor
    starts: Tensor

    @classmethod
    def of(cls, bags: Sequence[Bag]) -> Bags:
        sizes = [len(bag.ids) for bag in bags]
        starts = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        ids = np.concatenate([bag.ids for bag in bags])
        amounts = np.concatenate([bag.amounts for bag in bags])
        return cls(*map(torch.from_numpy, (ids, amounts, starts)))


class SubwordEncoder(nn.Module):
    """Bags to unit vectors; a text without subwords has the vector 0."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.vectors = nn.EmbeddingBag(vocabulary, width, mode="sum")
        nn.init.normal_(self.vectors.weight, std=width**-0.5)
        self.weights = nn.Parameter(torch.ones(vocabulary))

    @property
    def width(self) -> int:
        """D."""
        return self.vectors.embedding_dim

    def start_from_rarity(self, texts: Iterable[Bag]) -> None:
        """Weigh each subword by the logarithm of its inverse document frequency."""
        frequency = np.zeros(len(self.weights))
        documents = 0
        for bag in texts:
            frequency[bag.ids] += 1
            documents += 1
        rarity = np.log(max(documents, 1) / (1 + frequency)).clip(min=_LEAST_WEIGHT)
        with torch.no_grad():
            self.weights.copy_(torch.from_numpy(rarity))

    def forward(self, bags: Bags) -> Tensor:
        """(B, D)."""
        weights = bags.amounts * self.weights[bags.ids]
        return functional.normalize(self.vectors(bags.ids, bags.starts, per_sample_weights=weights), dim=-1)


@dataclass(frozen=True)
class SubwordReader:
    """An encoder with its tokenizer.

    Attributes:
        length: subwords of a text that are read, at most.
    """

    module: SubwordEncoder
    tokenizer: Tokenizer
    length: int

    @property
    def device(self) -> torch.device:
        return self.module.weights.device

    def documents(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """(B, D)."""
        return self.encode(self.bags([encoder_text(document) for document in documents]))

    def phrases(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(B, D)."""
        return self.encode(self.bags(texts))

    def bags(self, texts: Sequence[str]) -> list[Bag]:
        """What of each text is encoded."""
        return list(read_bags(self.tokenizer, texts, self.length))

    def encode(self, bags: Sequence[Bag]) -> NDArray[np.float32]:
        """(B, D)."""
        parts = [np.zeros((0, self.module.width), dtype=np.float32)]
        with torch.inference_mode():
            for first in range(0, len(bags), _AT_ONCE):
                batch = Bags.of(bags[first : first + _AT_ONCE]).to(self.device)
                parts.append(self.module(batch).float().cpu().numpy())
        return np.concatenate(parts)


def read_bags(tokenizer: Tokenizer, texts: Sequence[str], length: int) -> Iterator[Bag]:
    """The bag of each text's first `length` subwords; unknown ones are left out."""
    unknown = tokenizer.token_to_id(UNKNOWN) or 0
    tokenizer.enable_truncation(length)
    for first in range(0, len(texts), _AT_ONCE):
        for encoding in tokenizer.encode_batch(list(texts[first : first + _AT_ONCE])):
            found = Counter(encoding.ids)
            found.pop(unknown, None)
            yield Bag(
                np.fromiter(found, dtype=np.int64, count=len(found)),
                np.log1p(np.fromiter(found.values(), dtype=np.float32, count=len(found))),
            )


def train_tokenizer(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    """WordPiece (Schuster and Nakajima 2012) over lower-cased text without accents, Chinese by the character.

    The same texts give the same vocabulary: the trainer would number characters within words in the order of
    its hash table, which differs between processes, so they are numbered beforehand.

    Args:
        vocabulary: V, the most subwords.
    """
    from tokenizers import trainers

    tokenizer = _wordpiece({})
    alphabet, within = _alphabet(texts, tokenizer)
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary,
        special_tokens=[*SPECIAL, *within],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        min_frequency=LEAST_FREQUENT,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _wordpiece(tokenizer.get_vocab())


def _wordpiece(vocabulary: dict[str, int]) -> Tokenizer:
    from tokenizers import models, normalizers, pre_tokenizers

    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens([token for token in SPECIAL if token in vocabulary])
    return tokenizer


def _alphabet(texts: Iterable[str], tokenizer: Tokenizer) -> tuple[list[str], list[str]]:
    """The most frequent characters, and the subwords for those that occur within words."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(tokenizer.normalizer.normalize_str(text))
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    alphabet = [character for character in ranked if not character.isspace()][:LONGEST_ALPHABET]
    joined = (one for one in alphabet if one.isalnum() and tokenizer.normalizer.normalize_str(one) == one)
    return alphabet, [f"##{character}" for character in joined]


def save_reader(folder: Path, reader: SubwordReader, *, card: str) -> None:
    """Write a checkpoint folder."""
    write_folder(
        folder,
        reader.module.state_dict(),
        stored_tokenizer(reader),
        reader_config(reader),
        card=card,
        storage="fp16",
    )


def reader_config(reader: SubwordReader) -> dict[str, Any]:
    """What a checkpoint says of the encoder."""
    vocabulary, width = reader.module.vectors.weight.shape
    return {"kind": KIND, "vocabulary": vocabulary, "width": width, "length": reader.length}


def stored_tokenizer(reader: SubwordReader) -> PreTrainedTokenizerFast:
    """The tokenizer in the form that checkpoints are written with."""
    reader.tokenizer.no_truncation()
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=reader.tokenizer, unk_token=UNKNOWN, pad_token=SPECIAL[0]
    )


def load_reader(folder: Path, *, device: torch.device) -> SubwordReader:
    """Open a folder that `save_reader` wrote.

    Raises:
        ModelLoadError: a file is missing or damaged.
    """
    with open_folder(folder, KIND) as stored:
        return build_reader(stored.config, stored.weights, stored.tokenizer, device)


def build_reader(
    config: dict[str, Any], weights: dict[str, Tensor], tokenizer: Tokenizer, device: torch.device
) -> SubwordReader:
    """The encoder of a stored configuration, for prediction."""
    module = SubwordEncoder(config["vocabulary"], config["width"])
    module.load_state_dict(weights)
    return SubwordReader(module.to(device).eval().requires_grad_(False), tokenizer, config["length"])
