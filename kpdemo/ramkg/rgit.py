"""The rounds of RGIT (RAMKG, Algorithm 1), resumable after any step.

A folder holds a whole run: `run.json` with its identity, a JSON file for the result of each step, and the
models in folders. A step whose file exists is not repeated, so that the same call after a stop, or after a
crash in the middle of a step, gives the same result.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kpdemo.errors import TrainingError
from kpdemo.evaluation.retrieval import CUT_OFFS
from kpdemo.identity import content_identity
from kpdemo.ramkg.iterate import (
    Augmented,
    Generator,
    Pair,
    Pseudo,
    Retriever,
    RgitConfig,
    RgitData,
    Round,
    best_round,
    has_stopped_rising,
    mine,
    recall_of,
)
from kpdemo.ramkg.steps import FoundPassages, begin_run, found_once, once
from kpdemo.storage import replace_file
from kpdemo.types import Document

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
        inputs = augmented(self._data.others, found)
        helped = self._predict(f"round-{number}/predictions", generator, inputs)
        base = self._predict("base-predictions", self._base(), augmented(self._data.others))

        def work() -> dict[str, Any]:
            tau, truth = self._config.tau, self._data.truth
            return asdict(mine(self._data.others, found, base, helped, tau=tau, truth=truth))

        stored = once(self._folder, f"round-{number}/pseudo", work)
        return Pseudo(**stored | {"pairs": tuple(tuple(pair) for pair in stored["pairs"])})

    def _base(self) -> Path:
        """The folder of the generator without retrieval."""
        path = self._folder / "base"

        def work() -> dict[str, int]:
            examples = augmented([pair.document for pair in self._data.parallel])
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
            self._generator.train(augmented(documents, found), path, retriever=retriever)
            return {"documents": len(documents)}

        once(self._folder, name, work)
        return path

    def _search(self, name: str, model: Path, documents: Sequence[Document]) -> FoundPassages:
        passages = self._config.passages
        return found_once(self._folder, name, lambda: self._retriever.search(model, documents, passages))

    def _predict(self, name: str, model: Path, inputs: Sequence[Augmented]) -> list[list[str]]:
        stored: list[list[str]] = once(self._folder, name, lambda: self._generator.predict(model, inputs))
        return stored


def augmented(documents: Sequence[Document], found: FoundPassages | None = None) -> list[Augmented]:
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
