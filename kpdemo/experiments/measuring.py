"""Models measured for the tables of SimCKP that need no training, and for RAMKG's Tables 2 to 5."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

from kpdemo.batch import ask_each
from kpdemo.errors import ConfigError, InputError
from kpdemo.evaluation.measuring import document_scores, predict_everything
from kpdemo.evaluation.metrics import (
    CUT_OFFS,
    CUTS,
    KindScores,
    SetScores,
    named_pooled,
    pooled_average,
)
from kpdemo.evaluation.protocol import summarise
from kpdemo.evaluation.report import UNDEFINED, dataset_to_json
from kpdemo.experiments.results import GoldFile, Result, Results, command_files, join_figures
from kpdemo.io.files import parse_json
from kpdemo.languages import identify_together
from kpdemo.markup import without_markup
from kpdemo.statistics import f1_contributions, margin, standard_error
from kpdemo.types import (
    Document,
    Mapped,
    Prediction,
    Predictor,
    RetrievalPrediction,
    RetrievalPredictor,
    finds_absent,
)

if TYPE_CHECKING:
    from kpdemo.simckp.predictor import SystemPredictor


MOST_REASONS = 3
"""Of one model and dataset, on the page: a sentence may hold a value of its document."""

Refusals = dict[str, Any]
"""`refused`: how many documents were; `reasons`: how many of them for which sentence, the commonest first."""


def refusals_of(outcomes: Iterable[object]) -> Refusals:
    """The refusals, each an `InputError`, among what a model gave."""
    reasons = Counter(str(outcome) for outcome in outcomes if isinstance(outcome, InputError))
    return {"refused": reasons.total(), "reasons": dict(reasons.most_common())}


def all_refused(figures: Mapping[str, Any]) -> bool:
    """Whether nothing was measured: the model refused every document."""
    return bool(figures.get("refused")) and figures["refused"] == figures["documents"]


def refusal_notes(measured: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    """A line for each model and dataset with refusals; empty where there are none.

    Args:
        measured: a model, a dataset, and the figures; old ones lack refusals.
    """
    return "\n\n".join(
        f"`{model}` refused {figures['refused']:,} of the {figures['documents']:,} documents of {dataset}, "
        f"which count as having no keyphrases{_reasons(figures.get('reasons', {}))}"
        for model, dataset, figures in measured
        if figures.get("refused")
    )


def _reasons(reasons: Mapping[str, int]) -> str:
    told = [f"{count:,} × “{reason}”" for reason, count in list(reasons.items())[:MOST_REASONS]]
    if len(reasons) > MOST_REASONS:
        told.append(f"and {len(reasons) - MOST_REASONS:,} more")
    return f": {'; '.join(told)}" if told else "."


BATCH = 32

Answer = TypeVar("Answer")

Advance = Callable[[int], None]
"""Called with the number of documents that are done."""


def without(documents: Iterable[Document], seen: Collection[str]) -> list[Document]:
    """Those whose text is not among `seen`: what chose a threshold is not a fair test of it.

    Args:
        seen: texts as models read them.
    """
    return [document for document in documents if without_markup(document).text not in seen]


def measure(documents: Sequence[Document], predictor: Predictor, advance: Advance) -> dict[str, Any]:
    """Figures of present and absent keyphrases with their standard errors, see `figures`, and `Refusals`."""
    predictions, refusals = predict_all(documents, predictor, advance)
    return figures(documents, predictions) | refusals


def predict_all(
    documents: Sequence[Document], predictor: Predictor, advance: Advance
) -> tuple[list[Prediction], Refusals]:
    """A prediction for each document, without keyphrases where it was refused, and what was refused."""
    nothing = RetrievalPrediction((), Prediction(()), Prediction(()))
    answers, refusals = ask_all(documents, partial(predict_everything, predictor), nothing, advance)
    return [answer.prediction for answer in answers], refusals


def ask_all(
    documents: Sequence[Document],
    ask: Callable[[Sequence[Document]], Sequence[Answer]],
    instead: Answer,
    advance: Advance,
) -> tuple[list[Answer], Refusals]:
    """An answer for each document, `instead` where it was refused, and what was refused."""
    outcomes: list[Answer | InputError] = []
    for first in range(0, len(documents), BATCH):
        batch = documents[first : first + BATCH]
        outcomes += ask_each(batch, ask)
        advance(len(batch))
    answers = [instead if isinstance(one, InputError) else one for one in outcomes]
    return answers, refusals_of(outcomes)


def figures(documents: Sequence[Document], predictions: Sequence[Prediction]) -> dict[str, Any]:
    """As `evaluate --json` prints them for a dataset, and `standard_error` for each kind (`skip_empty`)."""
    scores = document_scores(documents, predictions)
    return dataset_to_json(summarise(scores)) | {
        "standard_error": {
            "present": standard_errors([score.present for score in scores]),
            "absent": standard_errors([score.absent for score in scores]),
        }
    }


def standard_errors(scores: Sequence[KindScores]) -> dict[str, float | None]:
    """Of F1@5, F1@M and R@50 as `macro_average` gives them under `skip_empty`; None for fewer than two."""
    with_gold = [score for score in scores if score.has_gold]
    of_f1 = {
        f"F1@{cut}": standard_error(f1_contributions([score.at[cut] for score in with_gold])) for cut in CUTS
    }
    return of_f1 | {"R@50": standard_error([score.recall_50 for score in with_gold])}


def machine(device: str) -> str:
    """What it was measured on, in words."""
    return "a GPU" if device == "cuda" else f"a CPU ({platform.machine()})"


Figures = dict[str, Any]


def by_language(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """The documents of each language that they are measured in, by its code; no model sees it."""
    groups: dict[str, list[Document]] = {}
    for document, measured in zip(documents, identify_together(documents), strict=True):
        groups.setdefault(measured.language, []).append(document)
    return dict(sorted(groups.items()))


def measure_languages(documents: Sequence[Document], predictor: Predictor, advance: Advance) -> Figures:
    """Under `languages` the figures of each, and `pooled` of all: the average weighted by documents.

    A document that the model refuses, such as one in a language that it does not read, has no keyphrases.
    """
    languages: dict[str, Figures] = {}
    every: list[SetScores | None] = []
    for code, group in by_language(documents).items():
        predictions, refusals = predict_all(group, predictor, advance)
        every += pooled_scores(group, predictions)
        languages[code] = language_figures(group, predictions) | refusals
    return {
        "documents": len(every),
        "languages": languages,
        "pooled": named_pooled(pooled_average(every)),
        "pooled_error": _error(every),
    }


def language_figures(documents: Sequence[Document], predictions: Sequence[Prediction]) -> Figures:
    """Of documents of one language, with the standard error of the pooled F1@M as `pooled_error`."""
    return figures(documents, predictions) | {"pooled_error": _error(pooled_scores(documents, predictions))}


def pooled_scores(documents: Sequence[Document], predictions: Sequence[Prediction]) -> list[SetScores | None]:
    """RAMKG's scores of each document; None for one without keyphrases."""
    return [scores.pooled for scores in document_scores(documents, predictions)]


def _error(scores: Sequence[SetScores | None]) -> float | None:
    """The standard error of the mean F1 of the documents with gold."""
    return standard_error([score.f1 for score in scores if score is not None])


def pooled_cell(result: Mapping[str, Any], dataset: str, language: str) -> str:
    """See `figures_cell`; a dash also where the model was not asked."""
    found = result["datasets"].get(dataset, {}).get("languages", {}).get(language)
    return UNDEFINED if found is None else figures_cell(found)


def figures_cell(found: Mapping[str, Any]) -> str:
    """P, R and F1@M in percent with the standard error of F1; a dash where nothing was measured.

    Args:
        found: the figures of a language.
    """
    if all_refused(found) or found["pooled"]["F1@M"] is None:
        return UNDEFINED
    precision, recall, f1 = (100 * found["pooled"][name] for name in ("P@M", "R@M", "F1@M"))
    error = "" if found["pooled_error"] is None else f" ± {100 * found['pooled_error']:.1f}"
    return f"{precision:.1f} / {recall:.1f} / **{f1:.1f}**{error}"


def with_and_without(
    documents: Sequence[Document], predictor: RetrievalPredictor, advance: Advance
) -> Figures:
    """Under `languages`, of each: figures "with" passages and "without", and their "difference".

    A document that the model refuses has no keyphrases in either; both have the `Refusals`.
    """
    languages: dict[str, Figures] = {}
    for code, group in by_language(documents).items():
        nothing = RetrievalPrediction((), Prediction(()), Prediction(()))
        answers, refusals = ask_all(group, partial(predict_everything, predictor), nothing, advance)
        helped = [answer.prediction for answer in answers]
        alone = [answer.without for answer in answers]
        languages[code] = {
            "with": language_figures(group, helped) | refusals,
            "without": language_figures(group, alone) | refusals,
            "difference": difference(pooled_scores(group, helped), pooled_scores(group, alone)),
        }
    return {"documents": len(documents), "languages": languages}


def difference(
    first: Sequence[SetScores | None], second: Sequence[SetScores | None]
) -> dict[str, float | None] | None:
    """The mean difference of F1@M, paired by document, and its 95 % interval, None as in `margin`.

    None where no document has keyphrases.
    """
    values = [one.f1 - other.f1 for one, other in zip(first, second, strict=True) if one and other]
    if not values:
        return None
    mean, half = fmean(values), margin(values)
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return {"mean": mean, "low": low, "high": high}


def rounds_result(path: Path) -> Result:
    """What a run of RGIT recorded of its rounds, to be stored.

    Args:
        path: the file `rgit.json` of its folder.

    Raises:
        ConfigError: there is no such file, or it has no rounds.
    """
    try:
        rounds: Result = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The rounds at {path} cannot be read ({error}): check --rounds.") from error
    if not _are_rounds(rounds):
        raise ConfigError(f"{path} has no rounds: give the rgit.json of a model's training as --rounds.")
    return {"kind": "rounds"} | rounds


def _are_rounds(told: Any) -> bool:
    """Whether all is there that the tables of the rounds show."""
    rounds = told.get("rounds") if isinstance(told, dict) else None
    if not isinstance(rounds, list) or not _is_count(told.get("best")):
        return False
    return 1 <= told["best"] <= len(rounds) and all(map(_is_round, rounds))


def _is_round(told: Any) -> bool:
    if not isinstance(told, dict) or not _is_count(told.get("round")):
        return False
    recall = told.get("recall")
    if not isinstance(recall, dict) or not all(_is_share(recall.get(str(k))) for k in CUT_OFFS):
        return False
    if "pseudo_pairs" not in told:
        return True
    accuracy = told.get("label_accuracy", "")  # none where no true passage is known
    figures = [told.get("base_f1"), told.get("f1"), *([] if accuracy is None else [accuracy])]
    return _is_count(told["pseudo_pairs"]) and all(map(_is_share, figures))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


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
        self.results.write(name, join_figures(result, known))


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
    from kpdemo.vectors import Method, project

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
