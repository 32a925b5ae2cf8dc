"""How well a bank ranks the absent gold of some documents, while it is trained and when its score is chosen.

Letters: B documents, D width of the vectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from kpdemo.evaluation.metrics import CUT, DEEP_CUT, macro_average, score_kind
from kpdemo.simckp.bank import BankScore, PhraseBank, RetrievedTerm
from kpdemo.simckp.dual_encoder import DualEncoder
from kpdemo.simckp.predictor import Selection
from kpdemo.simckp.reading import encode_rows
from kpdemo.simckp.terms import TermIndex, TextTerms, term_key
from kpdemo.simckp.tokens import document_tokens
from kpdemo.text import StemmedText
from kpdemo.training.bank_model import BankModel
from kpdemo.training.part import Metrics
from kpdemo.training.selection import learn_selection
from kpdemo.training.terms import bare
from kpdemo.types import Document

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
        self._keys, self._padding = list(index.numbers), padding
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
        scored = []
        for gold, row in zip(self._gold, self._search(bank, vectors), strict=True):
            positive = np.array([term_key(term.text) in gold for term in row], dtype=bool)
            scored.append((np.array([term.score for term in row], dtype=np.float32), positive))
        return learn_selection(scored, "expected F1", minimum=MINIMUM)

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
