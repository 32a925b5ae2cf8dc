"""Training of the ranker of present and absent keyphrases, with and without retrieved ones.

Letters (ranker): P candidates, F features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from kpdemo.candidates.mining import mine_candidates, mined_key
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import TrainingError
from kpdemo.identity import content_identity
from kpdemo.languages import ENGLISH
from kpdemo.ramkg.passage_encoder import has_bf16
from kpdemo.ramkg.ranker import (
    MOST_KEYPHRASES,
    Choosing,
    Help,
    Knowledge,
    Lexicon,
    Phrase,
    Ranker,
    count_terms,
    inputs,
    learn_translations,
    list_candidates,
    rank_input,
)
from kpdemo.ramkg.rgit import Augmented
from kpdemo.simckp.batches import Movable
from kpdemo.simckp.calibration import Calibration, ExpectedF1, learn_expected_f1
from kpdemo.simckp.extractor import SimckpPredictor
from kpdemo.simckp.pair_checkpoint import state_hash
from kpdemo.training.data import Positive, Rate, process_pool
from kpdemo.training.loop import LoopConfig, Metrics, run_identity, train
from kpdemo.types import Document

_TOGETHER = 32  # documents that a process or the network reads at once


@dataclass(frozen=True, slots=True)
class Listed:
    """A document with the phrases that are ranked and the keys of its keyphrases."""

    document: Document
    phrases: tuple[Phrase, ...]
    gold: frozenset[str]


def list_documents(extractor: SimckpPredictor, documents: Sequence[Document]) -> list[Listed]:
    """The candidates of many documents by the extractor, in bf16 where the processor has it."""
    listed: list[Listed] = []
    low = extractor.device != "cpu" or has_bf16()
    with torch.autocast(extractor.device, torch.bfloat16, enabled=low):
        for first in tqdm(range(0, len(documents), _TOGETHER), "extractor", disable=None):
            group = documents[first : first + _TOGETHER]
            for document, phrases in zip(group, list_candidates(extractor, group), strict=True):
                listed.append(Listed(document, phrases, frozenset(key for key, _ in gold_keys(document))))
    return listed


def gold_keys(document: Document) -> list[tuple[str, str]]:
    """Key and writing of each keyphrase that has one."""
    keys = ((mined_key(text, document.language), text) for text in document.keyphrases)
    return [(key, text) for key, text in keys if key]


Counted = tuple[str, list[str], list[tuple[str, str]], list[str]]
"""Of a document its language, the keys of its candidates, its `gold_keys`, and those of its English ones."""


def learn_lexicon(documents: Sequence[tuple[Document, Sequence[str]]], workers: int) -> Lexicon:
    """Terms and translations by language.

    Args:
        documents: each with its English keyphrases, none where they are not known.
        workers: processes.
    """
    if workers <= 1 or len(documents) <= _TOGETHER:
        counted = list(map(_count, documents))
    else:
        with process_pool(workers) as pool:
            counted = list(pool.map(_count, documents, chunksize=_TOGETHER))
    by_language: dict[str, list[Counted]] = {}
    for own in counted:
        by_language.setdefault(own[0], []).append(own)
    return Lexicon(
        {
            language: count_terms((keys, gold) for _, keys, gold, _ in own)
            for language, own in sorted(by_language.items())
        },
        {
            language: learn_translations(
                [(english, [key for key, _ in gold]) for _, _, gold, english in own if english]
            )
            for language, own in sorted(by_language.items())
        },
    )


def _count(given: tuple[Document, Sequence[str]]) -> Counted:
    document, english = given
    keys = [candidate.key for candidate in mine_candidates(document, load_tagger())]
    translated = [key for key in (mined_key(text, ENGLISH) for text in english) if key]
    return document.language, keys, gold_keys(document), translated


HELD_OUT = 10
"""One document in this many chooses the weights and the number of keyphrases, and is not trained on."""

UNKNOWN = 5
"""One document in this many is read as one of a language nothing is known of, so that such can be ranked."""


@dataclass(frozen=True)
class RankerTraining:
    """Attributes:
    loop: of one ranker; `documents` is overruled by `epochs`.
    epochs: how often each document is visited.
    minimum: keyphrases given when the rule says fewer.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    loop: LoopConfig = field(
        default_factory=lambda: LoopConfig(documents=1, batch_size=16, precision="fp32", evaluate_every=4_000)
    )
    epochs: Positive = 8
    learning_rate: Rate = 2e-3
    minimum: Positive = 3


@dataclass(frozen=True, slots=True, eq=False)
class LabelledCandidates:
    """Attributes:
    features: (P, F) float32.
    positive: (P,) bool.
    """

    features: NDArray[np.float32]
    positive: NDArray[np.bool_]


def help_of(given: Augmented) -> list[Help]:
    """The retrieved keyphrases of a document, as many of a passage as prediction reads."""
    scores = given.scores or (1.0,) * len(given.retrieved)
    return [
        Help(text, place, score)
        for place, (keyphrases, score) in enumerate(zip(given.retrieved, scores, strict=True))
        for text in keyphrases[:MOST_KEYPHRASES]
    ]


def train_ranker(
    listed: Sequence[Listed],
    examples: Sequence[Augmented],
    knowledge: Knowledge,
    config: RankerTraining,
    folder: Path,
    *,
    retrieval: bool,
) -> tuple[Choosing, Metrics]:
    """A ranker of these documents, and its figures on those held out.

    Args:
        listed, examples: the same documents, which neither extractor nor lexicon have learnt from.
        folder: of the run, which resumes where it stopped.

    Raises:
        TrainingError: no document has a keyphrase among its candidates.
    """
    torch.manual_seed(config.loop.seed)
    unknown = knowledge.without_terms()
    labelled = []
    for number, (item, given) in enumerate(zip(listed, examples, strict=True)):
        own = knowledge if number % UNKNOWN else unknown
        ranked = rank_input(item.document, item.phrases, own, help_of(given) if retrieval else ())
        positive = np.array([phrase.key in item.gold for phrase in ranked.phrases], dtype=bool)
        labelled.append(LabelledCandidates(inputs(ranked, retrieval=retrieval), positive))
    held_out = [item for number, item in enumerate(labelled) if number % HELD_OUT == HELD_OUT - 1]
    taught = [item for number, item in enumerate(labelled) if number % HELD_OUT != HELD_OUT - 1]
    part = RankerPart(
        Ranker(retrieval=retrieval),
        [item for item in taught if item.positive.any()],
        held_out or taught,
        config,
    )
    loop = replace(config.loop, documents=config.epochs * len(part))
    identity = run_identity(
        vars(config),
        retrieval=retrieval,
        encoder=state_hash(knowledge.reader.projection.state_dict()),
        documents=content_identity(examples, sorted(knowledge.lexicon.translations.items())),
    )
    train(part, loop, folder, torch.device("cpu"), identity=identity)
    part.module.eval().requires_grad_(False)
    return Choosing(part.module, part.counting(), config.minimum), part.evaluate()


@dataclass(frozen=True)
class RankerBatch(Movable):
    """Attributes:
    features: (P, F) float.
    positive: (P,) float.
    """

    features: Tensor
    positive: Tensor


class RankerPart:
    """A ranker as the training loop sees it: an item is a document."""

    selected = "F1@M"

    def __init__(
        self,
        module: Ranker,
        taught: Sequence[LabelledCandidates],
        held_out: Sequence[LabelledCandidates],
        config: RankerTraining,
    ) -> None:
        if not taught:
            raise TrainingError("No training document has a keyphrase among its candidates: give other ones.")
        self.module = module
        self._taught = taught
        self._held_out = [item for item in held_out if item.positive.any()] or list(taught)
        self._config = config
        self.lengths, self.repeats = [len(item.positive) for item in taught], [1] * len(taught)
        module.standardise(np.concatenate([item.features for item in taught]))

    def __len__(self) -> int:
        return len(self._taught)

    def parameter_groups(self) -> list[dict[str, Any]]:
        return [{"params": list(self.module.parameters()), "lr": self._config.learning_rate}]

    def __getitem__(self, index: int) -> LabelledCandidates:
        return self._taught[index]

    def collate(self, items: Sequence[LabelledCandidates]) -> RankerBatch:
        features = np.concatenate([item.features for item in items])
        positive = np.concatenate([item.positive for item in items]).astype(np.float32)
        return RankerBatch(torch.from_numpy(features), torch.from_numpy(positive))

    def loss(self, batch: RankerBatch) -> Tensor:
        return functional.binary_cross_entropy_with_logits(self.module(batch.features), batch.positive)

    def evaluate(self) -> Metrics:
        """F1@M over the candidates: keyphrases that are not among them do not count."""
        scored = self._score()
        rule = self._rule(scored)
        f1 = []
        for logits, positive in scored:
            values = torch.sigmoid(torch.from_numpy(logits)).numpy()
            count = max(rule.count(values.tolist()), self._config.minimum)
            hits = positive[np.argsort(-values, kind="stable")[:count]].sum()
            f1.append(2 * hits / (min(count, len(values)) + positive.sum()))
        return {"F1@M": float(np.mean(f1)), "gold": rule.gold}

    def counting(self) -> ExpectedF1:
        """The rule for how many, learnt on the documents held out."""
        return self._rule(self._score())

    def _rule(self, scored: list[tuple[NDArray[np.float32], NDArray[np.bool_]]]) -> ExpectedF1:
        return learn_expected_f1(scored, Calibration(), minimum=self._config.minimum)

    def _score(self) -> list[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        """(P,) log-odds of each candidate, and which are gold, for each document held out."""
        with torch.no_grad():
            return [
                (self.module(torch.from_numpy(item.features)).numpy(), item.positive)
                for item in self._held_out
            ]


def predict_keyphrases(
    listed: Sequence[Listed],
    examples: Sequence[Augmented],
    choosing: Choosing,
    knowledge: Knowledge,
) -> list[list[str]]:
    """The keyphrases of each document, the best first."""
    retrieval = choosing.module.retrieval
    answers = []
    for item, given in zip(listed, examples, strict=True):
        ranked = rank_input(item.document, item.phrases, knowledge, help_of(given) if retrieval else ())
        values = choosing.probabilities(ranked)
        order = np.argsort(-values, kind="stable")[: choosing.count(values.tolist())]
        answers.append([ranked.phrases[number].text for number in order.tolist()])
    return answers
