"""All keyphrases written as one sequence (ONE2SEQ; Yuan et al. 2020), "without CL" in SimCKP's Table 4."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from kpdemo.languages.names import ENGLISH
from kpdemo.latin import latin_documents
from kpdemo.selection import check_options
from kpdemo.simckp.decoding import SimckpGenerator, phrase_text, search_together
from kpdemo.simckp.generation.beam_search import Beam, SearchConfig
from kpdemo.simckp.proposals import Proposal, build_answer
from kpdemo.types import Document, Prediction

BATCH = 8
SEARCH = SearchConfig(beams=10, longest=64, no_repeat=3)  # with 2 no two phrases could begin alike


@dataclass(frozen=True)
class One2SeqPredictor:
    """A `Predictor`; without a number or a threshold it gives its most likely sequence.

    Otherwise it chooses among the phrases of all beams. The score of a phrase is the geometric mean of the
    probabilities of its tokens and of what ends it, in the sequence where that is highest.
    """

    finds_absent: ClassVar[bool] = True
    languages: ClassVar[frozenset[str]] = frozenset({ENGLISH})

    generator: SimckpGenerator

    @property
    def name(self) -> str:
        return self.generator.name

    @property
    def device(self) -> str:
        return next(self.generator.module.parameters()).device.type

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`."""
        check_options(top_k, threshold)
        self.generator.module.eval()
        read = latin_documents(documents)
        batches = [read[first : first + BATCH] for first in range(0, len(read), BATCH)]
        return [
            build_answer(document, self._proposals(beams), top_k=top_k, threshold=threshold)
            for batch in batches
            for document, beams in zip(batch, search_together(self.generator, batch, SEARCH), strict=True)
        ]

    def _proposals(self, beams: Sequence[Beam]) -> Iterator[Proposal]:
        """The phrases of all beams; one that the longest length has cut off is left out."""
        vocabulary = self.generator.module.decoder.vocabulary
        for number, beam in enumerate(beams):
            for first, end in vocabulary.split(beam.ids):
                gains = beam.log_probabilities[first : end + 1]
                if len(gains) > end - first:
                    text = phrase_text(beam.ids[first:end], vocabulary, self.generator.tokenizer)
                    yield Proposal(text, math.exp(fmean(gains)), chosen=number == 0)
