"""Checkpoint folders: written once after training, checked by hash when read.

A folder may hold no more than what differs from the model in a folder beside it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from kpdemo.candidates.chunks import CandidateConfig
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import ModelLoadError
from kpdemo.simckp.bert import BertConfig, BertEncoder, bert_state
from kpdemo.simckp.counting import ExpectedF1
from kpdemo.simckp.differences import unpack_differences
from kpdemo.simckp.model import ContrastiveExtractor, ExtractorConfig, encoder_of
from kpdemo.simckp.predictor import Second, Selection, SimckpPredictor
from kpdemo.simckp.quantized import Storage, pack, unpack
from kpdemo.simckp.threshold import Calibration
from kpdemo.simckp.unset import unset_weights
from kpdemo.sums import SUMS, check_sums, sha256_of, write_sums

FORMAT = 1
KIND = "simckp-extractor"
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
CARD = "MODEL_CARD.md"
FILES = (CONFIG, WEIGHTS, TOKENIZER)
ENCODER = "encoder."
BACKBONE = "backbone"
SECOND, SECOND_WEIGHTS = "second", "second.safetensors"
"""In the configuration, and in the folder, of an extractor that has a second one."""

_UNFIT = "its weights do not fit its configuration"


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
    if second is not None:
        second.module.to(target).eval()
    return replace(stored.predictor(module.to(target).eval()), second=second)


def _second(folder: Path, stored: StoredModel) -> Second | None:
    """The second extractor of a folder, if it has one (`kpdemo.simckp.ensemble`)."""
    if SECOND not in stored.config:
        return None
    weights = unpack_differences(load_file(folder / SECOND_WEIGHTS), stored.weights)
    return Second(build_extractor(stored.config, weights), float(stored.config[SECOND]["share"]))


@dataclass(frozen=True)
class StoredModel:
    """What a checkpoint folder holds: its configuration, and the weights in fp32."""

    config: dict[str, Any]
    weights: dict[str, Tensor]
    tokenizer: Tokenizer

    @property
    def selection(self) -> Selection:
        return _selection(self.config["selection"])

    @property
    def padding(self) -> int:
        return int(self.config["backbone"]["pad_token_id"])

    def predictor(self, module: ContrastiveExtractor) -> SimckpPredictor:
        """The extractor `module`, ready to predict."""
        return SimckpPredictor(
            self.config["name"], module, self.tokenizer, self.padding, load_tagger(), self.selection
        )


def extractor_config(module: ContrastiveExtractor, selection: Selection | None) -> dict[str, Any]:
    """What the configuration of a checkpoint says of its extractor.

    Args:
        selection: None for one that chooses nothing.
    """
    described = module.encoder.config.to_diff_dict()  # type: ignore[union-attr, operator]
    return {
        "backbone": backbone_config(described),
        "extractor": asdict(module.config),
        "selection": asdict(selection) if selection else None,
    }


def backbone_config(described: Mapping[str, Any]) -> dict[str, Any]:
    """Transformers' configuration of a model without what only says where it came from."""
    private = {"_name_or_path", "transformers_version", "dtype", "torch_dtype"}
    return {key: value for key, value in described.items() if key not in private}


def write_folder(
    folder: Path,
    state: Mapping[str, Tensor],
    tokenizer: Any,
    config: Mapping[str, Any],
    *,
    card: str,
    storage: Storage,
) -> None:
    """Write the weights `state`, tokenizer, configuration, model card and hashes."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    save_file(pack(state, storage), folder / WEIGHTS, _made_for(config))
    write_config(folder, {"format": FORMAT, **config})
    (folder / CARD).write_text(card, encoding="utf-8")
    write_sums(folder)


@contextmanager
def opened_folder(folder: Path, kind: str) -> Iterator[StoredModel]:
    """What a folder of this kind holds; what goes wrong while a module is built from it is told as damage.

    Raises:
        ModelLoadError: a file is missing or damaged, or the folder holds another kind of model.
    """
    check_sums(folder, FILES)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if (config["kind"], config["format"]) != (kind, FORMAT):
            raise ModelLoadError(
                f"{folder} holds a {config['kind']} of format {config['format']}, not a {kind} of format "
                f"{FORMAT}: give another folder, or update kpdemo."
            )
        yield StoredModel(
            config,
            unpack(_stored_weights(folder, config)),
            Tokenizer.from_file(str(folder / TOKENIZER)),
        )
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise ModelLoadError(
            f"The model in {folder} cannot be read ({_reason(error)}): restore the folder."
        ) from error


def _reason(error: Exception) -> str:
    """The first sentence of an error; PyTorch's own lists weights for pages where these do not fit."""
    text = str(error).strip() or type(error).__name__
    if "loading state_dict" in text:
        return _UNFIT
    return text.splitlines()[0].partition(". ")[0]


def kind_of(folder: Path) -> str:
    """What the folder says it holds; nothing where it cannot be read, which its loader explains."""
    try:
        described = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(described.get("kind", "")) if isinstance(described, dict) else ""


def base_of(folder: Path) -> Path | None:
    """The folder beside this one whose model it changes, if it is stored as a change."""
    try:
        base = json.loads((folder / CONFIG).read_text(encoding="utf-8")).get("base")
    except (OSError, ValueError, AttributeError):
        return None  # whoever opens the folder is told
    return folder.parent / base["folder"] if base else None


def _made_for(config: Mapping[str, Any]) -> dict[str, str]:
    """What the file of weights tells of its encoder: names and shapes alone fit several architectures."""
    stored = json.loads(json.dumps(config.get("backbone")))  # numbers of labels are text there, and sort so
    described = json.dumps(stored, sort_keys=True)
    return {BACKBONE: hashlib.sha256(described.encode()).hexdigest()}


def _check_made_for(folder: Path, config: Mapping[str, Any]) -> None:
    """Weights that were stored before they told of their encoder pass.

    Raises:
        ValueError: the configuration describes another encoder than the weights were stored with.
    """
    with safe_open(folder / WEIGHTS, framework="pt") as file:
        told = (file.metadata() or {}).get(BACKBONE)
    if told is not None and told != _made_for(config)[BACKBONE]:
        raise ValueError(_UNFIT)


def _stored_weights(folder: Path, config: Mapping[str, Any]) -> dict[str, Tensor]:
    _check_made_for(folder, config)
    own = load_file(folder / WEIGHTS)
    if "base" not in config:
        return own
    base = folder.parent / config["base"]["folder"]
    check_sums(base, FILES)
    if sha256_of(base / WEIGHTS) != config["base"]["weights"]:
        raise ModelLoadError(
            f"The model in {folder} changes another version of {base}: put the two that belong together "
            "side by side."
        )
    return load_file(base / WEIGHTS) | own


def store_as_change(folder: Path, base: Path) -> None:
    """Leave in the checkpoint `folder` only the weights that differ from those of `base`.

    The two folders have to stand side by side from then on.

    Raises:
        ModelLoadError: `base` is missing or damaged.
    """
    check_sums(base, FILES)
    known, own = load_file(base / WEIGHTS), load_file(folder / WEIGHTS)
    changed = {
        name: value
        for name, value in own.items()
        if name not in known or value.dtype != known[name].dtype or not torch.equal(value, known[name])
    }
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config["base"] = {"folder": base.name, "weights": sha256_of(base / WEIGHTS)}
    save_file(changed, folder / WEIGHTS, _made_for(config))
    write_config(folder, config)
    write_sums(folder)


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    text = json.dumps(config, indent=2, sort_keys=True)
    (folder / CONFIG).write_text(f"{text}\n", encoding="utf-8")


def _selection(stored: Mapping[str, Any]) -> Selection:
    counting = stored.get("counting")  # older checkpoints have none
    return Selection(
        stored["threshold"],
        Calibration(**stored["calibration"]),
        ExpectedF1(**counting) if counting else None,
    )


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
    theirs = {name: value for name, value in weights.items() if name.startswith(ENCODER)}
    heads = {name: value for name, value in weights.items() if name not in theirs}
    ours = bert_state({name.removeprefix(ENCODER): value for name, value in theirs.items()})
    state = heads | {f"{ENCODER}{name}": value for name, value in ours.items()}
    module.load_state_dict(state, assign=True)
    return module


def extractor_settings(config: Mapping[str, Any]) -> ExtractorConfig:
    """The settings in a stored configuration."""
    extractor = dict(config["extractor"])
    return ExtractorConfig(**extractor | {"candidates": CandidateConfig(**extractor["candidates"])})


def transformers_encoder(backbone: Mapping[str, Any]) -> nn.Module:
    """An encoder of any other architecture."""
    from transformers import AutoConfig, AutoModel

    described = dict(backbone)
    config = AutoConfig.for_model(described.pop("model_type"), **described)
    return encoder_of(AutoModel.from_config(config))  # type: ignore[no-untyped-call]


def content_hash(folder: Path) -> str:
    """What tells a checkpoint folder from another one that stood or will stand in its place.

    Raises:
        ModelLoadError: a file is missing or damaged.
    """
    check_sums(folder, FILES)
    return sha256_of(folder / SUMS)
