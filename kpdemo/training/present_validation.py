"""Validation of present keyphrases: the rule of choice that fits the present weights, and its figures."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from kpdemo.batch.predicting import ask_each
from kpdemo.candidates.chunks import Candidate, mine_candidates, present_keyphrase
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import InputError
from kpdemo.evaluation.protocol import evaluate
from kpdemo.selection import keep
from kpdemo.simckp.counting import Counting
from kpdemo.simckp.examples import Example, build_example
from kpdemo.simckp.model import ContrastiveExtractor, ExtractorConfig
from kpdemo.simckp.predictor import Second, Selection, score_examples
from kpdemo.simckp.threshold import refuse_without_gold
from kpdemo.training.example_parts import validation_metrics
from kpdemo.training.labelling import gold_candidates
from kpdemo.training.part import Metrics
from kpdemo.training.selection import learn_selection
from kpdemo.types import Document, Prediction, Predictor

logger = logging.getLogger(__name__)


class ValidationSet:
    """Documents with gold, read once and scored often."""

    def __init__(
        self,
        documents: Iterable[Document],
        tokenizer: Tokenizer,
        config: ExtractorConfig,
        counting: Counting = "expected F1",
        *,
        padding: int,
    ) -> None:
        """Args:
        padding: the pad token id.

        Raises:
            TrainingError: no document has a gold keyphrase among its candidates.
        """
        tagger = load_tagger()
        self.documents: list[Document] = list(documents)
        self._padding = padding
        self._minimum = config.minimum
        self._counting = counting
        self._candidates: list[list[Candidate]] = []
        self._examples: list[Example] = []
        self._positive: list[NDArray[np.bool_]] = []
        for document in self.documents:
            mined = mine_candidates(document, tagger, config.candidates)
            self._candidates.append(mined)
            self._examples.append(
                build_example(document, mined, tokenizer, window=config.window, overlap=config.overlap)
            )
            self._positive.append(gold_candidates(document, mined))
        refuse_without_gold(self._positive)

    def select(self, module: ContrastiveExtractor, second: Second | None = None) -> tuple[Selection, Metrics]:
        """The threshold, calibration and counting that fit the present weights, and their figures.

        Where the number of keyphrases is learnt, F1@M by the paper's single threshold is reported too.
        """
        scores = score_examples(module, self._examples, padding=self._padding, second=second)
        pairs = list(zip(scores, self._positive, strict=True))
        selection = learn_selection(pairs, self._counting, self._minimum)
        metrics = self._figures(scores, selection) | {"threshold": selection.threshold}
        if selection.counting is None:
            return selection, metrics
        by_threshold = self._figures(scores, replace(selection, counting=None))
        return selection, metrics | {"F1@M by threshold": by_threshold["F1@M"]}

    def _figures(self, scores: Sequence[NDArray[np.float32]], selection: Selection) -> Metrics:
        predictions = [self._predict(index, score, selection) for index, score in enumerate(scores)]
        figures = evaluate(self.documents, predictions).present.skip_empty
        return validation_metrics(figures)

    def _predict(self, index: int, scores: NDArray[np.float32], selection: Selection) -> Prediction:
        document, mined, values = self.documents[index], self._candidates[index], scores.tolist()
        own = selection.count(values, self._minimum)
        return Prediction(
            tuple(
                present_keyphrase(document, mined[number], values[number])
                for number in keep(values, top_k=None, threshold=None, own=own)
            )
        )


def present_figures(predictor: Predictor, documents: Sequence[Document]) -> Metrics:
    """The figures of the present keyphrases that a model gives; none of a document that it refuses."""
    predictions = []
    for document, outcome in zip(documents, ask_each(documents, predictor.predict), strict=True):
        if isinstance(outcome, InputError):
            logger.warning('the validation document "%s" counts without keyphrases: %s', document.id, outcome)
            outcome = Prediction(())
        predictions.append(outcome)
    return validation_metrics(evaluate(documents, predictions).present.skip_empty)
