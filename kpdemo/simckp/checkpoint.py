"""Checkpoint folders: written once after training, checked by hash when read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer

from kpdemo.candidates.chunks import CandidateConfig
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import ModelLoadError
from kpdemo.simckp.model import ContrastiveExtractor, ExtractorConfig, encoder_of
from kpdemo.simckp.predictor import Selection, SimckpPredictor
from kpdemo.simckp.threshold import Calibration

FORMAT = 1
KIND = "simckp-extractor"
CONFIG, WEIGHTS, CARD, SUMS = "config.json", "model.safetensors", "MODEL_CARD.md", "SHA256SUMS"


def save_checkpoint(
    folder: Path, module: ContrastiveExtractor, tokenizer: Any, selection: Selection, *, name: str, card: str
) -> None:
    """Write weights (fp16), tokenizer, configuration, model card and hashes into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    half = {key: value.detach().half().cpu().contiguous() for key, value in module.state_dict().items()}
    save_file(half, folder / WEIGHTS)
    config = {
        "format": FORMAT,
        "kind": KIND,
        "name": name,
        "backbone": _backbone_config(module),
        "extractor": asdict(module.config),
        "selection": asdict(selection),
    }
    (folder / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    (folder / CARD).write_text(card, encoding="utf-8")
    (folder / SUMS).write_text(_sums(folder), encoding="utf-8")


def load_checkpoint(folder: Path, *, device: str = "auto") -> SimckpPredictor:
    """Open a folder that `save_checkpoint` wrote.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.

    Raises:
        ModelLoadError: a file is missing or damaged, or the device is not there.
    """
    target = choose_device(device)
    check_hashes(folder)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if (config["kind"], config["format"]) != (KIND, FORMAT):
            raise ModelLoadError(
                f"{folder} holds a {config['kind']} of format {config['format']}: update kpdemo."
            )
        module = _build(config)
        module.load_state_dict(load_file(folder / WEIGHTS))
        tokenizer = AutoTokenizer.from_pretrained(folder)
        stored = config["selection"]
        selection = Selection(stored["threshold"], Calibration(**stored["calibration"]))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelLoadError(
            f"The model in {folder} cannot be read ({reason}): restore the folder."
        ) from error
    return SimckpPredictor(config["name"], module.to(target).eval(), tokenizer, load_tagger(), selection)


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


def check_hashes(folder: Path) -> None:
    """Compare every file of the folder with SHA256SUMS.

    Raises:
        ModelLoadError: a file is missing or its bytes are others.
    """
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise ModelLoadError(f"No model at {folder}: {SUMS} is missing; give a checkpoint folder.") from error
    except (OSError, ValueError) as error:
        raise ModelLoadError(f"{folder / SUMS} cannot be read ({error}): restore the folder.") from error
    named = {line.partition("  ")[2] for line in lines}
    if not {CONFIG, WEIGHTS, "tokenizer.json"} <= named:
        raise ModelLoadError(f"{folder / SUMS} does not name all files of a model: restore the folder.")
    for line in lines:
        expected, _, name = line.partition("  ")
        path = folder / name
        if not path.is_file():
            raise ModelLoadError(f"The model in {folder} is incomplete: {name} is missing; restore it.")
        if _sha256(path) != expected:
            raise ModelLoadError(f"The model file {path} is damaged (its SHA-256 differs): restore it.")


def _build(config: dict[str, Any]) -> ContrastiveExtractor:
    extractor = dict(config["extractor"])
    candidates = CandidateConfig(**extractor.pop("candidates"))
    backbone = dict(config["backbone"])
    described = AutoConfig.for_model(backbone.pop("model_type"), **backbone)
    encoder = AutoModel.from_config(described)  # type: ignore[no-untyped-call]
    return ContrastiveExtractor(encoder_of(encoder), ExtractorConfig(**extractor, candidates=candidates))


def _backbone_config(module: ContrastiveExtractor) -> dict[str, Any]:
    described: dict[str, Any] = module.encoder.config.to_diff_dict()  # type: ignore[union-attr, operator]
    private = {"_name_or_path", "transformers_version", "dtype", "torch_dtype"}
    return {key: value for key, value in described.items() if key not in private}


def _sums(folder: Path) -> str:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    return "".join(f"{_sha256(path)}  {path.name}\n" for path in files)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
