"""The folder of a ranking of present keyphrases, beside the extractor that it was trained for."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
from safetensors.torch import load_file

from kpdemo.errors import ModelLoadError
from kpdemo.identity import CARD, CONFIG, check_sums, read_sums, write_sums
from kpdemo.io.files import parse_json
from kpdemo.simckp.checkpoint import (
    FORMAT,
    UNREADABLE,
    WEIGHTS,
    read_selection,
    write_config,
    write_tensors,
)
from kpdemo.simckp.dual_encoder import PairEncoder
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.keyphraseness import Keyphraseness
from kpdemo.simckp.ranking import PresentRanker, RankingConfig

RANKING_KIND = "simckp-ranking"
KEYPHRASENESS = "keyphraseness.safetensors"


def extractor_hash(folder: Path) -> str:
    """The hash of the weights in the folder of an extractor: what a ranking belongs to.

    Raises:
        ModelLoadError: it is no checkpoint folder.
    """
    return read_sums(folder).get(WEIGHTS, "")


def save_ranking(
    folder: Path, ranker: PresentRanker, selection: Selection, *, extractor: str, name: str, card: str
) -> None:
    """Write weights, table, configuration, model card and hashes into `folder`.

    Args:
        selection: for the scores that the ranker gives.
        extractor: see `extractor_hash`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if ranker.keyphraseness is not None:
        write_tensors(folder / KEYPHRASENESS, ranker.keyphraseness.packed())
    config = {
        "format": FORMAT,
        "kind": RANKING_KIND,
        "name": name,
        "ranking": asdict(ranker.config),
        "weights": dict(zip(ranker.config.features, ranker.weights.tolist(), strict=True)),
        "intercept": ranker.intercept,
        "selection": asdict(selection),
        "extractor": extractor,
    }
    write_config(folder, config)
    (folder / CARD).write_text(card, encoding="utf-8")
    write_sums(folder)


def load_ranking(
    folder: Path, extractor: Path, encoder: PairEncoder | None
) -> tuple[PresentRanker, Selection]:
    """Open a folder that `save_ranking` wrote.

    Args:
        extractor: the folder of the extractor whose candidates are to be ranked.
        encoder: of the bank; None without one.

    Raises:
        ModelLoadError: a file is missing or damaged, the ranking was trained for another extractor, or it
            needs the encoder of a bank and there is none.
    """
    check_sums(folder, (CONFIG,))
    try:
        stored = parse_json((folder / CONFIG).read_text(encoding="utf-8"))
        if (stored["kind"], stored["format"]) != (RANKING_KIND, FORMAT):
            raise ValueError(f"it holds a {stored['kind']} of format {stored['format']}")
        config = RankingConfig(**stored["ranking"])
        table = Keyphraseness.unpacked(load_file(folder / KEYPHRASENESS)) if config.keyphraseness else None
        weights = np.array([float(stored["weights"][name]) for name in config.features])
        compared = encoder if config.similarity else None
        ranker = PresentRanker(config, weights, float(stored["intercept"]), compared, table)
        selection = read_selection(stored["selection"])
        trained_for = stored["extractor"]
    except UNREADABLE as error:
        raise ModelLoadError(f"The ranking {folder} cannot be read ({error}): restore the folder.") from error
    if trained_for != extractor_hash(extractor):
        raise ModelLoadError(
            f"The ranking {folder} was trained for another extractor than that in {extractor}: retrain it "
            "with `python -m kpdemo train ranking`."
        )
    if config.similarity and encoder is None:
        raise ModelLoadError(
            f"The ranking {folder} compares documents and phrases by the encoder of a bank, and there is "
            "none: put the bank next to it."
        )
    return ranker, selection
