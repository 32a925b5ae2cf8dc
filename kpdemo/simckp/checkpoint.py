"""Checkpoint folders of extractors, in the form of `kpdemo.simckp.folders`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from kpdemo.candidates.chunks import CandidateConfig
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import ModelLoadError
from kpdemo.simckp.bert import BertConfig, BertEncoder, with_bert_state
from kpdemo.simckp.differences import unpack_differences
from kpdemo.simckp.folders import ENCODER, FILES, WEIGHTS, StoredModel, opened_folder, write_folder
from kpdemo.simckp.model import ContrastiveExtractor, ExtractorConfig, encoder_of
from kpdemo.simckp.predictor import Second, Selection, SimckpPredictor
from kpdemo.simckp.quantized import Storage, unpack
from kpdemo.simckp.unset import unset_weights
from kpdemo.sums import check_sums

KIND = "simckp-extractor"
SECOND, SECOND_WEIGHTS = "second", "second.safetensors"
"""In the configuration, and in the folder, of an extractor that has a second one."""


def save_checkpoint(
    folder: Path,
    module: ContrastiveExtractor,
    tokenizer: Any,
    selection: Selection,
    *,
    name: str,
    card: str,
    storage: Storage = "fp16",
) -> None:
    """Write weights, tokenizer, configuration, model card and hashes into `folder`.

    Args:
        storage: of the weights; "int8" takes half the space of "fp16", see `kpdemo.simckp.quantized`.
    """
    config = extractor_config(module, selection) | {"kind": KIND, "name": name}
    write_folder(folder, module.state_dict(), tokenizer, config, card=card, storage=storage)


def load_checkpoint(folder: Path, *, device: str = "auto") -> SimckpPredictor:
    """Open a folder that `save_checkpoint` wrote.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.

    Raises:
        ModelLoadError: a file is missing or damaged, or the device is not there.
    """
    target = choose_device(device)
    with opened_folder(folder, KIND) as stored:
        module = build_extractor(stored.config, stored.weights)
        second = _second(folder, stored)
        predictor = extractor_predictor(stored, module.to(target).eval())
    if second is not None:
        second.module.to(target).eval()
    return replace(predictor, second=second)


def _second(folder: Path, stored: StoredModel) -> Second | None:
    """The second extractor of a folder, if it has one (`kpdemo.simckp.ensemble`)."""
    if SECOND not in stored.config:
        return None
    weights = unpack_differences(load_file(folder / SECOND_WEIGHTS), stored.weights)
    return Second(build_extractor(stored.config, weights), float(stored.config[SECOND]["share"]))


def extractor_predictor(stored: StoredModel, module: ContrastiveExtractor) -> SimckpPredictor:
    """A predictor of the extractor `module` and of what else its folder holds."""
    return SimckpPredictor(
        stored.config["name"], module, stored.tokenizer, stored.padding, load_tagger(), stored.selection
    )


def extractor_config(module: ContrastiveExtractor, selection: Selection | None) -> dict[str, Any]:
    """The part of a checkpoint's configuration that describes the extractor.

    Args:
        selection: None for one that chooses nothing.
    """
    return {
        "backbone": backbone_config(module.encoder.config),
        "extractor": asdict(module.config),
        "selection": asdict(selection) if selection else None,
    }


def backbone_config(config: Any) -> dict[str, Any]:
    """Transformers' configuration of a model, without the fields that only record where it came from."""
    private = {"_name_or_path", "transformers_version", "dtype", "torch_dtype"}
    return {key: value for key, value in config.to_diff_dict().items() if key not in private}


def load_weights(folder: Path, module: ContrastiveExtractor) -> None:
    """Set the weights of `module`, built on the same backbone, to those of a checkpoint folder.

    Raises:
        ModelLoadError: the folder is damaged, or holds a model of another shape.
    """
    check_sums(folder, FILES)
    try:
        module.load_state_dict(unpack(load_file(folder / WEIGHTS)))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise ModelLoadError(
            f"The weights in {folder} do not fit the model to be trained: give a checkpoint of the same "
            "backbone and settings."
        ) from error


def choose_device(device: str) -> torch.device:
    """Raises:
    ModelLoadError: CUDA is asked for and not there, or the name is unknown.
    """
    available = torch.cuda.is_available()
    if device == "auto":
        return torch.device("cuda" if available else "cpu")
    if device == "cuda" and not available:
        raise ModelLoadError("There is no CUDA device on this machine: use --device cpu or auto.")
    if device not in ("cpu", "cuda"):
        raise ModelLoadError(f"There is no device {device!r}: choose auto, cpu or cuda.")
    return torch.device(device)


def build_extractor(config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> ContrastiveExtractor:
    """The extractor of a stored configuration, with these weights under Transformers' names."""
    settings = extractor_settings(config)
    bert = BertConfig.of(config["backbone"])
    if bert is None:
        module = ContrastiveExtractor(transformers_encoder(config["backbone"]), settings)
        module.load_state_dict(weights)
        return module
    with unset_weights():
        module = ContrastiveExtractor(BertEncoder(bert), settings)
    module.load_state_dict(with_bert_state(weights, ENCODER), assign=True)
    return module


def extractor_settings(config: Mapping[str, Any]) -> ExtractorConfig:
    """The settings in a stored configuration."""
    extractor = dict(config["extractor"])
    return ExtractorConfig(**extractor | {"candidates": CandidateConfig(**extractor["candidates"])})


def transformers_encoder(backbone: Mapping[str, Any], *, attention: str | None = None) -> nn.Module:
    """An encoder of any architecture, with Transformers' choice of `attention` where none is named."""
    from transformers import AutoModel

    config = _transformers_config(backbone)
    return encoder_of(
        AutoModel.from_config(config, attn_implementation=attention, trust_remote_code=False)  # type: ignore[no-untyped-call]
    )


def transformers_encoder_decoder(backbone: Mapping[str, Any]) -> Any:
    """An encoder-decoder of any architecture, with its language modelling head."""
    from transformers import AutoModelForSeq2SeqLM

    return AutoModelForSeq2SeqLM.from_config(_transformers_config(backbone), trust_remote_code=False)  # type: ignore[no-untyped-call]


def _transformers_config(backbone: Mapping[str, Any]) -> Any:
    from transformers import AutoConfig

    described = dict(backbone)
    return AutoConfig.for_model(described.pop("model_type"), **described)


def own_state(module: nn.Module) -> dict[str, Tensor]:
    """The state of a module, each tensor once, under the first of its names."""
    names = {name for name, _ in module.named_parameters()} | {name for name, _ in module.named_buffers()}
    return {name: value for name, value in module.state_dict().items() if name in names}


def load_own_state(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Set what `own_state` gave, under all names that share it.

    Raises:
        KeyError: a weight is missing, or belongs to another model.
    """
    left = module.load_state_dict(weights, strict=False)
    lacking = [*(own_state(module).keys() - weights.keys()), *left.unexpected_keys]
    if lacking:
        raise KeyError(f"the weight {min(lacking)} is missing or unknown")
