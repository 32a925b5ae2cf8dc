"""What a decoder of absent keyphrases reads, and its interface.

Letters: B documents, L target positions, T source tokens, D width, V target vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn

from kpdemo.simckp.generation.beam_search import Beam, SearchConfig
from kpdemo.simckp.generation.targets import TargetVocabulary


@dataclass(frozen=True)
class Memory:
    """Documents as the encoder has read them.

    Attributes:
        hidden: (B, T, D) the last hidden states.
        input_ids, mask: (B, T) the tokens, and 0 where there is only padding.
        words: (words, D) the encoder's word embeddings.
    """

    hidden: Tensor
    input_ids: Tensor
    mask: Tensor
    words: Tensor

    def rows(self, chosen: Tensor) -> Memory:
        """Only the documents that `chosen` names, by number or as a mask (B,)."""
        return Memory(self.hidden[chosen], self.input_ids[chosen], self.mask[chosen], self.words)


class Decoder(nn.Module, ABC):
    """Writes the absent keyphrases of documents as one sequence of target ids each."""

    @property
    @abstractmethod
    def vocabulary(self) -> TargetVocabulary:
        """What the target ids mean."""

    @property
    @abstractmethod
    def longest(self) -> int:
        """Most target ids of one sequence, its end included."""

    @abstractmethod
    def forward(self, inputs: Tensor, memory: Memory) -> Tensor:
        """(B, L, V) the log-probabilities of what follows each of `inputs` (B, L) target ids."""

    @abstractmethod
    def search(self, memory: Memory, config: SearchConfig) -> list[list[Beam]]:
        """The beams of each document, best first."""
