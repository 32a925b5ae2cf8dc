"""Errors with one sentence for the user: what is wrong, the value, what to do."""

from collections.abc import Callable
from typing import TypeVar

from annotation.translation import ngettext
from kpdemo.errors import KpdemoError

Value = TypeVar("Value")


class AnnotationError(KpdemoError):
    """The base of every error that annotation raises on purpose."""


class GradeError(AnnotationError, ValueError):
    """The grade is not on the project's scale."""


class ImportFileError(AnnotationError, ValueError):
    """A file cannot be imported: the message names file, line and field."""

    pair_id: str | None = None
    """Of the line's pair, where the line says it."""


class SettingsError(AnnotationError, ValueError):
    """A setting of a project, or a name, cannot be used as it is."""


class WrongSettings:
    """Gathers what is wrong with several settings, so that all of it is told at once."""

    def __init__(self) -> None:
        self._problems: list[str] = []

    def check(self, check: Callable[..., Value], *given: object, instead: Value) -> Value:
        """What `check` makes of what was given; where it cannot, that is noted, and it is `instead`."""
        try:
            return check(*given)
        except SettingsError as error:
            self._problems.append(str(error))
            return instead

    def raise_if_any(self) -> None:
        """Raise what was noted, as one SettingsError with a sentence for each; nothing where all is right."""
        if self._problems:
            raise SettingsError(" ".join(self._problems))


class NotFoundError(AnnotationError, LookupError):
    """There is no such project, pair or user."""


class AccessError(AnnotationError):
    """The user is not signed in, or has not the role that this needs."""


class SignedOutError(AccessError):
    """Nobody is signed in: the session ended, or there was none."""


class ConsentError(AccessError):
    """The user has to agree to the project's text, as it reads now, before working in it."""


class TrainingPairsError(AccessError):
    """The rater has to grade the project's training pairs before working in it."""


class BlockedError(AccessError):
    """The rater's grades of check pairs keep them from going on."""


class SignInError(AnnotationError):
    """The name and password do not fit, or there were too many attempts."""


class TooManyAttemptsError(SignInError):
    """No more attempts are allowed for a while."""

    def __init__(self, minutes: int) -> None:
        super().__init__(
            ngettext(
                "There were too many attempts: try again in {count} minute.",
                "There were too many attempts: try again in {count} minutes.",
                minutes,
            )
        )
        self.minutes = minutes


class InvitationError(AnnotationError):
    """The link was used already, ended, or is not known."""


class AssignmentError(AnnotationError):
    """The pair is not the rater's to grade: given to others meanwhile, or closed to changes."""


class PairError(AnnotationError):
    """A pair cannot be removed or withdrawn: somebody has met it, or its id does not tell which it is."""


class WritingError(AnnotationError):
    """A text cannot be kept, submitted or accepted as it is, or is no longer the writer's."""


class TextError(WritingError):
    """The text is empty, or has not the size of its type."""


class StaleTextError(WritingError):
    """The text was changed in another window since; nothing is overwritten."""


class ExportError(AnnotationError):
    """The gold set cannot be written."""


class UnfinishedError(ExportError):
    """Pairs have no gold grade yet, and nobody said what becomes of them."""

    def __init__(self, problem: str, missing: int) -> None:
        super().__init__(
            ngettext(
                "{problem}: have it graded and adjudicated, leave it out, or list it in a separate file.",
                "{problem}: have them graded and adjudicated, leave them out, or list them in a separate "
                "file.",
                missing,
                problem=problem,
            )
        )
        self.problem = problem
        self.missing = missing


class NoteError(AnnotationError, ValueError):
    """A comment or note cannot be kept as it is."""


class ScoreFileError(AnnotationError, ValueError):
    """Gold grades or scores cannot be read: the message names file and line."""


class WordNetError(AnnotationError):
    """There is no WordNet, or it cannot be read."""


class ModelError(AnnotationError):
    """A model that was asked for cannot be used."""


class HandOverError(AnnotationError, ValueError):
    """What a page handed over is too large, or is not kept any more."""
