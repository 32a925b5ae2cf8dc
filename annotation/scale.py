"""The scale of SemEval-2014 Task 3 (Jurgens et al. 2014, Table 1), and a project's own words for its points.

The grades stay what they are. Own words, for all types of a project or for some, say what a point means where
those of Table 1 do not fit, such as for keyphrases of a document, or where raters read another language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType

from annotation.comparison import comparison_type, types_in_order
from annotation.errors import GradeError, SettingsError
from annotation.wording import name_key, normalise_name, quote_value


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


LONGEST_POINT_NAME = 40
"""Characters, which a button holds on two lines of a phone."""
LONGEST_DESCRIPTION = 120
"""Characters, which stand under the name on the button."""
ALL_TYPES = ""
"""Has the words of the types that have none of their own."""
FORM = "give five lines such as “0 Unrelated: Another topic.”, for the grades 0 to 4"

_HEADING = re.compile(r"\[(.*)\]")
_COLON = re.compile("[:：]")
"""Between name and description; Chinese has a colon of its own."""
_GRADES = {str(point.value): point.value for point in CLSS_POINTS}

Words = Mapping[str, tuple[Point, ...]]
"""The five points by comparison type, or under `ALL_TYPES`."""


def check_scale_words(text: str, types: Iterable[str]) -> str:
    """The words as they are kept: points from 0 to 4, types in their order, single spaces.

    Raises:
        SettingsError: they are no words for the scale, or for a type that the project does not have.
    """
    words, known = read_scale_words(text), set(types)
    for type in words:
        if type not in known and type != ALL_TYPES:
            raise SettingsError(
                f"The words of the scale are for {quote_value(type)}, which is not a comparison type of the "
                "project: add the type, or leave these words out."
            )
    order = [*([ALL_TYPES] if ALL_TYPES in words else []), *types_in_order(words.keys() - {ALL_TYPES})]
    return "\n\n".join(_as_text(type, words[type]) for type in order)


def scale_points(text: str, type: str = ALL_TYPES) -> tuple[Point, ...]:
    """The five points as the raters of that type read them: in words of the project, else of Table 1.

    Table 1 speaks of a larger and a smaller text; for items of equal size its words are without them.
    """
    words = read_scale_words(text)
    is_of_equals = type != ALL_TYPES and comparison_type(type).is_of_equals
    usual = POINTS_OF_EQUALS if is_of_equals else CLSS_POINTS
    return words.get(type) or words.get(ALL_TYPES) or usual


@lru_cache(maxsize=64)
def read_scale_words(text: str) -> Words:
    """What the text says of the points: five lines, and five for each type under its name.

    >>> text = "0 Wrong: a\\n1 Poor: b\\n2 Fair: c\\n3 Good: d\\n4 Right: e"
    >>> [point.name for point in read_scale_words(f"[document2keyphrase]\\n{text}")["document2keyphrase"]]
    ['Wrong', 'Poor', 'Fair', 'Good', 'Right']

    Raises:
        SettingsError: a line cannot be read, or not exactly the five points have words.
    """
    read: dict[str, dict[int, Point]] = {}
    type = ALL_TYPES
    for number, line in enumerate(text.splitlines(), start=1):
        if not (line := line.strip()):
            continue
        if heading := _HEADING.fullmatch(line):
            type = unicodedata.normalize("NFC", heading[1].strip())
            if type in read or type == ALL_TYPES:
                raise SettingsError(
                    f"The words of the scale, line {number}: {quote_value(line)} names no type, or one a "
                    "second time; head each five lines with one type, such as [document2keyphrase], or with "
                    "none."
                )
            read[type] = {}
            continue
        point = _point(line, number)
        if point.value in read.setdefault(type, {}):
            raise SettingsError(f"The words of the scale, line {number}: {point.value} has a line already.")
        read[type][point.value] = point
    return MappingProxyType({type: _all_five(type, points) for type, points in read.items()})


def earlier_words_text(ratings: int) -> str:
    """What a change of the words means for the grades that there are; nothing where there are none."""
    if not ratings:
        return ""
    were = "grade was" if ratings == 1 else "grades were"
    return f"{ratings:,} {were} given before the words of the scale changed; the gold set's manifest says so."


def _point(line: str, number: int) -> Point:
    where = f"The words of the scale, line {number}"
    head, *rest = _COLON.split(line, maxsplit=1)
    grade, *named = head.split(maxsplit=1) or [""]
    if grade not in _GRADES or not named or not rest:
        raise SettingsError(
            f"{where}: {quote_value(line)} is not a grade from 0 to 4, a name, a colon and a description; "
            f"{FORM}."
        )
    value = _GRADES[grade]
    name, description = normalise_name(named[0], where), normalise_name(rest[0], where)
    limits = (("name", name, LONGEST_POINT_NAME), ("description", description, LONGEST_DESCRIPTION))
    for what, part, longest in limits:
        if not any(unicodedata.category(character)[0] in "LNPS" for character in part):
            raise SettingsError(f"{where}: the {what} of {value} is empty; {FORM}.")
        if len(part) > longest:
            raise SettingsError(
                f"{where}: the {what} of {value} has {len(part):,} characters; give at most {longest}, "
                "which a button of a phone can hold."
            )
    return Point(value, name, description, description)


def _all_five(type: str, points: Mapping[int, Point]) -> tuple[Point, ...]:
    whose = f" for {type}" if type else ""
    if lacking := [str(point.value) for point in CLSS_POINTS if point.value not in points]:
        raise SettingsError(f"The words of the scale{whose} lack those of {', '.join(lacking)}: {FORM}.")
    names: dict[str, int] = {}
    for value, point in sorted(points.items()):
        first = names.setdefault(name_key(point.name), value)
        if first != value:
            raise SettingsError(
                f"The words of the scale{whose} have one name for {first} and {value}, "
                f"{quote_value(point.name)}: give each point a name of its own."
            )
    return tuple(points[point.value] for point in CLSS_POINTS)


def _as_text(type: str, points: tuple[Point, ...]) -> str:
    lines = [f"{point.value} {point.name}: {point.description}" for point in points]
    return "\n".join([f"[{type}]", *lines] if type else lines)
