"""Mined documents: their candidate phrases, and the terms and translations they teach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kpdemo.languages.names import ENGLISH
from kpdemo.ramkg.features import Phrase, candidates_of
from kpdemo.ramkg.iterate import Augmented
from kpdemo.ramkg.phrases import mined_key
from kpdemo.ramkg.terms import LanguageTerms, Lexicon, Translations, count_terms, learn_translations
from kpdemo.training.workers import process_pool
from kpdemo.types import Document

_TOGETHER = 32  # documents that a process mines at once


@dataclass(frozen=True, slots=True)
class Mined:
    """A document with the phrases of its text and the keys of its keyphrases."""

    document: Document
    phrases: tuple[Phrase, ...]
    gold: tuple[tuple[str, str], ...]
    """Key and writing of each keyphrase."""

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(key for key, _ in self.gold)


def mine_documents(documents: Sequence[Document], workers: int) -> list[Mined]:
    """The phrases of many documents, by several processes."""
    if workers <= 1 or len(documents) <= _TOGETHER:
        return [_mine(document) for document in documents]
    with process_pool(workers) as pool:
        return list(pool.map(_mine, documents, chunksize=_TOGETHER))


def _mine(document: Document) -> Mined:
    language = document.language
    gold = tuple((mined_key(text, language), text) for text in document.keyphrases)
    return Mined(document, candidates_of(document), tuple((key, text) for key, text in gold if key))


def learn_lexicon(mined: Sequence[Mined], examples: Sequence[Augmented]) -> Lexicon:
    """Terms and translations by language; translations from each document's first passage."""
    languages = sorted({item.document.language for item in mined})
    terms: dict[str, LanguageTerms] = {}
    for language in languages:
        own = [item for item in mined if item.document.language == language]
        terms[language] = count_terms(((phrase.key for phrase in item.phrases), item.gold) for item in own)
    return Lexicon(terms, learn_translations_of(mined, examples, range(len(mined))))


def _pair(item: Mined, given: Augmented) -> tuple[list[str], list[str]]:
    first = given.retrieved[0] if given.retrieved else ()
    english = (mined_key(text, ENGLISH) for text in first)
    return [key for key in english if key], [key for key, _ in item.gold]


def learn_translations_of(
    mined: Sequence[Mined], examples: Sequence[Augmented], numbers: Sequence[int]
) -> Mapping[str, Translations]:
    """Translations by language, learnt from some of the documents, by their numbers."""
    pairs: dict[str, list[tuple[list[str], list[str]]]] = {}
    for number in numbers:
        own = pairs.setdefault(mined[number].document.language, [])
        own.append(_pair(mined[number], examples[number]))
    return {language: learn_translations(own) for language, own in pairs.items()}
