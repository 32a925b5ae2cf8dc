"""Writing pairs, the first phase of SemEval-2014 Task 3 (Jurgens et al. 2014, section 3.2), and its report.

Which grade is requested next, what larger items of grade 0 are paired with, and what a writer is told of a
text: arithmetic and sentences, without a database.

How well pairs were written to order: requested and obtained grades, balance, and each writer's figures.
The obtained grade of a pair is the one that a gold set has for it (annotation.gold). Drift is the mean of
obtained less requested: above 0, raters found pairs more similar than was asked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from typing import Any

from annotation.comparison import Bounds, Size, range_text, size_of
from annotation.errors import ImportFileError
from annotation.scale import CLSS, Scale
from annotation.similarity import longest_common_piece, substring_similarity
from annotation.translation import _, ngettext
from annotation.wording import beginning

UNRELATED = 0
"""Requested grades are numbers of the scale's points, from 0: pairs of the lowest are made without
writers, who are asked for the others."""
LONGEST_WRITTEN = 4_000
"""Characters of a text that is written here."""
COPIED_SHARE = 0.6
"""A text is called copied when this much of it stands in the larger item in one piece…"""
COPIED_WORDS = 3
"""…of this many words or more."""
NEAR = 0.85
"""Texts that share this much (substring_similarity) are called nearly the same."""

_FIRST_WORD = re.compile(r"[^\W_]")


def bins_of(scale: Scale) -> tuple[Decimal, ...]:
    """The middles of the bins of the distribution, points and what lies between two: 0, 0.5 … 4."""
    half = Decimal(scale.points[1] - scale.points[0]) / 2
    return tuple(scale.lowest + half * number for number in range(2 * len(scale.points) - 1))


@dataclass(frozen=True, slots=True)
class NewItem:
    """A larger item as it is imported."""

    id: str
    type: str
    text: str
    genre: str | None = None
    source: str | None = None
    place: str = field(default="", compare=False)

    @property
    def where(self) -> str:
        """What messages about it begin with."""
        return self.place or f"Item {self.id!r}"


LargerItemInput = NewItem | ImportFileError
"""A row of an import of larger items, or why it cannot be used."""


@dataclass(frozen=True, slots=True)
class ItemSummary:
    items: int
    duplicates: tuple[str, ...] = ()
    """Ids that were there already, or whose texts were, and were left out."""


@dataclass(frozen=True, slots=True)
class Check:
    """What is to be said of a text as it stands."""

    size: Size
    problem: str
    """Why it cannot be submitted; empty when it can."""
    warnings: tuple[str, ...]
    """What to look at before it is submitted."""


@dataclass(frozen=True, slots=True)
class Task:
    """A larger item, and what its writer has written for it."""

    id: int
    """Of the writing."""
    type: str
    left: str
    grade: int
    text: str
    version: int
    state: str
    """held, or sent_back with a note."""
    note: str = ""
    seconds: float = 0.0
    check: Check | None = None
    bounds: Bounds | None = None
    """How large the text may be."""


@dataclass(frozen=True, slots=True)
class WritingDesk:
    """What a writer has before them."""

    task: Task | None
    submitted: int
    """How many of their texts wait for an editor."""
    accepted: int
    sent_back: int
    unwritten: int
    """Items that nobody has, and this writer has not left to others."""
    is_waiting: bool
    """Nothing now, but others hold items that may come back."""
    balance: tuple[int, ...] | None
    """How often each grade but the lowest was requested in the group of their item."""
    has_genre: bool
    """Whether the group is of a type and a genre, not of a type alone."""


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text of the writer's own in the list of the last ones."""

    id: int
    type: str
    left: str
    text: str
    grade: int
    state: str
    note: str
    at: datetime


@dataclass(frozen=True, slots=True)
class GroupBalance:
    """How often each grade was requested for a type and genre."""

    type: str
    genre: str | None
    counts: tuple[int, ...]
    """Of the grades, point by point: reserved, with a writer or editor, or paired."""
    unwritten: int
    """Items that nobody has."""


@dataclass(frozen=True, slots=True)
class ZeroItem:
    """A larger item that is reserved for a pair of grade 0."""

    id: str
    left: str
    source: str | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A smaller item that may be paired with another larger one."""

    item_id: str
    """The id of the larger item that it belongs to: never its partner."""
    text: str
    source: str | None
    larger_id: int = 0
    """The same in the database."""


def next_grade(
    taken: Mapping[int, int], *, seed: int, group: str, has_zeros: bool = True, points: int = len(CLSS.points)
) -> int:
    """The grade to be requested next in a group: the one that was least often so far.

    Whatever order items are taken and given back in, a group whose items are all out has each grade equally
    often, give or take one (tests/unit/test_authoring.py). Among equals a hash decides, anew in each round,
    so that small groups do not all begin with the same grade.

    Args:
        taken: how many items each grade has at present; what was given back does not count.
        seed: the project's.
        group: names type and genre.
        has_zeros: whether a share is reserved for grade 0.
        points: how many the scale has.
    """
    grades = range(UNRELATED if has_zeros else UNRELATED + 1, points)

    def place(grade: int) -> tuple[int, bytes]:
        rounds = taken.get(grade, 0)
        return rounds, _digest(seed, group, rounds, grade)

    return min(grades, key=place)


def zero_partners(
    items: Iterable[ZeroItem],
    candidates: Iterable[Candidate],
    bounds: Bounds,
    *,
    seed: int,
    used: Iterable[str],
    is_there: Callable[[ZeroItem, Candidate], bool] = lambda item, candidate: False,
) -> Iterator[tuple[ZeroItem, Candidate]]:
    """Larger items with smaller ones for pairs of grade 0; an item for which there is none is left out.

    A partner fits the size, belongs to another larger item and does not stand in this one. Those of the same
    source come first, then those that were used least, then what the seed says: the same call gives the same
    pairs.

    Args:
        candidates: smaller items of the same type and genre.
        bounds: of the smaller items.
        used: the smaller items of pairs of grade 0 that there are.
        is_there: whether the two are a pair already: the next best is taken instead.
    """
    times = Counter(map(text_key, used))
    fitting = [
        (candidate, text_key(candidate.text))
        for candidate in candidates
        if not bounds.problem(size_of(candidate.text))
    ]
    for item in items:
        larger = text_key(item.left)
        allowed = [
            ((candidate.source != item.source, times[key]), candidate)
            for candidate, key in fitting
            if candidate.item_id != item.id and key not in larger
        ]
        ranked = _best_first(item, allowed, seed)
        partner = next((candidate for candidate in ranked if not is_there(item, candidate)), None)
        if partner is not None:
            times[text_key(partner.text)] += 1
            yield item, partner


def _best_first(
    item: ZeroItem, ranked: Iterable[tuple[tuple[bool, int], Candidate]], seed: int
) -> Iterator[Candidate]:
    """By rank, and among equals by what the seed says, which is worked out only of those that are reached."""
    for _rank, equals in groupby(sorted(ranked, key=itemgetter(0)), key=itemgetter(0)):
        candidates = (candidate for _rank, candidate in equals)
        yield from sorted(candidates, key=lambda each: _digest(seed, item.id, each.item_id, each.text))


def check_text(text: str, left: str, bounds: Bounds, earlier: Sequence[str] = ()) -> Check:
    """What is to be said of a writer's text.

    Args:
        text: as it stands in the field.
        left: the larger item.
        bounds: of the smaller item.
        earlier: other smaller items of this type and genre.
    """
    problem = text_problem(text, bounds)
    if not text.strip() or len(text) > LONGEST_WRITTEN:
        return Check(size_of(text), problem, ())
    found = (copy_warning(text, left), earlier_warning(text, earlier))
    return Check(size_of(text), problem, tuple(filter(None, found)))


def text_problem(text: str, bounds: Bounds) -> str:
    """Why a text cannot be submitted; empty when it can. Quick, as it compares nothing."""
    if not text.strip():
        return _("Nothing is written yet.")
    if len(text) > LONGEST_WRITTEN:
        return long_text_problem(text)
    size = size_of(text)
    if not _fits(size.words, bounds.words):
        return ngettext(
            "The text has {count} word, not {range}.",
            "The text has {count} words, not {range}.",
            size.words,
            count=f"{size.words:,}",
            range=range_text(bounds.words),
        )
    if not _fits(size.sentences, bounds.sentences):
        return ngettext(
            "The text has {count} sentence, not {range}.",
            "The text has {count} sentences, not {range}.",
            size.sentences,
            count=f"{size.sentences:,}",
            range=range_text(bounds.sentences),
        )
    return ""


def _fits(count: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= count <= bounds[1]


def long_text_problem(text: str) -> str:
    return _(
        "The text has {length} characters: shorten it to {most}.",
        length=f"{len(text):,}",
        most=f"{LONGEST_WRITTEN:,}",
    )


def copy_warning(text: str, left: str) -> str:
    """Says which piece of the given item was copied; empty when little was."""
    written = " ".join(text.split())
    piece = longest_common_piece(written.casefold(), " ".join(left.split()).casefold()).strip()
    if len(piece) < COPIED_SHARE * len(written) or size_of(piece).words < COPIED_WORDS:
        return ""
    return _(
        "“{text}” is copied from the given item: say it in other words if you can.", text=beginning(piece)
    )


def earlier_warning(text: str, earlier: Sequence[str]) -> str:
    """Says which earlier text is the same or nearly so; empty when none is."""
    key = text_key(text)
    keys = {text_key(other): other for other in earlier}
    if key in keys:
        return _("“{text}” was written before, for another item.", text=beginning(keys[key]))
    for other_key, other in keys.items():
        room = abs(len(key) - len(other_key))
        if room > (1 - NEAR) * (len(key) + len(other_key)) or len(key) < 4:
            continue
        if substring_similarity(key, other_key) >= NEAR:
            return _(
                "“{text}” was written before, for another item, and is nearly the same.",
                text=beginning(other),
            )
    return ""


def text_key(text: str) -> str:
    """What texts share that read the same: without case, needless space, and signs at the ends."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    first, last = _FIRST_WORD.search(folded), _FIRST_WORD.search(folded[::-1])
    return folded[first.start() : len(folded) - last.start()] if first and last else ""


def group_name(type: str, genre: str | None) -> str:
    return f"{type}\n{genre or ''}"


def _digest(*parts: object) -> bytes:
    return sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A pair with what was requested and what came out of it."""

    type: str
    requested: Decimal | None
    """The intended grade, also of an imported pair; None where there is none."""
    obtained: Decimal | None
    """None until it has a gold grade."""
    writer: str | None = None


@dataclass(frozen=True, slots=True)
class WriterCounts:
    """What a writer did, as it is counted."""

    writer: str
    submitted: int
    """Waiting for an editor."""
    accepted: int
    sent_back: int
    """How many times."""
    blank: int
    handed_on: int
    seconds: float | None
    """Spent on an item, the median of those submitted or accepted; None without any."""


@dataclass(frozen=True, slots=True)
class GradeGap:
    pairs: int
    """With an obtained grade."""
    obtained: float | None
    """Their mean."""
    drift: float | None
    """The mean of obtained less requested."""
    distance: float | None
    """The mean of its absolute values."""


@dataclass(frozen=True, slots=True)
class WriterFigures:
    counts: WriterCounts
    drift: GradeGap


@dataclass(frozen=True, slots=True)
class WritingReport:
    project: str
    groups: tuple[GroupBalance, ...]
    matrix: tuple[tuple[int, ...], ...]
    """Requested grade, obtained grade, each rounded to the nearest point."""
    whole: GradeGap
    by_grade: tuple[GradeGap, ...]
    """Of the requested grades, point by point."""
    by_type: tuple[tuple[str, GradeGap], ...]
    writers: tuple[WriterFigures, ...]
    distribution: tuple[tuple[str, tuple[int, ...]], ...]
    """By type, pairs in each of `bins`: Figure 1 of Jurgens et al. (2014)."""
    reserved: int
    """Items that wait for a pair of grade 0."""
    waiting: int
    """Texts awaiting review for an editor."""
    not_understood: int
    """Items without a text that somebody left blank."""
    points: tuple[int, ...] = CLSS.points
    """Of the scale."""
    bins: tuple[Decimal, ...] = bins_of(CLSS)


def writing_report(
    project: str,
    types: Sequence[str],
    pairs: Iterable[JudgedPair],
    groups: Sequence[GroupBalance],
    writers: Sequence[WriterCounts],
    *,
    reserved: int,
    waiting: int,
    not_understood: int,
    scale: Scale = CLSS,
) -> WritingReport:
    """The whole report.

    Args:
        types: of the project, in its order.
        pairs: all of the project; those without a requested grade count in the distribution only.
    """
    judged = [pair for pair in pairs if pair.obtained is not None]
    ordered = [pair for pair in judged if pair.requested is not None]
    points, bins = scale.points, bins_of(scale)
    width, number = points[1] - points[0], range(len(points))

    def point(grade: Decimal | None) -> int:
        return _nearest(grade, scale.lowest, Decimal(width))

    cells = Counter((point(pair.requested), point(pair.obtained)) for pair in ordered)
    places = Counter(
        (pair.type, _nearest(pair.obtained, scale.lowest, Decimal(width) / 2)) for pair in judged
    )
    with_pairs = [type for type in types if any(pair.type == type for pair in judged)]
    return WritingReport(
        project=project,
        groups=tuple(groups),
        matrix=tuple(tuple(cells[row, column] for column in number) for row in number),
        whole=drift_of(ordered),
        by_grade=tuple(
            drift_of([pair for pair in ordered if point(pair.requested) == grade]) for grade in number
        ),
        by_type=tuple(
            (type, drift_of(those))
            for type in types
            if (those := [pair for pair in ordered if pair.type == type])
        ),
        writers=tuple(
            WriterFigures(counts, drift_of([pair for pair in ordered if pair.writer == counts.writer]))
            for counts in writers
        ),
        distribution=tuple(
            (type, tuple(places[type, place] for place in range(len(bins)))) for type in with_pairs
        ),
        reserved=reserved,
        waiting=waiting,
        not_understood=not_understood,
        points=points,
        bins=bins,
    )


def drift_of(pairs: Sequence[JudgedPair]) -> GradeGap:
    """Of pairs that have both grades."""
    found = [(each.requested, each.obtained) for each in pairs]
    both = [(asked, got) for asked, got in found if asked is not None and got is not None]
    count = len(both)
    if not count:
        return GradeGap(0, None, None, None)
    return GradeGap(
        count,
        float(sum((got for _, got in both), Decimal(0)) / count),
        float(sum((got - asked for asked, got in both), Decimal(0)) / count),
        float(sum((abs(got - asked) for asked, got in both), Decimal(0)) / count),
    )


def cumulative(counts: Sequence[int]) -> list[float]:
    """The shares of all up to and with each bin; zeros of none."""
    total, running, shares = sum(counts), 0, []
    for number in counts:
        running += number
        shares.append(running / total if total else 0.0)
    return shares


def report_json(report: WritingReport) -> dict[str, Any]:
    """The report as it is printed for programs."""
    return {
        "project": report.project,
        "balance": [
            {
                "type": group.type,
                "genre": group.genre,
                "requested": {
                    str(grade): count for grade, count in zip(report.points, group.counts, strict=True)
                },
                "unwritten": group.unwritten,
            }
            for group in report.groups
        ],
        "matrix": [list(row) for row in report.matrix],
        "drift": {
            "all": asdict(report.whole),
            "by_grade": {
                str(grade): asdict(each) for grade, each in zip(report.points, report.by_grade, strict=True)
            },
            "by_type": {type: asdict(each) for type, each in report.by_type},
        },
        "writers": [{**asdict(each.counts), **asdict(each.drift)} for each in report.writers],
        "distribution": {
            "bins": [float(middle) for middle in report.bins],
            "types": {
                type: {"pairs": list(counts), "cumulative": cumulative(counts)}
                for type, counts in report.distribution
            },
        },
        "reserved": report.reserved,
        "waiting": report.waiting,
        "not_understood": report.not_understood,
    }


def _nearest(grade: Decimal | None, lowest: int, width: Decimal) -> int:
    """The number of the nearest of places `width` apart, the higher one of two."""
    assert grade is not None
    return int(((grade - lowest) / width).quantize(Decimal(1), ROUND_HALF_UP))
