"""A pair as raters and adjudicators see it: a word and a sense come with their meanings, not with keys."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.senses.network import WORD_TO_SENSE, PairSenses, SenseText, WordFlag, word_label

FLAG_NOTES = {
    WordFlag.OOV: "The dictionary does not have this word. It means:",
    WordFlag.OOS: "The dictionary does not have this meaning of the word:",
}
MORE_GENERAL = "More general"
SAME_KIND = "Others of the same kind"


@dataclass(frozen=True, slots=True)
class SenseGroup:
    """Senses around the one that is compared."""

    title: str
    texts: tuple[SenseText, ...]
    more: int = 0
    """How many others are not listed."""


@dataclass(frozen=True, slots=True)
class ShownItem:
    """One side of a pair."""

    text: str
    note: str = ""
    definition: str = ""
    groups: tuple[SenseGroup, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the text is all there is."""
        return not (self.note or self.definition or self.groups)


def shown_items(type: str, left: str, right: str, senses: PairSenses | None) -> tuple[ShownItem, ShownItem]:
    """Both sides of a pair of any type; without `senses` the texts as they were stored."""
    if type != WORD_TO_SENSE:
        return ShownItem(left), ShownItem(right)
    word = ShownItem(word_label(left))
    if senses is None:
        return word, ShownItem(right)
    note = "" if senses.flag is None else FLAG_NOTES[senses.flag]
    word = ShownItem(word_label(left), note, senses.word_definition)
    return word, ShownItem(right) if senses.sense is None else _shown_sense(senses.sense, senses)


def _shown_sense(sense: SenseText, senses: PairSenses) -> ShownItem:
    more = max(0, senses.sibling_count - len(senses.siblings))
    groups = (
        SenseGroup(MORE_GENERAL, senses.parents),
        SenseGroup(SAME_KIND, senses.siblings, more),
    )
    return ShownItem(sense.words, "", sense.definition, tuple(group for group in groups if group.texts))
