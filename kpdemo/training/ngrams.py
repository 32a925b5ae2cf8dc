"""An extractor held to shorter candidates than it was trained on (SimCKP, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kpdemo.candidates.chunks import Candidate, mine_candidates
from kpdemo.errors import ConfigError
from kpdemo.simckp.counting import Counting
from kpdemo.simckp.predictor import SimckpPredictor
from kpdemo.training.labelling import gold_candidates
from kpdemo.training.selection import learn_selection
from kpdemo.types import Document, Prediction

Scored = tuple[list[Candidate], NDArray[np.float32]]
"""The candidates of a document and their raw scores, (P,)."""


@dataclass(frozen=True)
class ScoredDocuments:
    """Documents read once: a candidate's score does not depend on which others there are.

    Attributes:
        scores: for each document, the raw score of each candidate by its key.
    """

    predictor: SimckpPredictor
    documents: Sequence[Document]
    scores: Sequence[dict[str, float]]

    @classmethod
    def of(cls, predictor: SimckpPredictor, documents: Sequence[Document]) -> ScoredDocuments:
        scored = predictor.score(documents)
        tables = [
            dict(zip((candidate.key for candidate in candidates), scores.tolist(), strict=True))
            for candidates, scores in scored
        ]
        return cls(predictor, documents, tables)

    def up_to(self, longest: int) -> list[Scored]:
        """The candidates of at most that many words.

        Raises:
            ConfigError: the extractor's own are not as long.
        """
        own = self.predictor.module.config.candidates
        if longest > own.longest:
            raise ConfigError(
                f"The model's candidates have at most {own.longest} words, not {longest}: lower `lengths`."
            )
        config = replace(own, longest=longest)
        found = []
        for document, table in zip(self.documents, self.scores, strict=True):
            candidates = mine_candidates(document, self.predictor.tagger, config)
            scores = np.array([table[candidate.key] for candidate in candidates], dtype=np.float32)
            found.append((candidates, scores))
        return found


def predict_up_to(longest: int, chosen_on: ScoredDocuments, asked: ScoredDocuments) -> list[Prediction]:
    """The keyphrases of at most that many words of `asked`, by a threshold learnt on `chosen_on`."""
    learnt = [
        (scores, gold_candidates(document, candidates))
        for document, (candidates, scores) in zip(chosen_on.documents, chosen_on.up_to(longest), strict=True)
    ]
    counting: Counting = "expected F1" if asked.predictor.selection.counting else "threshold"
    selection = learn_selection(learnt, counting, asked.predictor.module.config.minimum)
    predictor = replace(asked.predictor, selection=selection)
    return [
        predictor.choose(document, candidates, scores)
        for document, (candidates, scores) in zip(asked.documents, asked.up_to(longest), strict=True)
    ]
