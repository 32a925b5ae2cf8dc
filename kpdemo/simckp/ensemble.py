"""Two extractors in one folder: `model.safetensors` of the first, and how the second differs from it.

The second changes nothing for models that are stored as changes of the first, nor for training that starts
from it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from torch import Tensor

from kpdemo.errors import ModelLoadError
from kpdemo.identity import CARD, CONFIG, PAGE, SUMS, write_sums
from kpdemo.io.files import parse_json
from kpdemo.simckp.checkpoint import (
    BACKBONE,
    BASE,
    KIND,
    SECOND,
    SECOND_WEIGHTS,
    StoredModel,
    open_folder,
    write_config,
    write_tensors,
)
from kpdemo.simckp.extractor import ExtractorConfig, Selection
from kpdemo.simckp.storage import pack_differences

_ALIKE = ("head", "prior", "candidates")
"""Settings that two extractors have to share; each may have been trained with a temperature of its own."""


def open_both(first: Path, second: Path) -> tuple[StoredModel, dict[str, Tensor]]:
    """The first extractor, and how the second differs from it as `pack_differences` says.

    Raises:
        ModelLoadError: a folder is damaged or holds more than one extractor, or the two are not alike.
    """
    with ExitStack() as stack:
        one, other = (stack.enter_context(open_folder(folder, KIND)) for folder in (first, second))
        for folder, stored in ((first, one), (second, other)):
            if SECOND in stored.config or BASE in stored.config:
                raise ModelLoadError(
                    f"{folder} holds two extractors, or only differences from another model: give a single, "
                    "complete one."
                )
        unlike = _unlike(one, other)
        if unlike:
            raise ModelLoadError(
                f"The extractors in {first} and {second} differ in {unlike}: train both with the same."
            )
        return one, pack_differences(other.weights, one.weights)


def _unlike(one: StoredModel, other: StoredModel) -> str:
    names = [name for name in _ALIKE if one.config["extractor"][name] != other.config["extractor"][name]]
    if one.config[BACKBONE] != other.config[BACKBONE]:
        names.insert(0, BACKBONE)
    if one.tokenizer.get_vocab() != other.tokenizer.get_vocab():
        names.append("vocabulary")
    return ", ".join(names)


def save_ensemble(
    folder: Path,
    first: Path,
    differences: Mapping[str, Tensor],
    config: ExtractorConfig,
    selection: Selection,
    *,
    share: float,
    name: str,
    card: str,
) -> None:
    """Write the folder of two extractors.

    Args:
        first: the checkpoint of one of them, whose weights and tokenizer are copied byte for byte.
        differences: the other's, from `open_both`.
        config: how the two read together.
        share: of the second in their score.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in first.iterdir():
        if path.is_file() and path.name not in (CARD, PAGE, SUMS):
            shutil.copyfile(path, folder / path.name)
    described = parse_json((first / CONFIG).read_text(encoding="utf-8"))
    changed = {"extractor": asdict(config), "selection": asdict(selection), SECOND: {"share": share}}
    write_config(folder, described | changed | {"name": name})
    write_tensors(folder / SECOND_WEIGHTS, differences)
    (folder / CARD).write_text(card, encoding="utf-8")
    write_sums(folder)
