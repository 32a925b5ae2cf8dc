"""A predictor of your own, for docs/models.md."""

import re

from kpdemo import Document, Keyphrase, Prediction

NAME = re.compile(r"(?<=[a-z] )[A-Z]\w+(?: [A-Z]\w+)*")


class Capitals:
    """The capitalised words that begin no sentence, the most frequent ones first."""

    name = "capitals"
    device = "cpu"

    def predict(self, documents, *, top_k=None, threshold=None):
        return [self.read(document, top_k, threshold or 0) for document in documents]

    def read(self, document, top_k, threshold):
        text = document.text if isinstance(document, Document) else document
        spans = {}
        for found in NAME.finditer(text):
            spans.setdefault(found.group(), []).append(found.span())
        most = max(map(len, spans.values()), default=1)
        keyphrases = [Keyphrase(name, len(at) / most, tuple(at)) for name, at in spans.items()]
        best = sorted(keyphrases, key=lambda keyphrase: -keyphrase.score)
        kept = [keyphrase for keyphrase in best if keyphrase.score >= threshold]
        return Prediction(tuple(kept[:top_k]), language="en")
