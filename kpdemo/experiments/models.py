"""A model as it is, measured for the tables of SimCKP that need no training (2, 3 and 6, and Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from kpdemo.experiments.gold_files import GoldFile, command_files, joined
from kpdemo.experiments.measuring import Advance, ask_all, figures, machine, measure
from kpdemo.experiments.results import Results
from kpdemo.types import Document, Mapped, Prediction, Predictor, RetrievalPredictor, finds_absent

if TYPE_CHECKING:
    from kpdemo.simckp.system import SystemPredictor

WHOLE = "as a whole"
"""The only source of a model whose parts are not known."""


@dataclass(frozen=True)
class ModelRuns:
    """Attributes:
    identity: of the model's weights, as several may share a name.
    gold: the file of each dataset.
    left_out: how many documents of each dataset chose the weights, and are not measured on.
    """

    model: str
    identity: str
    gold: Mapping[str, GoldFile]
    datasets: Mapping[str, Sequence[Document]]
    left_out: Mapping[str, int]
    results: Results

    def main(self, predictor: Predictor, advance: Advance) -> None:
        """Tables 2 and 3: present and absent keyphrases on every dataset."""
        found = {
            name: {"left_out": self.left_out[name]} | measure(documents, predictor, advance)
            for name, documents in self.datasets.items()
        }
        described = {"finds_absent": finds_absent(predictor), "datasets": found}
        self._store("main", predictor.device, described)

    def ramkg(self, predictor: Predictor, advance: Advance) -> None:
        """RAMKG's Tables 2 and 3: pooled figures for each language of every dataset."""
        from kpdemo.experiments.multilingual import measure_languages

        found = {
            name: measure_languages(documents, predictor, advance)
            for name, documents in self.datasets.items()
        }
        self._store("ramkg", predictor.device, {"datasets": found})

    def retrieval(self, predictor: RetrievalPredictor, passages: int, index: str, advance: Advance) -> None:
        """The same of a model with its passages and without, and what they add.

        Args:
            passages: how many there are.
            index: identifies them.
        """
        from kpdemo.experiments.retrieval import with_and_without

        found = {
            name: with_and_without(documents, predictor, advance) for name, documents in self.datasets.items()
        }
        self._store("retrieval", predictor.device, {"passages": passages, "index": index, "datasets": found})

    def recall(self, predictor: Predictor, system: SystemPredictor | None, advance: Advance) -> None:
        """Table 6 and the absent half of Table 4: each source of candidates alone, and all reranked.

        Args:
            system: the model by its parts; one that is None is measured as a whole, where it finds absent
                keyphrases at all.
        """
        if system is not None:
            found = {
                source: {
                    name: _absent_figures(documents, part, advance)
                    for name, documents in self.datasets.items()
                }
                for source, part in system.sources().items()
            }
        elif finds_absent(predictor):
            whole = {
                name: measure(documents, predictor, advance) for name, documents in self.datasets.items()
            }
            found = {WHOLE: whole}
        else:
            found = {}
        self._store("recall", predictor.device, {"sources": found})

    def space(self, predictor: Predictor) -> None:
        """Figure 4: the first document of each dataset with its phrases in the plane, by t-SNE."""
        found = {name: _planes(documents[0], predictor) for name, documents in self.datasets.items()}
        self._store("space", predictor.device, {"spaces": found})

    def _store(self, kind: str, device: str, values: Mapping[str, Any]) -> None:
        origin = {
            "kind": kind,
            "model": self.model,
            "identity": self.identity,
            "files": command_files(list(self.gold.values())),
            "gold": {name: asdict(file) for name, file in self.gold.items()},
            "machine": machine(device),
        }
        name, result = f"{kind}-{self.model}", origin | dict(values)
        known = self.results.stored(name)
        if known is not None and known["model"] != self.model:  # runs/a-b and runs/a/b have one name of file
            name = f"{name}-{sha256(self.model.encode()).hexdigest()[:8]}"
            known = self.results.stored(name)
        self.results.write(name, joined(result, known))


def _absent_figures(
    documents: Sequence[Document], system: SystemPredictor, advance: Advance
) -> dict[str, Any]:
    def ask(batch: Sequence[Document]) -> list[Prediction]:
        return [
            Prediction(
                (),
                ranking.keyphrases[: ranking.own],
                absent_candidates=tuple(keyphrase.text for keyphrase in ranking.keyphrases),
            )
            for ranking in system.rank(batch)
        ]

    predictions, refusals = ask_all(documents, ask, Prediction(()), advance)
    return figures(documents, predictions) | refusals


def _planes(document: Document, predictor: Predictor) -> list[dict[str, Any]]:
    """The document's spaces, each with a place for each point."""
    from kpdemo.evaluation.projection import Method, project

    spaces = predictor.vectors(document) if isinstance(predictor, Mapped) else []
    described = []
    for space in spaces:
        plane = project(space.vectors, Method.TSNE)
        points = [
            {"text": point.text, "kind": str(point.kind), "score": point.score, "x": float(x), "y": float(y)}
            for point, (x, y) in zip(space.points, plane.places, strict=True)
        ]
        described.append({"space": space.name, "method": str(plane.method), "points": points})
    return described
