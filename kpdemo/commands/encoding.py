"""What the commands share that encode passages: the options of the encoder, and opening it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kpdemo.commands.options import Device
from kpdemo.ramkg.settings import EncoderConfig, Pooling
from kpdemo.reading.file_kinds import LINE_SUFFIXES, TABLE_SUFFIXES

if TYPE_CHECKING:
    from kpdemo.ramkg.encoder import Encoder
    from kpdemo.ramkg.index import PassageIndex

Item = TypeVar("Item")

PASSAGE_FILES = (*LINE_SUFFIXES, *TABLE_SUFFIXES)
LANGUAGES = """
The default encoder reads English. If queries and passages are in different languages, give an encoder trained
for both, such as sentence-transformers/LaBSE with --pooling pooler, or intfloat/multilingual-e5-small with
the prefixes "query: " and "passage: ".
"""


EncoderOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The encoder: `multilingual` or a model folder (that model can then predict with the index), "
        "OWNER/NAME on the Hub, or `default` (English, for search only).",
    ),
]
PoolingOption = Annotated[
    Pooling,
    typer.Option(
        help="How token vectors are pooled: their mean, the first one, or the first one through "
        "the encoder's pooler."
    ),
]
NormaliseOption = Annotated[
    bool, typer.Option(help="Scale vectors to length 1, so that the dot product is the cosine.")
]
LengthOption = Annotated[
    int,
    typer.Option(min=3, metavar="N", help="The most tokens read of a text."),
]
QueryPrefixOption = Annotated[str, typer.Option(metavar="TEXT", help="Text put before each query.")]
PassagePrefixOption = Annotated[str, typer.Option(metavar="TEXT", help="Text put before each passage.")]


IndexOption = Annotated[Path, typer.Option("--index", metavar="FOLDER", help="The index.")]
SameEncoderOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Where the index's own encoder is now, if it was moved."),
]


def open_encoder(config: EncoderConfig, device: Device, batch_size: int) -> Encoder:
    """See `kpdemo.ramkg.encoder.load_encoder`."""
    from kpdemo.ramkg.encoder import load_encoder

    return load_encoder(config, device=device, batch_size=batch_size)


def open_index(folder: Path) -> PassageIndex:
    """See `PassageIndex.open`."""
    from kpdemo.ramkg.index import PassageIndex

    return PassageIndex.open(folder)


def encoder_of(index: PassageIndex, model: str | None, device: Device, batch_size: int) -> Encoder:
    """The encoder that the index was made with."""
    config = index.manifest.encoder
    encoder = open_encoder(config if model is None else replace(config, model=model), device, batch_size)
    index.check_encoder(encoder, otherwise="" if model is None else ", or leave --model out")
    return encoder


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in their order, `size` at a time."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
