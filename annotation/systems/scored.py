"""The systems that are scored: files of scores and baselines, calibrated on training grades if wished."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from annotation.comparison import types_in_order
from annotation.errors import ScoreFileError, WordNetError
from annotation.exchange import fingerprint
from annotation.figures import number_of
from annotation.files.gold_pairs import GoldPair, Key
from annotation.files.score_files import Scores, read_scores
from annotation.senses.network import WORD_TO_SENSE
from annotation.systems.baselines import EMBEDDING, Senses, Similarities, UnknownWords, baseline_scores
from annotation.systems.calibration import isotonic
from annotation.systems.report import System

LEFT_OUT = f"{WORD_TO_SENSE} is left out"
"""How the remark of a baseline begins that had no WordNet."""


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
    unknown_words: UnknownWords = UnknownWords.ZERO


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
    try:
        return opened(), ""
    except WordNetError as error:
        if not is_optional:
            raise
        return None, f"{LEFT_OUT}: {error}"


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
    return calibrated(system, gold, _scores(_trained(request), training, ungraded, senses), training)


def calibrated(
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
    scores = _calibrated(system.scores, gold, training_scores.values, training)
    how = (
        f"{name}: its scores are fitted to the grades of {len(training):,} other pairs, type by type, by "
        "isotonic regression."
    )
    left_out = system.left_out + training_scores.left_out
    return System(name, tuple(scores), " ".join(filter(None, (how, system.remark))), left_out)


def left_out_text(scores: int) -> str:
    """That so many scores were of pairs without a gold grade."""
    if scores == 1:
        return "1 score is left out, as its pair has no gold grade so far."
    return f"{scores:,} scores are left out, as their pairs have no gold grade so far."


def scores_text(system: System, gold: Sequence[GoldPair], called: Callable[[str], str] = str) -> str:
    """Which types of the gold set a system is scored on, and how many pairs of which types it leaves out.

    Args:
        gold: what `system.scores` are of.
        called: what the reader calls a comparison type.
    """
    types = [pair.type for pair, score in zip(gold, system.scores, strict=True) if score is not None]
    lacking = [pair.type for pair, score in zip(gold, system.scores, strict=True) if score is None]
    scored = f"{number_of(len(types), 'score')} ({_named(types, called)})."
    if not lacking:
        return scored
    have = "has" if len(lacking) == 1 else "have"
    unscored = f"{len(lacking):,} of {number_of(len(gold), 'pair')}, those of {_named(lacking, called)},"
    return " ".join(filter(None, (scored, f"{unscored} {have} no score.", system.remark)))


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
            f"{first.place}: the pair is also in the training grades ({again.place}), as are {len(both):,} "
            f"of {len(gold):,} in all; calibrate on pairs other than those that are scored."
        )


def _named(types: Sequence[str], called: Callable[[str], str]) -> str:
    return ", ".join(called(type) for type in types_in_order(types))


def _trained(request: ScoreFile | BuiltInSystem) -> ScoreFile | BuiltInSystem:
    if isinstance(request, BuiltInSystem):
        return request
    if request.training is None:
        raise ScoreFileError(
            f"{request.path} cannot be calibrated without the same system's scores of the training pairs; "
            "name them with --training-scores."
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
    )
    return Scores(tuple(found))


def _calibrated(
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
                f"The training grades have no scored pair of {type} to calibrate on; add some, or leave the "
                "type out of what is measured."
            )
        places = [place for place, pair in enumerate(gold) if pair.type == type]
        training_values, training_grades = np.array(seen, dtype=np.float64).T
        own = np.array([scores[place] for place in places], dtype=np.float64)
        fitted = isotonic(training_values, training_grades, own)
        for place, value in zip(places, fitted.tolist(), strict=True):
            calibrated[place] = value
    return calibrated
