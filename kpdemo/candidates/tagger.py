"""Tokens with their character offsets, and a part-of-speech tagger (Penn tags with HYPH, AFX, GW, ADD)."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kpdemo.errors import ModelLoadError
from kpdemo.storage import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TAGGER_ASSET = Path(__file__).parent.parent / "assets" / "tagger.json.gz"

_TOKEN = re.compile(
    r"""
      (?:https?://|www\.)[^\s<>"]+[^\s<>".,;:!?)\]}'’]         # web addresses
    | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+                 # e-mail addresses
    | <[a-z]+>                                                 # KP20k's <digit>
    | (?:[^\W\d_]\.){2,}                                       # e.g., U.S.
    | \d+(?:[.,]\d+)+\w*                                       # 1,000.5 and 2.5GHz
    | [^\W_]+(?:\+\+|\#)(?!\w)                                 # C++, C#
    | [^\W\d_]+?(?=n['’]t\b) | n['’]t\b                        # do + n't
    | ['’](?:s|re|ve|ll|d|m)\b                                 # 's, 're
    | [\w\u0300-\u036f]+
    | \.{2,} | --+
    | \S
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CURLY = str.maketrans("’‘“”–—", "''\"\"--")


class Token(NamedTuple):
    """A word or mark; `start` and `end` are character offsets into the text it was read from."""

    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Split as the Penn treebanks of the web era do: at hyphens, before n't and 's, around punctuation."""
    return [Token(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(text)]


def tagger_form(word: str) -> str:
    """The word as the tagger has learnt it: plain quotes and dashes, KP20k's `<digit>` as a number."""
    return "1" if word == "<digit>" else word.translate(_CURLY)


@dataclass(frozen=True)
class Tagger:
    """NLTK's averaged perceptron (Honnibal 2013) with weights of our own training."""

    _perceptron: Any

    def tag(self, words: Sequence[str]) -> list[str]:
        """One Penn tag a word, in order."""
        return [tag for _, tag in self._perceptron.tag([tagger_form(word) for word in words])]

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
    from nltk.tag.perceptron import PerceptronTagger

    try:
        stored = json.loads(gzip.decompress(path.read_bytes()))
        perceptron = PerceptronTagger(load=False)
        perceptron.tagdict = stored["tagdict"]
        perceptron.classes = perceptron.model.classes = set(stored["tags"])
        perceptron.model.weights = stored["weights"]
    except FileNotFoundError as error:
        raise ModelLoadError(f"No tagger at {path}: run `python -m kpdemo train tagger`.") from error
    except (OSError, EOFError, ValueError, KeyError, TypeError, IndexError) as error:
        raise ModelLoadError(f"The tagger {path} is damaged ({error}): restore the file.") from error
    return Tagger(perceptron)


def save_tagger(perceptron: Any, path: Path, *, smallest: float = 0.05, decimals: int = 2) -> None:
    """Write an NLTK perceptron compactly: weights below `smallest` dropped, the rest rounded.

    The bytes depend on the weights only (no time stamp), so a repeated training gives the same file.
    """
    tags = sorted(perceptron.model.classes)
    weights = {}
    for feature, row in sorted(perceptron.model.weights.items()):
        kept = {
            tag: round(weight, decimals) for tag, weight in sorted(row.items()) if abs(weight) >= smallest
        }
        if kept:
            weights[feature] = kept
    stored = {"tags": tags, "tagdict": dict(sorted(perceptron.tagdict.items())), "weights": weights}
    text = json.dumps(stored, separators=(",", ":"), ensure_ascii=False)
    replace_file(path, gzip.compress(text.encode(), compresslevel=9, mtime=0))
