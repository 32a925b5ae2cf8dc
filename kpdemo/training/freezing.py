"""Which weights of a pretrained model are trained, and how much of it is dropped out."""

from __future__ import annotations

from typing import Any, Literal

from torch import nn

from kpdemo.errors import ConfigError
from kpdemo.training.extractor_config import ExtractorTraining


def set_dropout(model: Any, share: float | Literal["pretrained"]) -> None:
    """Set the dropout of a built model: in its modules, and in what its attention reads at each call."""
    if share == "pretrained":
        return
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        for name in ("dropout", "attention_dropout", "activation_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, share)
        if isinstance(getattr(module, "layerdrop", None), float):
            module.layerdrop = 0.0  # which leaves out whole layers


def freeze_embeddings(encoder: Any) -> None:
    """Keep the word embeddings as they are."""
    encoder.get_input_embeddings().requires_grad_(False)


def freeze(encoder: Any, config: ExtractorTraining) -> None:
    """Freeze the word embeddings and the layers that the configuration does not train.

    Raises:
        ConfigError: the encoder has fewer layers than are to be trained.
    """
    if config.freeze_embeddings:
        freeze_embeddings(encoder)
    if config.top_layers is not None:
        freeze_below(encoder, config.top_layers)


def freeze_below(encoder: nn.Module, layers: int) -> None:
    """Train only the last `layers` layers of an encoder of Transformers.

    Raises:
        ConfigError: it has fewer.
    """
    stacks = [module for module in encoder.modules() if isinstance(module, nn.ModuleList)]
    stack = max(stacks, key=len, default=nn.ModuleList())
    if not 0 <= layers <= len(stack):
        raise ConfigError(
            f"The encoder has {len(stack)} layers, of which {layers} cannot be trained: give `top_layers` "
            f"from 0 to {len(stack)}."
        )
    encoder.requires_grad_(False)
    for layer in list(stack)[len(stack) - layers :]:
        layer.requires_grad_(True)
