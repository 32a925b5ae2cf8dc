"""The candidates of the trained models: in English by SimCKP's grammar, elsewhere runs of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kpdemo.candidates.chunks import HYPHENS, Candidate, CandidateConfig, candidate_key, mine_chunks
from kpdemo.candidates.tagger import Tagger
from kpdemo.candidates.word_runs import mine_runs, run_key
from kpdemo.languages import SEGMENTED
from kpdemo.markup import plain_document
from kpdemo.text import StemmedText, is_english
from kpdemo.types import Document


def mine_candidates(
    document: Document, tagger: Tagger, config: CandidateConfig | None = None
) -> list[Candidate]:
    """All candidates of title and body, by first occurrence; spans count in `document.text`.

    None is a piece of a compound or a name everywhere, as "Fi" and "Fi access" are in "Wi-Fi access": where
    the language does not join its usual words by hyphens.

    Args:
        config: of the grammar; runs of words have limits of their own, see `kpdemo.candidates.word_runs`.
    """
    english = is_english(document.language)
    found = mine_chunks(document, tagger, config) if english else mine_runs(document)
    if document.language in HYPHENATING or document.language in SEGMENTED:
        return found
    text = document.text
    return [one for one in found if not all(_is_piece(text, *span) for span in one.spans)]


HYPHENATING = frozenset({"de"})
"""Languages in which a piece of a compound is often a keyphrase, as "TEI" of "TEI-Standards"."""

_JOINS = HYPHENS | {"&"}


def _is_piece(text: str, start: int, end: int) -> bool:
    """Whether a span begins or ends inside a compound, or before or after the stop of a name ("Node.js")."""
    return _joins(text, start - 1) or _joins(text, end)


def _joins(text: str, place: int) -> bool:
    """Whether the mark at a place makes one word of those on both its sides."""
    if not 0 < place < len(text) - 1 or not (text[place - 1].isalnum() and text[place + 1].isalnum()):
        return False
    return text[place] in _JOINS or (text[place] == "." and text[place + 1].islower())


def mined_key(phrase: str, language: str = "") -> str:
    """The key under which `phrase` would be mined: for finding gold keyphrases among candidates."""
    return candidate_key(phrase) if is_english(language) else run_key(phrase, language)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Attributes:
    gold, found: present gold keyphrases (unique by stem within a document), and those among the candidates.
    """

    documents: int
    gold: int
    found: int
    candidates: int

    @property
    def recall(self) -> float | None:
        """None without present gold."""
        return self.found / self.gold if self.gold else None

    @property
    def candidates_per_document(self) -> float | None:
        return self.candidates / self.documents if self.documents else None


def coverage_to_json(coverage: Coverage) -> dict[str, float | int | None]:
    """The counts and what follows from them; None where there is nothing to divide by."""
    return {
        "documents": coverage.documents,
        "gold": coverage.gold,
        "found": coverage.found,
        "recall": coverage.recall,
        "candidates_per_document": coverage.candidates_per_document,
    }


def measure_coverage(
    documents: Iterable[Document], mine: Callable[[Document], Sequence[Candidate]]
) -> Coverage:
    """Mine every document as models read it, and look for its present gold among the candidates."""
    count = gold = found = mined = 0
    for document in map(plain_document, documents):
        source = StemmedText(document)
        wanted = {source.key(phrase): phrase for phrase in document.keyphrases if source.contains(phrase)}
        keys = {candidate.key for candidate in mine(document)}
        count += 1
        gold += len(wanted)
        found += sum(mined_key(phrase, document.language) in keys for phrase in wanted.values())
        mined += len(keys)
    return Coverage(count, gold, found, mined)
