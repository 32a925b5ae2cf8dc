"""The encoders that a retriever can be trained as: any of the Hub, or bags of subwords.

One tower reads queries and passages, as in RAMKG's own code. Letters: B texts, T tokens, D width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.ramkg.settings import EncoderConfig, Pooling
from kpdemo.ramkg.subwords import Bags, SubwordEncoder, SubwordReader, read_bags, save_reader
from kpdemo.simckp.backbone import load_backbone
from kpdemo.simckp.dual_encoder import pooled
from kpdemo.simckp.movable import Movable
from kpdemo.simckp.reading import padded
from kpdemo.sums import CARD


class Tower(Protocol):
    """Makes vectors of texts while it is trained."""

    @property
    def module(self) -> nn.Module:
        """(B, D) of a batch that `collate` made."""

    def read(self, texts: Sequence[str]) -> list[Any]:
        """What is encoded of each text; small, so that all texts can be read beforehand."""

    def collate(self, items: Sequence[Any]) -> Movable:
        """A batch of these."""

    def save(self, folder: Path, card: str) -> None:
        """Write a folder that `kpdemo.ramkg.encoder.load_encoder` opens."""


@dataclass(frozen=True)
class SubwordTower:
    """Bags of subwords."""

    module: SubwordEncoder
    tokenizer: Tokenizer
    length: int

    def read(self, texts: Sequence[str]) -> list[Any]:
        """See `Tower`."""
        return list(read_bags(self.tokenizer, texts, self.length))

    def collate(self, items: Sequence[Any]) -> Bags:
        """See `Tower`."""
        return Bags.of(items)

    def save(self, folder: Path, card: str) -> None:
        """See `Tower`."""
        save_reader(folder, SubwordReader(self.module, self.tokenizer, self.length), card=card)


@dataclass(frozen=True)
class TokenBatch(Movable):
    """Attributes:
    input_ids, attention_mask: (B, T) long.
    """

    input_ids: Tensor
    attention_mask: Tensor


class PooledBackbone(nn.Module):
    """A pretrained encoder and what makes one vector of its hidden states."""

    def __init__(self, backbone: nn.Module, pooling: Pooling, *, normalise: bool) -> None:
        super().__init__()
        self.backbone = backbone
        self._pooling = pooling
        self._normalise = normalise

    def forward(self, batch: TokenBatch) -> Tensor:
        """(B, D)."""
        output = self.backbone(input_ids=batch.input_ids, attention_mask=batch.attention_mask)
        vectors = pooled(output.last_hidden_state, batch.attention_mask, self._pooling)
        return functional.normalize(vectors, dim=-1) if self._normalise else vectors


@dataclass(frozen=True)
class BackboneTower:
    """A pretrained encoder of the Hub."""

    module: PooledBackbone
    tokenizer: Any
    length: int

    def read(self, texts: Sequence[str]) -> list[Any]:
        """See `Tower`."""
        fast = self.tokenizer.backend_tokenizer
        fast.enable_truncation(self.length)
        return [torch.tensor(encoding.ids) for encoding in fast.encode_batch(list(texts))]

    def collate(self, items: Sequence[Any]) -> TokenBatch:
        """See `Tower`."""
        return TokenBatch(*padded(items, self.tokenizer.pad_token_id))

    def save(self, folder: Path, card: str) -> None:
        """See `Tower`."""
        folder.mkdir(parents=True, exist_ok=True)
        self.module.backbone.save_pretrained(folder)  # type: ignore[operator]
        self.tokenizer.backend_tokenizer.no_truncation()
        self.tokenizer.save_pretrained(folder)
        (folder / CARD).write_text(card, encoding="utf-8")


def backbone_tower(name: str, config: EncoderConfig, *, attention: str) -> BackboneTower:
    """A pretrained encoder by name or folder, to be trained further.

    Raises:
        ModelLoadError: it cannot be loaded.
    """
    backbone, tokenizer = load_backbone(name, attention=attention)
    module = PooledBackbone(backbone, config.pooling, normalise=config.normalise)
    return BackboneTower(module, tokenizer, config.length)
