"""Training of the network that puts a document's best candidates in order."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from kpdemo.errors import ConfigError
from kpdemo.evaluation.protocol import evaluate
from kpdemo.identity import CARD
from kpdemo.routing import latin_documents
from kpdemo.simckp.calibration import Counting, refuse_without_gold
from kpdemo.simckp.candidate_ranker import CandidateRanker, best_candidates, candidate_features
from kpdemo.simckp.checkpoint import load_checkpoint
from kpdemo.simckp.extractor import SimckpPredictor
from kpdemo.simckp.pair_checkpoint import TermRetriever, load_bank
from kpdemo.simckp.predictor import Proposer, SystemPredictor
from kpdemo.simckp.read_ahead import ReadDocument
from kpdemo.training.data import Positive, Source, read_source, validation_documents
from kpdemo.training.examples import gold_candidates, validation_metrics
from kpdemo.training.feature_network import NetworkTraining, fit_network
from kpdemo.training.loop import Metrics
from kpdemo.training.validation import learn_selection
from kpdemo.types import Document

TOGETHER = 64
"""Documents that are read at once."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class CandidateRankerTraining(NetworkTraining):
    """Attributes:
    extractor: the checkpoint of an extractor or of two, whose scores choose the best candidates.
    bank: the checkpoint of a phrase bank with a ranker.
    train: documents that the extractor has not read: its scores say too much about those.
    validation: chooses the number of keyphrases and the calibration.
    ranked: candidates of a document that are put in order.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    extractor: Path
    bank: Path
    train: tuple[Source, ...]
    validation: Source
    ranked: Positive = 30
    counting: Counting = "expected F1"
    name: str = "ranked"
    data: Path = Path("data")
    output: Path = Path("runs/candidate-ranker")
    device: str = "auto"


@dataclass(frozen=True)
class TrainedCandidateRanker:
    """The result of a run.

    Attributes:
        documents: that it was fitted on, those with a gold keyphrase among their best candidates.
        before, validation: the figures by the extractor's order, and by the network's.
        card: of the extractor.
    """

    ranker: CandidateRanker
    documents: int
    before: Metrics
    validation: Metrics
    card: str


@dataclass(frozen=True)
class _Scored:
    """A document with the extractor's scores (P,), its vector by the bank's encoder, and which candidates are
    gold."""

    document: Document
    read: ReadDocument
    scores: NDArray[np.float32]
    vector: NDArray[np.float32]
    positive: NDArray[np.bool_]


def train_candidate_ranker(
    config: CandidateRankerTraining, *, device: torch.device
) -> TrainedCandidateRanker:
    """Fit the network, then learn from its scores how many candidates to give.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence.
    """
    retriever = load_bank(config.bank, device=device.type)
    if retriever.bank.ranker is None:
        raise ConfigError(
            f"The bank {config.bank} has no ranker, whose typical cosines are needed: "
            "train it with a section [profiles.ranker]."
        )
    extractor = load_checkpoint(config.extractor, device=device.type)
    card = (config.extractor / CARD).read_text(encoding="utf-8")
    system = SystemPredictor(extractor, Proposer(retriever, None))
    features, labels, repeats = [], [], []
    for source in config.train:
        for one in _score(system, retriever, read_source(source, config.data)):
            best = best_candidates(one.scores, config.ranked)
            if one.positive[best].any():
                seen = one.document, one.read, one.scores, one.vector
                features.append(candidate_features(*seen, retriever.bank, best))
                labels.append(one.positive[best])
                repeats.append(source.repeat)
    if not features:
        raise ConfigError(
            f"No document of the ranker has a keyphrase among its {config.ranked} best candidates: give more."
        )
    logger.info("%d documents for the ranker", len(features))
    network = fit_network(features, labels, config, repeats)

    validation = list(_score(system, retriever, validation_documents([config.validation], config.data)))
    refuse_without_gold(one.positive for one in validation)
    ranker = CandidateRanker(network, config.ranked, extractor.selection)
    rescored = [
        ranker.rescore(one.document, one.read, one.scores, one.vector, retriever.bank) for one in validation
    ]
    pairs = [(scores, one.positive) for scores, one in zip(rescored, validation, strict=True)]
    selection = learn_selection(pairs, config.counting, extractor.module.config.minimum)
    return TrainedCandidateRanker(
        replace(ranker, selection=selection),
        len(features),
        _figures(extractor, validation, [one.scores for one in validation]),
        _figures(replace(extractor, selection=selection), validation, rescored),
        card,
    )


def _score(
    system: SystemPredictor, retriever: TermRetriever, documents: Iterable[Document]
) -> Iterator[_Scored]:
    """The documents that have candidates."""
    waiting = iter(documents)
    while group := latin_documents(list(islice(waiting, TOGETHER))):
        read = system.reader.read(group)
        scored = system.extractor.score_mined([(one.candidates, one.example) for one in read])
        vectors = retriever.encoder.read_documents([one.tokens for one in read])
        for document, one, (candidates, scores), vector in zip(group, read, scored, vectors, strict=True):
            if candidates:
                yield _Scored(document, one, scores, vector, gold_candidates(document, candidates))


def _figures(
    chooser: SimckpPredictor, documents: Sequence[_Scored], scores: Sequence[NDArray[np.float32]]
) -> Metrics:
    """Of the present keyphrases that these scores give."""
    predictions = [
        chooser.choose(one.document, one.read.candidates, own)
        for one, own in zip(documents, scores, strict=True)
    ]
    figures = evaluate([one.document for one in documents], predictions).present.skip_empty
    return validation_metrics(figures)
