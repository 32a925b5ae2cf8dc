"""How well a generator does on validation documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from kpdemo.evaluation.metrics import macro_average, score_kind
from kpdemo.simckp.decoding import SimckpGenerator, over_generate
from kpdemo.simckp.generation.beam_search import SearchConfig
from kpdemo.simckp.generation.targets import pad_targets, shifted
from kpdemo.simckp.losses import generation_loss
from kpdemo.text import phrase_key
from kpdemo.training.labelling import absent_keyphrases, bare_phrase_tokens
from kpdemo.training.part import Metrics
from kpdemo.types import Document

_BATCH = 16


class GenerationValidation:
    """Documents with gold keyphrases of the kind that the generator writes."""

    def __init__(
        self,
        generator: SimckpGenerator,
        documents: Sequence[Document],
        search: SearchConfig,
        sample: int,
        *,
        written: Callable[[Document], Sequence[str]] = absent_keyphrases,
    ) -> None:
        """Args:
        documents: those that nothing is to be written for are left out.
        sample: on this many of them R@50 of absent keyphrases is measured; on all the likelihood.
        written: the gold keyphrases that are to be written of a document.
        """
        self._generator = generator
        self._search = search
        gold = [(document, written(document)) for document in documents]
        self._documents = [document for document, phrases in gold if phrases]
        self._gold = [phrases for _, phrases in gold if phrases]
        self._sample = sample
        decoder, tokenizer = generator.module.decoder, generator.tokenizer
        vocabulary, longest = decoder.vocabulary, decoder.longest
        self._targets = [
            vocabulary.encode([bare_phrase_tokens(phrase, tokenizer) for phrase in phrases], longest=longest)
            for phrases in self._gold
        ]

    def __len__(self) -> int:
        return len(self._documents)

    def evaluate(self) -> Metrics:
        """The mean log-likelihood of an id of the gold, over documents, and R@50 of all candidates."""
        recall = {"R@50": self.recall()} if self._sample else {}
        return {"log-likelihood": self.log_likelihood()} | recall

    def log_likelihood(self) -> float:
        """In nats, at most 0; phrases that the decoder cannot write do not count."""
        known = [number for number, target in enumerate(self._targets) if len(target)]
        batches = [known[first : first + _BATCH] for first in range(0, len(known), _BATCH)]
        return -sum(map(self._loss, batches)) / max(len(known), 1)

    def recall(self) -> float:
        """R@50 on the sample: the share of its absent gold among the first fifty candidates, by document."""
        documents, gold = self._documents[: self._sample], self._gold[: self._sample]
        candidates = over_generate(self._generator, documents, search=self._search)
        scores = [
            score_kind([phrase_key(text) for text in wanted], [phrase_key(phrase.text) for phrase in found])
            for wanted, found in zip(gold, candidates, strict=True)
        ]
        return macro_average(scores, "skip_empty").recall_50 or 0.0

    def _loss(self, numbers: Sequence[int]) -> float:
        """Summed over documents."""
        decoder = self._generator.module.decoder
        self._generator.module.eval()
        with torch.inference_mode():
            memory = self._generator.read([self._documents[number] for number in numbers])
            targets = pad_targets([self._targets[number] for number in numbers]).to(memory.hidden.device)
            log_probabilities = decoder(shifted(targets, decoder.vocabulary.start), memory)
            return float(generation_loss(log_probabilities, targets, documents=1))
