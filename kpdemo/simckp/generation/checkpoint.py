"""Checkpoint folders of an extractor-generator, in the form of `kpdemo.simckp.folders`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from kpdemo.simckp.checkpoint import (
    backbone_config,
    build_extractor,
    choose_device,
    extractor_config,
    extractor_predictor,
    extractor_settings,
    load_own_state,
    own_state,
    transformers_encoder_decoder,
)
from kpdemo.simckp.decoding import SimckpGenerator
from kpdemo.simckp.folders import StoredModel, opened_folder, part_of, write_folder
from kpdemo.simckp.generation.beam_search import SearchConfig
from kpdemo.simckp.generation.decoder import DecoderConfig, KeyphraseDecoder
from kpdemo.simckp.generation.generator import ExtractorGenerator
from kpdemo.simckp.generation.one2seq import One2SeqPredictor
from kpdemo.simckp.model import ContrastiveExtractor, encoder_of
from kpdemo.simckp.predictor import Selection, SimckpPredictor
from kpdemo.simckp.quantized import Storage
from kpdemo.simckp.unset import unset_weights

KIND = "simckp-generator"
ONE2SEQ = "one2seq"
_EXTRACTOR, _DECODER = "extractor.", "decoder."


def save_generator(
    folder: Path,
    module: ExtractorGenerator,
    tokenizer: Any,
    selection: Selection | None,
    *,
    name: str,
    card: str,
    storage: Storage = "fp16",
    kind: str = KIND,
    search: SearchConfig | None = None,
) -> None:
    """Write the folder as `save_checkpoint` does; what extractor and decoder share is written once.

    Args:
        search: of the `SimckpGenerator`.
        kind: `ONE2SEQ` for a decoder that writes the present keyphrases too.
    """
    config = extractor_config(module.extractor, selection) | {"kind": kind, "name": name}
    config |= _decoder_config(module.decoder) | ({"search": asdict(search)} if search else {})
    write_folder(folder, own_state(module), tokenizer, config, card=card, storage=storage)


def load_generator(folder: Path, *, device: str = "auto") -> tuple[SimckpPredictor, SimckpGenerator]:
    """Open a folder that `save_generator` wrote, as an extractor and a generator with the same weights.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.

    Raises:
        ModelLoadError: a file is missing or damaged, or the device is not there.
    """
    target = choose_device(device)
    with opened_folder(folder, KIND) as stored:
        generator = _generator(stored, target)
        return extractor_predictor(stored, generator.module.extractor), generator


def load_one2seq(folder: Path, *, device: str = "auto") -> One2SeqPredictor:
    """The same for a decoder that writes present and absent keyphrases.

    Raises:
        ModelLoadError: as of `load_generator`.
    """
    target = choose_device(device)
    with opened_folder(folder, ONE2SEQ) as stored:
        return One2SeqPredictor(_generator(stored, target))


def _generator(stored: StoredModel, device: torch.device) -> SimckpGenerator:
    build = _with_small_decoder if "decoder" in stored.config else _with_pretrained_decoder
    module = build(stored).to(device).eval()
    search = SearchConfig(**stored.config.get("search", {}))  # `ONE2SEQ` has none
    return SimckpGenerator(stored.config["name"], module, stored.tokenizer, stored.padding, search)


def _decoder_config(decoder: nn.Module) -> dict[str, Any]:
    """What the configuration says of the decoder; a pretrained one is described by the whole backbone."""
    if isinstance(decoder, KeyphraseDecoder):
        return {"decoder": asdict(decoder.config)}
    return {"backbone": backbone_config(decoder.model.config), "separator": decoder.vocabulary.separator}  # type: ignore[union-attr]


def _with_small_decoder(stored: StoredModel) -> ExtractorGenerator:
    extractor = build_extractor(stored.config, part_of(stored.weights, _EXTRACTOR))
    weights = part_of(stored.weights, _DECODER)
    width = int(stored.config["backbone"]["hidden_size"])
    with unset_weights():
        decoder = KeyphraseDecoder(DecoderConfig(**stored.config["decoder"]), width, weights["tokens"])
    decoder.load_state_dict(weights, assign=True)
    return ExtractorGenerator(extractor, decoder)


def _with_pretrained_decoder(stored: StoredModel) -> ExtractorGenerator:
    from kpdemo.simckp.generation.pretrained_decoder import PretrainedDecoder

    model = transformers_encoder_decoder(stored.config["backbone"])
    extractor = ContrastiveExtractor(encoder_of(model), extractor_settings(stored.config))
    module = ExtractorGenerator(extractor, PretrainedDecoder(model, stored.config["separator"]))
    load_own_state(module, stored.weights)
    return module
