"""The file that holds a phrase bank."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from kpdemo.errors import ModelLoadError
from kpdemo.json_text import parse_json
from kpdemo.simckp.associations import Associations
from kpdemo.simckp.bank import VECTORS, BankScore, PhraseBank
from kpdemo.simckp.packing import pack_lines, unpack_lines
from kpdemo.simckp.profiles import WordProfiles
from kpdemo.simckp.terms import term_key
from kpdemo.storage import replace_file

FORMAT = 1
WITH_PROFILES = 2
IN_NIBBLES = 3
"""Formats that older versions cannot read: with word profiles; with 4-bit vectors, and profiles or none."""

_MARKED = re.compile(r"[^\x00-\x7f]|[\[\]_\\]")
"""Terms with such characters get new keys: banks built up to 0.1.0 count them as parts of words."""


def write_bank(bank: PhraseBank, path: Path) -> None:
    """Write the bank; the same bank gives the same bytes."""
    profiles, score = bank.profiles, asdict(bank.score)
    if profiles is None:
        del score["profiles"]
    header = {
        "format": IN_NIBBLES if bank.storage == "int4" else WITH_PROFILES if profiles else FORMAT,
        "encoder": bank.encoder,
        "score": score,
        "documents": bank.associations.documents,
    }
    tensors = {
        **bank.stored,
        "log_frequency": torch.from_numpy(bank.log_frequency).half(),
        "texts": pack_lines(bank.texts),
        "keys": pack_lines(bank.keys),
        **bank.associations.packed(),
        **(profiles.packed() if profiles else {}),
    }
    replace_file(path, save(tensors, {"bank": json.dumps(header, sort_keys=True)}))


def read_bank(path: Path, *, encoder: str) -> PhraseBank:
    """Open a bank for the pair encoder with this hash.

    Raises:
        ModelLoadError: there is no bank, it is damaged, or it was built with another encoder.
    """
    if not path.is_file():
        raise ModelLoadError(f"No phrase bank at {path}: build one with `python -m kpdemo train bank`.")
    try:
        with safe_open(path, "pt") as file:
            header = parse_json(file.metadata()["bank"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["format"] not in (FORMAT, WITH_PROFILES, IN_NIBBLES):
            raise ModelLoadError(f"The bank {path} has format {header['format']}: update kpdemo.")
        bank = _bank_of(header, tensors)
    except (OSError, ValueError, KeyError, TypeError, zlib.error, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelLoadError(f"The bank {path} cannot be read ({reason}): restore it.") from error
    if bank.encoder != encoder:
        raise ModelLoadError(
            f"The bank {path} was built with the pair encoder {bank.encoder[:12]}, not with "
            f"{encoder[:12]}: rebuild it with `python -m kpdemo train bank`."
        )
    return bank


def _bank_of(header: Mapping[str, Any], tensors: dict[str, Tensor]) -> PhraseBank:
    """From what a file holds."""
    texts, stored_keys = unpack_lines(tensors["texts"]), unpack_lines(tensors["keys"])
    keys = tuple(
        term_key(text) if _MARKED.search(text) else key for text, key in zip(texts, stored_keys, strict=True)
    )
    frequency = tensors["log_frequency"].float().numpy()
    stored = {name: value for name, value in tensors.items() if name.startswith(VECTORS)}
    associations = Associations.unpacked(tensors, header["documents"])
    has_profiles = header["format"] == WITH_PROFILES or "profiles" in header["score"]
    profiles = WordProfiles.unpacked(tensors, len(texts)) if has_profiles else None
    bank = PhraseBank(
        texts,
        keys,
        frequency,
        stored,
        associations,
        header["encoder"],
        BankScore(**header["score"]),
        profiles=profiles,
    )
    if not len(texts) == len(keys) == len(frequency) == len(bank.vectors) == len(associations.uses):
        raise ValueError("its parts differ in length")
    return bank
