"""Tokens with their character offsets, and a part-of-speech tagger (Penn tags with HYPH, AFX, GW, ADD)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kpdemo.errors import ModelLoadError
from kpdemo.io.files import json_gz, read_json_gz, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

TAGGER_ASSET = Path(__file__).parent.parent / "assets" / "tagger.json.gz"

_NAME = r"""
      # E. coli
      (?-i:\b[A-Z]\.\s?(?!(?:and|et|und|van|von|der|del|for|the|with|from|that|this|are|was|were|has|have|can|may
        |will|where|which|when|who|but|not|our|its|also|let|then|thus|hence|however|see)\b)[a-z]{3,}\b)
    | (?-i:\b(?:St|Ste|Mt|Ft)\.\s[A-Z]\w+(?:['’]s\s[a-z]\w+)?)  # St. John's wort
    | (?-i:\b(?:[A-Z][a-z]?\.){2,}(?!\w))                      # Ph.D.
    | (?-i:(?<![\w.])\.NET\b)
    | (?-i:\b[A-Za-z][\w]*\.(?:NET|js|io|ai|py|jl|org|com)\b(?!\.\w)) # Node.js
    | (?-i:\b[A-Za-z]{1,2}['’][A-Z][^\W\d_]+)                  # O'Reilly, d'Alembert
    | \b[^\W\d_]+['’]n['’][^\W\d_]+                            # rock'n'roll
    | (?-i:(?<![\w/])[A-Z](?:/[A-Z])+(?![\w/]))                # I/O
    | (?-i:\b[A-Z][a-z]?\((?:[IVX]{1,4}|\d?[+−-])\))            # Fe(III)
    | \b(?:poly|oligo|bis|tris|di|tri|tetra)\([^()\n]{2,60}\)  # poly(ethylene glycol)
"""
"""Names with a mark or a stop inside, a word each."""

_TOKEN = re.compile(
    rf"""
      (?:https?://|www\.)[^\s<>"]+[^\s<>".,;:!?)\]}}'’]         # web addresses
    | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+                 # e-mail addresses
    | <[a-z]+>                                                 # KP20k's <digit>
    | (?=\S{{0,30}}[.'’/(\n]) (?:{_NAME})
    | (?:[^\W\d_]\.){{2,}}                                     # e.g., U.S.
    | \d+(?:[.,]\d+)+\w*                                       # 1,000.5 and 2.5GHz
    | [^\W_]+(?:\+\+|\#)(?!\w)                                 # C++, C#
    | [^\W\d_]+?(?=n['’]t\b) | n['’]t\b                        # do + n't
    | ['’](?:s|re|ve|ll|d|m)\b                                 # 's, 're
    | [\w\u0300-\u036f]+
    | \.{{2,}} | --+
    | \S
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DECIMALS = 2  # of the weights that are stored
_UNITS = 10**_DECIMALS
_START, _END = ("-START-", "-START2-"), ("-END-", "-END2-")
_CURLY = str.maketrans("’‘“”–—", "''\"\"--")


class Token(NamedTuple):
    """A word or mark; `start` and `end` are character offsets into the text it was read from."""

    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Split as the Penn treebanks of the web era do: at hyphens, before n't and 's, around punctuation."""
    return [Token(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]


_IS_NAME = re.compile(_NAME, re.VERBOSE | re.IGNORECASE)


def is_name(word: str) -> bool:
    """Whether it is a word with a mark inside, as those that a name has: a noun, whatever the tagger says."""
    return not word.isalnum() and _IS_NAME.fullmatch(word) is not None


def is_address(word: str) -> bool:
    """Whether it is an address on the web or of e-mail."""
    return "//" in word or "@" in word or word.lower().startswith("www.")


def tagger_form(word: str) -> str:
    """The word as the tagger has learnt it: plain quotes and dashes, KP20k's `<digit>` as a number."""
    return "1" if word == "<digit>" else word.translate(_CURLY)


@dataclass(frozen=True, eq=False)  # what it tagged is kept by tagger
class Tagger:
    """NLTK's averaged perceptron (Honnibal 2013) with weights of our own training, read as an array.

    Attributes:
        tags: descending: of equals NLTK takes the last by the alphabet, and `argmax` the first.
        certain: the tag of words that have only one.
        rows: of `weights`, for each feature with its value, such as "i word kernel".
        weights: (N, tags) int16, in units of the last decimal that is stored.
    """

    tags: tuple[str, ...]
    certain: Mapping[str, str]
    rows: Mapping[str, int]
    weights: NDArray[np.int16]

    @classmethod
    def of(
        cls, tags: Iterable[str], certain: Mapping[str, str], weights: Mapping[str, Mapping[str, float]]
    ) -> Tagger:
        """From what NLTK's perceptron holds: for each feature the weight of some tags.

        Raises:
            KeyError, ValueError: a weight is of no tag, too large, or not a number.
        """
        ordered = tuple(sorted(tags, reverse=True))
        column = {tag: number for number, tag in enumerate(ordered)}
        rows = weights.values()
        places = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        columns = np.fromiter(map(column.__getitem__, chain.from_iterable(rows)), dtype=np.intp)
        values = np.fromiter(chain.from_iterable(row.values() for row in rows), dtype=np.float64)
        if not np.abs(values).max(initial=0.0) * _UNITS <= np.iinfo(np.int16).max:  # nor NaN
            raise ValueError("a weight is too large or no number")
        dense = np.zeros((len(rows), len(ordered)), dtype=np.int16)
        dense[places, columns] = np.rint(values * _UNITS)
        return cls(ordered, certain, {feature: number for number, feature in enumerate(weights)}, dense)

    def tag(self, words: Sequence[str]) -> list[str]:
        """One Penn tag a word, in order: the same as by NLTK's `PerceptronTagger`."""
        forms = [tagger_form(word) for word in words]
        context = [*_START, *map(_normal, forms), *_END]
        last, second = _START
        tags = []
        for position, word in enumerate(forms):
            tag = self.certain.get(word) or self._best(_features(position, word, context, last, second))
            tags.append(tag)
            last, second = tag, last
        return tags

    def _best(self, features: Iterable[str]) -> str:
        known = [row for feature in features if (row := self.rows.get(feature)) is not None]
        # In the order of the features, as NLTK adds: rounding of the sums breaks ties between tags.
        scores = (self.weights[known] / _UNITS).sum(axis=0)
        return self.tags[int(scores.argmax())]

    def accuracy(self, sentences: Iterable[Sequence[tuple[str, str]]]) -> float:
        """Share of words tagged as in `sentences`, each a sequence of (word, tag)."""
        right = total = 0
        for sentence in sentences:
            tags = self.tag([word for word, _ in sentence])
            right += sum(tag == gold for tag, (_, gold) in zip(tags, sentence, strict=True))
            total += len(sentence)
        return right / total


@lru_cache(maxsize=1)
def load_tagger(path: Path = TAGGER_ASSET) -> Tagger:
    """Read a tagger written by `save_tagger`; kept for the life of the process.

    Raises:
        ModelLoadError: the file is missing or damaged.
    """
    try:
        stored = read_json_gz(path)
        return Tagger.of(stored["tags"], stored["tagdict"], stored["weights"])
    except FileNotFoundError as error:
        raise ModelLoadError(f"No tagger at {path}: run `python -m kpdemo train tagger`.") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelLoadError(f"The tagger {path} is damaged ({error}): restore the file.") from error


def save_tagger(perceptron: Any, path: Path, *, smallest: float = 0.05) -> None:
    """Write an NLTK perceptron compactly: weights below `smallest` dropped, the rest rounded.

    The bytes depend on the weights only (no time stamp), so a repeated training gives the same file.
    """
    tags = sorted(perceptron.model.classes)
    weights = {}
    for feature, row in sorted(perceptron.model.weights.items()):
        kept = {
            tag: round(weight, _DECIMALS) for tag, weight in sorted(row.items()) if abs(weight) >= smallest
        }
        if kept:
            weights[feature] = kept
    stored = {"tags": tags, "tagdict": dict(sorted(perceptron.tagdict.items())), "weights": weights}
    replace_file(path, json_gz(stored))


def _normal(word: str) -> str:
    """The word as NLTK's tagger keeps it for its neighbours."""
    if "-" in word and not word.startswith("-"):
        return "!HYPHEN"
    if word.isdigit() and len(word) == 4:
        return "!YEAR"
    return "!DIGITS" if word[:1].isdigit() else word.lower()


def _features(position: int, word: str, context: Sequence[str], last: str, second: str) -> tuple[str, ...]:
    """As NLTK names and orders them.

    Args:
        context: the normal form of each word of the sentence, with `_START` and `_END`.
        last, second: the tags of the word before and of the one before that.
    """
    before2, before, normal, after, after2 = context[position : position + 5]
    return (
        "bias",
        f"i suffix {word[-3:]}",
        f"i pref1 {word[:1]}",
        f"i-1 tag {last}",
        f"i-2 tag {second}",
        f"i tag+i-2 tag {last} {second}",
        f"i word {normal}",
        f"i-1 tag+i word {last} {normal}",
        f"i-1 word {before}",
        f"i-1 suffix {before[-3:]}",
        f"i-2 word {before2}",
        f"i+1 word {after}",
        f"i+1 suffix {after[-3:]}",
        f"i+2 word {after2}",
    )
