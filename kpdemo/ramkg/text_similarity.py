"""How alike two texts are by the vectors of any encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kpdemo.ramkg.encoder import BankEncoder, Encoder, load_encoder
from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.types import Document


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
        texts = sorted({text for pair in pairs for text in pair})
        if not texts:
            return []
        vectors = encoder.queries([Document(text) for text in texts])
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        vectors = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        places = {text: place for place, text in enumerate(texts)}
        first, second = (vectors[[places[pair[side]] for pair in pairs]] for side in (0, 1))
        found: list[float] = (first * second).sum(axis=-1).clip(0, 1).tolist()
        return found

    @cached_property
    def _encoder(self) -> Encoder:
        return load_encoder(EncoderConfig(self.model), device=self.device)
