"""From documents to keyphrases: a model opened on first use, chosen by language and style, with options."""

from __future__ import annotations

import math
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from functools import cache, lru_cache, partial
from threading import Lock
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from kpdemo.errors import InputError, ModelLoadError
from kpdemo.languages import known_language
from kpdemo.markup import reading_warnings, spans_as_given, without_markup
from kpdemo.routing import DEFAULT_MODEL, SERVED, STYLES, model_for, prediction_note
from kpdemo.selection import RANKED, check_all, choose
from kpdemo.text import PhraseFinder, PhraseKinds, phrase_key, readable_documents
from kpdemo.types import (
    Comparing,
    Document,
    Keyphrase,
    Mapped,
    PointKind,
    Prediction,
    PredictionOptions,
    Predictor,
    Ranking,
    RetrievalPrediction,
    RetrievalPredictor,
    Style,
    VectorPoint,
    VectorSpace,
    finds_absent,
    languages_of,
    uses_passages,
)
from kpdemo.variants import written_forms

OWN_RULE = PredictionOptions()


class Pipeline:
    """A model by name, opened when it is first needed, once, however many threads ask.

    It is a `RetrievalPredictor`, `Comparing` and `Mapped`, whatever the model is. It pickles as its
    arguments, which must pickle too, and opens the model again where it is unpickled.

    Args:
        load: opens the model.
        routes: what opens the models that read other languages, by the names that `model_for` gives; each is
            opened with the first document in its language.
        nested: as of `PredictionOptions`, where a call does not say.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Predictor],
        routes: Mapping[str, Callable[[], Predictor]] = MappingProxyType({}),
        *,
        nested: bool = True,
    ) -> None:
        self._name = name
        self._loaders = {**routes, DEFAULT_MODEL: load}
        self._options = PredictionOptions(nested=nested)
        self._opened: dict[str, tuple[Predictor, int]] = {}  # each with the process that opened it
        self._lock = Lock()

    def __reduce__(self) -> tuple[Callable[[bytes], Pipeline], tuple[bytes]]:
        return _received, (pickle.dumps((self._name, self._loaders, self._options.nested)),)

    @property
    def name(self) -> str:
        return self._name

    @property
    def device(self) -> str:
        return self._model().device

    @property
    def languages(self) -> frozenset[str]:
        return SERVED if self._is_routed else languages_of(self._model())

    @property
    def finds_absent(self) -> bool:
        return finds_absent(self._model())

    @property
    def uses_passages(self) -> bool:
        return self._is_routed or uses_passages(self._model())

    def predict(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
        **further: Any,
    ) -> list[Prediction]:
        """See `kpdemo.types.Predictor`.

        Args:
            further: fields of `PredictionOptions`, such as `longest=3` or `exclude=["paper"]`.
        """
        found = self.predict_with_passages(documents, top_k=top_k, threshold=threshold, **further)
        return [one.prediction for one in found]

    def predict_with_passages(
        self,
        documents: Sequence[Document | str],
        *,
        top_k: int | None = None,
        threshold: float | None = None,
        **further: Any,
    ) -> list[RetrievalPrediction]:
        """See `kpdemo.types.RetrievalPredictor`; a document whose model retrieves nothing has no passages.

        Args:
            further: as of `predict`.
        """
        options = with_fields(self._options, {"top_k": top_k, "threshold": threshold, **further})
        return self.predict_with_options(documents, options)

    def predict_with_options(
        self, documents: Sequence[Document | str], options: PredictionOptions
    ) -> list[RetrievalPrediction]:
        """See `read_with_passages`."""
        check_all(options)

        def ask(model: Predictor, own: Sequence[Document | str]) -> list[RetrievalPrediction]:
            return read_with_passages(model, own, options)

        return self._each(_in_language(documents, options.language), ask, options.style)

    def vectors(
        self, document: Document, *, top_k: int | None = None, threshold: float | None = None
    ) -> list[VectorSpace]:
        """See `kpdemo.types.Mapped`."""
        if self._is_routed:
            [document] = readable_documents([document])
        model = self._model(document.language)
        spaces = (
            model.vectors(document, top_k=top_k, threshold=threshold) if isinstance(model, Mapped) else []
        )
        if self._options.nested or not spaces:
            return spaces
        [prediction] = self.predict([document], top_k=top_k, threshold=threshold)
        present = {one.text for one in prediction.present}
        return [
            replace(space, points=tuple(_chosen(point, present) for point in space.points))
            for space in spaces
        ]

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """See `kpdemo.types.Comparing`."""
        model = self._model()
        if not isinstance(model, Comparing):
            raise ModelLoadError(f"The model {self.name!r} does not compare texts: choose {DEFAULT_MODEL}.")
        return model.similarities(pairs)

    @property
    def _is_routed(self) -> bool:
        return len(self._loaders) > 1

    def _each(
        self,
        documents: Sequence[Document | str],
        ask: Callable[[Predictor, Sequence[Document | str]], list[RetrievalPrediction]],
        style: Style | None = None,
    ) -> list[RetrievalPrediction]:
        """Ask each model once, with all documents that are its own; the answers in the documents' order."""
        if not self._is_routed:
            self._check_style(style)
            own = list(documents) if isinstance(documents, Iterator) else documents
            answers = ask(self._model(), own)
            return [_with_warnings(one, _read(document)) for one, document in zip(answers, own, strict=True)]
        read = readable_documents(documents)
        numbers_of: dict[str, list[int]] = {}
        for number, document in enumerate(read):
            numbers_of.setdefault(self._route(document.language, style), []).append(number)
        found: dict[int, RetrievalPrediction] = {}
        for route, numbers in numbers_of.items():
            answers = ask(self._open(route), [read[number] for number in numbers])
            found.update(zip(numbers, answers, strict=True))
        return [_with_warnings(found[number], document) for number, document in enumerate(read)]

    def _model(self, language: str = "") -> Predictor:
        return self._open(self._route(language))

    def _route(self, language: str, style: Style | None = None) -> str:
        route = model_for(language, style)
        return route if route in self._loaders else DEFAULT_MODEL

    def _check_style(self, style: Style | None) -> None:
        if style is not None and self._name not in STYLES:
            raise InputError(
                f"The style is {style}, but the model {self._name!r} has only one: leave the style out, or "
                f"choose the model {DEFAULT_MODEL}."
            )

    def _open(self, route: str) -> Predictor:
        with self._lock:
            if route not in self._opened:
                self._opened[route] = self._loaders[route](), os.getpid()
                keep_forks_going()
            model, process = self._opened[route]
            # A pipeline in this one knows for itself where its model is: to ask it would open that one.
            if process != os.getpid() and not isinstance(model, Pipeline) and model.device == "cuda":
                raise ModelLoadError(
                    f"The model {self._name!r} was loaded onto the GPU before this process was forked, and a "
                    "forked process cannot use it: start processes with spawn, or before the first "
                    "prediction."
                )
            return model


@lru_cache(maxsize=4)
def _received(pickled: bytes) -> Pipeline:
    """The same object each time: a pool's worker is sent the pipeline again with each piece of its work."""
    name, loaders, nested = pickle.loads(pickled)
    return Pipeline(name, loaders[DEFAULT_MODEL], loaders, nested=nested)


_THREADS = {"torch": "set_num_threads", "faiss": "omp_set_num_threads"}
"""What says with how many threads a library computes."""


@cache
def keep_forks_going() -> None:
    """Let processes that are forked from now on compute with one thread, as PyTorch's data loaders do.

    The libraries' other threads are not in a forked process: it would wait for them for ever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_use_one_thread)


def _use_one_thread() -> None:
    for library, setter in _THREADS.items():
        if library in sys.modules:
            getattr(sys.modules[library], setter)(1)


def _read(document: Document | str) -> Document:
    return without_markup(Document(document) if isinstance(document, str) else document)


def _with_warnings(found: RetrievalPrediction, document: Document) -> RetrievalPrediction:
    """With what a reader should know about how the document was read, where the answer does not say it."""
    said = reading_warnings(document)
    if not said:
        return found
    return _each_prediction(
        found, lambda one: replace(one, warnings=tuple(dict.fromkeys((*said, *one.warnings))))
    )


def with_fields(options: PredictionOptions, fields: Mapping[str, Any]) -> PredictionOptions:
    """The options with those fields that are not None.

    Raises:
        InputError: there is no such option.
    """
    known = {field.name for field in dataclass_fields(PredictionOptions)}
    if unknown := next((name for name in fields if name not in known), ""):
        raise InputError(f"There is no option {unknown!r}: choose among {', '.join(sorted(known))}.")
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list | set) else value
        for name, value in fields.items()
        if value is not None
    }
    return replace(options, **given)


def read_with_passages(
    predictor: Predictor, documents: Sequence[Document | str], options: PredictionOptions = OWN_RULE
) -> list[RetrievalPrediction]:
    """The keyphrases of documents by any predictor, as the options say; most have no passages.

    Each prediction has what it was chosen from, as far as the predictor tells, and its warnings.

    Raises:
        InputError: as `RetrievalPredictor.predict_with_passages`, or an option is not for this predictor.
    """
    if isinstance(predictor, OptionPredictor):
        return predictor.predict_with_options(documents, options)
    check_all(options)
    documents = readable_documents(_in_language(documents, options.language))
    found = _ask(predictor, documents, options.top_k, options.threshold, every=_asks_for_every(options))
    if _narrows(options) and any(one.prediction.ranked_present is None for one in found):
        found = _with_rankings(predictor, documents, found, options)
    if options.seed_keywords or options.candidates:
        found = [
            _each_prediction(one, partial(_guided, predictor, document, options))
            for one, document in zip(found, documents, strict=True)
        ]
    compares = bool(options.diversity) and _likeness(predictor, ()) is not None
    similarities = predictor.similarities if compares and isinstance(predictor, Comparing) else None
    return [
        _each_prediction(
            one, lambda prediction: with_note(choose(prediction, options, similarities), predictor)
        )
        for one in found
    ]


@runtime_checkable
class OptionPredictor(Protocol):
    """A predictor that takes all options."""

    def predict_with_options(
        self, documents: Sequence[Document | str], options: PredictionOptions
    ) -> list[RetrievalPrediction]: ...


def with_note(prediction: Prediction, predictor: Predictor) -> Prediction:
    """With a warning where the model was made for other languages than that of the document."""
    note = prediction_note(
        prediction, predictor.name, languages_of(predictor), finds_absent=finds_absent(predictor)
    )
    return replace(prediction, warnings=(*prediction.warnings, note)) if note else prediction


def _in_language(documents: Sequence[Document | str], language: str) -> Sequence[Document | str]:
    if not language:
        return documents
    code = known_language(language)
    return [replace(document, language=code) for document in readable_documents(documents)]


def _narrows(options: PredictionOptions) -> bool:
    """Whether more than the keyphrases that a predictor gives by itself is needed to choose from."""
    return bool(
        not options.nested
        or options.shortest
        or options.longest
        or options.exclude
        or options.candidates
        or options.seed_keywords
        or options.diversity
    ) and not (options.threshold is not None and options.top_k is None)


def _asks_for_every(options: PredictionOptions) -> bool:
    return bool(options.candidates or options.seed_keywords)


MOST = 1_000_000
"""More keyphrases than a document has."""


def _ask(
    predictor: Predictor,
    documents: Sequence[Document | str],
    top_k: int | None,
    threshold: float | None,
    *,
    every: bool = False,
) -> list[RetrievalPrediction]:
    """By the predictor's own method; a prediction that tells its ranking has all of it if `every` is true."""
    asked: dict[str, Any] = {"top_k": top_k, "threshold": threshold}
    if uses_passages(predictor) and isinstance(predictor, RetrievalPredictor):
        found = predictor.predict_with_passages(documents, **asked)
    else:
        found = [
            RetrievalPrediction((), one, one, retrieves=False)
            for one in predictor.predict(documents, **asked)
        ]
    if every and top_k is None and all(one.prediction.ranked_present is not None for one in found):
        return _ask(predictor, documents, MOST, None)
    return found


def _with_rankings(
    predictor: Predictor,
    documents: Sequence[Document | str],
    own: Sequence[RetrievalPrediction],
    options: PredictionOptions,
) -> list[RetrievalPrediction]:
    """What a predictor gives that does not tell its ranking, with one made of what it gives for a number."""
    asked = max(RANKED, 4 * (options.top_k or 0))
    longer = _ask(predictor, documents, asked, options.threshold)
    return [
        replace(
            one,
            prediction=_with_ranking(one.prediction, more.prediction),
            without=_with_ranking(one.without, more.without),
        )
        for one, more in zip(own, longer, strict=True)
    ]


def _with_ranking(own: Prediction, longer: Prediction) -> Prediction:
    sure = sum(not one.filler for one in own.present)
    return replace(own, ranked_present=Ranking(longer.present, len(own.present), sure))


def _each_prediction(
    found: RetrievalPrediction, change: Callable[[Prediction], Prediction]
) -> RetrievalPrediction:
    prediction = change(found.prediction)
    same = found.without is found.prediction
    return replace(found, prediction=prediction, without=prediction if same else change(found.without))


_GUIDANCE = 6.0
"""Log-odds that a likeness of 1 to the guiding words adds."""


def _guided(
    predictor: Predictor, document: Document, options: PredictionOptions, prediction: Prediction
) -> Prediction:
    """With one's own phrases among those that are ranked, and what is like the guiding words moved up."""
    present = prediction.ranked_present or Ranking(prediction.present, len(prediction.present), 0)
    absent = prediction.ranked_absent or Ranking(prediction.absent, len(prediction.absent), 0)
    if options.candidates:
        present, absent = _with_own_phrases(predictor, document, options.candidates, present, absent)
    if options.seed_keywords:
        present, absent = (_moved(predictor, ranking, options.seed_keywords) for ranking in (present, absent))
    return replace(prediction, ranked_present=present, ranked_absent=absent)


def _with_own_phrases(
    predictor: Predictor, document: Document, phrases: Sequence[str], present: Ranking, absent: Ranking
) -> tuple[Ranking, Ranking]:
    """Those that the model did not rank: present ones with the score 0, absent ones by their likeness.

    The likeness is that of phrase and text by the model's encoder; without one there are no absent ones.
    """
    known = {phrase_key(one.text, document.language) for one in (*present.keyphrases, *absent.keyphrases)}
    new = [
        phrase for phrase in phrases if phrase.strip() and phrase_key(phrase, document.language) not in known
    ]
    finder, written, kind_of = PhraseFinder(document), written_forms(document), PhraseKinds(document)
    found, missing = [], []
    for phrase in new:
        spans = finder.of(phrase)
        if spans:
            found.append(Keyphrase(written.of(spans)[0], 0.0, spans_as_given(document, spans)))
        else:
            missing.append(phrase)
    likeness = _likeness(predictor, [(document.text, phrase) for phrase in missing])
    others = [
        Keyphrase(phrase, score, kind=kind_of(phrase))
        for phrase, score in zip(missing, likeness or (), strict=False)
    ]
    ranked = sorted((*absent.keyphrases, *others), key=lambda one: -one.score)
    return (
        replace(present, keyphrases=(*present.keyphrases, *found)),
        replace(absent, keyphrases=tuple(ranked)),
    )


def _moved(predictor: Predictor, ranking: Ranking, words: Sequence[str]) -> Ranking:
    """Ranked by the score whose log-odds rise with the likeness to the nearest of the words."""
    keyphrases = ranking.keyphrases
    likeness = _likeness(predictor, [(one.text, word) for one in keyphrases for word in words])
    if likeness is None:
        raise InputError(
            f"The model {predictor.name!r} does not compare phrases, so words cannot guide it: leave "
            f"them out (seed_keywords), or choose the model {DEFAULT_MODEL}."
        )
    nearest = [max(likeness[first : first + len(words)]) for first in range(0, len(likeness), len(words))]
    usual = sum(nearest) / max(len(nearest), 1)
    moved = [
        replace(one, score=_shifted(one.score, _GUIDANCE * (near - usual)))
        for one, near in zip(keyphrases, nearest, strict=True)
    ]
    return replace(ranking, keyphrases=tuple(sorted(moved, key=lambda one: -one.score)))


def _likeness(predictor: Predictor, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
    """None where the predictor compares no texts."""
    try:
        return predictor.similarities(pairs) if isinstance(predictor, Comparing) else None
    except ModelLoadError:  # it has no encoder of pairs
        return None


def _shifted(probability: float, log_odds: float) -> float:
    odds = probability / max(1 - probability, 1e-9) * math.exp(log_odds)
    return odds / (1 + odds)


def _chosen(point: VectorPoint, present: Set[str]) -> VectorPoint:
    if point.kind not in (PointKind.PRESENT, PointKind.CANDIDATE):
        return point
    kind = PointKind.PRESENT if point.text in present else PointKind.CANDIDATE
    return replace(point, kind=kind)
