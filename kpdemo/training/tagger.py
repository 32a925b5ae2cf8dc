"""Training of the part-of-speech tagger on treebanks with Penn tags."""

from __future__ import annotations

import gzip
import json
import logging
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from kpdemo.candidates.tagger import TAGGER_ASSET, Tagger, load_tagger, save_tagger, tagger_form
from kpdemo.errors import InputError
from kpdemo.json_rows import line_name

Sentence = list[tuple[str, str]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TaggerConfig:
    """Attributes:
    train, test: gzipped JSON Lines, a sentence a line as [[word, Penn tag], …].
    passes: times the perceptron sees every sentence.
    smallest: weights below it are not stored.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    train: tuple[Path, ...]
    test: tuple[Path, ...] = ()
    output: Path = TAGGER_ASSET
    passes: Annotated[int, Field(ge=1)] = 4
    seed: int = 1
    smallest: float = 0.05


def train_tagger(config: TaggerConfig) -> dict[str, float]:
    """Train, store, read back and measure; returns the accuracy on each test file by its name."""
    from nltk.tag.perceptron import PerceptronTagger

    started = time.monotonic()
    sentences = [
        copy for path in config.train for sentence in read_sentences(path) for copy in _copies(sentence)
    ]
    random.seed(config.seed)  # NLTK shuffles with the global generator
    random.shuffle(sentences)
    perceptron = PerceptronTagger(load=False)
    logger.info("%d sentences, %d passes", len(sentences), config.passes)
    perceptron.train(sentences, nr_iter=config.passes)
    save_tagger(perceptron, config.output, smallest=config.smallest)
    logger.info(
        "%s: %.1f MB, %.0f s", config.output, config.output.stat().st_size / 1e6, time.monotonic() - started
    )
    return {path.name: accuracy(load_tagger(config.output), path) for path in config.test}


def accuracy(tagger: Tagger, path: Path) -> float:
    """Share of the words of a treebank file that get their own tag."""
    return tagger.accuracy(read_sentences(path))


def read_sentences(path: Path) -> Iterator[Sentence]:
    """Raises:
    InputError: there is no such file, or a line is not a list of [word, tag] pairs.
    """
    if not path.is_file():
        raise InputError(f"No treebank at {path}: check `train` and `test` in the configuration.")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield [(str(word), str(tag)) for word, tag in json.loads(line)]
            except (ValueError, TypeError) as error:
                raise InputError(
                    f"{line_name(str(path), number)}: not [[word, tag], …] ({error}); fix or remove the line."
                ) from error


def _copies(sentence: Sentence) -> Iterator[Sentence]:
    """The sentence as it is, in lower case, and without its hyphens: papers come in all three."""
    sentence = [(tagger_form(word), tag) for word, tag in sentence]
    yield sentence
    yield [(word.lower(), tag) for word, tag in sentence]
    if any(tag == "HYPH" for _, tag in sentence):
        yield [(word, tag) for word, tag in sentence if tag != "HYPH"]
