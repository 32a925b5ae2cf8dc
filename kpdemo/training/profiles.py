"""Training of word profiles: a finished bank gets what its terms' documents say, and a score that uses it.

Letters: B documents, N terms, W words.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix, diags, vstack

from kpdemo.errors import ConfigError
from kpdemo.simckp.bank import PhraseBank
from kpdemo.simckp.function_words import FUNCTION_WORDS
from kpdemo.simckp.pair_checkpoint import load_bank
from kpdemo.simckp.predictor import Selection
from kpdemo.simckp.profiles import WordProfiles
from kpdemo.sums import CARD
from kpdemo.text import stem
from kpdemo.training.bank_validation import BankValidation
from kpdemo.training.bounds import Positive, Share
from kpdemo.training.part import Metrics
from kpdemo.training.sources import Source, refuse_repeats, validation_documents
from kpdemo.training.words import DocumentWords, cached_words

TOGETHER = 4096
"""Terms whose documents are added up at once: all of them would take gigabytes."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ProfilesTraining:
    """Attributes:
    bank: the checkpoint of a phrase bank, whose encoder and terms stay as they are.
    train: documents whose words make the profiles.
    validation: chooses the weights of the score, and how many keyphrases to give.
    words: of a profile, times the square root of its documents: what few documents say is soon said.
    most: words of a profile.
    shared: documents of a term that have a word before it is in the term's profile.
    least: documents of all that have a word before it counts.
    common: a word that a larger share of all documents has does not count.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    bank: Path
    train: tuple[Source, ...]
    validation: Source
    words: Positive = 3
    most: Positive = 40
    shared: Positive = 2
    least: Positive = 8
    common: Share = 0.3
    name: str = "bank"
    data: Path = Path("data")
    output: Path = Path("runs/profiles")
    cache: Path = Path("runs/cache")
    device: str = "auto"


@dataclass(frozen=True)
class ProfiledBank:
    """The result of a run.

    Attributes:
        before, validation: the figures of the bank as it was, and as it is.
        card: of the bank as it was.
    """

    bank: PhraseBank
    selection: Selection
    documents: int
    before: Metrics
    validation: Metrics
    card: str


def train_profiles(config: ProfilesTraining, *, device: torch.device) -> ProfiledBank:
    """Count the profiles, then choose the score's weights and the selection again.

    Raises:
        ConfigError, InputError, ModelLoadError, TrainingError: in one sentence.
    """
    refuse_repeats(config.train, "Word profiles count")
    retriever = load_bank(config.bank, device=device.type)
    encoder, bank = retriever.encoder, retriever.bank
    validation = BankValidation(
        validation_documents(config.validation, config.data),
        bank.terms,
        encoder.tokenizer,
        padding=encoder.padding,
        length=encoder.length,
    )
    read = cached_words(
        config.train, config.data, bank.terms.numbers, config.cache, terms=len(bank), least=config.least
    )
    logger.info("%d terms, %d documents, %d words", len(bank), len(read.gold.indptr) - 1, len(read.words))
    profiles = learn_profiles(read, config)
    if not profiles.words:
        raise ConfigError(
            "No term has a word in its profile: give more documents, "
            f"a smaller `shared` than {config.shared} or a larger `common` than {config.common:g}."
        )
    vectors = validation.vectors(encoder.module)
    before = validation.score_figures(bank, vectors)
    profiled = replace(bank, profiles=profiles)
    score, metrics = validation.choose_score(profiled, vectors)
    profiled = replace(profiled, score=score)
    card = (config.bank / CARD).read_text(encoding="utf-8")
    selection = validation.select(profiled, vectors)
    return ProfiledBank(profiled, selection, read.gold.shape[0], before, metrics, card)


def learn_profiles(read: DocumentWords, config: ProfilesTraining) -> WordProfiles:
    """The mean TF-IDF vector of each term's documents, cut to its strongest words.

    A document's vector has the inverse document frequency of each of its words, and length 1. Function words
    are left out.
    """
    documents = read.documents.shape[0]
    holding = np.asarray(read.documents.sum(axis=0)).ravel()
    rarity = (np.log((1 + documents) / (1 + holding)) + 1).astype(np.float32)
    grammar = {stem(word) for word in FUNCTION_WORDS}
    telling = (holding <= config.common * documents) & [word not in grammar for word in read.words]
    vectors = _scaled(read.documents @ diags(np.where(telling, rarity, 0).astype(np.float32)))
    by_term = read.gold.T.tocsr()
    room = np.minimum(config.words * np.sqrt(np.diff(by_term.indptr)), config.most).astype(np.int64)
    blocks = []
    for first in range(0, by_term.shape[0], TOGETHER):
        own = by_term[first : first + TOGETHER]
        shared = (own @ read.documents) >= config.shared
        blocks.append(strongest((own @ vectors).multiply(shared).tocsr(), room[first : first + TOGETHER]))
    return _by_word(vstack(blocks).tocsc(), read.words, rarity)


def strongest(rows: csr_matrix, counts: Sequence[int] | NDArray[np.int64]) -> csr_matrix:
    """Each row cut to its so many largest values above 0; of equal ones the first in the row."""
    rows = rows.copy()
    rows.sort_indices()
    for first, end, count in zip(rows.indptr, rows.indptr[1:], counts, strict=False):
        own = rows.data[first:end]
        own[np.argsort(-own, kind="stable")[count:]] = 0
    rows.eliminate_zeros()
    return rows


def _scaled(rows: csr_matrix) -> csr_matrix:
    """Each row of length 1, or of zeros."""
    rows = csr_matrix(rows)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return csr_matrix(diags((1 / np.maximum(lengths, 1e-30)).astype(np.float32)) @ rows)


def _by_word(profiles: csc_matrix, words: tuple[str, ...], rarity: NDArray[np.float32]) -> WordProfiles:
    """From sums (N, W), with the words that a profile has, in the order of the alphabet."""
    holding = np.diff(profiles.indptr)
    order = sorted(np.flatnonzero(holding), key=words.__getitem__)
    ordered = profiles[:, order].tocsc()
    ordered.sort_indices()
    return WordProfiles.build(
        tuple(words[number] for number in order),
        rarity[order],
        holding[order].astype(np.int32),
        ordered.indices.astype(np.int32),
        ordered.data.astype(np.float32),
        profiles.shape[0],
    )
