"""The scale of SemEval-2014 Task 3 (Jurgens et al. 2014, Table 1): 0 to 4, with steps between the points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from annotation.errors import GradeError


@dataclass(frozen=True, slots=True)
class Point:
    """A named point of the scale."""

    value: int
    name: str
    summary: str
    """One line for the button."""
    description: str
    """The paper's own words, or a project's."""


CLSS_POINTS = (
    Point(
        0,
        "Unrelated",
        "Different meaning, different topic.",
        "The two items do not mean the same thing and are not on the same topic.",
    ),
    Point(
        1,
        "Slightly related",
        "Dissimilar, but may stand in one document.",
        "The two items describe dissimilar concepts, ideas and actions, but may share some small details or "
        "domain in common and might be likely to be found together in a longer document on the same topic.",
    ),
    Point(
        2,
        "Somewhat related but not similar",
        "Dissimilar meaning, related ideas.",
        "The two items have dissimilar meaning, but share concepts, ideas, and actions that are related. "
        "The smaller text may use related but not necessarily similar concepts (window vs. house) but "
        "should still share some overlapping concepts, ideas, or actions with the larger text.",
    ),
    Point(
        3,
        "Somewhat similar",
        "Many of the important ideas, other details.",
        "The two items share many of the same important ideas, concepts, or actions, but include slightly "
        "different details. The smaller text may use similar but not identical concepts (e.g., car vs. "
        "vehicle), or may omit a few of the more important ideas present in the larger text.",
    ),
    Point(
        4,
        "Very similar",
        "The most important ideas are all there.",
        "The two items have very similar meanings and the most important ideas, concepts, or actions in the "
        "larger text are represented in the smaller text. Some less important information may be missing, "
        "but the smaller text is a very good summary of the larger text.",
    ),
)
_OF_EQUALS = {
    2: (
        "Dissimilar meaning, related ideas.",
        "The two items have dissimilar meaning, but share concepts, ideas, and actions that are related. "
        "They may use related but not necessarily similar concepts (window vs. house) but should still share "
        "some overlapping concepts, ideas, or actions.",
    ),
    3: (
        "Many of the important ideas, other details.",
        "The two items share many of the same important ideas, concepts, or actions, but include slightly "
        "different details. They may use similar but not identical concepts (e.g., car vs. vehicle), or one "
        "may omit a few of the more important ideas present in the other.",
    ),
    4: (
        "Both have the most important ideas.",
        "The two items have very similar meanings and share the most important ideas, concepts, or actions. "
        "Some less important information may be in one of them only.",
    ),
}
POINTS_OF_EQUALS = tuple(
    replace(point, summary=summary, description=description)
    for point in CLSS_POINTS
    for summary, description in [_OF_EQUALS.get(point.value, (point.summary, point.description))]
)
"""The same for two items of one size: the paper's words without its larger and smaller text."""
_LOWEST, _HIGHEST = CLSS_POINTS[0].value, CLSS_POINTS[-1].value


@dataclass(frozen=True, slots=True)
class Scale:
    step: Decimal = Decimal("0.25")

    def allows(self, grade: Decimal) -> bool:
        if not (grade.is_finite() and _LOWEST <= grade <= _HIGHEST):
            return False
        rounded = grade.quantize(self.step)
        return rounded == grade and rounded % self.step == 0  # the remainder of 1E-2000000 itself would be 0

    def check(self, grade: Decimal) -> Decimal:
        """The grade itself.

        Raises:
            GradeError: it is not on the scale.
        """
        if not self.allows(grade):
            raise GradeError(f"A grade is {_LOWEST} to {_HIGHEST} in steps of {self.step}, not {grade}.")
        return grade


CLSS = Scale()
