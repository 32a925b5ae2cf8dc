"""Folders of RAMKG's generator: any encoder-decoder with the tokens that were added to it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformers import GenerationConfig

from kpdemo.predictors import RAMKG_KIND
from kpdemo.ramkg.frames import Ends
from kpdemo.ramkg.generator import RamkgGenerator
from kpdemo.ramkg.vocabulary import Vocabulary, WriterSettings
from kpdemo.ramkg.writer import Writer
from kpdemo.simckp.checkpoint import (
    backbone_config,
    choose_device,
    load_own_state,
    own_state,
    transformers_encoder_decoder,
)
from kpdemo.simckp.folders import opened_folder, write_folder
from kpdemo.simckp.quantized import Storage


def build_writer(name: str, model: Any, tokenizer: Any, settings: WriterSettings, ends: Ends) -> Writer:
    """Args:
    model: of Transformers; its `generation_config` is reset.
    tokenizer: of the `tokenizers` library.
    """
    # Otherwise a checkpoint's own settings would apply wherever a call sets none.
    model.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Writer(name, model, tokenizer, Vocabulary.of(tokenizer, settings, ends), settings)


def save_writer(
    folder: Path, writer: Writer, tokenizer: Any, ends: Ends, *, card: str, storage: Storage = "fp16"
) -> None:
    """Write weights, tokenizer, configuration, model card and hashes into `folder`.

    Args:
        tokenizer: of Transformers.
    """
    config = {
        "kind": RAMKG_KIND,
        "name": writer.name,
        "architecture": type(writer.model).__name__,
        "backbone": backbone_config(writer.model.config),
        "writer": asdict(writer.settings),
        "ends": asdict(ends),
    }
    write_folder(folder, own_state(writer.model), tokenizer, config, card=card, storage=storage)


def load_writer(folder: Path, *, device: str = "auto") -> Writer:
    """Open a folder that `save_writer` wrote.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.

    Raises:
        ModelLoadError: a file is missing or damaged, or the device is not there.
    """
    target = choose_device(device)
    with opened_folder(folder, RAMKG_KIND) as stored:
        model = transformers_encoder_decoder(stored.config["backbone"])
        load_own_state(model, stored.weights)
        settings = dict(stored.config["writer"])
        settings["made_for"] = tuple(settings["made_for"])
        ends = dict(stored.config["ends"])
        return build_writer(
            stored.config["name"],
            model.to(target).eval(),
            stored.tokenizer,
            WriterSettings(**settings),
            Ends(**ends | {"special": tuple(ends["special"])}),
        )


def load_ramkg_generator(folder: Path, *, device: str = "auto") -> RamkgGenerator:
    """A predictor without passages; args and errors as `load_writer`."""
    return RamkgGenerator(load_writer(folder, device=device))
