"""Passages and queries as dense vectors (RAMKG, section 4.1), and the passages that are near to a text.

As in the authors' own code one encoder reads both; only the prefix differs, for encoders that were trained
with one. Letters (encoder): B texts, T tokens, H width of the backbone, D width of the vectors.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.errors import ConfigError
from kpdemo.identity import CONFIG, RANKER_KIND, SUMS, kind_of
from kpdemo.predictors import fetched_folder
from kpdemo.ramkg import passage_encoder
from kpdemo.ramkg.passage_encoder import PassageReader, load_reader
from kpdemo.ramkg.passage_index import Hit, PassageIndex
from kpdemo.ramkg.ranker import load_ranker
from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.simckp.batches import encode_rows
from kpdemo.simckp.checkpoint import choose_device, open_folder
from kpdemo.simckp.dual_encoder import PairEncoder, pool_tokens
from kpdemo.simckp.examples import encoder_text
from kpdemo.simckp.pair_checkpoint import BANK_KIND, build_dual, state_hash
from kpdemo.simckp.predictor import BANK
from kpdemo.types import Document
from kpdemo.vectors import text_cosines


class Encoder(Protocol):
    """Makes vectors of texts.

    Attributes:
        config: as it is used: the length is no more than the model can read.
        identity: a hash of the weights and of all that makes a vector; equal for equal vectors.
        width: D.
    """

    @property
    def config(self) -> EncoderConfig: ...

    @property
    def identity(self) -> str: ...

    @property
    def width(self) -> int: ...

    @property
    def device(self) -> str: ...

    def passages(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """(B, D)."""

    def queries(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """(B, D)."""


@dataclass(frozen=True)
class TransformerEncoder:
    """Any pretrained encoder.

    Attributes:
        pooler: only with `config.pooling` "pooler".
        padding: the pad token id.
        batch_size: texts read at once.
    """

    config: EncoderConfig
    identity: str
    backbone: nn.Module
    pooler: nn.Module | None
    tokenizer: Tokenizer
    padding: int
    batch_size: int

    @property
    def width(self) -> int:
        return int(self.backbone.config.hidden_size)  # type: ignore[union-attr, arg-type]

    @property
    def device(self) -> str:
        return self._device.type

    @property
    def _device(self) -> torch.device:
        return next(self.backbone.parameters()).device

    def passages(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """See `Encoder`."""
        return self._encode(self.config.passage_prefix, documents)

    def queries(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """See `Encoder`."""
        return self._encode(self.config.query_prefix, documents)

    def _encode(self, prefix: str, documents: Sequence[Document]) -> NDArray[np.float32]:
        if not documents:
            return np.zeros((0, self.width), dtype=np.float32)
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.config.length)
        texts = [f"{prefix}{encoder_text(document)}" for document in documents]
        rows = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        with torch.inference_mode():
            vectors = encode_rows(
                self._tower, rows, padding=self.padding, device=self._device, size=self.batch_size
            )
        return vectors.numpy()

    def _tower(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """(B, D) of token ids and their mask, (B, T) long each."""
        hidden = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        if self.pooler is not None:
            vectors = self.pooler(hidden).float()
        else:
            vectors = pool_tokens(hidden, attention_mask, self.config.pooling)
        return functional.normalize(vectors, dim=-1) if self.config.normalise else vectors


@dataclass(frozen=True)
class BankEncoder:
    """The pair encoder of a phrase bank; it reads queries as it reads documents."""

    config: EncoderConfig
    identity: str
    pair: PairEncoder

    @property
    def width(self) -> int:
        return self.pair.module.document_projection.out_features

    @property
    def device(self) -> str:
        return self.pair.device.type

    def passages(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """See `Encoder`."""
        return self.pair.documents(documents)

    queries = passages


MANY_PASSAGES = 256


@dataclass(frozen=True)
class PassageEncoder:
    """The lower layers of an encoder with a projection, as a retriever or the multilingual model has them."""

    config: EncoderConfig
    identity: str
    reader: PassageReader

    @classmethod
    def of(cls, reader: PassageReader, name: str) -> PassageEncoder:
        """The encoder of a model by this name."""
        carried = EncoderConfig(name, length=reader.config.length)
        parts = nn.ModuleDict({"lower": reader.lower, "projection": reader.projection})
        state = {key: value.cpu() for key, value in parts.state_dict().items()}
        return cls(carried, _identity(state, reader.tokenizer, carried), reader)

    @property
    def width(self) -> int:
        return self.reader.width

    @property
    def device(self) -> str:
        return self.reader.device.type

    def passages(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """See `Encoder`; many at once as fast as the processor can, few the same on every processor."""
        return self.reader.documents(documents, low=len(documents) >= MANY_PASSAGES)

    def queries(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """See `Encoder`."""
        return self.reader.documents(documents)


def load_encoder(config: EncoderConfig, *, device: str = "auto", batch_size: int = 32) -> Encoder:
    """Open the encoder that `config` names.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.
        batch_size: texts that a `TransformerEncoder` reads at once; kpdemo's own have a number of their own.

    Raises:
        ModelLoadError: there is no such encoder, it is damaged, or the device is not there.
        ConfigError: a setting does not go with it.
    """
    target = choose_device(device)
    folder = fetched_folder(config.model)
    if kind_of(folder) in (passage_encoder.KIND, RANKER_KIND):
        return _load_passage_encoder(folder, config, target)
    bank = _own_folder(folder)
    if bank is not None:
        return _load_bank_encoder(bank, config, target)
    return _load_transformer(config, target, batch_size)


def _own_folder(folder: Path) -> Path | None:
    """Where a folder of kpdemo's own form has its pair encoder; None for another folder or a name."""
    if not (folder / SUMS).is_file():
        return None
    return folder / BANK if (folder / BANK / CONFIG).is_file() else folder


def _load_passage_encoder(folder: Path, config: EncoderConfig, device: torch.device) -> PassageEncoder:
    _check_own(folder, config)
    if kind_of(folder) == passage_encoder.KIND:
        reader = load_reader(folder, device=device)
    else:
        reader = load_ranker(folder, device=device).knowledge.reader
    return PassageEncoder.of(reader, config.model)


def _check_own(folder: Path, config: EncoderConfig) -> None:
    own = EncoderConfig(config.model)
    if replace(config, length=own.length) != own:
        raise ConfigError(
            f"The encoder in {folder} has its own pooling and prefixes: leave these options out."
        )


def _load_bank_encoder(folder: Path, config: EncoderConfig, device: torch.device) -> BankEncoder:
    _check_own(folder, config)
    with open_folder(folder, BANK_KIND) as stored:
        length = min(config.length, int(stored.config["length"]))
        carried = replace(config, length=length)
        module = build_dual(stored.config, stored.weights).to(device).eval()
        pair = PairEncoder(module, stored.tokenizer, stored.padding, length)
        identity = _identity(stored.weights, stored.tokenizer, carried)
    return BankEncoder(carried, identity, pair)


def _load_transformer(config: EncoderConfig, device: torch.device, batch_size: int) -> TransformerEncoder:
    from kpdemo.simckp.encoder import load_backbone, load_pooler, longest_reading, quiet_transformers

    with quiet_transformers():
        backbone, tokenizer = load_backbone(config.model)
        pooler = load_pooler(config.model).float() if config.pooling == "pooler" else None
    carried = replace(config, length=min(config.length, longest_reading(backbone.config, tokenizer)))
    parts = nn.ModuleDict({"backbone": backbone.float()} | ({"pooler": pooler} if pooler else {}))
    identity = _identity(parts.state_dict(), tokenizer.backend_tokenizer, carried)
    parts.to(device).eval()
    reader, padding = tokenizer.backend_tokenizer, tokenizer.pad_token_id or 0
    return TransformerEncoder(carried, identity, backbone, pooler, reader, padding, batch_size)


def _identity(state: Any, tokenizer: Tokenizer, config: EncoderConfig) -> str:
    """SHA-256 over weights, vocabulary and settings, but not the name: a copy elsewhere is the same."""
    settings = {name: value for name, value in asdict(config).items() if name != "model"}
    described = [state_hash(state), sorted(tokenizer.get_vocab().items()), settings]
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def retrieve_others(
    index: PassageIndex, encoder: Encoder, documents: Sequence[Document], count: int
) -> list[list[Hit]]:
    """As `PassageIndex.retrieve`, without passages whose text is that of the document: see `fingerprint`."""
    found: list[list[Hit]] = [[] for _ in documents]
    waiting, asked = list(range(len(documents))), count + 1
    while waiting:
        rows = index.retrieve(encoder, [documents[number] for number in waiting], asked)
        short = []
        for number, hits in zip(waiting, rows, strict=True):
            own = fingerprint(documents[number])
            found[number] = [hit for hit in hits if fingerprint(hit.passage) != own][:count]
            if len(found[number]) < count and len(hits) == asked:  # the index holds the text several times
                short.append(number)
        waiting, asked = short, 2 * asked
    return found


def fingerprint(document: Document) -> str:
    """The letters and digits of a text, the same for copies with other capitals, spaces or punctuation.

    Ids do not reveal copies: those of two files may both be line numbers.

    >>> fingerprint(Document("We compare graphs.", "Graph kernels"))
    'graphkernelswecomparegraphs'
    """
    plain = unicodedata.normalize("NFKC", document.text).casefold()
    return "".join(filter(str.isalnum, plain))


@dataclass(frozen=True)
class TextSimilarities:
    """The cosine of two texts, clipped to 0 to 1; the encoder is opened when it is first asked.

    Attributes:
        model: as `EncoderConfig` names it; the vector is the mean over the tokens.
    """

    model: str
    device: str = "auto"

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Raises:
        ModelLoadError: there is no such encoder, it is damaged, or the device is not there.
        """
        encoder = self._encoder
        if isinstance(encoder, BankEncoder):  # which compares texts by other vectors than it retrieves by
            return encoder.pair.similarities(pairs)
        return text_cosines(pairs, lambda texts: encoder.queries([Document(text) for text in texts]))

    @cached_property
    def _encoder(self) -> Encoder:
        return load_encoder(EncoderConfig(self.model), device=self.device)
