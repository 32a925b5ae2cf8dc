"""Validation of present and generated keyphrases: the rule of choice that fits, and the figures."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

from kpdemo.batch import ask_each
from kpdemo.candidates.chunks import Candidate, present_keyphrase
from kpdemo.candidates.mining import mine_candidates
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import InputError
from kpdemo.evaluation.metrics import macro_average, score_kind
from kpdemo.evaluation.protocol import evaluate
from kpdemo.selection import keep
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.calibration import (
    Counting,
    learn_calibration,
    learn_expected_f1,
    learn_threshold,
    refuse_without_gold,
)
from kpdemo.simckp.decoder import pad_targets, shift_right
from kpdemo.simckp.examples import Example, build_example
from kpdemo.simckp.extractor import ContrastiveExtractor, ExtractorConfig, Second, Selection, score_examples
from kpdemo.simckp.generator import SimckpGenerator, over_generate
from kpdemo.simckp.losses import generation_loss
from kpdemo.text import phrase_key
from kpdemo.training.examples import (
    absent_keyphrases,
    bare_phrase_tokens,
    gold_candidates,
    validation_metrics,
)
from kpdemo.training.loop import Metrics
from kpdemo.types import Document, Prediction, Predictor


def learn_selection(
    scored: Sequence[tuple[NDArray[np.float32], NDArray[np.bool_]]], counting: Counting, minimum: int
) -> Selection:
    """Threshold as section 5.3 learns it, calibration, and the rule for how many keyphrases to give.

    Args:
        scored: (scores, positive) of the candidates of each document.
        minimum: keyphrases given at least.

    Raises:
        TrainingError: no document has a gold keyphrase among its candidates.
    """
    threshold = learn_threshold(scored)
    calibration = learn_calibration(
        np.concatenate([scores for scores, _ in scored]), np.concatenate([positive for _, positive in scored])
    )
    rule = learn_expected_f1(scored, calibration, minimum=minimum) if counting == "expected F1" else None
    return Selection(threshold, calibration, rule)


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
            log_probabilities = decoder(shift_right(targets, decoder.vocabulary.start), memory)
            return float(generation_loss(log_probabilities, targets, documents=1))
