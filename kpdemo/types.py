"""The values that travel between the parts of kpdemo; standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Span = tuple[int, int]
"""Character offsets, start inclusive and end exclusive, into `Document.text`."""

TITLE_BREAK = "\n\n"

SCORE_DIGITS = 6
"""Decimals in JSON and CSV."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text to read, with its title apart when it has one.

    `keyphrases` are the gold keyphrases, when known. `language` is an ISO 639-1 code, empty if
    unknown: then predictors detect it. `title_break` is the white space between title and body.
    `warnings` are sentences on what the reader of its file assumed or left out.
    """

    body: str
    title: str = ""
    id: str = ""
    keyphrases: tuple[str, ...] = ()
    language: str = ""
    title_break: str = TITLE_BREAK
    warnings: tuple[str, ...] = field(default=(), kw_only=True, compare=False)

    @property
    def text(self) -> str:
        """Title, blank line, body: what every span counts from. Without a title, the body as it is."""
        return f"{self.title}{self.title_break}{self.body}" if self.title else self.body

    @property
    def body_start(self) -> int:
        """Where the body begins in `text`."""
        return len(self.title) + len(self.title_break) if self.title else 0


class Origin(StrEnum):
    """Where an absent keyphrase came from."""

    GENERATED = "generated"
    RETRIEVED = "retrieved"
    BOTH = "both"
    COORDINATION = "coordination"


class Kind(StrEnum):
    """How much of a phrase its document holds (Boudin and Gallina 2021, PRMU).

    All of it in one piece or in another form, all of its words elsewhere, some of them, none.
    """

    PRESENT = "present"
    REORDERED = "reordered"
    MIXED = "mixed"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Keyphrase:
    """A predicted keyphrase; `score` is between 0 and 1, higher is better.

    `spans` are all its occurrences in the document's text, in order; an absent keyphrase has none, but
    may have a `source`, a `kind`, and as `evidence` the phrases that support it, best first: of the
    document, spelt as there, or of a retrieved passage; `reason` says in a sentence how. A `filler` falls
    short of the predictor's own rule, and is given only to reach its minimum number.
    `variants` are other forms of it in the text, such as its acronym; `family` are keyphrases nested with it
    that it stands for, best first, where `PredictionOptions.nested` is false.
    """

    text: str
    score: float
    spans: tuple[Span, ...] = ()
    source: Origin | None = None
    kind: Kind | None = None
    evidence: tuple[str, ...] = ()
    filler: bool = False
    reason: str = ""
    variants: tuple[str, ...] = ()
    family: tuple[Keyphrase, ...] = ()

    @property
    def present(self) -> bool:
        return bool(self.spans)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, such as JSON takes, without what is not known of it.

        >>> Keyphrase("graph kernels", 0.5, ((0, 13),)).to_dict()
        {'text': 'graph kernels', 'score': 0.5, 'spans': [[0, 13]]}
        """
        known = {
            "spans": [list(span) for span in self.spans],
            "kind": self.kind and str(self.kind),
            "source": self.source and str(self.source),
            "evidence": list(self.evidence),
            "reason": self.reason,
            "filler": self.filler,
            "variants": list(self.variants),
            "family": [one.to_dict() for one in self.family],
        }
        return {
            "text": self.text,
            "score": round(self.score, SCORE_DIGITS),
            **{name: value for name, value in known.items() if value},
        }


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a predictor ranked for a document: its present keyphrases, or its absent ones.

    Attributes:
        keyphrases: best first; many more than are given.
        own: how many of them the predictor's own rule gives.
        sure: how many it would give if it had no least number.
        floor: keyphrases that score less, or have no word in the text, are wrong in more than four of five
            cases; see `PredictionOptions.unsure`. 0 for none.
    """

    keyphrases: tuple[Keyphrase, ...]
    own: int
    sure: int
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """The keyphrases of one document, each list sorted by score, best first.

    `absent_candidates` are what `absent` was chosen from, best first, as far as the predictor tells: R@50
    counts the gold among the first fifty. `language` is the one that the document was read in.
    `ranked_present` and `ranked_absent` are what `kpdemo.selection.choose` chooses from again, with other
    options; None where the predictor does not tell. `warnings` are sentences that a reader should know.
    `doubtful` are absent keyphrases that are left out because such ones are wrong in more than four of five
    cases; `evaluate` counts them as given.
    """

    present: tuple[Keyphrase, ...]
    absent: tuple[Keyphrase, ...] = ()
    language: str = ""
    absent_candidates: tuple[str, ...] = ()
    ranked_present: Ranking | None = field(default=None, repr=False, compare=False)
    ranked_absent: Ranking | None = field(default=None, repr=False, compare=False)
    warnings: tuple[str, ...] = ()
    doubtful: tuple[Keyphrase, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain values, such as JSON takes: the fields of `predict --json`, see docs/json.md."""
        rows: dict[str, Any] = {
            "language": self.language,
            "present": [
                one.to_dict() | {"spans": [list(span) for span in one.spans]} for one in self.present
            ],
            "absent": [one.to_dict() for one in self.absent],
        }
        if self.doubtful:
            rows["doubtful"] = [one.to_dict() for one in self.doubtful]
        if self.absent_candidates:
            rows["absent_candidates"] = list(self.absent_candidates)
        return rows | {"warnings": list(self.warnings)}


class Style(StrEnum):
    """Whose keyphrases the answer is like: an author's few, or the more and longer ones of an indexer."""

    AUTHOR = "author"
    INDEXER = "indexer"


@dataclass(frozen=True, slots=True)
class PredictionOptions:
    """Which of the keyphrases that a model ranks are given.

    All but `seed_keywords`, `language` and `style` apply to an earlier prediction too, see
    `kpdemo.selection.choose`.

    Attributes:
        top_k: at most this many of each kind; None for the model's own number.
        threshold: only those that score at least this much, 0 to 1; without `top_k` all of them.
        nested: whether a present keyphrase may be nested in another ("graph kernels", "kernels"). Where not,
            the best of a family takes one place, and has the others as its `family`.
        shortest, longest: words of a keyphrase; a hyphenated compound is one word. None for no limit.
        exclude: words and phrases; a keyphrase that contains one, by its stems, is left out.
        candidates: phrases of one's own to rank, such as a thesaurus; empty for those of the model.
        only_candidates: whether nothing but `candidates` is given; otherwise they come first.
        seed_keywords: words that guide the ranking: phrases that are like them move up.
        language: of the document, an ISO 639-1 code; empty to detect it.
        style: None for the model's own.
        diversity: 0 to 1, of the keyphrases among each other: maximal marginal relevance, by the vectors of
            the model's encoder, or by the words of a model without one. 0 chooses by score alone.
        unsure: also give absent keyphrases below the `floor` of their `Ranking`, and variants of present
            ones.
    """

    top_k: int | None = None
    threshold: float | None = None
    nested: bool = True
    shortest: int | None = None
    longest: int | None = None
    exclude: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    only_candidates: bool = True
    seed_keywords: tuple[str, ...] = ()
    language: str = ""
    style: Style | None = None
    diversity: float = 0.0
    unsure: bool = False


@runtime_checkable
class Predictor(Protocol):
    """Anything that finds keyphrases: the trained model, a baseline, a fake in a test."""

    @property
    def name(self) -> str: ...

    @property
    def device(self) -> str:
        """ "cpu" or "cuda"; where the next prediction runs."""

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[Prediction]:
        """Find the keyphrases of each document, in the order given.

        Args:
            documents: plain strings are documents without a title.
            top_k: exactly this many of each kind, or all there are when fewer.
            threshold: all that score at least this much, in the units of `Keyphrase.score`; with
                `top_k` at most that many of them. With neither, the predictor's own rule decides.

        Raises:
            InputError: a document is empty or in a script that is not read, or an option is out of range.
        """


def finds_absent(predictor: Predictor) -> bool:
    """Whether a predictor can give absent keyphrases: it says so in an attribute `finds_absent`."""
    return bool(getattr(predictor, "finds_absent", False))


def languages_of(predictor: Predictor) -> frozenset[str]:
    """The languages a predictor was made for, by code: its attribute `languages`; empty if it is silent."""
    return frozenset(getattr(predictor, "languages", ()))


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A passage of an index that is near to a document; the fields are those of `kpdemo.ramkg.passage_index`.

    `keyphrases` are as the index has them, in the passage's own `language` (an ISO 639-1 code, empty where
    the index does not tell). `score` is the dot product with the document's vector, higher is nearer; it
    compares passages of one index only.
    """

    id: str
    title: str
    text: str
    keyphrases: tuple[str, ...]
    language: str
    score: float


@dataclass(frozen=True, slots=True)
class RetrievalPrediction:
    """The keyphrases of a document that was read with passages of an index (Gao et al. 2022, RAMKG).

    Attributes:
        passages: what was found, nearest first; none for an empty index.
        prediction: with the keyphrases of the passages. The `evidence` of a `Keyphrase` says which of them
            it was made of or aligned with, as the passages write them.
        without: from the document alone, by the same model; the same as `prediction` where no passage helped.
        near: the least score of a passage that helps, by the model's rule; None where all do.
        retrieves: false for the answer of a model that reads no passages.
        chance: the score that passages on other subjects have too, in an index of this size; None where it is
            not known.
    """

    passages: tuple[RetrievedPassage, ...]
    prediction: Prediction
    without: Prediction
    near: float | None = None
    retrieves: bool = True
    chance: float | None = None

    def related(self, passage: RetrievedPassage) -> bool:
        """Whether a passage is nearer than those on other subjects come; others may be one of these."""
        return self.chance is None or passage.score > self.chance

    def helps(self, passage: RetrievedPassage) -> bool:
        """Whether the model read the keyphrases of this passage, if it has any."""
        return self.near is None or passage.score >= self.near


@dataclass(frozen=True, slots=True)
class PredictionRequest:
    """What was asked: a document, and how to read it.

    `index` is the folder of the passages that a model which retrieves looks through; empty for its own.
    `nested` tells whether a present keyphrase may stand inside another. `further` are the other options; of
    those that stand here too these hold.
    """

    document: Document
    model: str
    top_k: int | None = None
    threshold: float | None = None
    index: str = ""
    nested: bool = True
    further: PredictionOptions = PredictionOptions()

    @property
    def options(self) -> PredictionOptions:
        """All of them."""
        return replace(self.further, top_k=self.top_k, threshold=self.threshold, nested=self.nested)


@dataclass(frozen=True, slots=True)
class PredictionResult:
    """What came back, from which model, where it was computed, and in how many seconds.

    `finds_absent` tells whether the model could have given absent keyphrases, `languages` for which ones it
    was made, empty where it does not say. `retrieval` is there where the model read passages beside the text.
    """

    question: PredictionRequest
    prediction: Prediction
    model: str
    device: str
    seconds: float
    finds_absent: bool = False
    languages: frozenset[str] = frozenset()
    retrieval: RetrievalPrediction | None = None


@runtime_checkable
class RetrievalPredictor(Predictor, Protocol):
    """A predictor that reads passages of an index with the document; `predict` uses them too.

    What opens a model on first use is of this type whatever the model is: ask `uses_passages`.
    """

    @property
    def languages(self) -> frozenset[str]:
        """The languages it was made for, by ISO 639-1 code."""

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
    ) -> list[RetrievalPrediction]:
        """As `predict`, with the passages and with the keyphrases that come without them.

        Raises:
            InputError: as `Predictor.predict`.
            PassageIndexError: the index is damaged, or was built with another encoder.
        """


def uses_passages(predictor: Predictor) -> bool:
    """Whether a predictor retrieves passages: what opens another says so in an attribute `uses_passages`."""
    told = getattr(predictor, "uses_passages", None)
    return isinstance(predictor, RetrievalPredictor) if told is None else bool(told)


class PointKind(StrEnum):
    """What a vector represents; a candidate that was chosen is a present keyphrase."""

    DOCUMENT = "document"
    CANDIDATE = "candidate"
    PRESENT = "present"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class VectorPoint:
    """What a vector represents: a phrase with its score, or the document, which has none."""

    text: str
    kind: PointKind
    score: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class VectorSpace:
    """The vectors by which a model compares a document with phrases, by their cosine.

    Attributes:
        name: of the part of the model: "extractor", "reranker", or "bank" where nothing reranks its terms.
        points: what the vectors represent; the document comes first.
        vectors: (N, D), a row for each point.
    """

    name: str
    points: tuple[VectorPoint, ...]
    vectors: NDArray[np.float32]


@runtime_checkable
class Comparing(Protocol):
    """A predictor that measures how alike any two texts are."""

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The similarity of the two texts of each pair, 0 to 1.

        What opens a model on first use is of this type whatever the model is.

        Raises:
            ModelLoadError: the model cannot be opened, or compares no texts.
        """


@runtime_checkable
class Mapped(Protocol):
    """A predictor that shows the vectors it compares."""

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """A space for each part of the model that has one, with the keyphrases that `predict` would choose.

        What opens a model on first use is of this type whatever the model is; then none may come back.

        Raises:
            InputError: as `Predictor.predict`.
        """
