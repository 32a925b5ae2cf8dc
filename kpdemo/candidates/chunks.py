"""Candidates for present keyphrases: SimCKP's hard negative phrase mining (Choi et al. 2023, Algorithm 1)."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kpdemo.candidates.tagger import Tagger, Token, is_address, is_name, tokenize
from kpdemo.lines import document_blocks
from kpdemo.markup import spans_as_given
from kpdemo.text import LONGEST_KEYPHRASE, stem
from kpdemo.types import Document, Keyphrase, Span
from kpdemo.variants import written_forms

# The grammar of the released code in sets: <inside>+<CC|RP|inside>*.
_CHUNK_TAGS = frozenset({"IN", "CD", "DT", "FW", "GW", "AFX", "POS", "HYPH", "LS", "ADD", ":"})
_CHUNK_PREFIXES = ("NN", "VB", "JJ", "RB")
_NOT_FIRST = frozenset({"CC", "RP"})

# Appendix A.1, by the first two letters of the tag as in the released code.
INDEPENDENT = frozenset({"CD", "FW", "GW", "NN", "VB", "JJ", "RB", "AD"})
STARTS_ONLY = frozenset({"DT", "AF", "LS"})
ENDS_ONLY = frozenset({"RP"})

MOST_TOKENS = 12
"""Of one candidate, hyphens apart: a chain such as "a/b/c/…" counts as one word, but must end somewhere."""

_TRIES = 4  # for each random candidate: most draws are good, but in a short text they repeat

HYPHENS = frozenset("-‐‑–")
_JOINERS = HYPHENS | {"/"}
_PICTURE = re.compile("[\u2300-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]")
_POSSESSIVES = frozenset({"'", "'s"})
_APOSTROPHES = {"’": "'", "‘": "'", "ʼ": "'", "´": "'"}


@dataclass(frozen=True, slots=True)
class CandidateConfig:
    """Attributes:
    longest: most words of a candidate; a hyphenated compound and a possessive count as one (the paper's n).
    determiner_starts: also take "the model" besides "model", as the paper does; a sixth more
        candidates for a quarter point of recall.
    """

    longest: int = 6
    determiner_starts: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase with every place where it occurs.

    `key` is its stems in the language of the document, joined by spaces, hyphens left out: what makes two
    phrases the same.
    """

    key: str
    spans: tuple[Span, ...]


def mine_chunks(document: Document, tagger: Tagger, config: CandidateConfig | None = None) -> list[Candidate]:
    """All candidates of title and body, by first occurrence; spans count in `document.text`.

    None runs across the end of a title, heading, list item, paragraph or cell of a table, see `kpdemo.lines`;
    none is longer than `LONGEST_KEYPHRASE`.
    """
    config = config or CandidateConfig()
    blocks = tagged_blocks(document, tagger)
    keys: set[str] = set()
    for _, stems, tags in blocks:
        for first, end in _chunks(tags):
            keys.update(_ngrams(stems[first:end], tags[first:end], config))
    return _located([(tokens, stems) for tokens, stems, _ in blocks], keys, config.longest)


@lru_cache(maxsize=2)  # a document's candidates and its coordinations are looked for one after the other
def tagged_blocks(document: Document, tagger: Tagger) -> list[tuple[list[Token], list[str], list[str]]]:
    """The tokens of each block of a document, see `kpdemo.lines`, their stems, and the tags that the grammar
    reads."""
    blocks = []
    for text, offset in document_blocks(document):
        tokens, stems = _read(text, offset, document.language)
        words = [token.text for token in tokens]
        tags = [_tag(word, tag) for word, tag in zip(words, tagger.tag(words), strict=True)]
        blocks.append((tokens, stems, tags))
    return blocks


def _tag(word: str, tag: str) -> str:
    """The tag that the grammar reads: the tagger takes pictures for nouns, and a slash ends no compound."""
    if word == "/":
        return ":"
    if len(word) > 1 and not word.isalnum():
        if is_name(word):
            return "NN"
        if is_address(word):
            return "SYM"
    return "SYM" if _PICTURE.match(word) else tag


def random_candidates(
    document: Document, count: int, config: CandidateConfig, *, without: Collection[str], seed: int
) -> list[Candidate]:
    """Random runs of words instead of phrases: the random negatives of SimCKP's Table 5.

    Each begins at any word and has 1 to `config.longest` words, all equally likely. The same document, number
    and seed always give the same ones; a short text may have fewer.

    Args:
        without: keys that are not to be drawn.
    """
    parts = [_read(text, offset, document.language) for text, offset in document_blocks(document)]
    starts = [(stems, first) for _, stems in parts for first in range(len(stems))]
    chance = random.Random(f"{seed} {document.text}")
    keys: set[str] = set()
    for _ in range(_TRIES * count):
        if len(keys) == count or not starts:
            break
        stems, first = chance.choice(starts)
        words = stems[first : first + chance.randint(1, config.longest)]
        key = " ".join(word for word in words if word not in HYPHENS)
        if _has_letter(words[0]) and _has_letter(words[-1]) and key not in without:
            keys.add(key)
    return _located(parts, keys, config.longest)


def surface(document: Document, candidate: Candidate) -> str:
    """The candidate as spelt at its first occurrence, on one line."""
    start, end = candidate.spans[0]
    return " ".join(document.text[start:end].split())


def present_keyphrase(document: Document, candidate: Candidate, score: float) -> Keyphrase:
    """A candidate as an answer gives it: as `WrittenForms` has it, with its spans in the given text."""
    text, spans = written_forms(document).of(candidate.spans)
    return Keyphrase(text, score, spans_as_given(document, spans))


def candidate_key(phrase: str, language: str = "") -> str:
    """The key under which `phrase` would be mined: for finding gold keyphrases among candidates."""
    _, stems = _read(phrase, 0, language)
    return " ".join(word for word in stems if word not in HYPHENS)


def _located(parts: Sequence[tuple[list[Token], list[str]]], keys: set[str], longest: int) -> list[Candidate]:
    """The keys with all of their places, by first occurrence."""
    found: dict[str, list[Span]] = {}
    for tokens, stems in parts:
        for key, span in _occurrences(tokens, stems, keys, longest):
            found.setdefault(key, []).append(span)
    return [Candidate(key, tuple(spans)) for key, spans in found.items()]


def _read(text: str, offset: int, language: str) -> tuple[list[Token], list[str]]:
    tokens = [Token(word, start + offset, end + offset) for word, start, end in tokenize(text)]
    stems = (
        stem(token.text, language) if _has_letter(token.text) else _APOSTROPHES.get(token.text, token.text)
        for token in tokens
    )
    return tokens, list(stems)  # other marks as they are: a dash between clauses would become a hyphen


def _chunks(tags: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Half-open ranges of `tags` that are chunks: CC and RP may occur in one, but not first."""
    first = None
    for position, tag in enumerate(tags):
        inside = tag in _CHUNK_TAGS or tag.startswith(_CHUNK_PREFIXES)
        if first is None and inside:
            first = position
        elif first is not None and not inside and tag not in _NOT_FIRST:
            yield first, position
            first = None
    if first is not None:
        yield first, len(tags)


def _ngrams(stems: Sequence[str], tags: Sequence[str], config: CandidateConfig) -> Iterator[str]:
    """The proper phrases within one chunk, as keys (Algorithm 1, lines 5 to 18)."""
    for first, tag in enumerate(tags):
        compound = first + 1 < len(stems) and stems[first + 1] in HYPHENS  # "in-house", "off-line"
        if not (compound or _may_start(tag, config)) or not _has_letter(stems[first]):
            continue
        words: list[str] = []
        length = 0
        for position in range(first, len(tags)):
            word, kind = stems[position], tags[position][:2]
            if word in HYPHENS:
                continue
            if not _joined(stems, position, first):
                length += 1
            if length > config.longest or len(words) == MOST_TOKENS:
                break
            words.append(word)
            if _has_letter(word) and (kind in INDEPENDENT or (kind in ENDS_ONLY and position > first)):
                yield " ".join(words)


@lru_cache(maxsize=100_000)
def _has_letter(word: str) -> bool:
    """Or a digit: a phrase neither begins nor ends with a bare mark."""
    return any(character.isalnum() for character in word)


def _may_start(tag: str, config: CandidateConfig) -> bool:
    return tag[:2] in INDEPENDENT or (tag[:2] in STARTS_ONLY and (config.determiner_starts or tag != "DT"))


def _joined(stems: Sequence[str], position: int, first: int) -> bool:
    """Whether the word belongs to the one before it: the second half of a compound, or a possessive."""
    return position > first and (
        stems[position - 1] in _JOINERS or stems[position] in _JOINERS or stems[position] in _POSSESSIVES
    )


def _occurrences(
    tokens: Sequence[Token], stems: Sequence[str], keys: set[str], longest: int
) -> Iterator[tuple[str, Span]]:
    """Where the keys occur in one part of the document, whatever their tags there."""
    for first, token in enumerate(tokens):
        if not _has_letter(stems[first]):
            continue
        key = ""
        length = count = 0
        for position in range(first, len(tokens)):
            word = stems[position]
            if word in HYPHENS:
                continue
            length += not _joined(stems, position, first)
            count += 1
            end = tokens[position].end
            if length > longest or count > MOST_TOKENS or end - token.start > LONGEST_KEYPHRASE:
                break
            key = f"{key} {word}" if key else word
            if key in keys:
                yield key, (token.start, end)
