"""BERT's encoder from PyTorch's own layers, for prediction.

Gives the same numbers as Transformers' `BertModel`, but without importing Transformers, which takes longer
than the rest of a first prediction; and PyTorch runs these layers fused.
Letters: W windows, T tokens, D width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from kpdemo.errors import ConfigError
from kpdemo.simckp.storage import quantise, unset_weights

_LAYER = "encoder.layer."
_RENAMED = {
    "attention.output.dense": "self_attn.out_proj",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "linear1",
    "output.dense": "linear2",
    "output.LayerNorm": "norm2",
}
_PROJECTIONS = ("query", "key", "value")


@dataclass(frozen=True)
class BertConfig:
    """What of Transformers' BERT configuration prediction needs, under the same names."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> BertConfig | None:
        """From the configuration of a checkpoint; None when it is not plain BERT."""
        plain = (
            described.get("model_type") == "bert"
            and described.get("hidden_act") == "gelu"
            and described.get("position_embedding_type", "absolute") == "absolute"
            and not described.get("is_decoder")
        )
        return cls(**{name: described[name] for name in cls.__dataclass_fields__}) if plain else None


@dataclass(frozen=True)
class EncoderOutput:
    """Attributes:
    last_hidden_state: (W, T, D), as Transformers calls it.
    """

    last_hidden_state: Tensor


class BertEncoder(nn.Module):
    """Token ids to last hidden states; `bert_state` gives its parameters."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.config = config
        self.words: nn.Embedding | PackedEmbedding = nn.Embedding(config.vocab_size, width)
        self.positions = nn.Embedding(config.max_position_embeddings, width)
        self.token_types = nn.Embedding(config.type_vocab_size, width)
        self.norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        layer = nn.TransformerEncoderLayer(
            width,
            config.num_attention_heads,
            config.intermediate_size,
            activation="gelu",
            layer_norm_eps=config.layer_norm_eps,
            batch_first=True,
        )
        self.layers = nn.TransformerEncoder(layer, config.num_hidden_layers, enable_nested_tensor=False)

    @classmethod
    def from_transformers(cls, encoder: nn.Module) -> BertEncoder:
        """A copy of a `BertModel`.

        Raises:
            ConfigError: it is of another architecture.
        """
        config = BertConfig.of(encoder.config.to_dict())  # type: ignore[union-attr, operator]
        if config is None:
            raise ConfigError(
                f"This needs a plain BERT, not a {type(encoder).__name__}: choose another backbone."
            )
        own = cls(config)
        own.load_state_dict(bert_state(encoder.state_dict()))
        return own.eval()

    def lower(self, layers: int) -> BertEncoder:
        """An encoder that ends after the first `layers`, and shares their weights with this one.

        Raises:
            ConfigError: there are fewer.
        """
        if layers > self.config.num_hidden_layers:
            raise ConfigError(
                f"The encoder has {self.config.num_hidden_layers} layers, not {layers}: give fewer."
            )
        with unset_weights():
            part = BertEncoder(replace(self.config, num_hidden_layers=layers))
        part.words, part.positions, part.token_types = self.words, self.positions, self.token_types
        part.norm, part.layers.layers = self.norm, self.layers.layers[:layers]
        return part.eval()

    def get_input_embeddings(self) -> nn.Embedding:
        """The word embeddings, as Transformers calls them."""
        assert isinstance(self.words, nn.Embedding)  # those that are packed are only read
        return self.words

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> EncoderOutput:
        """Args:
        input_ids, attention_mask: (W, T) long; 0 in the mask is padding.
        """
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        embedded = self.words(input_ids) + self.positions(places) + self.token_types.weight[0]
        padding = None if bool(attention_mask.all()) else attention_mask == 0
        return EncoderOutput(self.layers(self.norm(embedded), src_key_padding_mask=padding))


PACKED_AT_ONCE = 8_192
"""Rows; a table of many languages is not copied as a whole."""


class PackedEmbedding(nn.Module):
    """Word embeddings that take the memory that they take on disk: the numbers of a float table of int8 rows.

    Letters: V words.
    """

    def __init__(self, rows: Tensor, steps: Tensor) -> None:
        """Args:
        rows: (V, D) int8.
        steps: (V,) float, of a row from one integer to the next.
        """
        super().__init__()
        self.register_buffer("rows", rows, persistent=False)
        self.register_buffer("steps", steps, persistent=False)
        self.register_state_dict_post_hook(_add_table)  # type: ignore[no-untyped-call]

    @classmethod
    def of(cls, words: nn.Embedding) -> PackedEmbedding | None:
        """The same numbers; None where int8 cannot hold them exactly."""
        parts = []
        for table in torch.split(words.weight.detach(), PACKED_AT_ONCE):
            try:
                rows, steps = quantise("the word embeddings", table)
            except ValueError:  # not finite, or too large
                return None
            part = cls(rows, steps.float())
            if not torch.equal(part.table(), table):
                return None
            parts.append(part)
        return cls(*(torch.cat([part.get_buffer(name) for part in parts]) for name in ("rows", "steps")))

    def forward(self, ids: Tensor) -> Tensor:
        return self.get_buffer("rows")[ids].float() * self.get_buffer("steps")[ids].unsqueeze(-1)

    def table(self) -> Tensor:
        """(V, D) as an `nn.Embedding` has it."""
        return self.get_buffer("rows").float().mul_(self.get_buffer("steps").unsqueeze(-1))


def _add_table(module: nn.Module, state: dict[str, Any], prefix: str, metadata: object) -> None:
    """Have the state be that of an `nn.Embedding`, by which encoders are told apart."""
    assert isinstance(module, PackedEmbedding)
    state[f"{prefix}weight"] = module.table()


def pack_words(*modules: nn.Module) -> None:
    """Pack the word embeddings of every `BertEncoder` in these modules that will only be read from now on.

    Those that int8 cannot hold exactly stay as they are, and equal ones are kept once.
    """
    packed: list[PackedEmbedding] = []
    for module in modules:
        for encoder in module.modules():
            if not isinstance(encoder, BertEncoder) or not isinstance(encoder.words, nn.Embedding):
                continue
            own = PackedEmbedding.of(encoder.words)
            if own is None:
                continue
            same = (other for other in packed if _are_equal(other, own))
            encoder.words = next(same, own)
            packed.append(encoder.words)


def _are_equal(one: nn.Module, other: nn.Module) -> bool:
    return all(map(torch.equal, one.buffers(), other.buffers()))


def with_bert_state(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The weights of a larger model, with those of a `BertModel` under `prefix` converted by `bert_state`."""
    theirs = {name: value for name, value in weights.items() if name.startswith(prefix)}
    others = {name: value for name, value in weights.items() if name not in theirs}
    ours = bert_state({name.removeprefix(prefix): value for name, value in theirs.items()})
    return others | {f"{prefix}{name}": value for name, value in ours.items()}


def bert_state(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of a `BertEncoder` from that of Transformers' `BertModel`.

    Raises:
        KeyError: a weight is missing, or there is one that plain BERT does not have.
    """
    left = dict(weights)
    state = {
        "words.weight": left.pop("embeddings.word_embeddings.weight"),
        "positions.weight": left.pop("embeddings.position_embeddings.weight"),
        "token_types.weight": left.pop("embeddings.token_type_embeddings.weight"),
        "norm.weight": left.pop("embeddings.LayerNorm.weight"),
        "norm.bias": left.pop("embeddings.LayerNorm.bias"),
    }
    for number in sorted({name.split(".")[2] for name in left if name.startswith(_LAYER)}):
        theirs, ours = f"{_LAYER}{number}", f"layers.layers.{number}"
        for kind in ("weight", "bias"):
            parts = [left.pop(f"{theirs}.attention.self.{part}.{kind}") for part in _PROJECTIONS]
            state[f"{ours}.self_attn.in_proj_{kind}"] = torch.cat(parts)
            for old, new in _RENAMED.items():
                state[f"{ours}.{new}.{kind}"] = left.pop(f"{theirs}.{old}.{kind}")
    if left:
        raise KeyError(f"{next(iter(left))} is not a weight of a plain BERT")
    return state
