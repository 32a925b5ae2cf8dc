"""The systems that are scored: baselines and files of scores, calibrated on training grades if wished.

Systems that need no training here: the similarity of the two items, from the lowest grade of a scale to its
highest, 0 to 4 where none is told.
A word and a sense are compared by their WordNet definitions, examples included: of all senses of the word the
most similar one counts (Jurgens et al. 2014, section 4). A sense that is no sense key is its own definition.
A similarity that knows words compares the word itself with the definition, without the examples, which may
hold the word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np

from annotation.agreement import Floats
from annotation.comparison import types_in_order
from annotation.errors import ScoreFileError, WordNetError
from annotation.exchange import fingerprint
from annotation.files.scores import GoldPair, Key, Scores, read_scores
from annotation.scale import CLSS, Scale
from annotation.senses import WORD_TO_SENSE, WORDNET_PROBLEMS, is_sense_key, word_of
from annotation.similarity import substring_similarity, tiling_similarity
from annotation.system_report import System
from annotation.translation import _, mark, ngettext, retell, tell
from kpdemo.translation import ENGLISH, use_language

Similarities = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""How alike the two texts of each pair are, 0 to 1."""


def one_by_one(similarity: Callable[[str, str], float]) -> Similarities:
    """A similarity of two texts, for many pairs."""

    def similarities(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [similarity(first, second) for first, second in pairs]

    return similarities


BASELINES: dict[str, Similarities] = {
    "lcs": one_by_one(substring_similarity),
    "gst": one_by_one(tiling_similarity),
}
EMBEDDING = "embedding"
"""The system that compares vectors. Its similarities come from the models, which annotation does not know."""
_EXAMPLES = re.compile(r';\s*"')


class UnknownWords(StrEnum):
    """What a pair scores whose word or sense key WordNet does not have."""

    MEAN = "mean"
    """The mean of the others, as the task's paper says and its scores of the test pairs have it."""
    ZERO = "zero"
    """The lowest grade, as in the task's scores of the training pairs."""


class Senses(Protocol):
    """What the baselines ask WordNet."""

    def of_word(self, word: str, part_of_speech: str | None) -> list[str]:
        """The definition of each sense, with its examples; none of an unknown word."""

    def of_key(self, sense_key: str) -> str | None:
        """The definition of one sense; None of an unknown key."""


def baseline_scores(
    pairs: Sequence[GoldPair],
    similarities: Similarities,
    *,
    senses: Senses | None,
    unknown_words: UnknownWords = UnknownWords.MEAN,
    knows_words: bool = False,
    scale: Scale = CLSS,
) -> list[float | None]:
    """The score of each pair, on the scale; without `senses` None for pairs of a word and a sense.

    Args:
        similarities: is asked once, for all texts that are compared.
        knows_words: whether it is to compare words rather than their definitions with senses.
    """
    compared = [_texts_to_compare(pair, senses, knows_words=knows_words) for pair in pairs]
    found = iter(similarities([texts for several in compared for texts in several]))
    alike = [max(next(found) for _ in several) if several else None for several in compared]
    scores = [None if share is None else scale.lowest + scale.range * share for share in alike]
    if senses is None:
        return scores
    is_sense = [pair.type == WORD_TO_SENSE for pair in pairs]
    known = [
        score for score, of_sense in zip(scores, is_sense, strict=True) if of_sense and score is not None
    ]
    has_mean = unknown_words is UnknownWords.MEAN and known
    instead = sum(known) / len(known) if has_mean else float(scale.lowest)
    return [instead if score is None else score for score in scores]


def _texts_to_compare(pair: GoldPair, senses: Senses | None, *, knows_words: bool) -> list[tuple[str, str]]:
    """The texts to compare, of which the two most similar count; none where a word or sense is unknown."""
    if pair.type != WORD_TO_SENSE:
        return [(pair.left, pair.right)]
    if senses is None:
        return []
    sense = senses.of_key(pair.right) if is_sense_key(pair.right) else pair.right
    if sense is None:
        return []
    word, part_of_speech = word_of(pair.left)
    if knows_words:
        return [(word, _EXAMPLES.split(sense, maxsplit=1)[0])]
    return [(definition, sense) for definition in senses.of_word(word, part_of_speech)]


def isotonic(training_scores: Floats, training_gold: Floats, scores: Floats) -> Floats:
    """The grades that isotonic regression expects for `scores` (N,).

    The curve never falls, runs straight between training scores and stays level beyond them: Spearman's
    correlation can only change by ties, Pearson's by what the curve straightens.

    Args:
        training_scores: (M,) of the same system on other pairs.
        training_gold: (M,) the grades of these pairs.
        scores: what to calibrate.
    """
    from scipy.optimize import isotonic_regression

    domain, places = np.unique(training_scores, return_inverse=True)
    counts = np.bincount(places)
    means = np.bincount(places, weights=training_gold) / counts
    curve = isotonic_regression(means, weights=counts).x
    return np.asarray(np.interp(scores, domain, curve), dtype=np.float64)


LEFT_OUT = mark("{type} is left out: {reason}")
"""The remark of a baseline that had no WordNet."""
CALIBRATED = mark(
    "{name}: its scores are fitted to the grades of {count} other pairs, type by type, by isotonic "
    "regression."
)
"""The remark of a calibrated system; what else there is to say follows it."""


def tell_remark(remark: str) -> str:
    """A remark, which is kept in English, in the language of the answer."""
    first, point, rest = remark.rpartition("isotonic regression.")
    parts = (f"{first}{point}", rest.strip())
    return " ".join(retell(part, CALIBRATED, LEFT_OUT, *WORDNET_PROBLEMS) for part in parts if part)


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """A system known by its scores."""

    name: str
    path: Path
    training: Path | None = None
    """Its scores of the training pairs."""


@dataclass(frozen=True, slots=True)
class BuiltInSystem:
    """A system that is run here."""

    name: str
    baseline: str
    """What it is called here: a baseline, or `EMBEDDING`."""
    similarities: Similarities
    unknown_words: UnknownWords = UnknownWords.MEAN
    scale: Scale = CLSS
    """Of the grades that its scores are beside."""


def needs_senses(requests: Sequence[ScoreFile | BuiltInSystem], pairs: Sequence[GoldPair]) -> bool:
    """Whether a definition of WordNet will be asked for."""
    has_baseline = any(isinstance(request, BuiltInSystem) for request in requests)
    return has_baseline and any(pair.type == WORD_TO_SENSE for pair in pairs)


def open_senses(opened: Callable[[], Senses], *, is_optional: bool) -> tuple[Senses | None, str]:
    """WordNet, or, where it is optional, why there is none.

    Args:
        opened: opens it.

    Raises:
        WordNetError: there is none, and it is not optional.
    """
    if not is_optional:
        return opened(), ""
    with use_language(ENGLISH):  # the reason is kept, for readers of any language
        try:
            return opened(), ""
        except WordNetError as error:
            return None, LEFT_OUT.format(type=WORD_TO_SENSE, reason=error)


def build_system(
    request: ScoreFile | BuiltInSystem,
    gold: Sequence[GoldPair],
    training: Sequence[GoldPair],
    senses: Senses | None,
    without_senses: str = "",
    ungraded: Collection[Key] = (),
) -> System:
    """The system with its score of each gold pair.

    Args:
        request: which.
        gold: what it is measured on.
        training: what its scores are calibrated on, type by type; without any they stay as they are.
        senses: WordNet; without it baselines leave pairs of a word and a sense out.
        without_senses: why there is none, a sentence.
        ungraded: pairs without a gold grade; scores of them in files are left out.

    Raises:
        ScoreFileError: a file of scores cannot be used, or there is nothing to calibrate a type on.
    """
    is_baseline = isinstance(request, BuiltInSystem)
    scores = _scores(request, gold, ungraded, senses)
    lacks = is_baseline and senses is None and any(pair.type == WORD_TO_SENSE for pair in gold)
    system = System(request.name, scores.values, without_senses if lacks else "", scores.left_out)
    if not training:
        return system
    return calibrate(system, gold, _scores(_read_training(request), training, ungraded, senses), training)


def calibrate(
    system: System,
    gold: Sequence[GoldPair],
    training_scores: Scores,
    training: Sequence[GoldPair],
) -> System:
    """The system with its scores fitted, type by type, to the grades of other pairs; its name says so.

    Args:
        gold: what `system.scores` are of.
        training_scores: of the same system.
        training: what these are of.

    Raises:
        ScoreFileError: there is nothing to calibrate a type on.
    """
    name = f"{system.name} (calibrated)"
    scores = _fit(system.scores, gold, training_scores.values, training)
    how = CALIBRATED.format(name=name, count=f"{len(training):,}")
    left_out = system.left_out + training_scores.left_out
    return System(name, tuple(scores), " ".join(filter(None, (how, system.remark))), left_out)


def left_out_text(scores: int) -> str:
    """That so many scores were of pairs without a gold grade."""
    return ngettext(
        "{count} score is left out, as its pair has no gold grade so far.",
        "{count} scores are left out, as their pairs have no gold grade so far.",
        scores,
        count=f"{scores:,}",
    )


def scores_text(system: System, gold: Sequence[GoldPair], called: Callable[[str], str] = str) -> str:
    """Which types of the gold set a system is scored on, and how many pairs of which types it leaves out.

    Args:
        gold: what `system.scores` are of.
        called: what the reader calls a comparison type.
    """
    types = [pair.type for pair, score in zip(gold, system.scores, strict=True) if score is not None]
    lacking = [pair.type for pair, score in zip(gold, system.scores, strict=True) if score is None]
    scored = ngettext(
        "{count} score ({types}).",
        "{count} scores ({types}).",
        len(types),
        count=f"{len(types):,}",
        types=_list_types(types, called),
    )
    if not lacking:
        return scored
    unscored = ngettext(
        "{count} of {pairs}, those of {types}, has no score.",
        "{count} of {pairs}, those of {types}, have no score.",
        len(lacking),
        count=f"{len(lacking):,}",
        pairs=ngettext("{count} pair", "{count} pairs", len(gold), count=f"{len(gold):,}"),
        types=_list_types(lacking, called),
    )
    return " ".join(filter(None, (scored, unscored, tell_remark(system.remark))))


def check_apart(gold: Sequence[GoldPair], training: Sequence[GoldPair]) -> None:
    """Nothing may be measured on what it was calibrated on.

    Raises:
        ScoreFileError: a pair is in both.
    """
    known = {fingerprint(pair.type, pair.left, pair.right): pair for pair in training}
    both = [pair for pair in gold if fingerprint(pair.type, pair.left, pair.right) in known]
    if both:
        first, again = both[0], known[fingerprint(both[0].type, both[0].left, both[0].right)]
        raise ScoreFileError(
            _(
                "{place}: the pair is also in the training grades ({again}), as are {count} of {pairs} in "
                "all; calibrate on pairs other than those that are scored.",
                place=tell(first.place),
                again=again.place,
                count=f"{len(both):,}",
                pairs=f"{len(gold):,}",
            )
        )


def _list_types(types: Sequence[str], called: Callable[[str], str]) -> str:
    return ", ".join(called(type) for type in types_in_order(types))


def _read_training(request: ScoreFile | BuiltInSystem) -> ScoreFile | BuiltInSystem:
    if isinstance(request, BuiltInSystem):
        return request
    if request.training is None:
        raise ScoreFileError(
            _(
                "{file} cannot be calibrated without the same system's scores of the training pairs; name "
                "them with --training-scores.",
                file=request.path,
            )
        )
    return ScoreFile(request.name, request.training)


def _scores(
    request: ScoreFile | BuiltInSystem,
    pairs: Sequence[GoldPair],
    ungraded: Collection[Key],
    senses: Senses | None,
) -> Scores:
    if isinstance(request, ScoreFile):
        return read_scores(request.path, pairs, ungraded)
    found = baseline_scores(
        pairs,
        request.similarities,
        senses=senses,
        unknown_words=request.unknown_words,
        knows_words=request.baseline == EMBEDDING,
        scale=request.scale,
    )
    return Scores(tuple(found))


def _fit(
    scores: Sequence[float | None],
    gold: Sequence[GoldPair],
    training_scores: Sequence[float | None],
    training: Sequence[GoldPair],
) -> list[float | None]:
    calibrated = list(scores)
    scored = {pair.type for pair, score in zip(gold, scores, strict=True) if score is not None}
    for type in sorted(scored):
        seen = [
            (score, pair.gold)
            for pair, score in zip(training, training_scores, strict=True)
            if pair.type == type and score is not None
        ]
        if not seen:
            raise ScoreFileError(
                _(
                    "The training grades have no scored pair of {type} to calibrate on; add some, or leave "
                    "the type out of what is measured.",
                    type=type,
                )
            )
        places = [place for place, pair in enumerate(gold) if pair.type == type]
        training_values, training_grades = np.array(seen, dtype=np.float64).T
        own = np.array([scores[place] for place in places], dtype=np.float64)
        fitted = isotonic(training_values, training_grades, own)
        for place, value in zip(places, fitted.tolist(), strict=True):
            calibrated[place] = value
    return calibrated
