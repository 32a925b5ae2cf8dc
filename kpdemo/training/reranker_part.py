"""The reranker as the training loop sees it, and its validation documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from kpdemo.errors import ConfigError
from kpdemo.evaluation.protocol import evaluate
from kpdemo.prmu import PhraseKinds
from kpdemo.selection import best_first
from kpdemo.simckp.bank import PhraseBank
from kpdemo.simckp.counting import Counting
from kpdemo.simckp.losses import contrastive_loss
from kpdemo.simckp.predictor import Selection
from kpdemo.simckp.reading import padded
from kpdemo.simckp.reranker import CandidateBatch, RerankerModel, candidate_features
from kpdemo.simckp.threshold import refuse_without_gold
from kpdemo.simckp.tokens import document_tokens, phrase_tokens
from kpdemo.training.candidates import ProposedDocument
from kpdemo.training.example_parts import trained_parameters, validation_metrics
from kpdemo.training.part import Metrics
from kpdemo.training.selection import learn_selection
from kpdemo.types import Document, Keyphrase, Prediction

if TYPE_CHECKING:
    from kpdemo.training.reranker import RerankerTraining


@dataclass(frozen=True)
class CandidateReader:
    """Documents and their candidates as tensors.

    Attributes:
        padding: the pad token id.
        length: tokens of a document that are read.
        bank: knows how frequent a candidate is; None without one.
    """

    tokenizer: Tokenizer
    padding: int
    length: int
    bank: PhraseBank | None

    def tokens(self, document: Document) -> list[int]:
        return document_tokens(document, self.tokenizer, self.length)

    def batch(self, items: Sequence[ProposedDocument]) -> CandidateBatch:
        input_ids, mask = padded([self.tokens(item.document) for item in items], self.padding)
        texts = [candidate.text for item in items for candidate in item.candidates]
        phrase_ids, phrase_mask = padded(
            [phrase_tokens(text, self.tokenizer) for text in texts], self.padding
        )
        counts = torch.tensor([len(item.candidates) for item in items])
        return CandidateBatch(
            input_ids=input_ids,
            attention_mask=mask,
            phrase_ids=phrase_ids,
            phrase_mask=phrase_mask,
            document=torch.repeat_interleave(torch.arange(len(items)), counts),
            features=torch.from_numpy(np.concatenate([self.features(item) for item in items])),
            positive=torch.from_numpy(np.concatenate([item.positive for item in items])),
        )

    def features(self, item: ProposedDocument) -> NDArray[np.float32]:
        """(P, F) of the document's candidates."""
        kind_of = PhraseKinds(item.document)
        kinds = [kind_of(candidate.text) for candidate in item.candidates]
        return candidate_features(item.candidates, kinds, self.bank)


class RerankerPart:
    """The reranker as the training loop sees it."""

    selected = "F1@M"

    def __init__(
        self,
        module: RerankerModel,
        documents: Sequence[ProposedDocument],
        reader: CandidateReader,
        validation: RerankerValidation,
        config: RerankerTraining,
    ) -> None:
        """Documents without a gold or without a wrong candidate teach nothing and are left out.

        Raises:
            ConfigError: no document is left.
        """
        self.module = module
        self._reader, self._validation, self._config = reader, validation, config
        self._documents = [item for item in documents if item.positive.any() and not item.positive.all()]
        if not self._documents:
            named = ", ".join(f"`{name}`" for name in ("bank", "generator") if getattr(config, name))
            raise ConfigError(
                f"No training document has a gold candidate beside wrong ones: check the sources and {named}."
            )
        self.lengths = [len(reader.tokens(item.document)) for item in self._documents]
        self.repeats = [item.repeat for item in self._documents]

    def __len__(self) -> int:
        return len(self._documents)

    def parameter_groups(self) -> list[dict[str, Any]]:
        dual = self.module.dual
        towers = [tower for tower in (dual.encoder, dual.phrase_encoder) if tower is not None]
        pretrained = [weight for tower in towers for weight in tower.parameters()]
        return trained_parameters(self.module, pretrained, self._config)

    def __getitem__(self, number: int) -> ProposedDocument:
        return self._documents[number]

    def collate(self, items: Sequence[ProposedDocument]) -> CandidateBatch:
        return self._reader.batch(items)

    def loss(self, batch: CandidateBatch) -> Tensor:
        """Equation 3 over the candidates of each document."""
        return contrastive_loss(
            self.module(batch),
            batch.positive,
            batch.document,
            documents=len(batch.input_ids),
            temperature=self.module.dual.config.temperature,
        )

    def evaluate(self) -> Metrics:
        return self._validation.select(self.module)[1]


class RerankerValidation:
    """Documents with gold and their candidates, proposed once and ranked often."""

    def __init__(
        self, documents: Sequence[ProposedDocument], reader: CandidateReader, counting: Counting
    ) -> None:
        """Raises:
        TrainingError: no document has a gold keyphrase among its candidates.
        """
        refuse_without_gold(item.positive for item in documents)
        self._documents, self._reader, self._counting = documents, reader, counting

    def select(self, module: RerankerModel) -> tuple[Selection, Metrics]:
        """What turns scores into answers for the present weights, and the figures that gives."""
        scores, minimum = self._scores(module), module.config.minimum
        pairs = [(own, item.positive) for own, item in zip(scores, self._documents, strict=True)]
        selection = learn_selection(pairs, self._counting, minimum)
        predictions = [
            _prediction(item, own.tolist(), selection.count(own.tolist(), minimum))
            for own, item in zip(scores, self._documents, strict=True)
        ]
        figures = evaluate([item.document for item in self._documents], predictions).absent.skip_empty
        return selection, validation_metrics(figures, "R@50")

    @torch.no_grad()
    def _scores(self, module: RerankerModel) -> list[NDArray[np.float32]]:
        """(P,) for each document; empty where there is no candidate."""
        device = module.dual.document_projection.weight.device
        scores = []
        for item in self._documents:
            if len(item.candidates):
                scores.append(module(self._reader.batch([item]).to(device)).float().cpu().numpy())
            else:
                scores.append(np.zeros(0, dtype=np.float32))
        return scores


def _prediction(item: ProposedDocument, scores: Sequence[float], own: int) -> Prediction:
    ranked = [item.candidates[number].text for number in best_first(scores)]
    keyphrases = tuple(Keyphrase(text, 0.0) for text in ranked[:own])
    return Prediction((), keyphrases, absent_candidates=tuple(ranked))
