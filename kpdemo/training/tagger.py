"""Training of the part-of-speech tagger on treebanks with Penn tags."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from kpdemo.candidates.tagger import TAGGER_ASSET, load_tagger, save_tagger, tagger_form
from kpdemo.errors import InputError
from kpdemo.io.files import check_place, file_errors, open_bytes, parse_json
from kpdemo.io.tables import line_name
from kpdemo.training.data import Positive

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

    train: Annotated[tuple[Path, ...], Field(min_length=1)]
    test: tuple[Path, ...] = ()
    output: Path = TAGGER_ASSET
    passes: Positive = 4
    seed: int = 1
    smallest: float = 0.05


def train_tagger(config: TaggerConfig) -> dict[str, float]:
    """Train, store, read back and measure; returns the accuracy on each test file by its path.

    Raises:
        InputError: as `read_sentences`, also of a test file, before anything is trained.
        OSError: the output cannot be written, likewise.
    """
    from nltk.tag.perceptron import PerceptronTagger

    started = time.monotonic()
    check_place(config.output)
    tests = {str(path): list(read_sentences(path)) for path in config.test}
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
    return {name: load_tagger(config.output).accuracy(sentences) for name, sentences in tests.items()}


def read_sentences(path: Path) -> Iterator[Sentence]:
    """Raises:
    InputError: there is no such file, it is damaged or has no sentence, or a line is no list of pairs.
    """
    if not path.is_file():
        raise InputError(f"No treebank at {path}: check `train` and `test` in the configuration.")
    is_empty = True
    with open_bytes(path) as file, file_errors(path):
        for number, line in enumerate(file, 1):
            try:
                sentence = [(str(word), str(tag)) for word, tag in parse_json(line)]
            except (ValueError, TypeError) as error:
                raise InputError(
                    f"{line_name(str(path), number)}: not [[word, tag], …] ({error}); fix or remove the line."
                ) from error
            if sentence:
                is_empty = False
                yield sentence
    if is_empty:
        raise InputError(f"{path}: a treebank without a sentence; give one that has some, or leave it out.")


def _copies(sentence: Sentence) -> Iterator[Sentence]:
    """The sentence as it is, in lower case, and without its hyphens: papers come in all three."""
    sentence = [(tagger_form(word), tag) for word, tag in sentence]
    yield sentence
    yield [(word.lower(), tag) for word, tag in sentence]
    if any(tag == "HYPH" for _, tag in sentence):
        yield [(word, tag) for word, tag in sentence if tag != "HYPH"]
