"""How texts become vectors, and how vectors are searched: what an index is made with. Loads nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from kpdemo.errors import ConfigError
from kpdemo.routing import DEFAULT_MODEL

Pooling = Literal["mean", "first", "pooler"]


@dataclass(frozen=True)
class EncoderConfig:
    """Attributes:
    model: "default", a name of `kpdemo.simckp.encoder`, "owner/name" on the Hub, or a folder: as
        Transformers saves it, or a model of kpdemo with a phrase bank, whose pair encoder is taken.
    pooling: the mean over the tokens; the first token, as RAMKG; or the first through the model's own
        pooler, as LaBSE.
    normalise: vectors of length 1, so that the dot product is the cosine; RAMKG's have their own length.
    length: most tokens of a text that are read.
    query_prefix, passage_prefix: put before the text, such as "query: " and "passage: " for E5.
    """

    model: str = DEFAULT_MODEL
    pooling: Pooling = "mean"
    normalise: bool = True
    length: int = 512
    query_prefix: str = ""
    passage_prefix: str = ""

    def __post_init__(self) -> None:
        if self.pooling not in get_args(Pooling):
            raise ConfigError(f"There is no pooling {self.pooling!r}: choose mean, first or pooler.")
        if self.length < 3:
            raise ConfigError(f"An encoder cannot read {self.length} tokens: give 3 or more.")


IndexType = Literal["flat", "ivf", "hnsw", "ivfpq"]


@dataclass(frozen=True)
class IndexConfig:
    """Attributes, each with FAISS's own name; 0 lets the size and the vectors of the index decide.

    type: "flat" compares with all vectors; "ivf" with those of the nearest lists (k-means cells); "hnsw"
        walks a graph of neighbours; "ivfpq" is ivf over compressed vectors, whose best are compared again
        exactly.
    nlist, nprobe: lists of ivf and ivfpq, and how many of them a query looks through.
    hnsw_m, ef_search: links of a vector in the graph, and how many candidates a query keeps.
    pq_m: bytes of a compressed vector; must divide the width.
    """

    type: IndexType = "flat"
    nlist: int = 0
    nprobe: int = 0
    hnsw_m: int = 32
    ef_search: int = 0
    pq_m: int = 0

    def __post_init__(self) -> None:
        if self.type not in get_args(IndexType):
            raise ConfigError(f"There is no index type {self.type!r}: choose flat, ivf, hnsw or ivfpq.")
        for name in ("nlist", "nprobe", "ef_search", "pq_m"):
            if getattr(self, name) < 0:
                raise ConfigError(f"The setting {name} must be 0 or more, not {getattr(self, name)}.")
        if self.hnsw_m < 2:
            raise ConfigError(f"The setting hnsw_m must be 2 or more, not {self.hnsw_m}.")

    def refuse_unused(self) -> None:
        """Raises:
        ConfigError: a setting is given that an index of this type does not have.
        """
        for name, types in _TYPES_WITH.items():
            value = getattr(self, name)
            if self.type not in types and value != getattr(IndexConfig, name):
                raise ConfigError(
                    f"An index of the type {self.type} has no {name}, but {value} was given: leave it out, "
                    f"or choose {' or '.join(types)}."
                )


_TYPES_WITH: dict[str, tuple[IndexType, ...]] = {
    "nlist": ("ivf", "ivfpq"),
    "nprobe": ("ivf", "ivfpq"),
    "hnsw_m": ("hnsw",),
    "ef_search": ("hnsw",),
    "pq_m": ("ivfpq",),
}
