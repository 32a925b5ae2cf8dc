"""Content words and noun phrases: the candidates of the baselines, narrower than those of the trained model.

In Chinese and Korean the segmenters mark them, in Japanese the script. In other languages they are all but
the stop words of YAKE's package.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from kpdemo.candidates.chunks import HYPHENS, Candidate, candidate_key
from kpdemo.candidates.tagger import Tagger, Token, is_address, is_name, tokenize
from kpdemo.languages import PLAIN_MARKS, SEGMENTED, combining_marks, fold_word, segments
from kpdemo.lines import document_blocks
from kpdemo.text import LONGEST_KEYPHRASE, is_english, stem, word_spans
from kpdemo.text import stems as text_stems
from kpdemo.types import Document, Span

STOP_WORDS = frozenset(
    "ar bg cs da de el en es et fa fi fr hi hr hu id it lt lv nl no pl pt ro ru sk sl sv tr uk".split()  # noqa: SIM905
)
"""Languages with a list in YAKE's package, among those that are detected."""

_OTHER_CODES = {"cs": "cz"}


class Word(NamedTuple):
    """A word by its stem and its character offsets.

    Attributes:
        content: whether it says something by itself.
        edge: whether a candidate of the trained model may begin or end with it.
        label: a number or a single capital letter, such as the last word of "vitamine D".
    """

    stem: str
    start: int
    end: int
    content: bool
    edge: bool
    label: bool


def language_words(text: str, language: str) -> Iterator[Word]:
    """The words of a text that is not English, punctuation marks too."""
    if language in SEGMENTED:
        for start, end, content, edge in segments(text, language):
            word = text[start:end]
            yield Word(fold_word(word, language), start, end, content, edge, _is_label(word))
        return
    stops = stop_words(language)
    idioms = _idioms(text, language)
    for start, end in word_spans(text, language):
        word = text[start:end]
        content = (
            end - start > 1
            and any(map(str.isalpha, word))
            and fold_word(word, language) not in stops
            and not any(first <= start < last for first, last in idioms)
        )
        yield Word(stem(word, language), start, end, content, content, _is_label(word))


_IDIOMS = {
    "fr": "à partir d|au cours d|au sein d|au moyen d|en fonction d|par rapport au|en terme d|en termes d"
    "|à l'aide d|à cause d|en raison d|en vue d|dans le cadre d|au niveau d|à travers|en cours d"
    "|par exemple|à l'égard d|vis-à-vis",
    "es": "a partir de|a través de|por medio de|con respecto a|en función de|en cuanto a|a lo largo de"
    "|sin embargo|por ejemplo|es decir|a pesar de|en torno a",
    "pt": "a partir d|através d|por meio d|com relação a|em função d|em relação|ao longo d|por exemplo"
    "|no âmbito d",
    "it": "a partire da|attraverso|per mezzo d|rispetto a|in funzione d|nel corso d|per esempio|ad esempio",
    "de": "im rahmen|in bezug auf|mit hilfe|im laufe|zum beispiel|in der regel|im vergleich|auf grund"
    "|mit blick auf",
    "nl": "met behulp van|op basis van|ten opzichte van|in plaats van|door middel van|bijvoorbeeld",
}
"""Words that serve as a preposition together, whatever each of them says alone."""


def _idioms(text: str, language: str) -> list[Span]:
    small = text.lower().replace("i\u0307", "i").translate(PLAIN_MARKS)  # as long as the text: "İ" is two
    found: list[Span] = []
    for idiom in _IDIOMS[language].split("|") if language in _IDIOMS else ():
        start = small.find(idiom)
        while start >= 0:
            if not small[start - 1 : start].isalnum():
                found.append((start, start + len(idiom)))
            start = small.find(idiom, start + 1)
    return found


def _is_label(word: str) -> bool:
    return word.isdecimal() or (len(word) == 1 and word.isupper())


def add_spaces(text: str, language: str) -> str:
    """The text with spaces between all its words where its language has none."""
    if language not in SEGMENTED:
        return text
    return " ".join(text[start:end] for start, end, *_ in segments(text, language))


def yake_code(language: str) -> str:
    """The language as YAKE's package calls it."""
    return _OTHER_CODES.get(language, language)


@lru_cache(maxsize=4)
def stop_words(language: str) -> frozenset[str]:
    """In the form of `folded`; none for a language without a list, or where YAKE's package is missing."""
    if language not in STOP_WORDS:
        return frozenset()
    try:
        from yake import KeywordExtractor
    except ImportError:
        return frozenset()
    return frozenset(
        fold_word(word, language) for word in KeywordExtractor(lan=yake_code(language)).stopword_set
    )


LONGEST_RUN = 6

NOUN_CAPITALS = frozenset({"de"})
"""Languages that write nouns with capitals, and whose phrases end in one: "Nahwärmenetz kostet" is none."""
ADJECTIVE_ENDINGS = ("e", "en", "er", "es", "em")
"""Of an adjective before a German noun."""

_JOINERS = HYPHENS | {"&"}
_TAG_LETTERS = {"JJ": "J", "AF": "J", "NN": "N", "FW": "N", "GW": "N", "HY": "H", "PO": "H"}
_MARK = "[" + re.escape("".join(sorted(_JOINERS))) + "]"
_CUT_AFTER = re.compile(rf"{_MARK}[^\W_]")
_VERB = re.compile(
    "(?:compare|diverge|converge|vanish|emerge|arise|occur|exist|depend|outperform|improve|reduce|achieve|allow"
    "|enable|provide|require|describe|explain|determine|examine|investigate|introduce|discuss|consider|obtain"
    "|perform|learn|solve|generate|produce|develop|extend|become|remain|seem|appear|differ|evolve|grow|interact"
    "|behave|oscillate|propagate|fluctuate|accelerate|dominate|inhibit|induce|suppress|enhance|promote|modulate"
    "|regulate|encode|contain|consist|involve|suggest|indicate|reveal|confirm|demonstrate|prevent|protect"
    "|maintain|preserve|exceed|explore|predict|approximate|yield|admit|satisfy|satisfies|coincide)(?:s|es)?"
)
"""Verbs that are hardly ever nouns."""
_INSIDE_ADJECTIVES = frozenset({"DT", "IN", "TO"})  # state-of-the-art, end-to-end
_LONGEST_CHUNK = re.compile(rf"(?:[JN]H?){{0,{LONGEST_RUN - 1}}}N")


def noun_phrases(document: Document, tagger: Tagger) -> list[Candidate]:
    """The longest runs of adjectives and nouns that end in a noun, with all the places of each.

    In another language than English runs of at most `LONGEST_RUN` content words.
    """
    if not is_english(document.language):
        return locate(document, _content_runs(document, LONGEST_RUN, inside=False))
    keys: dict[str, None] = {}
    for tokens in _parts(document):
        letters, words = _words(tokens, tagger)
        for match in _LONGEST_CHUNK.finditer(letters):
            keys[_key(tokens[words[match.start()] : words[match.end()]])] = None
    return locate(document, keys)


def noun_ngrams(document: Document, tagger: Tagger, longest: int = 3) -> list[Candidate]:
    """Every run of at most `longest` adjectives and nouns that ends in a noun, with all its places.

    In another language than English every run of at most that many content words.
    """
    if not is_english(document.language):
        return locate(document, _content_runs(document, longest, inside=True))
    keys: dict[str, None] = {}
    for tokens in _parts(document):
        letters, words = _words(tokens, tagger)
        for match in re.finditer(r"[JNH]+", letters):
            for first, end in _ends(letters, match.start(), match.end(), longest):
                keys[_key(tokens[words[first] : words[end]])] = None
    return locate(document, keys)


def locate(document: Document, keys: Collection[str]) -> list[Candidate]:
    """Every place of each key in the document; those that do not occur in it are left out.

    So are places longer than `LONGEST_KEYPHRASE`.

    A key is stems joined by spaces, hyphens left out, as of `Candidate`.
    """
    longest = max((key.count(" ") + 1 for key in keys), default=0)
    wanted = set(keys)
    found: dict[str, list[Span]] = {}
    for words in document_words(document):
        for first, (_, token) in enumerate(words):
            key = ""
            for word, last in words[first : first + longest]:
                if last.end - token.start > LONGEST_KEYPHRASE:
                    break
                key = f"{key} {word}" if key else word
                if key in wanted:
                    found.setdefault(key, []).append((token.start, last.end))
    return [Candidate(key, tuple(spans)) for key, spans in found.items()]


def whole_spans(document: Document, candidate: Candidate) -> tuple[Span, ...]:
    """Those of its places at which it cuts no compound, as "lingual" does in "cross-lingual transfer"."""
    text = document.text
    return tuple(
        (start, end)
        for start, end in candidate.spans
        if not _cut_before().search(text[max(0, start - 2) : start])
        and not _CUT_AFTER.match(text[end : end + 2])
    )


def phrase_candidates(document: Document, phrases: Sequence[str]) -> dict[str, Candidate]:
    """The candidates that some phrases are, by their keys."""
    keys = {key_of(phrase, document) for phrase in phrases} - {""}
    return {candidate.key: candidate for candidate in locate(document, keys)}


def key_of(phrase: str, document: Document) -> str:
    """The key of a phrase in the language of a document; where that has no spaces, between words of it."""
    language = document.language
    if is_english(document.language):
        return candidate_key(phrase)
    stems = map(fold_word, phrase.split()) if language in SEGMENTED else text_stems(phrase, language)
    return " ".join(word for word in stems if word not in HYPHENS)


def document_words(document: Document) -> Iterator[list[tuple[str, Token]]]:
    """The blocks of title and body, each as its stems with their tokens.

    Hyphens are left out, every other mark is kept.
    """
    if not is_english(document.language):
        for words in _content(document):
            yield [(word.stem, Token("", word.start, word.end)) for word in words]
        return
    for tokens in _parts(document):
        yield [(stem(token.text), token) for token in tokens if token.text not in HYPHENS]


def _content(document: Document) -> Iterator[list[Word]]:
    """The blocks of title and body as their words, hyphens left out; offsets count in the document's text."""
    for part, offset in document_blocks(document):
        yield [
            word._replace(start=word.start + offset, end=word.end + offset)
            for word in language_words(part, document.language)
            if word.stem not in HYPHENS
        ]


@lru_cache(maxsize=1)
def _compound() -> re.Pattern[str]:
    letters = f"(?:[^\\W_]|[{combining_marks()}])+"
    return re.compile(f"{letters}(?:{_MARK}{letters})+")


@lru_cache(maxsize=1)
def _cut_before() -> re.Pattern[str]:
    return re.compile(f"(?:[^\\W_]|[{combining_marks()}]){_MARK}$")


def _whole_words(document: Document) -> Iterator[list[Word]]:
    """As `_content`, a compound such as "sous-marin" as one word, where the language writes spaces."""
    starts = {}
    if document.language not in SEGMENTED:
        found = _compound().finditer(document.text)
        starts = {start: match.start() for match in found for start in range(match.start(), match.end())}
    for words in _content(document):
        groups = (
            list(group) for _, group in groupby(words, key=lambda word: starts.get(word.start, word.start))
        )
        yield [word for group in groups for word in _joined(group)]


def _joined(parts: Sequence[Word]) -> Sequence[Word]:
    """The parts as one word, unless they are one only for grammar: "montre-t-il", "c'est-à-dire"."""
    *others, last = parts
    is_term = last.content and (len(others) == 1 or any(word.content for word in others))
    if not others or not (is_term or any(word.stem == "&" for word in others)):
        return parts
    return [
        Word(
            " ".join(word.stem for word in parts),
            parts[0].start,
            last.end,
            content=True,
            edge=True,
            label=False,
        )
    ]


def _content_runs(document: Document, longest: int, *, inside: bool) -> list[str]:
    """The keys of runs of content words: the longest ones, or all that are `inside` of those too."""
    keys: dict[str, None] = {}
    for words in _whole_words(document):
        for content, group in groupby(_noun_groups(document, words), key=itemgetter(1)):
            stems = [word.stem for word, _ in group] if content else []
            if inside:
                runs = [
                    stems[first:end]
                    for first in range(len(stems))
                    for end in range(first + 1, first + longest + 1)
                ]
            else:
                runs = [stems[first : first + longest] for first in range(0, len(stems), longest)]
            keys.update((" ".join(run), None) for run in runs if run)
    return list(keys)


def _noun_groups(document: Document, words: Sequence[Word]) -> Iterator[tuple[Word, int]]:
    """Each word with the number of its run of content words, 0 for other words.

    Where nouns have capitals, a run ends after its last noun, and a word in small letters is in one only if
    it has the ending of an adjective before a noun: "kostet" has not.
    """
    text = document.text
    has_capitals = document.language in NOUN_CAPITALS and any(map(str.isupper, text))
    number, last_is_noun = 1, False
    for place, word in enumerate(words):
        content = word.content
        if has_capitals and content:
            is_noun = not text[word.start].islower()
            follows = is_noun or _precedes_noun(text, words[place:])
            number += last_is_noun and not is_noun
            content, last_is_noun = follows, is_noun
        elif not content:
            number, last_is_noun = number + 1, False
        yield word, number if content else 0


def _precedes_noun(text: str, words: Sequence[Word]) -> bool:
    """Whether the first word is an adjective of a noun among the next ones."""
    for word in words:
        if not word.content:
            return False
        if not text[word.start].islower():
            return True
        if not text[word.start : word.end].endswith(ADJECTIVE_ENDINGS):
            return False
    return False


def _parts(document: Document) -> Iterator[list[Token]]:
    for part, offset in document_blocks(document):
        yield [Token(text, start + offset, end + offset) for text, start, end in tokenize(part)]


def _words(tokens: Sequence[Token], tagger: Tagger) -> tuple[str, list[int]]:
    """A letter for each word: J adjective, N noun, H possessive or a hyphen that joins nothing, else a stop.

    A compound, such as "cross-lingual" or "R&D", is one word. With the letters come the tokens at which the
    words begin, and at last the number of tokens.
    """
    tags = _noun_phrase_tags([token.text for token in tokens], tagger)
    starts = [number for number in range(len(tokens)) if not _is_joined(tokens, number)]
    bounds = [*starts, len(tokens)]
    letters = (_letter(tokens[first:end], tags[first:end]) for first, end in pairwise(bounds))
    return "".join(letters), bounds


def _noun_phrase_tags(words: Sequence[str], tagger: Tagger) -> list[str]:
    """The tags, with names as nouns, and with verbs that the tagger takes for nouns after another noun."""
    tags = tagger.tag(words)
    for place, word in enumerate(words):
        if is_name(word):
            tags[place] = "NN"
        elif is_address(word):
            tags[place] = "SYM"
        elif place and tags[place - 1].startswith("NN") and _VERB.fullmatch(word):
            tags[place] = "VBZ"
    return tags


def _is_joined(tokens: Sequence[Token], number: int) -> bool:
    """Whether a token is in a compound, but does not begin it."""
    return _joins(tokens, number) or _joins(tokens, number - 1)


def _joins(tokens: Sequence[Token], number: int) -> bool:
    """Whether a token is a mark that makes the words on both its sides one."""
    if not 0 < number < len(tokens) - 1 or tokens[number].text not in _JOINERS:
        return False
    before, mark, after = tokens[number - 1 : number + 2]
    touch = before.end == mark.start and mark.end == after.start
    return touch and before.text[-1].isalnum() and after.text[0].isalnum()


def _letter(tokens: Sequence[Token], tags: Sequence[str]) -> str:
    """Of one word; a compound is what its last part is, but an adjective where it could not end a phrase."""
    *others, last = (
        _TAG_LETTERS.get(tag[:2], ".") if any(map(str.isalnum, token.text)) or tag in ("HYPH", "POS") else "."
        for token, tag in zip(tokens, tags, strict=True)
    )
    if not others:
        return last
    is_noun = last == "N" and not any(tag in _INSIDE_ADJECTIVES for tag in tags)
    return "N" if is_noun else "J"


def _ends(letters: str, first: int, end: int, longest: int) -> Iterator[Span]:
    for start in range(first, end):
        length = 0
        for position in range(start, end):
            if letters[position] == "H":
                if position == start:
                    break
                continue
            length += 1
            if length > longest:
                break
            if letters[position] == "N":
                yield start, position + 1


def _key(tokens: Sequence[Token]) -> str:
    return " ".join(stem(token.text) for token in tokens if token.text not in HYPHENS)
