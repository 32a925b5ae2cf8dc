"""Retriever-generator iterative training (RAMKG, section 4.3 and Algorithm 1), resumable after any step.

A retriever and a generator are trained in turns. The retriever finds English passages for documents whose
own passage nobody knows; where their keyphrases help the generator by more than τ, the first of them is
taken for a translation, and the next retriever learns from it. `kpdemo.ramkg.rgit` runs the rounds.

Anything with the methods of `Retriever` and `Generator` can be trained so: a model is a folder to them, and
a run can be stopped anywhere. As in the paper an F1 is that of one document, present and absent together.

A folder holds a whole run: `run.json` with its identity, a JSON file for the result of each step, and the
models in folders. A step whose file exists is not repeated, so that the same call after a stop, or after a
crash in the middle of a step, gives the same result.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field

from kpdemo.errors import TrainingError
from kpdemo.evaluation.metrics import CUT_OFFS, rank_of, recall_at, score_sets
from kpdemo.evaluation.report import markdown_table, percent
from kpdemo.identity import content_identity
from kpdemo.io.files import parse_json, replace_file
from kpdemo.types import Document

_ROUNDING = 1e-9  # 0.8 - 0.75 is more than 0.05 in floating point
Variant = Literal["union", "pretrain"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A document, and the id of the passage in the retriever's corpus that says the same."""

    document: Document
    passage: str


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage that was found, with its keyphrases and its score, higher is nearer."""

    id: str
    keyphrases: tuple[str, ...] = ()
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Augmented:
    """A document with the keyphrases and the scores of the passages found for it, the best passage first."""

    document: Document
    retrieved: tuple[tuple[str, ...], ...] = ()
    scores: tuple[float, ...] = ()


class Retriever(Protocol):
    """Finds passages of a corpus that it holds."""

    def train(self, pairs: Sequence[Pair], into: Path, *, start: Path | None) -> None:
        """Learn to find each document's passage, and leave the model in the folder `into`.

        Called again after an interruption, it resumes or starts over; the model must come out the same.

        Args:
            start: the model to begin with; None for the pretrained encoder.
        """

    def search(self, model: Path, documents: Sequence[Document], count: int) -> list[list[Retrieved]]:
        """The `count` best passages for each document by the model in a folder, best first."""


class Generator(Protocol):
    """Gives keyphrases to a document with or without retrieved ones."""

    def train(self, examples: Sequence[Augmented], into: Path, *, retriever: Path | None) -> None:
        """Learn to give each document its keyphrases, and leave the model in `into`; see `Retriever.train`.

        Args:
            retriever: the model that found the passages; None for the base model, whose examples have no
                retrieved keyphrases.
        """

    def predict(self, model: Path, inputs: Sequence[Augmented]) -> list[list[str]]:
        """The keyphrases of each document by the model in a folder."""


@dataclass(frozen=True)
class RgitConfig:
    """Attributes:
    rounds: T, the most rounds; the paper's are 6 for products and 3 for papers.
    tau: how much F1 with retrieved keyphrases must exceed F1 without, as a fraction of 1.
    passages: m, passages whose keyphrases the generator is given; the paper's are 5 and 1.
    variant: "union" trains a retriever on pseudo and parallel pairs together (Algorithm 1, line 8),
        "pretrain" first on pseudo pairs and then on parallel ones (the end of section 4.3, and the authors'
        code).
    recall_at: k of the recall that must rise.
    final_generator: whether a last generator is trained on all documents with the best retriever.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    rounds: Annotated[int, Field(ge=1)] = 3
    tau: Annotated[float, Field(ge=-1, le=1)] = 0.05
    passages: Annotated[int, Field(ge=1)] = 1
    variant: Variant = "pretrain"
    recall_at: Literal[1, 2, 5, 10, 20] = 5
    final_generator: bool = True


@dataclass(frozen=True)
class RgitData:
    """Attributes:
    parallel: documents whose passages are known.
    others: documents with keyphrases whose passages are unknown, or held back.
    validation: pairs on which recall is measured, of documents that are never trained on.
    truth: document id to passage id for as many of `others` as are known, to count how many pseudo pairs
        are right; never trained on.
    """

    parallel: Sequence[Pair]
    others: Sequence[Document]
    validation: Sequence[Pair]
    truth: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pseudo:
    """What a round says of its pseudo pairs.

    Attributes:
        pairs: document id and passage id, in the order of the documents.
        checked: of how many of them the true passage is known.
        right: of how many of these it is the one found.
        base_f1, f1: means over all documents with keyphrases, without and with retrieval.
    """

    pairs: tuple[tuple[str, str], ...]
    checked: int
    right: int
    base_f1: float
    f1: float

    @property
    def label_accuracy(self) -> float | None:
        """Of 1 (the paper's Table 5); None where no true passage is known."""
        return self.right / self.checked if self.checked else None


@dataclass(frozen=True, slots=True)
class Round:
    """Attributes:
    number: from 1.
    trained_on: pseudo pairs that its retriever learnt from.
    recall: of its retriever on the validation pairs, by k (Table 4).
    pseudo: None in a round that stopped the run before it was mined.
    """

    number: int
    trained_on: int
    recall: Mapping[int, float]
    pseudo: Pseudo | None = None


def document_f1(document: Document, keyphrases: Iterable[str]) -> float | None:
    """F1 from 0 to 1; None for a document without gold keyphrases."""
    scores = score_sets(document.keyphrases, keyphrases)
    return None if scores is None else scores.f1


def mine(
    documents: Sequence[Document],
    found: Sequence[Sequence[Retrieved]],
    base: Sequence[Sequence[str]],
    augmented: Sequence[Sequence[str]],
    *,
    tau: float,
    truth: Mapping[str, str],
) -> Pseudo:
    """Keep each document's first passage where retrieval beats the base by more than τ (lines 17 to 25).

    Args:
        found: passages of each document, best first.
        base, augmented: predicted keyphrases of each, without and with those of the passages.
        truth: document id to the id of its true passage.

    Raises:
        ValueError: the lists differ in length.
    """
    pairs, gains = [], []
    for document, passages, without, with_them in zip(documents, found, base, augmented, strict=True):
        old, new = document_f1(document, without), document_f1(document, with_them)
        if old is None or new is None:
            continue
        gains.append((old, new))
        if passages and new - old > tau + _ROUNDING:
            pairs.append((document.id, passages[0].id))
    known = [(passage, truth[document]) for document, passage in pairs if document in truth]
    return Pseudo(
        pairs=tuple(pairs),
        checked=len(known),
        right=sum(passage == true for passage, true in known),
        base_f1=sum(old for old, _ in gains) / max(len(gains), 1),
        f1=sum(new for _, new in gains) / max(len(gains), 1),
    )


def recall_of(pairs: Sequence[Pair], found: Sequence[Sequence[Retrieved]]) -> dict[int, float]:
    """Recall at each of `CUT_OFFS`: the share of documents whose passage is among the first k.

    Raises:
        ValueError: there is no pair, or the lists differ in length.
    """
    return recall_at(
        [
            rank_of(pair.passage, [passage.id for passage in passages])
            for pair, passages in zip(pairs, found, strict=True)
        ]
    )


def best_round(rounds: Sequence[Round], k: int) -> Round:
    """The round with the highest recall at k, the earliest of equals."""
    return max(rounds, key=lambda entry: (entry.recall[k], -entry.number))


def has_stopped_rising(rounds: Sequence[Round], k: int) -> bool:
    """Whether the last round's recall at k is no higher than that of an earlier one."""
    return len(rounds) > 1 and best_round(rounds, k) is not rounds[-1]


def recall_table(rounds: Sequence[Round]) -> str:
    """Table 4 in Markdown, a row for each round, in percent; the first is RAMKG's without iteration."""
    rows = [[f"Round {entry.number}", *(percent(entry.recall[k]) for k in CUT_OFFS)] for entry in rounds]
    return markdown_table(["Recall at", *map(str, CUT_OFFS)], rows)


def pseudo_table(rounds: Sequence[Round]) -> str:
    """Table 5 in Markdown: pseudo pairs and their label accuracy in each round that mined."""
    mined = [(entry.number, entry.pseudo) for entry in rounds if entry.pseudo is not None]
    rows = [
        ["Pseudo passages", *(f"{len(pseudo.pairs):,}" for _, pseudo in mined)],
        ["Label accuracy", *(percent(pseudo.label_accuracy) for _, pseudo in mined)],
    ]
    return markdown_table(["Iteration", *(str(number) for number, _ in mined)], rows)


logger = logging.getLogger(__name__)

FoundPassages = list[list[Retrieved]]


def begin_run(folder: Path, fingerprint: str) -> None:
    """Raises:
    TrainingError: the folder holds a run of another fingerprint.
    """
    if once(folder, "run", lambda: {"fingerprint": fingerprint}) != {"fingerprint": fingerprint}:
        raise TrainingError(
            f"{folder} holds a run with other data or settings: give another folder or delete it."
        )


def once(folder: Path, name: str, work: Callable[[], Any]) -> Any:
    """What `work()` gave the first time, as JSON; its file is written whole when the step is over."""
    path = folder / f"{name}.json"
    if not path.is_file():
        logger.info("%s", name)
        replace_file(path, json.dumps(work(), ensure_ascii=False).encode())
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TrainingError(
            f"{path} cannot be read ({error}): delete it to have its step done again."
        ) from error


def search_once(folder: Path, name: str, search: Callable[[], FoundPassages]) -> FoundPassages:
    """What `search()` found the first time: another number of threads gives other last digits.

    Args:
        folder: of a run that `iterate` has begun there, and knows from others.
        name: of the step.
    """

    def work() -> list[list[dict[str, Any]]]:
        return [[asdict(passage) for passage in passages] for passages in search()]

    return [
        [Retrieved(passage["id"], tuple(passage["keyphrases"]), passage["score"]) for passage in passages]
        for passages in once(folder, name, work)
    ]


RESULT = "rgit.json"
"""What `outcome_as_json` gives of a finished run."""


@dataclass(frozen=True)
class Outcome:
    """Attributes:
    rounds: in order; the last has no pseudo pairs.
    best: the number of the round with the best retriever.
    stopped: whether recall stopped rising before the rounds were over.
    retriever, base, generator: folders of the models: the best retriever, the generator without retrieval on
        the parallel documents, and the last one with retrieval, on all documents where that was asked for.
    """

    rounds: tuple[Round, ...]
    best: int
    stopped: bool
    retriever: Path
    base: Path
    generator: Path


def iterate(
    retriever: Retriever,
    generator: Generator,
    data: RgitData,
    config: RgitConfig,
    folder: Path,
    *,
    identity: str = "",
) -> Outcome:
    """Train retriever and generator in turns until recall stops rising, or for `config.rounds`.

    Round t trains a retriever on the parallel pairs and the pseudo pairs of round t - 1, and measures it;
    then a generator on the parallel documents with what it finds for them; then it mines the other documents.
    After the last round one more retriever is trained on what that mined. The pairs of a round replace those
    before.

    Args:
        folder: of this run alone; holds the steps done so far when it was interrupted.
        identity: all that decides what retriever and generator learn, except data and config.

    Raises:
        TrainingError: `folder` holds a run of other data or settings, two documents share an id, a validation
            document is trained on, or there is no parallel or no validation pair.
    """
    _check(data)
    begin_run(folder, _fingerprint(data, config, identity))
    outcome = _RgitRun(retriever, generator, data, config, folder).go()
    replace_file(folder / RESULT, json.dumps(outcome_as_json(outcome), indent=1).encode())
    return outcome


def outcome_as_json(outcome: Outcome) -> dict[str, Any]:
    """The figures of the paper's Tables 4 and 5 for each round, shares of 1."""
    return {
        "best": outcome.best,
        "stopped": outcome.stopped,
        "rounds": [
            {
                "round": entry.number,
                "trained_on": entry.trained_on,
                "recall": {str(k): value for k, value in entry.recall.items()},
            }
            | (_figures(entry.pseudo) if entry.pseudo else {})
            for entry in outcome.rounds
        ],
    }


def _figures(pseudo: Pseudo) -> dict[str, Any]:
    return {
        "pseudo_pairs": len(pseudo.pairs),
        "label_accuracy": pseudo.label_accuracy,
        "checked": pseudo.checked,
        "base_f1": pseudo.base_f1,
        "f1": pseudo.f1,
    }


class _RgitRun:
    def __init__(
        self, retriever: Retriever, generator: Generator, data: RgitData, config: RgitConfig, folder: Path
    ) -> None:
        self._retriever, self._generator = retriever, generator
        self._data, self._config, self._folder = data, config, folder
        self._others = {document.id: document for document in data.others}

    def go(self) -> Outcome:
        rounds: list[Round] = []
        pseudo: tuple[tuple[str, str], ...] = ()
        stopped = False
        for number in range(1, self._config.rounds + 2):
            model = self._train_retriever(number, pseudo)
            rounds.append(Round(number, len(pseudo), self._recall(number, model)))
            stopped = has_stopped_rising(rounds, self._config.recall_at)
            if stopped or number > self._config.rounds:
                break
            mined = self._mine(number, model)
            rounds[-1] = Round(number, len(pseudo), rounds[-1].recall, mined)
            pseudo = mined.pairs
        best = best_round(rounds, self._config.recall_at).number
        return Outcome(
            rounds=tuple(rounds),
            best=best,
            stopped=stopped,
            retriever=self._path(best, "retriever"),
            base=self._base(),
            generator=self._last_generator(best),
        )

    def _path(self, number: int, name: str) -> Path:
        return self._folder / f"round-{number}" / name

    def _train_retriever(self, number: int, pseudo: Sequence[tuple[str, str]]) -> Path:
        """The folder of the retriever of a round."""
        mined = [Pair(self._others[document], passage) for document, passage in pseudo]
        parallel = list(self._data.parallel)
        model = self._path(number, "retriever")
        start: Path | None = None
        if mined and self._config.variant == "pretrain":
            start, model_pairs = self._path(number, "retriever-on-pseudo"), parallel
            self._train(f"round-{number}/retriever-on-pseudo", mined, start, None)
        else:
            model_pairs = mined + parallel
        self._train(f"round-{number}/retriever", model_pairs, model, start)
        return model

    def _train(self, name: str, pairs: Sequence[Pair], into: Path, start: Path | None) -> None:
        def work() -> dict[str, int]:
            self._retriever.train(pairs, into, start=start)
            return {"pairs": len(pairs)}

        once(self._folder, name, work)

    def _recall(self, number: int, model: Path) -> dict[int, float]:
        def work() -> dict[str, float]:
            documents = [pair.document for pair in self._data.validation]
            found = self._retriever.search(model, documents, max(CUT_OFFS))
            return {str(k): value for k, value in recall_of(self._data.validation, found).items()}

        stored = once(self._folder, f"round-{number}/recall", work)
        return {int(k): value for k, value in stored.items()}

    def _mine(self, number: int, model: Path) -> Pseudo:
        generator = self._train_generator(
            f"round-{number}/generator", [pair.document for pair in self._data.parallel], model, "parallel"
        )
        found = self._search(f"round-{number}/passages-of-others", model, self._data.others)
        inputs = augment(self._data.others, found)
        helped = self._predict(f"round-{number}/predictions", generator, inputs)
        base = self._predict("base-predictions", self._base(), augment(self._data.others))

        def work() -> dict[str, Any]:
            tau, truth = self._config.tau, self._data.truth
            return asdict(mine(self._data.others, found, base, helped, tau=tau, truth=truth))

        stored = once(self._folder, f"round-{number}/pseudo", work)
        return Pseudo(**stored | {"pairs": tuple(tuple(pair) for pair in stored["pairs"])})

    def _base(self) -> Path:
        """The folder of the generator without retrieval."""
        path = self._folder / "base"

        def work() -> dict[str, int]:
            examples = augment([pair.document for pair in self._data.parallel])
            self._generator.train(examples, path, retriever=None)
            return {"documents": len(examples)}

        once(self._folder, "base", work)
        return path

    def _last_generator(self, best: int) -> Path:
        """On all documents with the best retriever, else that retriever's own of its round."""
        parallel = [pair.document for pair in self._data.parallel]
        model = self._path(best, "retriever")
        if self._config.final_generator:
            everything = [*parallel, *self._data.others]
            return self._train_generator(f"round-{best}/last-generator", everything, model, "all")
        return self._train_generator(f"round-{best}/generator", parallel, model, "parallel")

    def _train_generator(self, name: str, documents: Sequence[Document], retriever: Path, which: str) -> Path:
        found = self._search(f"{retriever.parent.name}/passages-of-{which}", retriever, documents)
        path = self._folder / name

        def work() -> dict[str, int]:
            self._generator.train(augment(documents, found), path, retriever=retriever)
            return {"documents": len(documents)}

        once(self._folder, name, work)
        return path

    def _search(self, name: str, model: Path, documents: Sequence[Document]) -> FoundPassages:
        passages = self._config.passages
        return search_once(self._folder, name, lambda: self._retriever.search(model, documents, passages))

    def _predict(self, name: str, model: Path, inputs: Sequence[Augmented]) -> list[list[str]]:
        stored: list[list[str]] = once(self._folder, name, lambda: self._generator.predict(model, inputs))
        return stored


def augment(documents: Sequence[Document], found: FoundPassages | None = None) -> list[Augmented]:
    """Each document with the keyphrases and scores of what was found for it; without, as it is."""
    passages = found if found is not None else [[] for _ in documents]
    return [
        Augmented(
            document, tuple(passage.keyphrases for passage in own), tuple(passage.score for passage in own)
        )
        for document, own in zip(documents, passages, strict=True)
    ]


def _check(data: RgitData) -> None:
    documents = [*(pair.document for pair in data.parallel), *data.others]
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise TrainingError(f"Two documents have the id {document.id!r}: give every document its own id.")
        seen.add(document.id)
    texts = {document.text for document in documents}
    for pair in data.validation:
        same = "id" if pair.document.id in seen else "text" if pair.document.text in texts else ""
        if same:
            raise TrainingError(
                f"The validation document {pair.document.id!r} has the {same} of a training document: leave "
                "one of them out."
            )
    for name, pairs in (("parallel", data.parallel), ("validation", data.validation)):
        if not pairs:
            raise TrainingError(f"There is no {name} pair: give some.")


def _fingerprint(data: RgitData, config: RgitConfig, identity: str) -> str:
    """Of the settings that change what the steps give, and of all documents."""
    settings = (config.tau, config.passages, config.variant, identity)
    return content_identity(settings, data.parallel, data.validation, data.others, sorted(data.truth.items()))
