"""Training of the ranking of present keyphrases, on documents that the extractor has not learnt from."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from kpdemo.errors import ConfigError
from kpdemo.simckp.calibration import Counting
from kpdemo.simckp.checkpoint import content_hash, load_checkpoint
from kpdemo.simckp.extractor import Selection, SimckpPredictor
from kpdemo.simckp.pair_checkpoint import load_bank
from kpdemo.simckp.ranking import PresentRanker, RankedList, RankingConfig
from kpdemo.training.cards import describe_selection, figures_section, licence, source_list
from kpdemo.training.data import (
    AboveZero,
    Count,
    Positive,
    Source,
    cache_name,
    draw_documents,
    load_arrays,
    refuse_repeats,
    save_arrays,
    source_hashes,
    validation_documents,
)
from kpdemo.training.examples import gold_candidates
from kpdemo.training.keyphraseness import cached_keyphraseness
from kpdemo.training.loop import Metrics
from kpdemo.training.validation import ValidationSet
from kpdemo.types import Document

LISTS_VERSION = 1
SCORED = 64
"""Documents that are scored together."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RankingTraining:
    """Attributes:
    extractor: checkpoint folder of the extractor whose candidates are ranked.
    bank: checkpoint folder of the bank whose pair encoder compares document and candidates; without one there
        is no such feature.
    phrases: documents in which keyphraseness is counted, those of `train` beside them; without any there is
        no such feature. Each document of `train` is ranked by what the others say.
    train: documents whose candidates are ranked; they should be new to the extractor and to the bank's
        encoder, which say too much about documents they know.
    validation: chooses the threshold, the number of keyphrases and the calibration.
    fewest: documents that use a phrase before its keyphraseness is known.
    pool: documents drawn from `train`.
    penalty: on the squares of the weights, of features scaled to a standard deviation of 1.
    model: which features there are follows from `bank` and `phrases`.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    extractor: Path
    train: tuple[Source, ...]
    validation: Source
    bank: Path | None = None
    phrases: tuple[Source, ...] = ()
    fewest: Positive = 2
    pool: Positive = 5_000
    seed: Count = 42
    penalty: AboveZero = 10.0
    name: str = "ranking"
    data: Path = Path("data")
    output: Path = Path("runs/ranking")
    cache: Path = Path("runs/cache")
    model: RankingConfig = field(default_factory=RankingConfig)
    counting: Counting = "expected F1"
    device: str = "auto"

    def __post_init__(self) -> None:
        refuse_repeats((*self.phrases, *self.train), "A ranking reads")


@dataclass(frozen=True)
class TrainedRanking:
    """The result of a run, ready to be stored.

    Attributes:
        documents: how many had something to teach.
        spread: (F,) the standard deviation of each feature, by which weights can be compared.
        minimum: keyphrases that the extractor gives at least.
    """

    ranker: PresentRanker
    selection: Selection
    documents: int
    spread: NDArray[np.float64]
    minimum: int
    validation: Metrics


@dataclass(frozen=True)
class LabelledList:
    """Attributes:
    positive: (P,) bool, which of the ranked candidates are gold.
    """

    ranked: RankedList
    positive: NDArray[np.bool_]


def train_ranking(config: RankingTraining, *, device: torch.device) -> TrainedRanking:
    """Fit the weights by logistic regression, and what follows from the scores on the validation documents.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence, before or during training.
    """
    from sklearn.linear_model import LogisticRegression

    extractor = load_checkpoint(config.extractor, device=device.type)
    encoder = load_bank(config.bank, device=device.type).encoder if config.bank else None
    counted = (*config.phrases, *config.train) if config.phrases else ()
    table = (
        cached_keyphraseness(counted, config.data, config.cache, fewest=config.fewest) if counted else None
    )
    described = replace(config.model, similarity=encoder is not None, keyphraseness=table is not None)
    blank = PresentRanker(described, np.zeros(len(described.features)), 0.0, encoder, table)
    lists = cached_lists(config, extractor, blank)
    if not lists:
        raise ConfigError(
            "No training document has a gold keyphrase beside a wrong candidate among those that are ranked: "
            "check `train` and `extractor` of [ranking]."
        )
    features = np.concatenate([one.ranked.features for one in lists]).astype(np.float64)
    positive = np.concatenate([one.positive for one in lists])
    spread = features.std(0).clip(1.0e-6)
    fitted = LogisticRegression(C=1 / config.penalty, max_iter=1_000).fit(features / spread, positive)
    ranker = replace(blank, weights=fitted.coef_[0] / spread, intercept=float(fitted.intercept_[0]))
    validation = ValidationSet(
        validation_documents([config.validation], config.data),
        extractor.tokenizer,
        extractor.module.config,
        config.counting,
        padding=extractor.padding,
    )
    logger.info("%d training documents, %d validation documents", len(lists), len(validation.documents))
    scores = [row for _, row in extractor.score_mined(validation.documents, validation.mined)]
    selection, metrics = validation.select_scores(
        ranker.rank(validation.documents, validation.mined, scores), least=0
    )
    return TrainedRanking(ranker, selection, len(lists), spread, extractor.module.config.minimum, metrics)


def cached_lists(
    config: RankingTraining, extractor: SimckpPredictor, ranker: PresentRanker
) -> list[LabelledList]:
    """The lists of the documents that are drawn, read from the cache when they are there."""
    folders = [content_hash(folder) for folder in (config.extractor, config.bank) if folder]
    data = source_hashes([*config.phrases, *config.train], config.data)
    drawn = [config.fewest, config.pool, config.seed, ranker.config.candidates]
    path = config.cache / f"lists-{cache_name([LISTS_VERSION, folders, data, drawn])}.npz"
    if path.is_file():
        return _unflatten(load_arrays(path))
    documents = [one for one, _ in draw_documents(config.train, config.data, config.pool, config.seed)]
    lists: list[LabelledList] = []
    with tqdm(total=len(documents), desc="scores", unit="doc") as bar:
        for first in range(0, len(documents), SCORED):
            group = documents[first : first + SCORED]
            lists += label_lists(group, extractor, ranker)
            bar.update(len(group))
    if lists:
        save_arrays(path, _flatten(lists))
    return lists


def label_lists(
    documents: Sequence[Document], extractor: SimckpPredictor, ranker: PresentRanker
) -> list[LabelledList]:
    """The lists of documents that can teach something."""
    mined = [extractor.mine(document) for document in documents]
    scores = [row for _, row in extractor.score_mined(documents, mined)]
    positive = [
        gold_candidates(document, candidates)
        for document, (candidates, _) in zip(documents, mined, strict=True)
    ]
    labelled = [
        LabelledList(one, own[one.numbers])
        for own, one in zip(positive, ranker.read(documents, mined, scores, used=positive), strict=True)
    ]
    return [one for one in labelled if one.positive.any() and not one.positive.all()]


def _flatten(lists: Sequence[LabelledList]) -> dict[str, NDArray[Any]]:
    """One list after the other."""
    return {
        "sizes": np.array([len(one.positive) for one in lists]),
        "numbers": np.concatenate([one.ranked.numbers for one in lists]),
        "features": np.concatenate([one.ranked.features for one in lists]),
        "positive": np.concatenate([one.positive for one in lists]),
    }


def _unflatten(arrays: Mapping[str, NDArray[Any]]) -> list[LabelledList]:
    ends = np.cumsum(arrays["sizes"])[:-1]
    rows = (np.split(arrays[name], ends) for name in ("numbers", "features", "positive"))
    return [
        LabelledList(RankedList(numbers, features), positive)
        for numbers, features, positive in zip(*rows, strict=True)
    ]


def ranking_card(config: RankingTraining, trained: TrainedRanking) -> str:
    """Markdown, from the configuration and the result of the run."""
    ranker = trained.ranker
    strengths = sorted(
        zip(ranker.config.features, (ranker.weights * trained.spread).tolist(), strict=True),
        key=lambda pair: -abs(pair[1]),
    )
    rows = "".join(f"| {name} | {weight:+.2f} |\n" for name, weight in strengths)
    table = ranker.keyphraseness
    counted = (
        f"""
Keyphraseness, (uses + 0.5) / (texts + 20), is known of {len(table):,} phrases that at least {config.fewest}
documents use as keyphrases; it was counted in these documents, each ranked without itself, and in:

{source_list(config.phrases)}
"""
        if table
        else ""
    )
    return f"""# {config.name}: the order of present keyphrases

The best {ranker.config.candidates} candidates of a document by the extractor's score are ranked together, by
a logistic regression (`python -m kpdemo train ranking`) on what is known of each and how it compares with the
best one, with those that hold it and with those that it holds.

## Training

{trained.documents:,} documents with a gold candidate beside wrong ones, of {config.pool:,} drawn (seed
{config.seed}) from:

{source_list(config.train)}
{counted}
The weights, times the standard deviation of their features:

| feature | weight |
|---|---|
{rows}
{figures_section([config.validation], trained.validation)}

{describe_selection("The logit", trained.minimum, trained.selection, trained.validation)}

{licence()}"""
