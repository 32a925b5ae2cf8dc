"""Checkpoints of kpdemo on the Hub: anybody can write one, so each is inspected before it is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os.path import isfile  # false for a name that no file can have
from pathlib import Path
from typing import Any

from kpdemo.errors import ModelLoadError
from kpdemo.identity import RAMKG_KIND, RANKER_KIND, SUMS, is_own, read_sums, sha256_of, stored_config
from kpdemo.simckp import checkpoint, labeller
from kpdemo.simckp import generator as generator_checkpoint
from kpdemo.simckp.checkpoint import BASE, FORMAT
from kpdemo.simckp.hub.download import fetch
from kpdemo.simckp.predictor import BANK, RERANKER
from kpdemo.text import shorten

KINDS = frozenset(
    {
        *(checkpoint.KIND, generator_checkpoint.KIND, generator_checkpoint.ONE2SEQ, labeller.KIND),
        *(RAMKG_KIND, RANKER_KIND),
    }
)
"""What `config.json` of a model that `train` wrote calls itself."""

_FETCHES_CODE = "_implementation"
"""Settings of an encoder whose names end so may name code on the Hub (Transformers' kernels)."""

_SHOWN = 100  # characters of a file's name


def fetch_checked(name: str) -> Path:
    """As `fetch`; a checkpoint of kpdemo's own has no file or setting then that leads out of its folder.

    Raises:
        ModelLoadError: it cannot be fetched, lacks a file, or is not one that this kpdemo opens.
    """
    folder = fetch(name)
    if is_own(folder):
        _check_config(name, folder)
        for part in _parts(folder):
            _check_part(name, folder, part)
    return folder


@contextmanager
def explain_damage(name: str, folder: Path) -> Iterator[None]:
    """Report a mismatch with SHA256SUMS by the model's name, with how to have it downloaded again."""
    try:
        yield
    except ModelLoadError as error:
        for part in _parts(folder):
            for file, digest in _sums(name, folder, part).items():
                if sha256_of(part / file) != digest:
                    inside = (part / file).relative_to(folder).as_posix()
                    raise _damage_error(name, f"{inside} is not as {SUMS} says") from error
        raise


def _parts(folder: Path) -> list[Path]:
    return [folder, *(folder / name for name in (BANK, RERANKER) if (folder / name).is_dir())]


def _check_config(name: str, folder: Path) -> None:
    described = stored_config(folder)
    if not described:
        raise _damage_error(name, "config.json cannot be read")
    kind, form = str(described.get("kind")), described.get("format")
    if isinstance(form, int) and form > FORMAT:
        raise ModelLoadError(f"The model {name!r} is of format {form}, from a newer kpdemo: update kpdemo.")
    if kind not in KINDS or form != FORMAT:
        raise ModelLoadError(
            f"The model {name!r} is a {kind!r} of format {form}, which this version of kpdemo cannot open: "
            "update kpdemo, or give another."
        )
    if BASE in described:
        raise ModelLoadError(
            f"The model {name!r} stores only its differences from another model, which is not on the Hub "
            "with it: give another, or ask its owner for the complete model."
        )


def _check_part(name: str, folder: Path, part: Path) -> None:
    described = stored_config(part)
    base = described.get(BASE, {"folder": "."})  # the model one folder up
    if not isinstance(base, dict) or base.get("folder") != ".":
        raise ModelLoadError(f"The model {name!r} points outside its own folder ({base!r}): give another.")
    for setting, value in _settings(described):
        if setting.endswith(_FETCHES_CODE):
            raise ModelLoadError(
                f"The model {name!r} needs code from the Hub (*{_FETCHES_CODE}), which is never run: give "
                "another."
            )
        if setting == "model_type" and not _reads_text(str(value)):
            raise ModelLoadError(
                f"The model {name!r} holds a {str(value)!r}, which is not a text encoder: give another."
            )
    for file in _sums(name, folder, part):
        if Path(file).name != file:
            raise ModelLoadError(
                f"The model {name!r} points outside its own folder ({shorten(file, _SHOWN)}): give another."
            )
        if not isfile(part / file):
            inside = (part / file).relative_to(folder).as_posix()
            raise _damage_error(name, f"{shorten(inside, _SHOWN)} is missing")


def _settings(described: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of each setting, however deeply nested."""
    left = [described]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield from value.items()
            left += value.values()
        elif isinstance(value, list):
            left += value


def _reads_text(model_type: str) -> bool:
    """Whether it is an architecture of Transformers for texts: others may ask the Hub for a second model."""
    if model_type == "bert":  # which is known without Transformers
        return True
    from transformers.models.auto import modeling_auto as auto

    return any(
        model_type in types
        for types in (
            auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
            auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES,
            auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        )
    )


def _sums(name: str, folder: Path, part: Path) -> dict[str, str]:
    try:
        return read_sums(part)
    except ModelLoadError as error:
        inside = (part / SUMS).relative_to(folder).as_posix()
        raise _damage_error(name, f"{inside} is missing or cannot be read") from error


def _damage_error(name: str, what: str) -> ModelLoadError:
    return ModelLoadError(
        f"The model {name!r} is damaged ({what}): run `hf cache rm model/{name}`, and it will be downloaded "
        "again."
    )
