"""What the form for adding a system holds, read: the gold set, and the system with its scores. No Gradio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from annotation.errors import ScoreFileError
from annotation.files.gold_pairs import GoldPair, gold_digest
from annotation.files.score_uploads import (
    read_uploaded_gold,
    read_uploaded_scores,
    read_uploaded_ungraded,
)
from annotation.senses.dictionary import Dictionary
from annotation.senses.network import WORD_TO_SENSE
from annotation.services.system_limits import check_training
from annotation.services.system_rows import Gold
from annotation.services.systems import UPLOADED, SystemService
from annotation.systems.baselines import BASELINES, EMBEDDING
from annotation.systems.report import System
from annotation.systems.scored import (
    BuiltInSystem,
    build_system,
    calibrated,
    check_apart,
    needs_senses,
    open_senses,
)
from annotation.ui.wording import grouped

OWN, SHOWN, FILES = "own", "shown", "files"
GOLDS = {
    OWN: "The project's gold: all pairs that have a grade now",
    SHOWN: "The gold set that is shown above",
    FILES: "Another gold set, from files",
}


@dataclass(frozen=True, slots=True)
class SystemChoice:
    """What stands in the form."""

    name: str
    what: str
    files: Sequence[Path]
    """Its scores, where it is uploaded."""
    gold: str
    """One of `GOLDS`."""
    gold_files: Sequence[Path]
    gold_id: int | None
    """Of the gold set that is shown."""
    is_calibrated: bool
    training_files: Sequence[Path]
    training_score_files: Sequence[Path]

    @property
    def boxes(self) -> tuple[Sequence[Path], ...]:
        """The files of each box of the form, in their order."""
        return self.files, self.gold_files, self.training_files, self.training_score_files


@dataclass(frozen=True)
class SystemReader:
    """Raises ScoreFileError and the like for what cannot be used; the messages name file and line."""

    systems: SystemService
    dictionary: Dictionary

    def gold(self, project_id: int, choice: SystemChoice) -> Gold:
        """The gold set that was chosen."""
        if choice.gold == FILES:
            pairs = tuple(read_uploaded_gold(choice.gold_files))
            names = ", ".join(file.name for file in choice.gold_files)
            return Gold(names, gold_digest(pairs), pairs, read_uploaded_ungraded(choice.gold_files))
        if choice.gold == SHOWN:
            if choice.gold_id is None:
                raise ScoreFileError("No gold set is shown above: choose the project's, or one from files.")
            return self.systems.gold(project_id, choice.gold_id)
        return self.systems.own_gold(project_id)

    def system(self, choice: SystemChoice, gold: Gold) -> System:
        """The system that was chosen, with its scores of `gold`."""
        if not gold.pairs:
            raise ScoreFileError(
                "The project has no pairs with a gold grade yet: have some graded and adjudicated, or choose "
                "gold from files."
            )
        training = _training(choice.training_files, gold) if choice.is_calibrated else []
        if choice.what == UPLOADED:
            return _uploaded(choice, gold, training)
        run_here = {**BASELINES, EMBEDDING: self.systems.similarities}
        similarities = run_here.get(choice.what)
        if similarities is None:
            raise ScoreFileError(f"There is no system {choice.what!r} here: choose another one.")
        baseline = BuiltInSystem(choice.name or choice.what, choice.what, similarities)
        senses, reason = None, ""
        if needs_senses([baseline], gold.pairs):
            is_optional = any(pair.type != WORD_TO_SENSE for pair in gold.pairs)
            senses, reason = open_senses(self.dictionary.open, is_optional=is_optional)
        return build_system(baseline, gold.pairs, training, senses, reason)


def paths(uploads: Sequence[str] | None) -> list[Path]:
    """The files of a box; none of an empty one."""
    return [Path(upload) for upload in uploads or ()]


def _uploaded(choice: SystemChoice, gold: Gold, training: Sequence[GoldPair]) -> System:
    scores = read_uploaded_scores(choice.files, gold.pairs, gold.ungraded)
    name = choice.name or choice.files[0].name.partition(".")[0]
    system = System(name, scores.values, left_out=scores.left_out)
    if not choice.is_calibrated:
        return system
    ungraded = gold.ungraded | read_uploaded_ungraded(choice.training_files)
    what = "its scores of the training pairs"
    taught = read_uploaded_scores(choice.training_score_files, training, ungraded, what)
    return calibrated(system, gold.pairs, taught, training)


def _training(files: Sequence[Path], gold: Gold) -> Sequence[GoldPair]:
    """The training pairs of the files, none of which is measured on."""
    pairs = read_uploaded_gold(files, "training grades")
    if not pairs:
        raise ScoreFileError("The files of training grades hold no pairs: choose others.")
    check_training(len(pairs), grouped)
    check_apart(gold.pairs, pairs)
    return pairs
