"""Keyphrases by supervised features, as in KEA (Witten et al. 1999): which phrases of a text are given.

Four features: TF×IDF, the place of the first occurrence, the number of words, and how often the phrase is a
keyphrase of training documents. A logistic regression puts them together, one for each language. KEA itself
has the first two and the last, and naive Bayes on ranges of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpdemo.candidates.chunks import Candidate
from kpdemo.candidates.noun_phrases import inner_ngrams, noun_ngrams
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import LanguageError, ModelLoadError
from kpdemo.evaluation.baselines import Baseline, Scored
from kpdemo.identity import CARD, CONFIG, check_sums, write_sums
from kpdemo.io.files import json_gz, parse_json, read_json_gz, replace_file
from kpdemo.languages import language_name
from kpdemo.text import is_english
from kpdemo.types import Document

KIND = "kea"
FORMAT = 1
_TABLES = "tables.json.gz"

Features = tuple[float, float, float, float]


@dataclass(frozen=True)
class LanguageTables:
    """What was counted and learnt in one language.

    Attributes:
        documents: that the frequencies were counted in.
        frequency: documents that hold a candidate, by its key; of rarer ones nothing is kept.
        keyphrases: in how many documents a phrase is a keyphrase, by its key.
        weights, bias: of the features, see `features`.
        count: keyphrases given to a document.
    """

    documents: int
    frequency: Mapping[str, int]
    keyphrases: Mapping[str, int]
    weights: Features = (0.0, 0.0, 0.0, 0.0)
    bias: float = 0.0
    count: int = 5

    def features(
        self, document: Document, candidates: Sequence[Candidate], *, gold: frozenset[str] = frozenset()
    ) -> list[Features]:
        """One row for each candidate.

        Args:
            gold: the keys of the document's own keyphrases, where it was counted itself: it is left out.
        """
        places = sum(len(candidate.spans) for candidate in candidates)
        own = 1 if gold else 0
        rows = []
        for candidate in candidates:
            frequency = max(self.frequency.get(candidate.key, 0) - own, 0)
            idf = math.log((self.documents + 1) / (frequency + 1))
            known = max(self.keyphrases.get(candidate.key, 0) - (candidate.key in gold), 0)
            first = candidate.spans[0][0] / len(document.text)
            length = float(candidate.key.count(" ") + 1)
            rows.append((100 * len(candidate.spans) / places * idf, first, length, math.log1p(known)))
        return rows

    def probability(self, row: Features) -> float:
        """That a candidate with these features is a keyphrase."""
        total = math.fsum(weight * value for weight, value in zip(self.weights, row, strict=True)) + self.bias
        return 1 / (1 + math.exp(-max(min(total, 500.0), -500.0)))


@dataclass(frozen=True)
class Kea(Baseline):
    """A trained model; `longest` words a candidate."""

    model: str
    tables: Mapping[str, LanguageTables]
    longest: int

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.model

    @property
    def languages(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset(self.tables)

    def score(self, document: Document) -> list[Scored]:
        tables = self._tables(document)
        candidates = mine_ngrams(document, self.longest)
        rows = tables.features(document, candidates)
        return [(candidate, tables.probability(row)) for candidate, row in zip(candidates, rows, strict=True)]

    def own_count(self, document: Document) -> int:
        return self._tables(document).count

    def _tables(self, document: Document) -> LanguageTables:
        if document.language not in self.tables:
            known = ", ".join(map(language_name, self.tables))
            raise LanguageError(
                f"The model {self.model!r} was not trained on {language_name(document.language)}: "
                f"give a document in {known}."
            )
        return self.tables[document.language]


def mine_ngrams(document: Document, longest: int) -> list[Candidate]:
    """Runs of at most `longest` words that could be a keyphrase, with all their places.

    In English noun phrases, else what neither begins nor ends with a stop word and holds no punctuation.
    """
    if is_english(document.language):
        return noun_ngrams(document, load_tagger(), longest)
    return inner_ngrams(document, longest)


def save_kea(folder: Path, model: Kea, card: str) -> None:
    """Write the model, its card and the hashes of both."""
    described = {language: vars(tables) for language, tables in model.tables.items()}
    config = {
        "kind": KIND,
        "format": FORMAT,
        "name": model.model,
        "longest": model.longest,
    }
    replace_file(folder / _TABLES, json_gz(described))
    replace_file(folder / CARD, card.encode())
    replace_file(folder / CONFIG, f"{json.dumps(config, indent=2)}\n".encode())
    write_sums(folder)


def load_kea(folder: Path) -> Kea:
    """Open a folder that `save_kea` wrote.

    Raises:
        ModelLoadError: a file is missing or damaged.
    """
    check_sums(folder, {CONFIG, _TABLES})
    try:
        config = parse_json((folder / CONFIG).read_text(encoding="utf-8"))
        if config["format"] != FORMAT:
            raise ModelLoadError(f"{folder} holds a model of format {config['format']}: update kpdemo.")
        stored = read_json_gz(folder / _TABLES)
        tables = {language: _checked(values) for language, values in stored.items()}
        return Kea(config["name"], tables, int(config["longest"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise ModelLoadError(
            f"The model in {folder} cannot be read ({error}): restore the folder."
        ) from error


def _checked(values: Mapping[str, Any]) -> LanguageTables:
    tables = LanguageTables(**{**values, "weights": tuple(values["weights"])})
    numbers = [tables.documents, tables.bias, tables.count, *tables.weights]
    numbers += [*tables.frequency.values(), *tables.keyphrases.values()]
    if len(tables.weights) != 4 or not all(isinstance(number, int | float) for number in numbers):
        raise ValueError("a table holds something other than numbers")
    return tables
