"""Keyphrase models in Hugging Face's own form: from the Hub, or a local folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoModelForTokenClassification, AutoTokenizer

from kpdemo.config import load_section
from kpdemo.errors import ConfigError, KpdemoError, ModelLoadError
from kpdemo.simckp.backbone import longest_reading
from kpdemo.simckp.checkpoint import choose_device
from kpdemo.simckp.folders import UNREADABLE
from kpdemo.simckp.hub.generator import HubGenerator
from kpdemo.simckp.hub.profiles import OWN_PROFILE, Profile, profile_of
from kpdemo.simckp.hub.tagger import HubTagger
from kpdemo.simckp.quiet import quiet_transformers
from kpdemo.types import Predictor


def open_hub_model(name: str, folder: Path, *, device: str = "auto") -> Predictor:
    """The model in `folder`.

    Args:
        name: decides the profile, see `kpdemo.simckp.hub.profiles.profile_of`; named in errors.
        device: "auto" (CUDA when there is one), "cpu" or "cuda".

    Raises:
        ConfigError: the profile next to the model is wrong.
        ModelLoadError: the model is damaged, or of a kind that finds no keyphrases.
    """
    target = choose_device(device)
    with quiet_transformers(), _explained(name):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        profile = _profile(name, folder, config)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        if not tokenizer.is_fast:
            raise ModelLoadError(
                f"The tokenizer of {name!r} gives no character offsets: choose a model with a fast one."
            )
        generates = profile.task == "generation"
        auto = AutoModelForSeq2SeqLM if generates else AutoModelForTokenClassification
        model, loaded = auto.from_pretrained(
            folder, output_loading_info=True, dtype=torch.float32, trust_remote_code=False
        )
        missing = set(loaded["missing_keys"]) & {name for name, _ in model.named_parameters()}
        if missing:
            raise ModelLoadError(f"The model {name!r} lacks the weights {min(missing)}: give a trained one.")
        window = min(profile.window, longest_reading(config, tokenizer))
        kind = HubGenerator if generates else HubTagger
        return kind.of(name, model.to(target).eval(), tokenizer, profile, window)


def _profile(name: str, folder: Path, config: Any) -> Profile:
    architecture = (config.architectures or ["an unnamed one"])[0]
    profile = profile_of(name, architecture)
    if profile is None:
        raise ModelLoadError(
            f"The model {name!r} is a {architecture}, which neither writes keyphrases nor marks them: "
            "give an encoder-decoder or a token classifier."
        )
    own = folder / OWN_PROFILE
    if not own.is_file():
        return profile
    written = load_section(own, "profile", Profile)
    if written.task != profile.task:
        raise ConfigError(f"{own} says {written.task}, but the model is a {architecture}: correct the task.")
    return written


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except KpdemoError:
        raise
    except UNREADABLE as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise ModelLoadError(
            f"The model {name!r} cannot be loaded ({reason}): give another, or restore its files."
        ) from error
