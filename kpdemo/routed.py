"""One name for several models: each document is read by the one made for its language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from kpdemo.forwarding import Forwarding, read_with_passages
from kpdemo.languages.routing import DEFAULT_MODEL, SERVED, model_for
from kpdemo.text import readable_documents
from kpdemo.types import Document, Mapped, Prediction, Predictor, RetrievalPrediction, VectorSpace

Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class RoutedPredictor(Forwarding):
    """Attributes:
    models: by the names that `model_for` gives; a model loads with the first document that it is asked for.
    """

    uses_passages: ClassVar[bool] = True
    languages: ClassVar[frozenset[str]] = SERVED

    models: Mapping[str, Predictor]
    name: str = DEFAULT_MODEL

    def _predictor(self) -> Predictor:
        return self.models[DEFAULT_MODEL]  # for all that concerns no document

    def reader(self, document: Document) -> Predictor:
        """The model for one document, whose language must be known."""
        return self.models[model_for(document.language)]

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`."""
        return self._each(
            documents, lambda model, turn: model.predict(turn, top_k=top_k, threshold=threshold)
        )

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`; a document whose model retrieves nothing has no passages."""
        return self._each(
            documents, lambda model, turn: read_with_passages(model, turn, top_k=top_k, threshold=threshold)
        )

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`."""
        [read] = readable_documents([document])
        model = self.reader(read)
        return model.vectors(read, top_k=top_k, threshold=threshold) if isinstance(model, Mapped) else []

    def _each(
        self,
        documents: Sequence[Document | str],
        ask: Callable[[Predictor, list[Document]], list[Outcome]],
    ) -> list[Outcome]:
        """Ask each model once, with all documents that are its own; the outcomes in the documents' order."""
        read = readable_documents(documents)
        turns: dict[str, list[int]] = {}
        for number, document in enumerate(read):
            turns.setdefault(model_for(document.language), []).append(number)
        found: dict[int, Outcome] = {}
        for name, numbers in turns.items():
            outcomes = ask(self.models[name], [read[number] for number in numbers])
            found.update(zip(numbers, outcomes, strict=True))
        return [found[number] for number in range(len(read))]
