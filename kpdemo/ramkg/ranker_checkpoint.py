"""The folder of a ranker: its encoder, its lexicon, and the network with or without retrieval, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from kpdemo.predictors import RANKER_KIND
from kpdemo.ramkg.features import Knowledge
from kpdemo.ramkg.ranker import Choosing, Ranker
from kpdemo.ramkg.subwords import build_reader, reader_config, stored_tokenizer
from kpdemo.ramkg.terms import Lexicon
from kpdemo.simckp.counting import ExpectedF1
from kpdemo.simckp.folders import opened_folder, part_of, write_folder
from kpdemo.sums import write_sums

LEXICON = "lexicon.json.gz"

_ENCODER, _WITH, _WITHOUT = "encoder.", "with_retrieval.", "without_retrieval."


@dataclass(frozen=True)
class RankerModel:
    """Attributes:
    augmented: ranks with retrieved keyphrases; None where only the base model was trained.
    base: ranks without.
    passages: m, how many passages are retrieved.
    languages: it was trained for, by ISO 639-1 code.
    near: the least score of a passage that helps.
    """

    knowledge: Knowledge
    augmented: Choosing | None
    base: Choosing | None
    passages: int
    languages: frozenset[str]
    near: float


def save_ranker(folder: Path, model: RankerModel, *, name: str, card: str) -> None:
    """Write a checkpoint folder."""
    reader = model.knowledge.reader
    parts = {_WITH: model.augmented, _WITHOUT: model.base}
    state = {f"{_ENCODER}{key}": value for key, value in reader.module.state_dict().items()}
    counting = {}
    for prefix, part in parts.items():
        if part is not None:
            state |= {f"{prefix}{key}": value for key, value in part.module.state_dict().items()}
            counting[prefix] = {"gold": part.counting.gold, "minimum": part.minimum}
    config = {
        "kind": RANKER_KIND,
        "name": name,
        "encoder": reader_config(reader),
        "counting": counting,
        "passages": model.passages,
        "languages": sorted(model.languages),
        "near": model.near,
    }
    write_folder(folder, state, stored_tokenizer(reader), config, card=card, storage="fp16")
    model.knowledge.lexicon.save(folder / LEXICON)
    write_sums(folder)


def load_ranker(folder: Path, *, device: torch.device) -> RankerModel:
    """Open a folder that `save_ranker` wrote.

    Raises:
        ModelLoadError: a file is missing or damaged.
    """
    with opened_folder(folder, RANKER_KIND) as stored:
        config, weights = stored.config, stored.weights
        encoder = part_of(weights, _ENCODER)
        reader = build_reader(config["encoder"], encoder, stored.tokenizer, device)
        return RankerModel(
            knowledge=Knowledge.of(reader, Lexicon.load(folder / LEXICON)),
            augmented=_choosing(config["counting"], weights, _WITH),
            base=_choosing(config["counting"], weights, _WITHOUT),
            passages=int(config["passages"]),
            languages=frozenset(config["languages"]),
            near=float(config["near"]),
        )


def _choosing(
    counting: Mapping[str, Mapping[str, float]], weights: Mapping[str, Tensor], prefix: str
) -> Choosing | None:
    if prefix not in counting:
        return None
    module = Ranker(retrieval=prefix == _WITH)
    module.load_state_dict(part_of(weights, prefix))
    told = counting[prefix]
    return Choosing(module.eval().requires_grad_(False), ExpectedF1(told["gold"]), int(told["minimum"]))
