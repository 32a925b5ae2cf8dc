"""From documents and predictions to figures: which phrases count, and as what.

Phrases are compared by `phrase_key`: a normal form, punctuation split off, Porter stems; in a document in
another language than English by that language's words and stems. Gold is split into present and absent by
`StemmedText`. Of the predictions, the present list keeps what occurs in the document, and the absent list
and its candidates what does not; the others are dropped before any cut, as in SimCKP. Documents and phrases
are read as models read them, see `kpdemo.markup`: a phrase of a text is present whether "ﬁ" or "fi" is
written. The rule of SimCKP's released code is there too, see `compare_document`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kpdemo.errors import InputError
from kpdemo.evaluation.metrics import (
    CUTS,
    Cut,
    KindScores,
    MacroFigures,
    PooledFigures,
    SetScores,
    macro_average,
    pooled_average,
    score_kind,
    score_sets,
)
from kpdemo.languages import ENGLISH, known_language
from kpdemo.markup import plain_document, plain_text
from kpdemo.text import StemmedText
from kpdemo.types import Document, Prediction


@dataclass(frozen=True, slots=True)
class KindFigures:
    """Both conventions for one kind, and how many documents have gold of it."""

    skip_empty: MacroFigures
    count_empty: MacroFigures
    with_gold: int


@dataclass(frozen=True, slots=True)
class Tally:
    """How many phrases were predicted, and how many of them are gold."""

    predicted: int = 0
    correct: int = 0

    @classmethod
    def of(cls, keys: Collection[str], gold: Collection[str]) -> Tally:
        return cls(len(keys), sum(key in gold for key in keys))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.predicted + other.predicted, self.correct + other.correct)


@dataclass(frozen=True, slots=True)
class DatasetFigures:
    """Everything measured on one dataset.

    Attributes:
        not_in_text: how many of the keyphrases predicted as present the documents do not hold; see above.
        given, doubtful: the absent keyphrases that answers have, and those that they leave out as seldom
            right; both count in `absent`.
        languages: the same for the documents of each language, by its code. P and R of the whole are the
            averages of theirs, weighted by documents (`count_empty`) or by those with gold (`skip_empty`, of
            the kind; pooled). So is the pooled F1; any other is the harmonic mean of the whole's P and R.
        scores: of the documents, in their order: what the figures are made of.
    """

    documents: int
    present: KindFigures
    absent: KindFigures
    pooled: PooledFigures
    pooled_with_gold: int
    not_in_text: int = 0
    given: Tally = Tally()
    doubtful: Tally = Tally()
    languages: Mapping[str, DatasetFigures] = field(default_factory=dict)
    scores: Sequence[DocumentScores] = field(default=(), repr=False)

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """At how many predictions was measured."""
        return tuple(self.present.skip_empty.at)

    @property
    def with_gold(self) -> dict[str, int]:
        """How many documents have gold of each kind."""
        kinds = {"present": self.present.with_gold, "absent": self.absent.with_gold}
        return kinds | {"pooled": self.pooled_with_gold}


@dataclass(frozen=True, slots=True)
class DocumentScores:
    """One document's scores, present and absent apart and together."""

    present: KindScores
    absent: KindScores
    pooled: SetScores | None
    language: str = ENGLISH
    not_in_text: int = 0
    given: Tally = Tally()
    doubtful: Tally = Tally()


@dataclass(frozen=True, slots=True)
class SplitKeys:
    """Unique phrase keys in their first order, by the side they fall on, with the places of their phrases."""

    present: Mapping[str, int]
    absent: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """A prediction and the gold of its document, and which phrases of both were counted.

    Attributes:
        wanted: of the gold keyphrases.
        found: of what was predicted as present; those on the absent side are dropped.
        others: of what was predicted as absent; those on the present side are dropped.
    """

    gold: Document
    prediction: Prediction
    wanted: SplitKeys
    found: SplitKeys
    others: SplitKeys
    scores: DocumentScores


ReportCompared = Callable[[ComparedDocument], None]
"""Called with each document once it has its scores."""


def split_phrases(phrases: Iterable[str], source: StemmedText) -> SplitKeys:
    """Sort phrases into present and absent ones, each once; empty ones are left out.

    Those of punctuation alone count, as in the released evaluation.
    """
    present: dict[str, int] = {}
    absent: dict[str, int] = {}
    for place, phrase in enumerate(phrases):
        if key := source.key(phrase):
            side = present if source.contains(phrase) else absent
            side.setdefault(key, place)
    return SplitKeys(present, absent)


def compare_document(
    gold: Document, prediction: Prediction, cuts: Sequence[Cut] = CUTS, *, released: bool = False
) -> ComparedDocument:
    """Compare a prediction with the keyphrases of its document.

    Args:
        released: by the rule of SimCKP's released code, texts and phrases as they are: see `stems`.

    Raises:
        InputError: the document is in a language that is not known; see `evaluate`.
    """
    known = _in_known_language(gold)
    read = known if released else plain_document(known)
    source = StemmedText(read, released=released)

    def plain(phrases: Iterable[str]) -> list[str]:
        return list(phrases) if released else list(map(plain_text, phrases))

    wanted = split_phrases(plain(gold.keyphrases), source)
    present = plain(keyphrase.text for keyphrase in prediction.present)
    absent = plain(keyphrase.text for keyphrase in prediction.absent)
    candidates = plain(prediction.absent_candidates) or absent
    found, others = split_phrases(present, source), split_phrases(absent, source)
    left_out = set(map(source.key, plain(keyphrase.text for keyphrase in prediction.doubtful)))
    scores = DocumentScores(
        present=score_kind(wanted.present, found.present, cuts=cuts),
        absent=score_kind(wanted.absent, others.absent, split_phrases(candidates, source).absent, cuts),
        pooled=score_sets(read.keyphrases, [*present, *absent]),
        language=read.language,
        not_in_text=len({*found.absent} - {*others.absent}),  # a list given whole is on both sides
        given=Tally.of({*others.absent} - left_out, wanted.absent),
        doubtful=Tally.of({*others.absent} & left_out, wanted.absent),
    )
    return ComparedDocument(gold, prediction, wanted, found, others, scores)


def _in_known_language(gold: Document) -> Document:
    """With the language by its code: "EN", "en-US" and "English" are measured alike."""
    if not gold.language:
        return replace(gold, language=ENGLISH)
    try:
        return replace(gold, language=known_language(gold.language))
    except InputError as error:
        raise InputError(f'The language of the document "{gold.id}" is {error}') from None


def evaluate(
    golds: Iterable[Document], predictions: Sequence[Prediction], *, released: bool = False
) -> DatasetFigures:
    """Measure predictions against the keyphrases of `golds`.

    Args:
        golds: documents with their keyphrases; a language is a code or a name of `kpdemo.languages`,
            and a document without one is measured as English.
        predictions: in the order of the documents.
        released: see `compare_document`.

    Raises:
        InputError: there are more documents than predictions, or fewer, or one is in a language that is not
            known.
    """
    return summarise_languages(score_documents(golds, predictions, released=released))


def score_documents(
    golds: Iterable[Document],
    predictions: Sequence[Prediction],
    on_compared: ReportCompared | None = None,
    cuts: Sequence[Cut] = CUTS,
    *,
    released: bool = False,
) -> list[DocumentScores]:
    """The scores of each document at `cuts`; other arguments and errors are those of `evaluate`."""
    scores = []
    for gold, prediction in _in_order(golds, predictions):
        compared = compare_document(gold, prediction, cuts, released=released)
        if on_compared is not None:
            on_compared(compared)
        scores.append(compared.scores)
    return scores


def summarise_languages(scores: Sequence[DocumentScores]) -> DatasetFigures:
    """As `summarise`, with the figures of each language."""
    languages = {
        language: summarise([document for document in scores if document.language == language])
        for language in sorted({document.language for document in scores})
    }
    return replace(summarise(scores), languages=languages)


def summarise(scores: Sequence[DocumentScores]) -> DatasetFigures:
    """The figures of a dataset from those of its documents."""
    pooled = [document.pooled for document in scores]
    return DatasetFigures(
        documents=len(scores),
        present=_kind_figures([document.present for document in scores]),
        absent=_kind_figures([document.absent for document in scores]),
        pooled=pooled_average(pooled),
        pooled_with_gold=sum(document is not None for document in pooled),
        not_in_text=sum(document.not_in_text for document in scores),
        given=sum((document.given for document in scores), Tally()),
        doubtful=sum((document.doubtful for document in scores), Tally()),
        scores=scores,
    )


def _kind_figures(scores: Sequence[KindScores]) -> KindFigures:
    return KindFigures(
        skip_empty=macro_average(scores, "skip_empty"),
        count_empty=macro_average(scores, "count_empty"),
        with_gold=sum(document.has_gold for document in scores),
    )


def _in_order(
    golds: Iterable[Document], predictions: Sequence[Prediction]
) -> Iterator[tuple[Document, Prediction]]:
    documents = enumerate(golds)
    count = 0
    for place, gold in documents:
        if place == len(predictions):
            count = place + 1 + sum(1 for _ in documents)
            raise InputError(
                f"There are {count} documents but {len(predictions)} predictions, "
                f"the first without one is {gold.id!r}: predict every document."
            )
        yield gold, predictions[place]
        count = place + 1
    if count < len(predictions):
        raise InputError(
            f"There are {len(predictions)} predictions but {count} documents: give one for each."
        )
