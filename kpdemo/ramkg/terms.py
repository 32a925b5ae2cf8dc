"""What is known of the phrases of a language: how many documents have them, and how they are translated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kpdemo.packed_json import json_gz, read_json_gz
from kpdemo.storage import replace_file

LEAST_DOCUMENTS = 3
"""Terms that fewer documents have as a keyphrase are not stored, nor words that fewer documents hold."""

NO_WORD = ""
"""The source of keyphrases that translate nothing, the empty word of Brown et al. 1993."""

_ROUNDS = 5
_LEAST_SHARE = 0.02
_START = 0.1  # of a pair of terms in the first round; any number, since shares are compared within a document


@dataclass(frozen=True)
class LanguageTerms:
    """Keys are those of `kpdemo.ramkg.phrases`.

    Attributes:
        holding: key to the number of documents whose text has it as a candidate.
        keyphrases: key to the number of documents that have it among their keyphrases.
        written: key to how documents write it; of the keys of `keyphrases`.
    """

    holding: Mapping[str, int] = field(default_factory=dict)
    keyphrases: Mapping[str, int] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)


Translations = Mapping[str, Mapping[str, float]]
"""English key to keys of a language with their probabilities."""


def count_terms(documents: Iterable[tuple[Iterable[str], Sequence[tuple[str, str]]]]) -> LanguageTerms:
    """The terms of documents, each the keys of its candidates and (key, written) of its keyphrases.

    They are in the order of their keys, as `Lexicon.load` gives them: of equals the first counts.
    """
    holding: Counter[str] = Counter()
    keyphrases: Counter[str] = Counter()
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for keys, gold in documents:
        holding.update(set(keys))
        keyphrases.update({key for key, _ in gold})
        for key, text in gold:
            written[key][text] += 1
    known = {key: count for key, count in sorted(keyphrases.items()) if key and count >= LEAST_DOCUMENTS}
    return LanguageTerms(
        {key: count for key, count in holding.items() if count >= LEAST_DOCUMENTS},
        known,
        {key: max(sorted(written[key]), key=written[key].__getitem__) for key in known},
    )


def learn_translations(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> dict[str, dict[str, float]]:
    """Probabilities t(f | e) of IBM's Model 1 (Brown et al. 1993), learnt by expectation maximisation.

    Args:
        pairs: English keys, and the keys of the document that they belong to.

    Returns:
        English key to keys with their probabilities, the most probable first; of both only those that
        `LEAST_DOCUMENTS` pairs have.
    """
    table: dict[tuple[str, str], float] = {}
    for _ in range(_ROUNDS):
        expected: defaultdict[tuple[str, str], float] = defaultdict(float)
        totals: defaultdict[str, float] = defaultdict(float)
        for english, keys in pairs:
            sources = (NO_WORD, *dict.fromkeys(english))
            for key in dict.fromkeys(keys):
                shares = [table.get((source, key), 0.0) if table else _START for source in sources]
                whole = sum(shares)
                for source, share in zip(sources, shares, strict=True):
                    if share:
                        expected[source, key] += share / whole
                        totals[source] += share / whole
        table = {
            (source, key): count / totals[source]
            for (source, key), count in expected.items()
            if count >= _LEAST_SHARE * totals[source] or source == NO_WORD
        }
    return _by_source(table, pairs)


def _by_source(
    table: Mapping[tuple[str, str], float], pairs: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> dict[str, dict[str, float]]:
    sources = Counter(key for english, _ in pairs for key in set(english))
    targets = Counter(key for _, keys in pairs for key in set(keys))
    found: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (source, key), share in sorted(table.items(), key=lambda item: (-item[1], item[0])):
        known = source != NO_WORD and min(sources[source], targets[key]) >= LEAST_DOCUMENTS
        if known and share >= _LEAST_SHARE:
            found[source][key] = round(share, 3)
    return dict(found)


@dataclass(frozen=True)
class Lexicon:
    """Attributes:
    terms, translations: by language.
    """

    terms: Mapping[str, LanguageTerms]
    translations: Mapping[str, Translations]

    def save(self, path: Path) -> None:
        """As compressed JSON; the same content gives the same bytes."""
        content = {
            "terms": {language: vars(terms) for language, terms in self.terms.items()},
            "translations": self.translations,
        }
        replace_file(path, json_gz(content, sort_keys=True))

    @classmethod
    def load(cls, path: Path) -> Lexicon:
        """What `save` wrote.

        Raises:
            OSError, ValueError, KeyError, TypeError: it is damaged.
        """
        content: dict[str, Any] = read_json_gz(path)
        terms = {language: LanguageTerms(**values) for language, values in content["terms"].items()}
        return cls(terms, content["translations"])
