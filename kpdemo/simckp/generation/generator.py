"""SimCKP's extractor-generator (section 4.2): one encoder for present and absent keyphrases.

Letters: B documents, P phrases, T tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kpdemo.simckp.generation.memory import Decoder, Memory
from kpdemo.simckp.model import Batch, ContrastiveExtractor, pool


class ExtractorGenerator(nn.Module):
    """A `ContrastiveExtractor`, and a decoder that reads the same hidden states.

    The decoder reads the first window of a document, which should be wide enough for an abstract.
    """

    def __init__(self, extractor: ContrastiveExtractor, decoder: Decoder) -> None:
        super().__init__()
        self.extractor = extractor
        self.decoder = decoder

    def forward(self, batch: Batch) -> tuple[Tensor, Memory]:
        """(P,) the similarity of each phrase to its document, and what the decoder may read."""
        hidden = self.extractor.encode(batch.input_ids, batch.attention_mask)
        scores = self.extractor.score(pool(lambda *_: hidden, batch, len(hidden)), batch)
        documents = torch.arange(batch.documents, device=hidden.device)
        firsts = torch.searchsorted(batch.window_document, documents)
        return scores, self._memory(hidden, batch.input_ids, batch.attention_mask).rows(firsts)

    def read(self, input_ids: Tensor, attention_mask: Tensor) -> Memory:
        """What the decoder may read of token ids and mask, (B, T) each."""
        return self._memory(self.extractor.encode(input_ids, attention_mask), input_ids, attention_mask)

    def _memory(self, hidden: Tensor, input_ids: Tensor, mask: Tensor) -> Memory:
        words: Tensor = self.extractor.encoder.get_input_embeddings().weight  # type: ignore[operator]
        return Memory(hidden, input_ids, mask, words)
