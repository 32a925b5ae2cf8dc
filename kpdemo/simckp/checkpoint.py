"""Checkpoint folders of extractors, and the form of all folders: written once, checked by hash when read.

A folder may hold only its differences from the model in a folder next to it or above it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from tokenizers import Tokenizer
from torch import Tensor, nn

from kpdemo.candidates.chunks import CandidateConfig
from kpdemo.candidates.tagger import load_tagger
from kpdemo.errors import ModelLoadError
from kpdemo.identity import (
    CARD,
    CONFIG,
    PAGE,
    SUMS,
    TRAINING,
    check_sums,
    read_sums,
    sha256_of,
    stored_config,
    write_sums,
)
from kpdemo.io.files import parse_json, replace_file
from kpdemo.languages import ENGLISH
from kpdemo.simckp.bert import BertConfig, BertEncoder, with_bert_state
from kpdemo.simckp.calibration import Calibration, ExpectedF1
from kpdemo.simckp.candidate_ranker import CANDIDATE_FEATURES, CandidateRanker
from kpdemo.simckp.extractor import (
    ContrastiveExtractor,
    ExtractorConfig,
    Second,
    Selection,
    SimckpPredictor,
    encoder_of,
)
from kpdemo.simckp.feature_network import FeatureNetwork
from kpdemo.simckp.storage import Storage, pack, pack_differences, unpack, unpack_differences, unset_weights

FORMAT = 1
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
FILES = (CONFIG, WEIGHTS, TOKENIZER)
BACKBONE = "backbone"
ENCODER = "encoder."
"""What the names of an encoder's weights begin with."""
WORDS = f"{ENCODER}embeddings.word_embeddings."
"""What the names of its word embeddings begin with: a vector for each word piece, half of a small encoder."""
BASE = "base"
"""In the configuration of a folder that holds what differs from another: which, and its weights' SHA-256."""

UNREADABLE: tuple[type[Exception], ...] = (
    *(OSError, EOFError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError),
    *(ImportError, RuntimeError, SafetensorError, UnpicklingError, StrictDataclassError),
)
"""What our libraries raise for files and settings that are missing, cut short or of another kind."""

_UNFIT = "its weights do not fit its configuration"


@dataclass(frozen=True)
class StoredModel:
    """What a checkpoint folder holds: its configuration, and the weights in fp32."""

    config: dict[str, Any]
    weights: dict[str, Tensor]
    tokenizer: Tokenizer

    @property
    def selection(self) -> Selection:
        return read_selection(self.config["selection"])

    @property
    def padding(self) -> int:
        return int(self.config["backbone"]["pad_token_id"])


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
    write_tensors(folder / WEIGHTS, pack(state, storage), _made_for(config))
    write_config(folder, {"format": FORMAT, **config})
    (folder / CARD).write_text(card, encoding="utf-8")
    write_sums(folder)


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> None:
    """Write a safetensors file with the usual permissions; the library's own function makes it private."""
    replace_file(path, save(dict(tensors), dict(metadata) if metadata else None))


def copy_encoder(
    folder: Path, source: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor]
) -> None:
    """Write tokenizer, configuration and weights of the checkpoint `source`, which has been checked.

    Args:
        config: the configuration of `source`, changed where its weights are not concerned.
        weights: of `source`; written whole where it holds only differences from another folder's.
    """
    for path in source.glob("tokenizer*.json"):
        shutil.copyfile(path, folder / path.name)
    if BASE in config:
        write_tensors(folder / WEIGHTS, weights, _made_for(config))
    else:
        shutil.copyfile(source / WEIGHTS, folder / WEIGHTS)
    write_config(folder, {name: value for name, value in config.items() if name != BASE})


@contextmanager
def open_folder(folder: Path, kind: str) -> Iterator[StoredModel]:
    """The contents of a folder of this kind; errors within the block are reported as a damaged folder.

    Raises:
        ModelLoadError: a file is missing or damaged, or the folder holds another kind of model.
    """
    check_sums(folder, FILES)
    with _damage_reported(folder):
        config = parse_json((folder / CONFIG).read_text(encoding="utf-8"))
        if (config["kind"], config["format"]) != (kind, FORMAT):
            raise ModelLoadError(
                f"{folder} holds a {config['kind']} of format {config['format']}, not a {kind} of format "
                f"{FORMAT}: give another folder, or update kpdemo."
            )
        yield StoredModel(
            config,
            _stored_weights(folder, config),
            _tokenizer(folder / TOKENIZER),
        )


@contextmanager
def _damage_reported(folder: Path) -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise ModelLoadError(
            f"The model in {folder} cannot be read ({_reason(error)}): restore the folder."
        ) from error


def _tokenizer(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more exact
        raise ValueError(f"{path.name}: {error}") from error


def _reason(error: Exception) -> str:
    """The first sentence of an error; PyTorch's own lists weights for pages where these do not fit."""
    text = str(error).strip() or type(error).__name__
    if "loading state_dict" in text:
        return _UNFIT
    return text.splitlines()[0].partition(". ")[0]


def base_of(folder: Path) -> Path | None:
    """The folder next to or above this one whose model it changes, if it is stored as differences."""
    base = stored_config(folder).get(BASE)
    return folder.parent / base["folder"] if base else None


def content_hash(folder: Path) -> str:
    """A hash of what training takes from a checkpoint folder: all but its name, card, selection and ranker.

    So it stays the same when a part is saved again under another name, or its selection is learnt again.

    Raises:
        ModelLoadError: a file is missing or damaged.
    """
    check_sums(folder, FILES)
    files = {
        name: digest
        for name, digest in read_sums(folder).items()
        if name not in (CONFIG, RANKER_WEIGHTS) and not name.endswith(".md")
    }
    taken = {
        name: value
        for name, value in stored_config(folder).items()
        if name not in ("name", "selection", RANKER, TRAINING)
    }
    return hashlib.sha256(json.dumps([files, taken], sort_keys=True).encode()).hexdigest()


def part_of(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The weights whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    text = json.dumps(config, indent=2, sort_keys=True)
    (folder / CONFIG).write_text(f"{text}\n", encoding="utf-8")


def _made_for(config: Mapping[str, Any]) -> dict[str, str]:
    """Metadata that ties the weights to their encoder: names and shapes alone fit several architectures."""
    stored = json.loads(json.dumps(config.get("backbone")))  # numbers of labels are text there, and sort so
    described = json.dumps(stored, sort_keys=True)
    return {BACKBONE: hashlib.sha256(described.encode()).hexdigest()}


def _check_made_for(folder: Path, config: Mapping[str, Any]) -> None:
    """Raises:
    ValueError: the configuration describes another encoder than the weights were stored with.
    """
    with safe_open(folder / WEIGHTS, framework="pt") as file:
        told = (file.metadata() or {}).get(BACKBONE)
    if told != _made_for(config)[BACKBONE]:
        raise ValueError(_UNFIT)


def _stored_weights(folder: Path, config: Mapping[str, Any]) -> dict[str, Tensor]:
    """The weights of a folder, float32; where it is stored as a change, applied to those of its base."""
    _check_made_for(folder, config)
    own = load_file(folder / WEIGHTS)
    if BASE not in config:
        return unpack(own)
    base = folder.parent / config[BASE]["folder"]
    check_sums(base, FILES)
    if read_sums(base)[WEIGHTS] != config[BASE]["weights"]:
        raise ModelLoadError(
            f"The model in {folder} stores differences from another version of {base}: restore the two that "
            "belong together."
        )
    whole = load_file(base / WEIGHTS)
    if not config[BASE].get("differences"):
        return unpack(whole | own)
    words, others = _words_and_others(own)
    return unpack_differences(words, unpack(_words_and_others(whole)[0])) | unpack(others)


def _words_and_others(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    words = {name: value for name, value in tensors.items() if name.startswith(WORDS)}
    return words, {name: value for name, value in tensors.items() if name not in words}


def store_as_change(folder: Path, base: Path) -> None:
    """Keep in the checkpoint `folder` only the weights that differ from those of `base`.

    From then on the two folders must stay side by side.

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
    _write_based(folder, changed, {"folder": base.name, "weights": sha256_of(base / WEIGHTS)})


def store_words_as_differences(folder: Path) -> None:
    """Replace the word embeddings in `folder` by their differences from those of the model one folder up.

    These have four bits a weight, see `kpdemo.simckp.storage`, so that the embeddings change slightly.
    All other weights stay as they are stored.

    Raises:
        ModelLoadError: the model one folder up is missing or damaged.
        ValueError: the embeddings have other names or shapes.
    """
    base = folder.parent
    check_sums(base, FILES)
    own, others = _words_and_others(load_file(folder / WEIGHTS))
    theirs, _ = _words_and_others(load_file(base / WEIGHTS))
    differences = pack_differences(unpack(own), unpack(theirs))
    described = {"folder": ".", "weights": sha256_of(base / WEIGHTS), "differences": True}
    _write_based(folder, differences | others, described)


def _write_based(folder: Path, tensors: dict[str, Tensor], base: Mapping[str, Any]) -> None:
    config = parse_json((folder / CONFIG).read_text(encoding="utf-8"))
    config[BASE] = dict(base)
    write_tensors(folder / WEIGHTS, tensors, _made_for(config))
    write_config(folder, config)
    write_sums(folder)


def read_selection(stored: Mapping[str, Any]) -> Selection:
    """A selection from a stored configuration."""
    counting = stored["counting"]
    return Selection(
        _number(stored["threshold"]),
        Calibration(**_numbers(stored["calibration"])),
        ExpectedF1(**_numbers(counting)) if counting else None,
    )


def _numbers(stored: Mapping[str, Any]) -> dict[str, float]:
    return {name: _number(value) for name, value in stored.items()}


def _number(value: Any) -> float:
    if not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return value


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
    languages: Sequence[str] = (ENGLISH,),
) -> None:
    """Write weights, tokenizer, configuration, model card and hashes into `folder`.

    Args:
        languages: of the documents that it was trained on.
        storage: of the weights; "int8" takes half the space of "fp16", see `kpdemo.simckp.storage`.
    """
    described = {"kind": KIND, "name": name, "languages": sorted(languages)}
    config = extractor_config(module, selection) | described
    write_folder(folder, module.state_dict(), tokenizer, config, card=card, storage=storage)


def load_checkpoint(folder: Path, *, device: str = "auto") -> SimckpPredictor:
    """Open a folder that `save_checkpoint` wrote.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.

    Raises:
        ModelLoadError: a file is missing or damaged, or the device is not there.
    """
    target = choose_device(device)
    with open_folder(folder, KIND) as stored:
        module = build_extractor(stored.config, stored.weights)
        second = _second(folder, stored)
        predictor = extractor_predictor(stored, module.to(target).eval())
    if second is not None:
        second.module.to(target).eval()
    return replace(predictor, second=second)


def _second(folder: Path, stored: StoredModel) -> Second | None:
    """The second extractor of a folder, if it has one."""
    if SECOND not in stored.config:
        return None
    weights = unpack_differences(load_file(folder / SECOND_WEIGHTS), stored.weights)
    return Second(build_extractor(stored.config, weights), float(stored.config[SECOND]["share"]))


def extractor_predictor(stored: StoredModel, module: ContrastiveExtractor) -> SimckpPredictor:
    """A predictor of the extractor `module` and of what else its folder holds."""
    return SimckpPredictor(
        stored.config["name"],
        module,
        stored.tokenizer,
        stored.padding,
        load_tagger(),
        stored.selection,
        languages=frozenset(stored.config.get("languages", (ENGLISH,))),
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
            if not stored.config.keys().isdisjoint((SECOND, RANKER, BASE)):
                raise ModelLoadError(
                    f"{folder} holds two extractors, a ranker of candidates, or only differences from "
                    "another model: give a single, complete extractor."
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
    """Write the folder of two extractors: the weights of the first, and how the second differs from it.

    The second changes nothing for models that are stored as changes of the first, nor for training that
    starts from it.

    Args:
        first: the checkpoint of one of them, whose weights and tokenizer are copied byte for byte.
        differences: the other's, from `open_both`.
        config: how the two read together.
        share: of the second in their score.
    """
    changed = {"extractor": asdict(config), "selection": asdict(selection), SECOND: {"share": share}}
    _write_more(folder, first, SECOND_WEIGHTS, differences, {**changed, "name": name}, card)


RANKER, RANKER_WEIGHTS = "ranker", "ranker.safetensors"
"""In the configuration, and in the folder, of an extractor whose best candidates a network puts in order."""


def save_ranked(folder: Path, extractor: Path, ranker: CandidateRanker, *, name: str, card: str) -> None:
    """Write the folder of an extractor with a ranker of its candidates.

    Args:
        extractor: its checkpoint, whose files are copied byte for byte.
    """
    described = {"ranked": ranker.ranked, "selection": asdict(ranker.selection)}
    tensors = ranker.network.packed("")
    _write_more(folder, extractor, RANKER_WEIGHTS, tensors, {RANKER: described, "name": name}, card)


def load_candidate_ranker(folder: Path) -> CandidateRanker | None:
    """That of an extractor's folder whose hashes are checked, if it has one.

    Raises:
        ModelLoadError: it is damaged.
    """
    described = stored_config(folder).get(RANKER)
    if described is None:
        return None
    with _damage_reported(folder):
        network = FeatureNetwork.unpacked(load_file(folder / RANKER_WEIGHTS), "", len(CANDIDATE_FEATURES))
        return CandidateRanker(network, int(described["ranked"]), read_selection(described["selection"]))


def _write_more(
    folder: Path,
    source: Path,
    file: str,
    tensors: Mapping[str, Tensor],
    changed: Mapping[str, Any],
    card: str,
) -> None:
    """Write the folder `source` of an extractor with one more file of tensors and a changed configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.is_file() and path.name not in (CARD, PAGE, SUMS):
            shutil.copyfile(path, folder / path.name)
    described = parse_json((source / CONFIG).read_text(encoding="utf-8"))
    write_config(folder, {**described, **changed})
    write_tensors(folder / file, tensors)
    (folder / CARD).write_text(card, encoding="utf-8")
    write_sums(folder)
