"""Predictors that delegate to another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kpdemo.errors import ModelLoadError
from kpdemo.languages.routing import DEFAULT_MODEL
from kpdemo.types import (
    Comparing,
    Document,
    Mapped,
    Prediction,
    Predictor,
    RetrievalPrediction,
    RetrievalPredictor,
    VectorSpace,
    finds_absent,
    languages_of,
    uses_passages,
)


class Forwarding(ABC):
    """A predictor that delegates everything to another; a subclass says which, and overrides what differs.

    It is a `RetrievalPredictor`, `Comparing` and `Mapped`, whatever the other one is.
    """

    @abstractmethod
    def _predictor(self) -> Predictor:
        """The other one."""

    @property
    def name(self) -> str:
        return self._predictor().name

    @property
    def device(self) -> str:
        return self._predictor().device

    @property
    def languages(self) -> frozenset[str]:
        return languages_of(self._predictor())

    @property
    def finds_absent(self) -> bool:
        return finds_absent(self._predictor())

    @property
    def uses_passages(self) -> bool:
        return uses_passages(self._predictor())

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`."""
        return self._predictor().predict(documents, top_k=top_k, threshold=threshold)

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`."""
        return read_with_passages(self._predictor(), documents, top_k=top_k, threshold=threshold)

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`."""
        predictor = self._predictor()
        if not isinstance(predictor, Mapped):
            return []
        return predictor.vectors(document, top_k=top_k, threshold=threshold)

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """See `kpdemo.types.Comparing`."""
        predictor = self._predictor()
        if not isinstance(predictor, Comparing):
            raise ModelLoadError(f"The model {self.name!r} does not compare texts: choose {DEFAULT_MODEL}.")
        return predictor.similarities(pairs)


def read_with_passages(
    predictor: Predictor,
    documents: Sequence[Document | str],
    *,
    top_k: int | None = None,
    threshold: float | None = None,
) -> list[RetrievalPrediction]:
    """As `RetrievalPredictor.predict_with_passages`, for any predictor: most have no passages."""
    if uses_passages(predictor) and isinstance(predictor, RetrievalPredictor):
        return predictor.predict_with_passages(documents, top_k=top_k, threshold=threshold)
    predictions = predictor.predict(documents, top_k=top_k, threshold=threshold)
    return [RetrievalPrediction((), one, one, retrieves=False) for one in predictions]
