"""Training of the ranker of present and absent keyphrases, with and without retrieved ones.

Letters (ranker): P candidates, F features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from kpdemo.candidates.word_runs import mined_key
from kpdemo.errors import TrainingError
from kpdemo.identity import content_identity
from kpdemo.languages import ENGLISH
from kpdemo.ramkg.ranker import (
    MOST_KEYPHRASES,
    Choosing,
    Help,
    Knowledge,
    LanguageTerms,
    Lexicon,
    Phrase,
    Ranker,
    Translations,
    candidates_of,
    count_terms,
    inputs,
    learn_translations,
    rank_input,
)
from kpdemo.ramkg.rgit import Augmented
from kpdemo.ramkg.subwords import SubwordReader
from kpdemo.simckp.batches import Movable
from kpdemo.simckp.calibration import Calibration, ExpectedF1, learn_expected_f1
from kpdemo.simckp.pair_checkpoint import state_hash
from kpdemo.training.data import Positive, Rate, process_pool, tokenizer_hash
from kpdemo.training.loop import LoopConfig, Metrics, run_identity, train
from kpdemo.types import Document

_TOGETHER = 32  # documents that a process mines at once


@dataclass(frozen=True, slots=True)
class Mined:
    """A document with the phrases of its text and the keys of its keyphrases."""

    document: Document
    phrases: tuple[Phrase, ...]
    gold: tuple[tuple[str, str], ...]
    """Key and writing of each keyphrase."""

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(key for key, _ in self.gold)


def mine_documents(documents: Sequence[Document], workers: int) -> list[Mined]:
    """The phrases of many documents, by several processes."""
    if workers <= 1 or len(documents) <= _TOGETHER:
        return [_mine(document) for document in documents]
    with process_pool(workers) as pool:
        return list(pool.map(_mine, documents, chunksize=_TOGETHER))


def _mine(document: Document) -> Mined:
    language = document.language
    gold = tuple((mined_key(text, language), text) for text in document.keyphrases)
    return Mined(document, candidates_of(document), tuple((key, text) for key, text in gold if key))


def learn_lexicon(mined: Sequence[Mined], examples: Sequence[Augmented]) -> Lexicon:
    """Terms and translations by language; translations from each document's first passage."""
    languages = sorted({item.document.language for item in mined})
    terms: dict[str, LanguageTerms] = {}
    for language in languages:
        own = [item for item in mined if item.document.language == language]
        terms[language] = count_terms(((phrase.key for phrase in item.phrases), item.gold) for item in own)
    return Lexicon(terms, learn_translations_of(mined, examples, range(len(mined))))


def _pair(item: Mined, given: Augmented) -> tuple[list[str], list[str]]:
    first = given.retrieved[0] if given.retrieved else ()
    english = (mined_key(text, ENGLISH) for text in first)
    return [key for key in english if key], [key for key, _ in item.gold]


def learn_translations_of(
    mined: Sequence[Mined], examples: Sequence[Augmented], numbers: Sequence[int]
) -> Mapping[str, Translations]:
    """Translations by language, learnt from some of the documents, by their numbers."""
    pairs: dict[str, list[tuple[list[str], list[str]]]] = {}
    for number in numbers:
        own = pairs.setdefault(mined[number].document.language, [])
        own.append(_pair(mined[number], examples[number]))
    return {language: learn_translations(own) for language, own in pairs.items()}


HELD_OUT = 10
"""One document in this many chooses the weights and the number of keyphrases, and is not trained on."""

FOLDS = 4
"""Translations are learnt from other documents than those they are features of."""

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
    mined: Sequence[Mined],
    examples: Sequence[Augmented],
    reader: SubwordReader,
    config: RankerTraining,
    folder: Path,
    *,
    retrieval: bool,
    translated: Sequence[Augmented] | None = None,
) -> tuple[Choosing, Knowledge, Metrics]:
    """A ranker of these documents, what it judges by, and its figures on those held out.

    Args:
        mined, examples: the same documents.
        folder: of the run, which resumes where it stopped.
        translated: the same documents with the passages that translations are learnt from; without it
            those of the examples.

    Raises:
        TrainingError: no document has a keyphrase among its candidates.
    """
    torch.manual_seed(config.loop.seed)
    translated = translated or examples
    knowledge = Knowledge.of(reader, learn_lexicon(mined, translated))
    labelled = label_all(mined, examples, translated, knowledge, retrieval=retrieval)
    held_out = [number for number in range(len(mined)) if number % HELD_OUT == HELD_OUT - 1]
    taught = [item for number, item in enumerate(labelled) if number % HELD_OUT != HELD_OUT - 1]
    part = RankerPart(
        Ranker(retrieval=retrieval),
        [item for item in taught if item.positive.any()],
        [labelled[number] for number in held_out] or taught,
        config,
    )
    loop = replace(config.loop, documents=config.epochs * len(part))
    identity = _identity(examples, translated, reader, config, retrieval=retrieval)
    train(part, loop, folder, torch.device("cpu"), identity=identity)
    part.module.eval().requires_grad_(False)
    return Choosing(part.module, part.counting(), config.minimum), knowledge, part.evaluate()


def _identity(
    examples: Sequence[Augmented],
    translated: Sequence[Augmented],
    reader: SubwordReader,
    config: RankerTraining,
    *,
    retrieval: bool,
) -> str:
    """The `run_identity` of a ranker; encoder and documents count by their content."""
    weights = {name: value.cpu() for name, value in reader.module.state_dict().items()}
    return run_identity(
        vars(config),
        retrieval=retrieval,
        encoder=(state_hash(weights), tokenizer_hash(reader.tokenizer), reader.length),
        documents=content_identity(examples, translated),
    )


def label_all(
    mined: Sequence[Mined],
    examples: Sequence[Augmented],
    translated: Sequence[Augmented],
    knowledge: Knowledge,
    *,
    retrieval: bool,
) -> list[LabelledCandidates]:
    """The features of all candidates, each document left out of what its own were counted in."""
    found: dict[int, LabelledCandidates] = {}
    for fold in range(FOLDS):
        others = [number for number in range(len(mined)) if number % FOLDS != fold]
        translations = learn_translations_of(mined, translated, others) if retrieval else {}
        taught = knowledge.with_translations(translations)
        for number in range(fold, len(mined), FOLDS):
            item = mined[number]
            own = taught if number % UNKNOWN else knowledge.without_terms()
            help = help_of(examples[number]) if retrieval else ()
            ranked = rank_input(item.document, item.phrases, own, help, own_keys=item.keys)
            positive = np.array([phrase.key in item.keys for phrase in ranked.phrases], dtype=bool)
            found[number] = LabelledCandidates(inputs(ranked, retrieval=retrieval), positive)
    return [found[number] for number in range(len(mined))]


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
        scored = self._scored()
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
        return self._rule(self._scored())

    def _rule(self, scored: list[tuple[NDArray[np.float32], NDArray[np.bool_]]]) -> ExpectedF1:
        return learn_expected_f1(scored, Calibration(), minimum=self._config.minimum)

    def _scored(self) -> list[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        """(P,) log-odds of each candidate, and which are gold, for each document held out."""
        with torch.no_grad():
            return [
                (self.module(torch.from_numpy(item.features)).numpy(), item.positive)
                for item in self._held_out
            ]


def predict_keyphrases(
    mined: Sequence[Mined],
    examples: Sequence[Augmented],
    choosing: Choosing,
    knowledge: Knowledge,
) -> list[list[str]]:
    """The keyphrases of documents that may be among those the terms were counted in."""
    retrieval = choosing.module.retrieval
    answers = []
    for item, given in zip(mined, examples, strict=True):
        help = help_of(given) if retrieval else ()
        ranked = rank_input(item.document, item.phrases, knowledge, help)
        values = choosing.probabilities(ranked)
        order = np.argsort(-values, kind="stable")[: choosing.count(values.tolist())]
        answers.append([ranked.phrases[number].text for number in order.tolist()])
    return answers
