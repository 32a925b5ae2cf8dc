"""Texts of any language as vectors: the lower layers of a frozen multilingual encoder, and a projection.

The lower layers of an encoder that was trained to align languages place a text and its translation near each
other, up to a linear map. So only the map is trained, and a passage costs a third of a whole reading. The
layers are those of the extractor, if it was trained without them (`top_layers`).

A mean over tokens depends on how many there are: their hidden states hold their places too. Without a remedy
a text is nearer to any other of its length than to its own translation of another length. So what is due to
the number alone is measured, on texts cut at several lengths, and taken away.

Letters: B texts, T tokens, H width of the encoder, D width of the vectors, L most tokens of a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.simckp.batches import encode_rows
from kpdemo.simckp.bert import BertConfig, BertEncoder
from kpdemo.simckp.checkpoint import open_folder, part_of, write_folder
from kpdemo.simckp.examples import encoder_text, truncating
from kpdemo.simckp.storage import unset_weights
from kpdemo.types import Document

KIND = "ramkg-passages"

_TEXTS_AT_ONCE = 32
_TOKENISED_AT_ONCE = 1_024  # an encoding takes much more memory than its ids
_PHRASES_AT_ONCE = 256
_MOST_PHRASES = 50_000
_MOST_DOCUMENTS = 64
_LEAST_VARIANCE = 1e-3
"""Of a direction relative to the mean of all, before whitening."""
_CUTS = 12
_LEAST_CUT = 8
"""Tokens of the shortest cut at which the effect of the length is measured."""


@dataclass(frozen=True)
class ProjectionConfig:
    """Attributes:
    layers: of the encoder that are read, from the lowest.
    width: D.
    length: tokens of a text that are read, special ones included.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    layers: Annotated[int, Field(ge=1)] = 4
    width: Annotated[int, Field(ge=1)] = 256
    length: Annotated[int, Field(ge=3)] = 256


class Projection(nn.Module):
    """From means over tokens, (B, H), to vectors of length 1, (B, D).

    Its `offsets`, (L, H), are what the mean over 1, 2, … tokens is off that over L, on average.
    """

    def __init__(self, width: int, projected: int, length: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("offsets", torch.zeros(length, width))
        self.linear = nn.Linear(width, projected, bias=False)

    def forward(self, pooled: Tensor) -> Tensor:
        return functional.normalize(self.linear(pooled - self.get_buffer("mean")), dim=-1)

    def whiten(self, pooled: Tensor) -> None:
        """Begin with the directions in which texts, (N, H), vary most, each as important as the others."""
        mean = pooled.mean(0)
        values, vectors = torch.linalg.eigh((pooled - mean).T @ (pooled - mean) / len(pooled))
        scales = (values + _LEAST_VARIANCE * values.mean()).rsqrt()
        largest = (vectors * scales).flip(1)[:, : self.linear.out_features].T
        with torch.no_grad():
            self.get_buffer("mean").copy_(mean)
            self.linear.weight[: len(largest)].copy_(largest)


@dataclass(frozen=True)
class PassageReader:
    """Reads documents and phrases.

    Attributes:
        lower: the encoder up to `config.layers`.
        padding: the pad token id.
    """

    config: ProjectionConfig
    lower: BertEncoder
    projection: Projection
    tokenizer: Tokenizer
    padding: int
    _phrases: dict[str, NDArray[np.float16]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _documents: dict[bytes, tuple[NDArray[np.float32], int]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def device(self) -> torch.device:
        return next(self.projection.parameters()).device

    @property
    def width(self) -> int:
        """D."""
        return self.projection.linear.out_features

    def documents(self, documents: Sequence[Document], *, low: bool = False) -> NDArray[np.float32]:
        """(B, D) to be compared with other documents; `low` as of `pool`."""
        texts = [encoder_text(document) for document in documents]
        return self.project(self.pool(texts, low=True) if low else self._without_length(*self._read(texts)))

    def beside_phrases(self, documents: Sequence[Document]) -> NDArray[np.float32]:
        """(B, D) to be compared with phrases, from which nothing is taken away either."""
        means, _ = self._read([encoder_text(document) for document in documents])
        return self.project(means)

    def _read(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """As `_means`; a few are remembered, for an answer asks for its document three times. The texts
        themselves are not."""
        if not 0 < len(texts) <= _MOST_DOCUMENTS:
            return self._means(texts, self.config.length)
        known = self._documents.copy()
        keys = [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            means, counts = self._means(list(new.values()), self.config.length)
            known.update(zip(new, zip(map(np.copy, means), counts.tolist(), strict=True), strict=True))
            if len(known) > _MOST_DOCUMENTS:
                self._documents.clear()
            self._documents.update((key, known[key]) for key in keys)
        read, tokens = zip(*(known[key] for key in keys), strict=True)
        return np.stack(read), np.array(tokens, dtype=np.int64)

    def phrases(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(B, D) with what is due to their length; those read before are remembered."""
        found = ((text, self._phrases.get(text)) for text in dict.fromkeys(texts))
        known = {text: pooled for text, pooled in found if pooled is not None}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        read, _ = self._means(new, self.config.length, size=_PHRASES_AT_ONCE)
        if not texts:
            return self.project(read)
        added = dict(zip(new, read.astype(np.float16), strict=True))
        if len(self._phrases) + len(added) > _MOST_PHRASES:
            self._phrases.clear()
        self._phrases.update(added)
        known |= added
        return self.project(np.stack([known[text] for text in texts]).astype(np.float32))

    def pool(self, texts: Sequence[str], *, low: bool = False) -> NDArray[np.float32]:
        """(B, H) the mean over the tokens of each text, without what is due to their number.

        Args:
            low: in bf16 where the processor has it: faster, but processors without it give other numbers.
        """
        return self._without_length(*self._means(texts, self.config.length, low=low))

    def _without_length(self, means: NDArray[np.float32], tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        offsets = self.projection.get_buffer("offsets").cpu().numpy()
        without: NDArray[np.float32] = means - offsets[tokens - 1]
        return without

    def measure_lengths(self, texts: Sequence[str]) -> None:
        """Learn the `offsets` of the projection from texts that are cut at several lengths.

        Args:
            texts: of many languages; shorter ones than L tokens say nothing of longer ones.
        """
        length = self.config.length
        cuts = np.unique(np.geomspace(min(_LEAST_CUT, length), length, _CUTS).round().astype(int))
        means = np.stack([self._means(texts, int(cut))[0].mean(axis=0) for cut in cuts])
        every = np.arange(1, length + 1)
        offsets = [np.interp(every, cuts, column) for column in (means - means[-1]).T]
        self.projection.get_buffer("offsets").copy_(torch.from_numpy(np.stack(offsets, axis=1)))

    def _means(
        self, texts: Sequence[str], length: int, *, size: int = _TEXTS_AT_ONCE, low: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """(B, H) the mean over at most `length` tokens of each text, and (B,) their number.

        Args:
            size: texts read at once.
            low: as of `pool`.
        """
        parts = [np.zeros((0, self.projection.linear.in_features), dtype=np.float32)]
        counts: list[int] = []
        low = low and self.device.type == "cpu" and has_bf16()
        with torch.inference_mode(), torch.autocast(self.device.type, torch.bfloat16, enabled=low):
            for first in range(0, len(texts), _TOKENISED_AT_ONCE):
                with truncating(self.tokenizer, length):
                    read = self.tokenizer.encode_batch(list(texts[first : first + _TOKENISED_AT_ONCE]))
                rows = [encoding.ids for encoding in read]
                vectors = encode_rows(self._mean, rows, padding=self.padding, device=self.device, size=size)
                parts.append(vectors.numpy())
                counts += map(len, rows)
        return np.concatenate(parts), np.array(counts, dtype=np.int64)

    def project(self, pooled: NDArray[np.float32]) -> NDArray[np.float32]:
        """(B, D) of what `pool` gave."""
        with torch.inference_mode():
            vectors: Tensor = self.projection(torch.from_numpy(pooled).to(self.device))
        return vectors.cpu().numpy()

    def _mean(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.lower(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state.float()
        mask = attention_mask.unsqueeze(-1)
        mean: Tensor = (hidden * mask).sum(1) / mask.sum(1)
        return mean


@lru_cache(maxsize=1)
def has_bf16() -> bool:
    """Whether this processor multiplies bf16 numbers itself; without it they are slower than fp32."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return any(flag in told for flag in ("avx512_bf16", "amx_bf16"))


def new_reader(
    encoder: BertEncoder, tokenizer: Tokenizer, padding: int, config: ProjectionConfig
) -> PassageReader:
    """A reader on an encoder, with a projection that knows nothing yet.

    Raises:
        ConfigError: the encoder has fewer layers.
    """
    projection = Projection(encoder.config.hidden_size, config.width, config.length)
    lower = encoder.lower(config.layers).requires_grad_(False)
    return PassageReader(config, lower, projection, tokenizer, padding)


def save_reader(folder: Path, reader: PassageReader, tokenizer: Any, *, card: str) -> None:
    """Write a checkpoint folder.

    Args:
        tokenizer: of Transformers.
    """
    state = {f"lower.{name}": value for name, value in reader.lower.state_dict().items()}
    state |= {f"projection.{name}": value for name, value in reader.projection.state_dict().items()}
    backbone = {"model_type": "bert", "hidden_act": "gelu", "pad_token_id": reader.padding}
    config = {
        "kind": KIND,
        "backbone": backbone | asdict(reader.lower.config),
        "passages": asdict(reader.config),
    }
    write_folder(folder, state, tokenizer, config, card=card, storage="fp16")


def load_reader(folder: Path, *, device: torch.device) -> PassageReader:
    """Open a folder that `save_reader` wrote.

    Raises:
        ModelLoadError: a file is missing or damaged.
    """
    with open_folder(folder, KIND) as stored:
        described = BertConfig.of(stored.config["backbone"])
        assert described is not None  # `save_reader` writes no other
        with unset_weights():
            lower = BertEncoder(described)
        lower.load_state_dict(part_of(stored.weights, "lower."), assign=True)
        reader = new_reader(lower, stored.tokenizer, stored.padding, stored_projection(stored.config))
        return with_projection(reader, stored.weights, device)


def stored_projection(config: Mapping[str, Any]) -> ProjectionConfig:
    """The settings of a projection in a stored configuration."""
    return ProjectionConfig(**config["passages"])


def with_projection(
    reader: PassageReader, weights: Mapping[str, Tensor], device: torch.device
) -> PassageReader:
    """The reader with a stored projection, on a device."""
    projection = Projection(reader.projection.linear.in_features, reader.width, reader.config.length)
    projection.load_state_dict(part_of(weights, "projection."))
    reader.lower.to(device)
    return replace(reader, projection=projection.to(device).eval().requires_grad_(False))
