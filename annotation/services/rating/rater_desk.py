"""A rater in a project: what is theirs there, and why they may not work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from annotation.assignment import Progress, RaterProject
from annotation.errors import AccessError, ConsentError, TrainingError
from annotation.services.consent_rows import consent_lacking


@dataclass(frozen=True, slots=True)
class Desk:
    """A rater in a project: what every statement about their queue needs."""

    project: RaterProject
    rater_id: int
    lease: timedelta
    has_expired: bool
    """Somebody else's lease ran out, of a pair or of a check pair."""
    is_paused: bool = False
    must_train: bool = False
    """The project has training pairs, and the rater has neither passed nor been excused."""
    check_every: int = 0
    """One pair in so many is a check pair; 0 for none."""
    shelf_id: int = 0
    """Where the project's check pairs are kept; 0 when it has none."""
    most_per_rater: int | None = None
    """The most pairs that one rater is given; None for any number."""
    has_set_aside: bool = False
    """Grades of theirs are set aside."""
    must_consent: bool = False
    """The project has a text that they have not agreed to as it reads now."""

    @property
    def whose(self) -> dict[str, int]:
        """What `PROJECT`, `SHELF` and `RATER` stand for."""
        return {"project": self.project.id, "shelf": self.shelf_id, "rater": self.rater_id}

    def within_share(self, progress: Progress, held: int) -> Progress:
        """The progress towards the rater's share, where that is less than what there is for them.

        Args:
            held: how many pairs they hold, which they may grade also when the limit is lower by now.
        """
        if self.most_per_rater is None:
            return progress
        most = max(self.most_per_rater, progress.rated + held)
        return replace(progress, total=min(progress.total, most))

    def check_may_work(self) -> None:
        """Refuse what adds to the work, at the moment of the transaction itself.

        Raises:
            AccessError: the rater is paused.
            ConsentError: they have to agree to the project's text first.
            TrainingError: they have to pass the training first.
        """
        self.check_may_train()
        if self.must_train:
            raise TrainingError(
                f"{self.project.name} begins with training pairs: open its rating page and grade them first."
            )

    def check_consent(self) -> None:
        """The same for what they write beside their work.

        Raises:
            ConsentError: they have to agree to the project's text first.
        """
        if self.must_consent:
            raise ConsentError(consent_lacking(self.project.name))

    def check_may_train(self) -> None:
        """The same for training.

        Raises:
            AccessError: the rater is paused.
            ConsentError: they have to agree to the project's text first.
        """
        if self.is_paused and self.has_set_aside:
            raise AccessError(
                f"Some of your grades in {self.project.name} are set aside and do not count: ask your "
                "administrator why, and whether you can continue."
            )
        if self.is_paused:
            raise AccessError(
                f"Your work in {self.project.name} is paused: your grades are kept and count, and your "
                "administrator can tell you when you can continue."
            )
        self.check_consent()
