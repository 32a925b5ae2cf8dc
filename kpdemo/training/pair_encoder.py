"""Training of the pair encoder: documents near their keyphrases, over a whole bank of terms at once.

Letters (bank model): B documents, N terms of the bank, D width of the vectors.

Letters (bank validation): B documents, D width of the vectors.

Letters (pair encoder): B documents, T tokens, N terms of the bank, Q of them encoded for a batch.

Letters (refinement): B documents, D width of the vectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from kpdemo.evaluation.metrics import CUT, DEEP_CUT, macro_average, score_kind
from kpdemo.simckp.batches import Movable, encode_rows, pad_rows
from kpdemo.simckp.calibration import Calibration
from kpdemo.simckp.dual_encoder import DualEncoder, contrastive_loss_over
from kpdemo.simckp.examples import document_tokens
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.phrase_bank import BankScore, PhraseBank, RetrievedTerm, TermRanker
from kpdemo.simckp.terms import TermIndex, TextTerms, term_key
from kpdemo.text import StemmedText
from kpdemo.training.data import AboveZero
from kpdemo.training.loop import Metrics
from kpdemo.training.term_ranker import RankerTraining, learn_floor, train_ranker
from kpdemo.training.terms import PairCache, TermPair, bare
from kpdemo.training.validation import learn_selection
from kpdemo.types import Document


class BankModel(nn.Module):
    """The term vectors start as what the phrase tower makes of the terms, and are trained along.

    A term that many documents have is placed by these documents; a rare one stays near its words.
    """

    log_frequency: Tensor

    def __init__(self, dual: DualEncoder, terms: Tensor, log_frequency: Tensor) -> None:
        """Args:
        terms: (N, D) where the term vectors start.
        log_frequency: (N,) log(1 + gold documents) of each term.
        """
        super().__init__()
        self.dual = dual
        self.terms = nn.Parameter(terms)
        self.frequency_weight = nn.Parameter(torch.tensor(0.5))
        self.register_buffer("log_frequency", log_frequency)

    def term_vectors(self) -> Tensor:
        """(N, D), of length 1."""
        return functional.normalize(self.terms, dim=-1)

    def logits(self, documents: Tensor) -> Tensor:
        """(B, N) for (B, D) document vectors: cosine over temperature, and the term's own frequency.

        With the frequency apart, the vectors need not encode it.
        """
        cosine = documents @ self.term_vectors().T
        return cosine / self.dual.config.temperature + self.frequency_weight * self.log_frequency


@dataclass(frozen=True)
class TermPositions(Movable):
    """The `TermLabels` of a batch as places, which take little room on the way to a device.

    Attributes:
        gold, present: (2, G) and (2, S) long, the document of the batch and the term's number; a term can be
            both a keyphrase and in the text.
        documents, terms: B and N.
        present_weight: see `TermLabels`.
    """

    gold: Tensor
    present: Tensor
    documents: int
    terms: int
    present_weight: float

    @classmethod
    def of(cls, pairs: Sequence[TermPair], terms: int, present_weight: float) -> TermPositions:
        """Args:
        terms: N.
        """
        gold, present = (_places([getattr(pair, name) for pair in pairs]) for name in ("gold", "present"))
        return cls(gold, present, len(pairs), terms, present_weight)

    @property
    def labels(self) -> TermLabels:
        return TermLabels(self._marks(self.gold), self._marks(self.present), self.present_weight)

    def _marks(self, places: Tensor) -> Tensor:
        marks = torch.zeros(self.documents, self.terms, dtype=torch.bool, device=places.device)
        marks[places[0], places[1]] = True
        return marks


def _places(rows: Sequence[NDArray[np.int32]]) -> Tensor:
    """(2, all that the rows hold) long."""
    documents = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    return torch.from_numpy(np.stack([documents, np.concatenate(rows)]).astype(np.int64))


@dataclass(frozen=True)
class TermLabels:
    """The terms of each document of a batch.

    Attributes:
        gold, present: (B, N) bool, its keyphrases and what occurs in its text; a term can be both.
        present_weight: weight of a gold term that occurs in the text; an absent one has 1.
    """

    gold: Tensor
    present: Tensor
    present_weight: float

    @property
    def negative(self) -> Tensor:
        """(B, N) bool: terms of the text are never given as absent keyphrases, so they are not negatives."""
        return ~(self.gold | self.present)

    def loss(self, logits: Tensor, chosen: Tensor | slice = slice(None)) -> Tensor:
        """Section 4.3 of SimCKP for the logits of the `chosen` terms, (B, Q)."""
        weight = torch.where(self.present[:, chosen], self.present_weight, 1.0)
        return contrastive_loss_over(logits, self.gold[:, chosen], self.negative[:, chosen], weight)


BATCH = 32
MINIMUM = 5  # keyphrases given at least, as section 5.3 of SimCKP has it

TRIED = {
    "profiles": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),  # first: a finished bank's other weights fit all but these
    "frequency": (0.02, 0.03, 0.04, 0.05, 0.06),
    "words": (0.0, 0.03, 0.06, 0.1, 0.15),
    "likeness": (0.0, 0.05, 0.1, 0.2, 0.3),
    "association": (0.0, 0.02, 0.04, 0.07, 0.1),
}
"""The weights of `BankScore` that are tried on the validation documents, in this order."""
SCORE_WEIGHTS = (0.0, 2.0, 5.0, 10.0, 20.0)
"""Those of the score beside the ranker's network."""


class BankValidation:
    """Documents with gold, read once and ranked often."""

    def __init__(
        self,
        documents: Iterable[Document],
        index: TermIndex,
        tokenizer: Tokenizer,
        *,
        padding: int,
        length: int,
    ) -> None:
        """Args:
        padding: the pad token id.
        length: tokens of a document that are read.
        """
        self._keys, self._padding = list(index.keys), padding
        self._tokens: list[list[int]] = []
        self._texts: list[TextTerms] = []
        self._gold: list[list[str]] = []
        for document in documents:
            self._tokens.append(document_tokens(document, tokenizer, length))
            self._texts.append(index.read(document))
            self._gold.append(absent_keys(document))

    @torch.no_grad()
    def vectors(self, dual: DualEncoder) -> Tensor:
        """(B, D) the documents, in their order."""
        device, padding = dual.document_projection.weight.device, self._padding
        vectors = encode_rows(dual.documents, self._tokens, padding=padding, device=device, size=BATCH)
        return vectors.to(device)

    def measure(self, module: BankModel, vectors: Tensor) -> Metrics:
        """The figures of the training's own logits for documents (B, D)."""
        found = []
        for text, vector in zip(self._texts, vectors, strict=True):
            logits = module.logits(vector[None])[0]
            logits[torch.tensor(text.numbers, dtype=torch.long, device=logits.device)] = -torch.inf
            best = logits.topk(min(DEEP_CUT, len(logits))).indices.tolist()
            found.append([self._keys[number] for number in best])
        return self._figures(found) | {"frequency weight": float(module.frequency_weight)}

    def choose_score(self, bank: PhraseBank, vectors: Tensor) -> tuple[BankScore, Metrics]:
        """The weights of the bank's score with the highest product of R@50 and F1@5, and their figures.

        Twice, from the bank's own weights and from the middle of those that are tried, since each way ends
        where no single weight does better.
        """
        tried = {name: values for name, values in TRIED.items() if bank.profiles or name != "profiles"}
        middle = {name: values[len(values) // 2] for name, values in tried.items()}
        starts = bank.score, replace(bank.score, **middle)  # type: ignore[arg-type]
        found = [self._climb(replace(bank, score=start), vectors, tried) for start in starts]
        return max(found, key=lambda one: _merit(one[1]))

    def _climb(
        self, bank: PhraseBank, vectors: Tensor, tried: Mapping[str, Sequence[float]]
    ) -> tuple[BankScore, Metrics]:
        """One weight after another set to the best of its values, twice over."""
        score, best = bank.score, self.score_figures(bank, vectors)
        for name, values in 2 * list(tried.items()):
            for value in values:
                changed = replace(score, **{name: value})  # type: ignore[arg-type]
                figures = self.score_figures(replace(bank, score=changed), vectors)
                if _merit(figures) > _merit(best):
                    score, best = changed, figures
        return score, best

    def score_figures(self, bank: PhraseBank, vectors: Tensor) -> Metrics:
        """R@50 and F1@5 of the bank's score, for documents (B, D)."""
        found = self._search(bank, vectors)
        return self._figures([[term_key(term.text) for term in row] for row in found])

    def select(self, bank: PhraseBank, vectors: Tensor) -> Selection:
        """What turns the bank's scores into answers, for documents (B, D)."""
        return learn_selection(self._score_terms(bank, vectors), "expected F1", minimum=MINIMUM)

    def floor(self, bank: PhraseBank, vectors: Tensor, calibration: Calibration, precision: float) -> float:
        """The least probability of a term that is given, so that so many of those given are right."""
        return learn_floor(self._score_terms(bank, vectors), calibration, most=MINIMUM, precision=precision)

    def weigh_score(self, bank: PhraseBank, vectors: Tensor, ranker: TermRanker) -> TermRanker:
        """With the weight of the score that has the highest product of R@50 and F1@5."""
        tried = [replace(ranker, score=weight) for weight in SCORE_WEIGHTS]
        return max(tried, key=lambda one: _merit(self.score_figures(replace(bank, ranker=one), vectors)))

    def train_ranker(self, bank: PhraseBank, vectors: Tensor, config: RankerTraining) -> TermRanker:
        """Fitted on these documents (B, D); see `kpdemo.training.term_ranker.train_ranker`."""
        return train_ranker(bank, vectors.cpu().float().numpy(), self._texts, self._gold, config)

    def _score_terms(
        self, bank: PhraseBank, vectors: Tensor
    ) -> list[tuple[NDArray[np.float32], NDArray[np.bool_]]]:
        """The scores of each document's terms, best first, and which of them are gold."""
        return [
            (
                np.array([term.score for term in row], dtype=np.float32),
                np.array([term_key(term.text) in gold for term in row], dtype=bool),
            )
            for gold, row in zip(self._gold, self._search(bank, vectors), strict=True)
        ]

    def _search(self, bank: PhraseBank, vectors: Tensor) -> list[list[RetrievedTerm]]:
        queries = vectors.cpu().float().numpy()
        return bank.search(queries, DEEP_CUT, self._texts)

    def _figures(self, found: Sequence[Sequence[str]]) -> Metrics:
        scores = [score_kind(gold, keys) for gold, keys in zip(self._gold, found, strict=True)]
        figures = macro_average(scores, "skip_empty")
        return {"R@50": figures.recall_50 or 0.0, "F1@5": figures.at[CUT].f1 or 0.0}


def _merit(figures: Metrics) -> tuple[float, float]:
    """The product of the figures, as in a sum R@50, which is four times F1@5, would choose alone; their sum
    where one is 0."""
    return math.prod(figures.values()), sum(figures.values())


def absent_keys(document: Document) -> list[str]:
    """The `term_key` of each keyphrase that the text does not hold."""
    text = StemmedText(document)
    keys = (term_key(bare(phrase)) for phrase in document.keyphrases if not text.contains(phrase))
    return [key for key in dict.fromkeys(keys) if key]


@dataclass(frozen=True)
class PairObjective:
    """Attributes:
    present_weight: weight of a gold term that occurs in the text; an absent one has 1.
    tower_weight: weight of the loss over encoded phrases; that over the bank's own vectors has 1.
    hard_negatives: terms a document that the bank ranks highest and that are wrong, encoded as phrases
        in addition to the gold of the batch.
    most_phrases: only this many of these, drawn at random, are encoded for a batch.
    """

    present_weight: float = 0.3
    tower_weight: float = 0.5
    hard_negatives: int = 2
    most_phrases: int = 48


@dataclass(frozen=True)
class Rates:
    """Peak learning rates.

    Attributes:
        terms: that of the bank's own vectors.
        unseen: Adam's ε for the terms, above the faint gradients of terms not seen yet, which Adam would
            scale up to full steps. A term's own document is a smaller share of a larger batch: lower it then.
    """

    encoder: float = 1.5e-4
    heads: float = 5e-4
    terms: float = 5e-4
    weight_decay: float = 0.01
    unseen: AboveZero = 1e-4


@dataclass(frozen=True)
class TermPairBatch(Movable):
    """Attributes:
    input_ids, attention_mask: (B, T) long.
    """

    input_ids: Tensor
    attention_mask: Tensor
    places: TermPositions


class PairPart:
    """The pair encoder as the training loop sees it."""

    selected = "R@50"

    def __init__(
        self,
        module: BankModel,
        pairs: PairCache,
        phrases: Sequence[Sequence[int]],
        validation: BankValidation,
        *,
        objective: PairObjective,
        rates: Rates,
        padding: int,
    ) -> None:
        """Args:
        phrases: token ids of each term of the bank.
        padding: the pad token id.
        """
        self.module = module
        self._pairs, self._phrases, self._validation = pairs, phrases, validation
        self._objective, self._rates, self._padding = objective, rates, padding
        self.lengths, self.repeats = pairs.lengths, pairs.repeats

    def parameter_groups(self) -> list[dict[str, Any]]:
        rates, dual = self._rates, self.module.dual
        encoder = [weight for weight in dual.encoder.parameters() if weight.requires_grad]
        heads = [*dual.document_projection.parameters(), *dual.phrase_projection.parameters()]
        return [
            {"params": encoder, "lr": rates.encoder, "weight_decay": rates.weight_decay},
            {"params": [*heads, self.module.frequency_weight], "lr": rates.heads, "weight_decay": 0.0},
            {"params": [self.module.terms], "lr": rates.terms, "weight_decay": 0.0, "eps": rates.unseen},
        ]

    def __getitem__(self, number: int) -> TermPair:
        return self._pairs[number]

    def collate(self, items: Sequence[TermPair]) -> TermPairBatch:
        input_ids, mask = pad_rows([item.tokens.tolist() for item in items], self._padding)
        return TermPairBatch(
            input_ids, mask, TermPositions.of(items, len(self._phrases), self._objective.present_weight)
        )

    def loss(self, batch: TermPairBatch) -> Tensor:
        """Section 4.3 of SimCKP twice: over the vectors of all terms, and over the phrases of the batch."""
        dual, labels = self.module.dual, batch.places.labels
        documents = dual.documents(batch.input_ids, batch.attention_mask)
        with torch.autocast(documents.device.type, enabled=False):
            logits = self.module.logits(documents)
            over_bank = labels.loss(logits)
        chosen = self._chosen(logits.detach(), labels)
        phrases = dual.phrases(*self._read(chosen))
        with torch.autocast(documents.device.type, enabled=False):
            over_phrases = labels.loss(documents @ phrases.T / dual.config.temperature, chosen)
        return over_bank + self._objective.tower_weight * over_phrases

    def _chosen(self, logits: Tensor, labels: TermLabels) -> Tensor:
        """(Q,) the terms to encode, drawn from the batch's gold and each document's hardest negatives."""
        wrong = logits.masked_fill(~labels.negative, -torch.inf)
        hard = wrong.topk(min(self._objective.hard_negatives, wrong.shape[1]), dim=1).indices
        gold = labels.gold.any(0).nonzero().flatten()
        both = torch.tensor(sorted({*gold.tolist(), *hard.flatten().tolist()}))
        drawn = torch.randperm(len(both))[: self._objective.most_phrases]
        return both[drawn].to(logits.device)

    def _read(self, terms: Tensor) -> tuple[Tensor, Tensor]:
        input_ids, mask = pad_rows([self._phrases[number] for number in terms.tolist()], self._padding)
        return input_ids.to(terms.device), mask.to(terms.device)

    def evaluate(self) -> Metrics:
        return self._validation.measure(self.module, self._validation.vectors(self.module.dual))


@dataclass(frozen=True)
class RestingBatch(Movable):
    """Attributes:
    documents: (B, D) their vectors.
    """

    documents: Tensor
    places: TermPositions


class RefinementPart:
    """The terms as the training loop sees them."""

    selected = "R@50"

    def __init__(
        self,
        module: BankModel,
        pairs: PairCache,
        vectors: Tensor,
        validation: BankValidation,
        *,
        present_weight: float,
        rate: float,
        unseen: float,
    ) -> None:
        """Args:
        vectors: (len(pairs), D) of the documents.
        present_weight: see `TermLabels`.
        rate, unseen: peak learning rate of the terms, and Adam's ε, as in `Rates`.
        """
        self.module = module.requires_grad_(False)
        module.terms.requires_grad_(True)
        module.frequency_weight.requires_grad_(True)
        self._pairs, self._vectors, self._validation = pairs, vectors, validation
        self._seen = validation.vectors(module.dual)
        self._present_weight, self._rate, self._unseen = present_weight, rate, unseen
        self.lengths = [1] * len(pairs)  # vectors are of one length
        self.repeats = pairs.repeats

    def parameter_groups(self) -> list[dict[str, Any]]:
        trained = [self.module.terms, self.module.frequency_weight]
        return [{"params": trained, "lr": self._rate, "weight_decay": 0.0, "eps": self._unseen}]

    def __getitem__(self, number: int) -> tuple[Tensor, TermPair]:
        return self._vectors[number], self._pairs[number]

    def collate(self, items: Sequence[tuple[Tensor, TermPair]]) -> RestingBatch:
        terms = len(self.module.log_frequency)
        places = TermPositions.of([pair for _, pair in items], terms, self._present_weight)
        return RestingBatch(torch.stack([vector for vector, _ in items]), places)

    def loss(self, batch: RestingBatch) -> Tensor:
        """Section 4.3 of SimCKP over all terms."""
        with torch.autocast(batch.documents.device.type, enabled=False):
            return batch.places.labels.loss(self.module.logits(batch.documents))

    def evaluate(self) -> Metrics:
        return self._validation.measure(self.module, self._seen)
