"""RAMKG's generator as a predictor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from kpdemo.ramkg.iterate import Augmented
from kpdemo.ramkg.writer import Writer
from kpdemo.selection import check_options
from kpdemo.simckp.proposals import build_answer
from kpdemo.text import readable_documents
from kpdemo.types import Document, Prediction


@dataclass(frozen=True)
class RamkgGenerator:
    """A `Predictor` that writes keyphrases from the document alone.

    Without a number or a threshold it gives its most likely sequence, otherwise it chooses among the
    phrases of all beams.
    """

    finds_absent: ClassVar[bool] = True

    writer: Writer

    @property
    def name(self) -> str:
        return self.writer.name

    @property
    def device(self) -> str:
        return str(self.writer.device.type)

    @property
    def languages(self) -> frozenset[str]:
        return frozenset(self.writer.settings.made_for)

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`.

        Raises:
            LanguageError: the model has no token for a document's language.
        """
        inputs = [Augmented(document) for document in readable_documents(documents)]
        return self.answer(inputs, top_k=top_k, threshold=threshold)

    def answer(
        self, inputs: Sequence[Augmented], *, top_k: int | None, threshold: float | None
    ) -> list[Prediction]:
        """As `predict`, of documents that were read and whose language is known."""
        check_options(top_k, threshold)
        return [
            build_answer(given.document, found, top_k=top_k, threshold=threshold)
            for given, found in zip(inputs, self.writer.proposals(inputs), strict=True)
        ]
