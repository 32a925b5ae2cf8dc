"""Checkpoint folders of phrase banks and rerankers, in the form of `kpdemo.simckp.checkpoint`.

Both hold a pair encoder. A bank knows the encoder whose vectors it holds by `state_hash`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.random import fork_rng

from kpdemo.errors import ModelLoadError
from kpdemo.identity import CARD, write_sums
from kpdemo.io.files import parse_json, replace_file
from kpdemo.languages import ENGLISH
from kpdemo.simckp.beam_search import SearchConfig
from kpdemo.simckp.bert import BertConfig, BertEncoder, with_bert_state
from kpdemo.simckp.checkpoint import (
    backbone_config,
    choose_device,
    copy_encoder,
    open_folder,
    part_of,
    store_words_as_differences,
    transformers_encoder,
    write_folder,
)
from kpdemo.simckp.dual_encoder import DualEncoder, DualEncoderConfig, PairEncoder
from kpdemo.simckp.extractor import Selection
from kpdemo.simckp.phrase_bank import (
    VECTORS,
    Associations,
    BankScore,
    PhraseBank,
    TermRanker,
    WordProfiles,
)
from kpdemo.simckp.reranker import RETRIEVED_TERMS, Reranker, RerankerConfig, RerankerModel
from kpdemo.simckp.storage import (
    Storage,
    pack,
    pack_lines,
    pack_numbers,
    unpack,
    unpack_lines,
    unpack_numbers,
    unset_weights,
)
from kpdemo.simckp.terms import term_key

FORMAT = 4
"""Of the file; banks in earlier ones have no languages."""


def write_bank(bank: PhraseBank, path: Path) -> None:
    """Write the bank; the same bank gives the same bytes."""
    languages = sorted(bank.spoken)
    codes = bank.languages or languages * len(bank)
    ranker = bank.ranker
    header = {
        "format": FORMAT,
        "encoder": bank.encoder,
        "score": asdict(bank.score),
        "documents": bank.associations.documents,
        "languages": languages,
        "profiles": bank.profiles is not None,
        "ranker": {"ranked": ranker.ranked, "score": ranker.score} if ranker else None,
    }
    tensors = {
        **bank.stored,
        "languages": pack_numbers(np.array([languages.index(code) for code in codes], dtype=np.int32)),
        "log_frequency": torch.from_numpy(bank.log_frequency).half(),
        "texts": pack_lines(bank.texts),
        "keys": pack_lines(bank.keys),
        **bank.associations.packed(),
        **(bank.profiles.packed() if bank.profiles else {}),
        **(ranker.packed() if ranker else {}),
    }
    replace_file(path, save(tensors, {"bank": json.dumps(header, sort_keys=True)}))


def read_bank(path: Path, *, encoder: str, device: str = "cpu") -> PhraseBank:
    """Open a bank for the pair encoder with this hash, to be searched on a device.

    Raises:
        ModelLoadError: there is no bank, it is damaged, or it was built with another encoder.
    """
    if not path.is_file():
        raise ModelLoadError(f"No phrase bank at {path}: build one with `python -m kpdemo train bank`.")
    try:
        with safe_open(path, "pt") as file:
            header = parse_json(file.metadata()["bank"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["format"] != FORMAT:
            raise ModelLoadError(
                f"The bank {path} has format {header['format']}, not {FORMAT}: update kpdemo, or build it "
                "again with `python -m kpdemo train bank`."
            )
        bank = _bank_of(header, tensors, device)
    except (OSError, ValueError, KeyError, TypeError, zlib.error, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelLoadError(f"The bank {path} cannot be read ({reason}): restore it.") from error
    if bank.encoder != encoder:
        raise ModelLoadError(
            f"The bank {path} was built with the pair encoder {bank.encoder[:12]}, not with "
            f"{encoder[:12]}: rebuild it with `python -m kpdemo train bank`."
        )
    return bank


def _bank_of(header: Mapping[str, Any], tensors: dict[str, Tensor], device: str) -> PhraseBank:
    """From what a file holds."""
    texts = unpack_lines(tensors["texts"])
    frequency = tensors["log_frequency"].float().numpy()
    stored = {name: value for name, value in tensors.items() if name.startswith(VECTORS)}
    associations = Associations.unpacked(tensors, header["documents"])
    codes = [header["languages"][number] for number in unpack_numbers(tensors["languages"])]
    keys = tuple(
        term_key(text) if code == ENGLISH and not text.isascii() else key  # as this version folds them
        for text, key, code in zip(texts, unpack_lines(tensors["keys"]), codes, strict=True)
    )
    bank = PhraseBank(
        texts,
        keys,
        frequency,
        stored,
        associations,
        header["encoder"],
        BankScore(**header["score"]),
        device,
        profiles=WordProfiles.unpacked(tensors, len(texts)) if header["profiles"] else None,
        ranker=TermRanker.unpacked(tensors, **header["ranker"]) if header["ranker"] else None,
        languages=() if header["languages"] == [ENGLISH] else tuple(codes),
    )
    columns = keys, codes, frequency, stored[VECTORS], associations.uses
    if any(len(column) != len(texts) for column in columns):
        raise ValueError("its parts differ in length")
    bank.unpack()
    return bank


BANK_KIND, RERANKER_KIND = "simckp-bank", "simckp-reranker"
BANK_FILE = "bank.safetensors"

_TOWERS = ("encoder.", "phrase_encoder.")
_DUAL = "dual."


@dataclass(frozen=True)
class TermRetriever:
    """A phrase bank with the pair encoder it was built with.

    Attributes:
        selection: how the bank's scores become an answer.
        floor: the least probability of a term that is given.
    """

    encoder: PairEncoder
    bank: PhraseBank
    selection: Selection
    floor: float = 0.0


def save_bank(
    folder: Path,
    module: DualEncoder,
    bank: PhraseBank,
    tokenizer: Any,
    selection: Selection,
    *,
    name: str,
    length: int,
    card: str,
    storage: Storage = "fp16",
    floor: float = 0.0,
) -> None:
    """Write encoder, bank, tokenizer, configuration, model card and hashes into `folder`.

    Args:
        length: tokens of a document that the encoder reads.
        floor: see `TermRetriever`.
    """
    config = dual_config(module, length) | {
        "kind": BANK_KIND,
        "name": name,
        "selection": asdict(selection),
        "floor": floor,
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_bank(bank, folder / BANK_FILE)
    write_folder(folder, module.state_dict(), tokenizer, config, card=card, storage=storage)


def load_bank(folder: Path, *, device: str = "auto") -> TermRetriever:
    """Open a folder that `save_bank` wrote.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.

    Raises:
        ModelLoadError: a file is missing or damaged, the bank belongs to another encoder, or the device is
            not there.
    """
    target = choose_device(device)
    with open_folder(folder, BANK_KIND) as stored:
        module = build_dual(stored.config, stored.weights).to(target).eval()
        bank = read_bank(folder / BANK_FILE, encoder=state_hash(stored.weights), device=target.type)
        encoder = PairEncoder(module, stored.tokenizer, stored.padding, int(stored.config["length"]))
        return TermRetriever(encoder, bank, stored.selection, float(stored.config.get("floor", 0.0)))


def save_changed_bank(
    folder: Path,
    source: Path,
    bank: PhraseBank,
    selection: Selection,
    *,
    name: str,
    card: str,
    floor: float = 0.0,
) -> None:
    """Write the folder `source` of a bank with this bank in its place; its encoder stays, bit for bit.

    An encoder that is stored as differences is written whole, in fp32.

    Raises:
        ModelLoadError: a file of `source` is missing or damaged, or the bank belongs to another encoder.
    """
    with open_folder(source, BANK_KIND) as stored:
        if bank.encoder != state_hash(stored.weights):
            raise ValueError("the bank belongs to another encoder")
        config = stored.config | {"name": name, "selection": asdict(selection), "floor": floor}
        folder.mkdir(parents=True, exist_ok=True)
        write_bank(bank, folder / BANK_FILE)
        copy_encoder(folder, source, config, stored.weights)
    (folder / CARD).write_text(card, encoding="utf-8")
    write_sums(folder)


def copy_bank(source: Path, folder: Path) -> None:
    """Copy the folder of a bank to where its model is another, or none.

    An encoder that is stored as differences is written whole, in fp32.

    Raises:
        ModelLoadError: a file of `source` is missing or damaged.
    """
    with open_folder(source, BANK_KIND) as stored:
        folder.mkdir(parents=True)
        copy_encoder(folder, source, stored.config, stored.weights)
    for name in (BANK_FILE, CARD):
        shutil.copyfile(source / name, folder / name)
    write_sums(folder)


def store_bank_words_as_differences(folder: Path) -> None:
    """Store a bank, next to its model, by `store_words_as_differences`.

    The bank, whose vectors stay, belongs to the encoder as it is afterwards.

    Raises:
        ModelLoadError: the bank, or the model one folder up, is missing or damaged, or their word embeddings
            are of other shapes.
    """
    with open_folder(folder, BANK_KIND) as stored:
        bank = read_bank(folder / BANK_FILE, encoder=state_hash(stored.weights))
        store_words_as_differences(folder)
    with open_folder(folder, BANK_KIND) as rounded:
        write_bank(replace(bank, encoder=state_hash(rounded.weights)), folder / BANK_FILE)
    write_sums(folder)


def load_trainable_dual(folder: Path, *, attention: str) -> tuple[DualEncoder, int]:
    """The pair encoder of a bank's folder to train on, and the tokens of a document it reads.

    Args:
        attention: the attention implementation, by Transformers' name.

    Raises:
        ModelLoadError: the folder is damaged.
    """
    with open_folder(folder, BANK_KIND) as stored:
        module = _transformers_dual(stored.config, stored.weights, attention=attention)
        return module, int(stored.config["length"])


def save_reranker(
    folder: Path,
    module: RerankerModel,
    tokenizer: Any,
    selection: Selection,
    *,
    name: str,
    length: int,
    card: str,
    storage: Storage = "fp16",
    shared: str | None = None,
    search: SearchConfig | None = None,
    retrieved: int = RETRIEVED_TERMS,
) -> None:
    """Write encoder and combination, tokenizer, configuration, model card and hashes into `folder`.

    Args:
        length: tokens of a document that the encoder reads.
        search, retrieved: see `Reranker`.
        shared: the hash of the bank's encoder when that is also the reranker's, which is not stored again.
    """
    config = dual_config(module.dual, length) | {
        "kind": RERANKER_KIND,
        "name": name,
        "reranker": asdict(module.config),
        "selection": asdict(selection),
        "shared_encoder": shared,
        "search": asdict(search) if search else None,
        "retrieved": retrieved,
    }
    state = module.state_dict()
    if shared:
        state = {name: value for name, value in state.items() if not name.startswith(_DUAL)}
    write_folder(folder, state, tokenizer, config, card=card, storage=storage)


def load_reranker(folder: Path, *, device: str = "auto", retriever: TermRetriever | None = None) -> Reranker:
    """Open a folder that `save_reranker` wrote.

    Args:
        device: "cpu", "cuda", or "auto" for CUDA when there is one.
        retriever: whose encoder the reranker may share.

    Raises:
        ModelLoadError: a file is missing or damaged, the reranker shares the encoder of another bank, or the
            device is not there.
    """
    target = choose_device(device)
    with open_folder(folder, RERANKER_KIND) as stored:
        heads = {name: value for name, value in stored.weights.items() if not name.startswith(_DUAL)}
        if shared := stored.config["shared_encoder"]:
            encoder = _shared_encoder(shared, retriever, folder)
        else:
            own = build_dual(stored.config, part_of(stored.weights, _DUAL))
            encoder = PairEncoder(own, stored.tokenizer, stored.padding, int(stored.config["length"]))
        module = RerankerModel(encoder.module, RerankerConfig(**stored.config["reranker"]))
        known = {name for name, _ in module.named_parameters() if not name.startswith(_DUAL)}
        if known != heads.keys():
            raise KeyError(f"the weights {sorted(known ^ heads.keys())} are missing or unknown")
        module.load_state_dict(heads, strict=False)
        search = stored.config["search"]
        proposed = SearchConfig(**search) if search else None, int(stored.config["retrieved"])
        return Reranker(encoder, module.to(target).eval(), stored.selection, *proposed)


def _shared_encoder(shared: str, retriever: TermRetriever | None, folder: Path) -> PairEncoder:
    if retriever is None:
        raise ModelLoadError(
            f"The reranker {folder} shares the encoder of a bank, and there is none: put the bank next to it."
        )
    if retriever.bank.encoder != shared:
        raise ModelLoadError(
            f"The reranker {folder} was trained with the pair encoder {shared[:12]}, the bank has "
            f"{retriever.bank.encoder[:12]}: retrain it with `python -m kpdemo train reranker`."
        )
    return retriever.encoder


def dual_config(module: DualEncoder, length: int) -> dict[str, Any]:
    """The part of a checkpoint's configuration that describes the pair encoder."""
    return {
        "backbone": backbone_config(module.encoder.config),
        "dual": asdict(module.config),
        "towers": 1 if module.phrase_encoder is None else 2,
        "length": length,
    }


def build_dual(config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> DualEncoder:
    """The pair encoder of a stored configuration, with these weights under Transformers' names."""
    settings, bert = DualEncoderConfig(**config["dual"]), BertConfig.of(config["backbone"])
    prefixes = _TOWERS[: config["towers"]]
    if bert is None:
        return _transformers_dual(config, weights)
    with unset_weights():
        towers = [BertEncoder(bert) for _ in prefixes]
        module = DualEncoder(towers[0], settings, phrases=towers[1] if len(towers) == 2 else None)
    for prefix in prefixes:
        weights = with_bert_state(weights, prefix)
    module.load_state_dict(weights, assign=True)
    return module


def _transformers_dual(
    config: Mapping[str, Any], weights: Mapping[str, Tensor], *, attention: str | None = None
) -> DualEncoder:
    with fork_rng(devices=[]):  # these weights are replaced at once: spare a training's random numbers
        towers = [
            transformers_encoder(config["backbone"], attention=attention) for _ in range(config["towers"])
        ]
    settings = DualEncoderConfig(**config["dual"])
    module = DualEncoder(towers[0], settings, phrases=towers[1] if len(towers) == 2 else None)
    module.load_state_dict(weights)
    return module


def state_hash(state: Mapping[str, Tensor]) -> str:
    """The identity of a pair encoder: SHA-256 over the names, shapes and bytes of its weights.

    Args:
        state: of a `DualEncoder` as it was read from disk, see `stored_state`.
    """
    digest = hashlib.sha256()
    for name, value in sorted(state.items()):
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}\n".encode())
        digest.update(value.flatten().contiguous().numpy().data)
    return digest.hexdigest()


def stored_state(module: nn.Module, storage: Storage) -> dict[str, Tensor]:
    """The state of a module as it will be when it is stored and loaded."""
    return unpack(pack(module.state_dict(), storage))
