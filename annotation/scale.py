"""The scale of a project, and its own words for the points, the question and the two items.

The usual one is that of SemEval-2014 Task 3 (Jurgens et al. 2014, Table 1): 0 to 4 in quarters. Another is
chosen when the project is made. Own words, for all types of a project or for some, say what a point means
where the usual ones do not fit, such as for keyphrases of a document, or where raters read another language.
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
from annotation.translation import _, mark, ngettext
from annotation.wording import name_key, normalise_name, quote_value
from kpdemo.translation import write_decimal


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
STS_POINTS = (
    Point(0, "On different topics", "Nothing in common.", "The two items are on different topics."),
    Point(
        1,
        "On the same topic",
        "Not equivalent, one topic.",
        "The two items are not equivalent, but are on the same topic.",
    ),
    Point(
        2,
        "Share some details",
        "Not equivalent, some details in common.",
        "The two items are not equivalent, but share some details.",
    ),
    Point(
        3,
        "Roughly equivalent",
        "Important information differs or is missing.",
        "The two items are roughly equivalent, but some important information differs or is missing.",
    ),
    Point(
        4,
        "Mostly equivalent",
        "Unimportant details differ.",
        "The two items are mostly equivalent, but some unimportant details differ.",
    ),
    Point(
        5,
        "Completely equivalent",
        "The same meaning.",
        "The two items are completely equivalent, as they mean the same thing.",
    ),
)
"""Those of SemEval-2012 Task 6 (Agirre et al. 2012), of the STS benchmark too."""
_END_POINTS = (
    ("Unrelated", "Different meaning, different topic."),
    ("Very similar", "The same or nearly the same meaning."),
)
"""Of every other scale the two ends are named, unless the project has words of its own."""


def named_points() -> tuple[Point, ...]:
    """Every point that has a name of ours, on one scale or another."""
    ends = (Point(0, *words, words[1]) for words in _END_POINTS)
    return (*CLSS_POINTS, *POINTS_OF_EQUALS, *STS_POINTS, *ends)


MOST_STEPS = 400
"""From the lowest grade to the highest."""
MOST_POINTS = 11
"""Buttons of the rating page."""
FARTHEST = 1000
_WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_RANGE = re.compile(r"(-?\d{1,6})\s*(?:-|–|\.\.|to)\s*(-?\d{1,6})(?:\s*/\s*(\d{1,6}(?:[.,]\d{1,6})?))?")


@dataclass(frozen=True, slots=True)
class Scale:
    """The grades from `lowest` to `highest`, `step` apart; the database has whole numbers of steps from 0."""

    step: Decimal = Decimal("0.25")
    lowest: int = 0
    highest: int = 4

    def allows(self, grade: Decimal) -> bool:
        if not (grade.is_finite() and self.lowest <= grade <= self.highest):
            return False
        rounded = grade.quantize(self.step)
        return rounded == grade and rounded % self.step == 0  # the remainder of 1E-2000000 itself would be 0

    def check(self, grade: Decimal) -> Decimal:
        """The grade itself.

        Raises:
            GradeError: it is not on the scale.
        """
        if not self.allows(grade):
            raise GradeError(
                _(
                    "A grade is {low} to {high} in steps of {step}, not {grade}.",
                    low=self.lowest,
                    high=self.highest,
                    step=self.step,
                    grade=grade,
                )
            )
        return grade

    @property
    def range(self) -> int:
        """From the lowest grade to the highest."""
        return self.highest - self.lowest

    @property
    def distances(self) -> Scale:
        """How far apart two grades can be."""
        return Scale(self.step, 0, self.range)

    @property
    def ends(self) -> str:
        """ "0 to 4"."""
        return f"{self.lowest} to {self.highest}"

    @property
    def text(self) -> str:
        """ "0 to 4 in steps of 0.25"."""
        return f"{self.ends} in steps of {self.step}"

    @property
    def words(self) -> str:
        """`text` in the language of the answer."""
        step = write_decimal(self.step)
        return _("{low} to {high} in steps of {step}", low=self.lowest, high=self.highest, step=step)

    @property
    def example(self) -> Decimal:
        """A grade for messages: 2.75 of 0 to 4."""
        return self.from_steps(int((self.lowest + self.range * Decimal("0.6875")) / self.step))

    @property
    def name(self) -> str:
        """As `parse_scale` reads it: "0-4/0.25"."""
        return f"{self.lowest}-{self.highest}/{self.step}"

    @property
    def points(self) -> tuple[int, ...]:
        """The grades that have a button: whole numbers, at most 11.

        >>> Scale(Decimal(1), 0, 100).points[:3], Scale(Decimal(1), 1, 7).points
        ((0, 10, 20), (1, 2, 3, 4, 5, 6, 7))
        """
        width = next(
            (
                width
                for width in _WIDTHS
                if self.range % width == 0 and self.range < MOST_POINTS * width and width % self.step == 0
            ),
            self.range,
        )
        return tuple(range(self.lowest, self.highest + 1, width))

    @property
    def steps(self) -> tuple[Decimal, ...]:
        """In which raters may be asked to grade, the finest first: from the scale's own to one point.

        >>> [str(step) for step in CLSS.steps]
        ['0.25', '0.5', '1']
        """
        wider = (self.step, *map(Decimal, ("0.2", "0.25", "0.5", "1")))
        return tuple(
            dict.fromkeys(
                step
                for step in wider
                if step >= self.step and step % self.step == 0 and all(end % step == 0 for end in self._ends)
            )
        )

    @property
    def _ends(self) -> tuple[int, int]:
        return self.lowest, self.highest

    def to_steps(self, grade: Decimal) -> int:
        """A grade, or a difference of two, as the whole number of steps that the database has."""
        return int(grade / self.step)

    def from_steps(self, steps: int) -> Decimal:
        """What so many steps stand for: of quarters, 11 are 2.75.

        >>> str(CLSS.from_steps(11)), str(Scale(Decimal("0.5"), 0, 10).from_steps(20))
        ('2.75', '10')
        """
        grade = steps * self.step
        return Decimal(int(grade)) if grade == int(grade) else grade.normalize()

    def share(self, share: Decimal) -> Decimal:
        """A difference that is such a share of the range, in whole steps, one at least.

        >>> str(CLSS.share(Decimal("0.25"))), str(Scale(Decimal(1), 1, 7).share(Decimal("0.25")))
        ('1', '2')
        """
        return self.from_steps(max(1, round(self.range * share / self.step)))


CLSS = Scale()
STS = Scale(Decimal("0.05"), 0, 5)
"""In twentieths, which hold means of four raters and of five; who grades goes by whole points, as there."""
ANY_SCALE = Scale(Decimal("0.000001"), -FARTHEST, FARTHEST)
"""Has the grades of all others, for files whose scale nobody has told."""
PRESETS: Mapping[str, tuple[Scale, Decimal]] = MappingProxyType(
    {
        "clss": (CLSS, Decimal("0.25")),
        "sts": (STS, Decimal(1)),
        "0-10": (Scale(Decimal("0.05"), 0, 10), Decimal("0.25")),  # WordSim-353 has quarters and tenths
        "1-7": (Scale(Decimal(1), 1, 7), Decimal(1)),
    }
)
"""Scales by name, each with the step that raters begin with."""


def parse_scale(text: str) -> tuple[Scale, Decimal]:
    """The scale that a name or "LOWEST-HIGHEST/STEP" means, and the step that raters begin with.

    >>> parse_scale("0–100/5")[0].points[-1]
    100

    Raises:
        SettingsError: it cannot be used.
    """
    name = text.strip().lower()
    if name in PRESETS:
        return PRESETS[name]
    found = _RANGE.fullmatch(name)
    if found is None:
        raise SettingsError(
            _(
                "{text} is no scale: give {names}, or lowest, highest and step such as 1-5/0.5.",
                text=quote_value(text),
                names=", ".join(PRESETS),
            )
        )
    step = Decimal((found[3] or "1").replace(",", "."))
    scale = check_scale(Scale(step, int(found[1]), int(found[2])))
    return scale, scale.step


def check_scale(scale: Scale) -> Scale:
    """The scale with its step as it is kept, 0.5 for 0.50.

    Raises:
        SettingsError: it cannot be used.
    """
    lowest, highest, step = scale.lowest, scale.highest, scale.step
    if not -FARTHEST <= lowest < highest <= FARTHEST:
        raise SettingsError(
            _(
                "The scale goes from {lowest} to {highest}: give whole numbers from {least} to {most}, the "
                "lowest grade first.",
                lowest=lowest,
                highest=highest,
                least=-FARTHEST,
                most=FARTHEST,
            )
        )
    if not (step.is_finite() and 0 < step <= highest - lowest) or lowest % step or highest % step:
        raise SettingsError(
            _(
                "Steps of {step}, counted from 0, do not meet {lowest} and {highest}: give a step that "
                "divides both, such as 0.25.",
                step=step,
                lowest=lowest,
                highest=highest,
            )
        )
    if (highest - lowest) / step > MOST_STEPS:
        raise SettingsError(
            _(
                "From {lowest} to {highest} in steps of {step} there are {number} grades: give a step that "
                "makes at most {most}.",
                lowest=lowest,
                highest=highest,
                step=step,
                number=f"{int((highest - lowest) / step) + 1:,}",
                most=MOST_STEPS + 1,
            )
        )
    kept = Decimal(int(step)) if step == int(step) else step.normalize()
    return replace(scale, step=kept)


def usual_points(scale: Scale, *, is_of_equals: bool = False) -> tuple[Point, ...]:
    """The points of a scale without own words; those that have no name have an empty one."""
    if (scale.lowest, scale.highest) == (CLSS.lowest, CLSS.highest):
        of_clss = POINTS_OF_EQUALS if is_of_equals else CLSS_POINTS
        return tuple(point for point in of_clss if point.value in scale.points)
    if scale.points == tuple(point.value for point in STS_POINTS):
        return STS_POINTS
    ends = {
        value: Point(value, name, summary, summary)
        for value, (name, summary) in zip((scale.lowest, scale.highest), _END_POINTS, strict=True)
    }
    return tuple(ends.get(value, Point(value, "", "", "")) for value in scale.points)


LONGEST_POINT_NAME = 40
"""Characters, which a button holds on two lines of a phone."""
LONGEST_DESCRIPTION = 120
"""Characters, which stand under the name on the button."""
ALL_TYPES = ""
"""Has the words of the types that have none of their own."""
LONGEST_QUESTION = 200
LONGEST_ITEM_NAME = 40

_HEADING = re.compile(r"\[(.*)\]")
_COLON = re.compile("[:：]")
"""Between name and description; Chinese has a colon of its own."""
_OF_ITEMS = re.compile(r"(question|larger|smaller)\s*[:：](.*)", re.IGNORECASE)

Words = Mapping[str, tuple[Point, ...]]
"""The points by comparison type, or under `ALL_TYPES`."""


@dataclass(frozen=True, slots=True)
class ItemWords:
    """A project's own question and names of the two items; empty where it has the usual ones."""

    question: str = ""
    larger: str = ""
    smaller: str = ""


@dataclass(frozen=True, slots=True)
class _ReadWords:
    points: Words
    items: Mapping[str, ItemWords]
    """By type, or under `ALL_TYPES`."""


def check_scale_words(text: str, types: Iterable[str], scale: Scale = CLSS) -> str:
    """The words as they are kept: points from the lowest, types in their order, single spaces.

    Raises:
        SettingsError: they are no words for the scale, or for a type that the project does not have.
    """
    words, known = _read_words(text, scale), set(types)
    named = words.points.keys() | words.items.keys()
    for type in (*words.points, *words.items):
        if type not in known and type != ALL_TYPES:
            raise SettingsError(
                _(
                    "The words of the scale are for {type}, which is not a comparison type of the project: "
                    "add the type, or leave these words out.",
                    type=quote_value(type),
                )
            )
    order = [*([ALL_TYPES] if ALL_TYPES in named else []), *types_in_order(named - {ALL_TYPES})]
    return "\n\n".join(
        _as_text(type, words.items.get(type, ItemWords()), words.points.get(type, ())) for type in order
    )


def scale_points(text: str, type: str = ALL_TYPES, scale: Scale = CLSS) -> tuple[Point, ...]:
    """The points as the raters of that type read them: in words of the project, else the usual ones.

    Table 1 speaks of a larger and a smaller text; for items of equal size its words are without them.
    """
    words = read_scale_words(text, scale)
    is_of_equals = type != ALL_TYPES and comparison_type(type).is_of_equals
    return words.get(type) or words.get(ALL_TYPES) or usual_points(scale, is_of_equals=is_of_equals)


def item_words(text: str, type: str, scale: Scale = CLSS) -> ItemWords:
    """The question and the names of the items as the raters of that type read them.

    >>> item_words("Question: Wie ähnlich sind sie?\\n[word2sense]\\nSmaller: Bedeutung", "word2sense")
    ItemWords(question='Wie ähnlich sind sie?', larger='Word', smaller='Bedeutung')
    """
    words, kind = _read_words(text, scale).items, comparison_type(type)
    own, common = words.get(type, ItemWords()), words.get(ALL_TYPES, ItemWords())
    first, second = kind.headings
    return ItemWords(
        own.question or common.question or kind.question,
        own.larger or common.larger or first,
        own.smaller or common.smaller or second,
    )


def item_names(text: str, type: str, scale: Scale = CLSS) -> tuple[str, str]:
    """What the larger and the smaller item are called where one of them stands alone.

    >>> item_names("", "sentence2sentence"), item_names("Smaller: Wort", "phrase2word")
    (('Sentence', 'Sentence'), ('Phrase', 'Wort'))
    """
    words, kind = item_words(text, type, scale), comparison_type(type)
    first, second = kind.headings
    larger = kind.larger if words.larger == first else words.larger
    return larger, kind.smaller if words.smaller == second else words.smaller


def read_item_words(text: str, scale: Scale = CLSS) -> Mapping[str, ItemWords]:
    """What the text says of the question and the items, by type or under `ALL_TYPES`; empty where nothing."""
    return _read_words(text, scale).items


def read_scale_words(text: str, scale: Scale = CLSS) -> Words:
    """What the text says of the points: a line each, and those of a type under its name.

    >>> text = "0 Wrong: a\\n1 Poor: b\\n2 Fair: c\\n3 Good: d\\n4 Right: e"
    >>> [point.name for point in read_scale_words(f"[document2keyphrase]\\n{text}")["document2keyphrase"]]
    ['Wrong', 'Poor', 'Fair', 'Good', 'Right']

    Raises:
        SettingsError: a line cannot be read, or not exactly the points of the scale have words.
    """
    return _read_words(text, scale).points


@lru_cache(maxsize=64)
def _read_words(text: str, scale: Scale) -> _ReadWords:
    read: dict[str, dict[int, Point]] = {}
    items: dict[str, dict[str, str]] = {}
    headings: set[str] = set()
    type = ALL_TYPES
    for number, line in enumerate(text.splitlines(), start=1):
        if not (line := line.strip()):
            continue
        if heading := _HEADING.fullmatch(line):
            type = unicodedata.normalize("NFC", heading[1].strip())
            if type in headings or type == ALL_TYPES:
                raise SettingsError(
                    _(
                        "The words of the scale, line {number}: {line} names no type, or one a second time; "
                        "head each five lines with one type, such as [document2keyphrase], or with none.",
                        number=number,
                        line=quote_value(line),
                    )
                )
            headings.add(type)
            continue
        if of_items := _OF_ITEMS.fullmatch(line):
            what = of_items[1].lower()
            items.setdefault(type, {})[what] = _item_word(what, of_items[2], number, items.get(type, {}))
            continue
        point = _point(line, number, scale)
        if point.value in read.setdefault(type, {}):
            raise SettingsError(
                _("{where}: {point} has a line already.", where=_place(number), point=point.value)
            )
        read[type][point.value] = point
    for type in headings - items.keys():
        read.setdefault(type, {})
    return _ReadWords(
        MappingProxyType({type: _all_points(type, points, scale) for type, points in read.items()}),
        MappingProxyType({type: ItemWords(**words) for type, words in items.items()}),
    )


def _item_word(what: str, text: str, number: int, before: Mapping[str, str]) -> str:
    where, called = _place(number), _(_ITEM_WORDS[what])
    if what in before:
        raise SettingsError(_("{where}: the {called} has a line already.", where=where, called=called))
    kept, longest = normalise_name(text, where), LONGEST_QUESTION if what == "question" else LONGEST_ITEM_NAME
    if not _has_words(kept):
        raise SettingsError(
            _("{where}: the {called} is empty; write it, or leave the line out.", where=where, called=called)
        )
    if len(kept) > longest:
        raise SettingsError(
            _(
                "{where}: the {called} has {length} characters; give at most {most}.",
                where=where,
                called=called,
                length=f"{len(kept):,}",
                most=longest,
            )
        )
    return kept


_ITEM_WORDS = {
    "question": mark("question"),
    "larger": mark("name of the larger item"),
    "smaller": mark("name of the smaller item"),
}


def _place(number: int) -> str:
    return _("The words of the scale, line {number}", number=number)


def _form(scale: Scale) -> str:
    """What to give, for messages."""
    figures = {"low": scale.lowest, "high": scale.highest}
    if not _names_all(scale):
        return _(
            "give lines such as “{low} Unrelated: Another topic.”, for {low} and {high} at least", **figures
        )
    if len(scale.points) == len(CLSS_POINTS):
        return _(
            "give five lines such as “{low} Unrelated: Another topic.”, for the grades {low} to {high}",
            **figures,
        )
    return _(
        "give {count} lines such as “{low} Unrelated: Another topic.”, for the grades {low} to {high}",
        count=len(scale.points),
        **figures,
    )


def _names_all(scale: Scale) -> bool:
    """Whether each point has to have words; of a scale with many the two ends are enough."""
    return len(scale.points) <= len(STS_POINTS)


def _has_words(text: str) -> bool:
    return any(unicodedata.category(character)[0] in "LNPS" for character in text)


def earlier_words_text(ratings: int) -> str:
    """What a change of the words means for the grades that there are; nothing where there are none."""
    if not ratings:
        return ""
    return ngettext(
        "{count} grade was given before the words of the scale changed; the gold set's manifest says so.",
        "{count} grades were given before the words of the scale changed; the gold set's manifest says so.",
        ratings,
        count=f"{ratings:,}",
    )


def _point(line: str, number: int, scale: Scale) -> Point:
    where, form = _place(number), _form(scale)
    head, *rest = _COLON.split(line, maxsplit=1)
    grade, *named = head.split(maxsplit=1) or [""]
    grades = {str(point): point for point in scale.points}
    if grade not in grades or not named or not rest:
        told = {"where": where, "line": quote_value(line), "form": form}
        raise SettingsError(
            _(
                "{where}: {line} is not a grade from {low} to {high}, a name, a colon and a description; "
                "{form}.",
                low=scale.lowest,
                high=scale.highest,
                **told,
            )
            if scale.points[1] - scale.points[0] == 1
            else _(
                "{where}: {line} is not one of the grades {grades}, a name, a colon and a description; "
                "{form}.",
                grades=", ".join(grades),
                **told,
            )
        )
    value = grades[grade]
    name, description = normalise_name(named[0], where), normalise_name(rest[0], where)
    limits = (
        (mark("name"), name, LONGEST_POINT_NAME),
        (mark("description"), description, LONGEST_DESCRIPTION),
    )
    for what, part, longest in limits:
        told = {"where": where, "what": _(what), "grade": str(value)}
        if not _has_words(part):
            raise SettingsError(_("{where}: the {what} of {grade} is empty; {form}.", form=form, **told))
        if len(part) > longest:
            raise SettingsError(
                _(
                    "{where}: the {what} of {grade} has {length} characters; give at most {most}, which a "
                    "button of a phone can hold.",
                    length=f"{len(part):,}",
                    most=longest,
                    **told,
                )
            )
    return Point(value, name, description, description)


def _all_points(type: str, points: Mapping[int, Point], scale: Scale) -> tuple[Point, ...]:
    words = _("The words of the scale for {type}", type=type) if type else _("The words of the scale")
    needed = scale.points if _names_all(scale) else (scale.lowest, scale.highest)
    if lacking := [str(value) for value in needed if value not in points]:
        raise SettingsError(
            _(
                "{words} lack those of {grades}: {form}.",
                words=words,
                grades=", ".join(lacking),
                form=_form(scale),
            )
        )
    names: dict[str, int] = {}
    for value, point in sorted(points.items()):
        first = names.setdefault(name_key(point.name), value)
        if first != value:
            raise SettingsError(
                _(
                    "{words} have one name for {first} and {second}, {name}: give each point a name of its "
                    "own.",
                    words=words,
                    first=first,
                    second=value,
                    name=quote_value(point.name),
                )
            )
    return tuple(points.get(value, Point(value, "", "", "")) for value in scale.points)


def _as_text(type: str, items: ItemWords, points: tuple[Point, ...]) -> str:
    lines = [
        f"{what.capitalize()}: {word}"
        for what in ("question", "larger", "smaller")
        if (word := getattr(items, what))
    ]
    lines += [f"{point.value} {point.name}: {point.description}" for point in points if point.name]
    return "\n".join([f"[{type}]", *lines] if type else lines)
