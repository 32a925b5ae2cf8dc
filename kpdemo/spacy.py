"""A component of spaCy: `import kpdemo.spacy`, then `nlp.add_pipe("kpdemo")`, in a pipeline of any language.

`doc._.keyphrases` is what `Prediction.to_dict` gives, and `doc.spans["keyphrases"]` has the tokens of each
occurrence of a present one, with its text as label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kpdemo.batch import ask_each
from kpdemo.errors import InputError
from kpdemo.extras import needs_extra
from kpdemo.languages import NAMES
from kpdemo.pipeline import with_fields
from kpdemo.predictors import load_predictor
from kpdemo.routing import DEFAULT_MODEL
from kpdemo.types import Document, Prediction, PredictionOptions

with needs_extra("spacy", "kpdemo.spacy"):
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.util import minibatch

EXTENSION = "keyphrases"
"""Of documents, and the key of the spans."""


class KeyphraseComponent:
    """Finds the keyphrases of spaCy's documents; one that cannot be read has none, and why in its warnings.

    Args:
        model: a name as `kpdemo.load_predictor` takes it.
        options: fields of `PredictionOptions`; the language is that of the pipeline, if it has one.
    """

    def __init__(self, nlp: Language, name: str, model: str, options: dict[str, Any]) -> None:
        self._predictor = load_predictor(model)
        language = nlp.lang if nlp.lang and nlp.lang in NAMES else ""
        self._options = with_fields(PredictionOptions(language=language), options)

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 32) -> Iterator[Doc]:
        """The documents with their keyphrases, read so many at a time."""
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            found = ask_each([Document(doc.text) for doc in docs], self._read)
            for doc, outcome in zip(docs, found, strict=True):
                prediction = (
                    Prediction((), warnings=(str(outcome),)) if isinstance(outcome, InputError) else outcome
                )
                doc._.set(EXTENSION, prediction.to_dict())
                doc.spans[EXTENSION] = [
                    doc.char_span(*span, label=one.text, alignment_mode="expand")
                    for one in prediction.present
                    for span in one.spans
                ]
                yield doc

    def _read(self, documents: Iterable[Document]) -> list[Prediction]:
        found = self._predictor.predict_with_options(list(documents), self._options)
        return [one.prediction for one in found]


Doc.set_extension(EXTENSION, default=None, force=True)
Language.factory("kpdemo", default_config={"model": DEFAULT_MODEL, "options": {}}, func=KeyphraseComponent)
