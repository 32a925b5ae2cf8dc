"""What an importer is told besides how much was imported, on the page as in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.types import EqualTexts, ImportSummary, LeftOutRating
from annotation.wording import number_of

MOST_NAMED = 5


def import_notes(summary: ImportSummary) -> list[str]:
    """A sentence or two for each thing that an importer may not have expected."""
    notes = (
        _equal_texts_note(summary.equal_texts),
        _merged_note(summary.merged),
        _left_out_note(summary.left_out),
        _joined_note(summary.joined),
    )
    return [note for note in notes if note]


def known_grades_note(ratings: int) -> str:
    """How many single ratings an import of pairs with known grades left out; nothing where there are none.

    >>> known_grades_note(1)
    '1 rating in the file was left out: these pairs have one grade, which is known.'
    """
    if not ratings:
        return ""
    were = "was" if ratings == 1 else "were"
    left_out = f"{number_of(ratings, 'rating')} in the file {were} left out"
    return f"{left_out}: these pairs have one grade, which is known."


def _equal_texts_note(pairs: Sequence[EqualTexts]) -> str:
    if not pairs:
        return ""
    have = "has" if len(pairs) == 1 else "have"
    named = _first([f"{pair.id} (as {pair.other})" for pair in pairs])
    return (
        f"{number_of(len(pairs), 'pair')} {have} the same texts as a pair with another id, and both are "
        f"graded: {named}. They can be merged only while they are imported."
    )


def _merged_note(pairs: Sequence[EqualTexts]) -> str:
    if not pairs:
        return ""
    were = "was" if len(pairs) == 1 else "were"
    named = _first([f"{pair.id} (into {pair.other})" for pair in pairs])
    return f"{number_of(len(pairs), 'pair')} {were} merged into the pair with the same texts: {named}."


def _left_out_note(ratings: Sequence[LeftOutRating]) -> str:
    if not ratings:
        return ""
    were, raters = ("was", "its rater") if len(ratings) == 1 else ("were", "their raters")
    different_first = sorted(ratings, key=lambda rating: rating.grade == rating.kept)
    named = [f"{each.rater} of {each.id} ({each.grade}; kept: {each.kept})" for each in different_first]
    return (
        f"{number_of(len(ratings), 'rating')} {were} left out, because {raters} had graded the pair with the "
        f"same texts: {_first(named)}."
    )


def _joined_note(names: Sequence[str]) -> str:
    if not names:
        return ""
    one = "1 existing account became a rater"
    many = f"{len(names):,} existing accounts became raters"
    became = one if len(names) == 1 else many
    return f"{became} of the project: {_first(names)}. Take the role away if that was not intended."


def _first(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
