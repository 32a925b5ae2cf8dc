"""How alike two texts are by the vectors of any encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kpdemo.ramkg.encoder import BankEncoder, Encoder, load_encoder
from kpdemo.ramkg.settings import EncoderConfig
from kpdemo.simckp.text_cosines import text_cosines
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
        return text_cosines(pairs, lambda texts: encoder.queries([Document(text) for text in texts]))

    @cached_property
    def _encoder(self) -> Encoder:
        return load_encoder(EncoderConfig(self.model), device=self.device)
