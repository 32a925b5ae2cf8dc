"""Training of every part that ships: `run` is what `python -m kpdemo train` calls."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from kpdemo.config import load_section
from kpdemo.errors import ConfigError

PARTS = ("tagger", "frequency", "extractor", "generator", "bank", "reranker")

logger = logging.getLogger(__name__)


def run(part: str, config_path: Path, *, output: Path | None, overrides: Mapping[str, str]) -> None:
    """Train one part as its section of the configuration says; goes on where it was stopped.

    Args:
        part: one of `PARTS`.
        output: where the result goes, instead of the configuration's `output`.
        overrides: see `kpdemo.config.load_section`.

    Raises:
        ConfigError: the part or a setting is unknown.
        TrainingError: see `kpdemo.training.loop.train`.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    changed = dict(overrides) | ({"output": str(output)} if output else {})
    if part == "tagger":
        _run_tagger(config_path, changed)
    elif part == "frequency":
        _run_frequency(config_path, changed)
    elif part == "extractor":
        _run_extractor(config_path, changed)
    elif part == "generator":
        _run_generator(config_path, changed)
    elif part == "bank":
        _run_bank(config_path, changed)
    elif part == "reranker":
        _run_reranker(config_path, changed)
    else:
        raise ConfigError(f"There is no part {part!r} to train: choose one of {', '.join(PARTS)}.")


def _run_tagger(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.training.tagger import TaggerConfig, train_tagger

    for name, accuracy in train_tagger(load_section(path, "tagger", TaggerConfig, overrides)).items():
        logger.info("%s: accuracy %.4f", name, accuracy)


def _run_frequency(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.evaluation.frequency import train_frequency
    from kpdemo.training.data import FrequencyConfig, read_source

    config = load_section(path, "frequency", FrequencyConfig, overrides)
    train_frequency(
        (doc for source in config.train for doc in read_source(source, config.data)), config.output
    )


def _run_extractor(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.simckp.checkpoint import choose_device, save_checkpoint
    from kpdemo.training.extractor import ExtractorTraining, train_extractor
    from kpdemo.training.model_card import extractor_card

    config = load_section(path, "extractor", ExtractorTraining, overrides)
    device = choose_device(config.device)
    trained = train_extractor(config, device=device)
    folder = config.output / "checkpoint"
    save_checkpoint(
        folder,
        trained.module,
        trained.tokenizer,
        trained.selection,
        name=config.name,
        card=extractor_card(config, trained, device=device),
        storage=config.storage,
    )
    logger.info("checkpoint in %s", folder)


def _run_generator(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.simckp.checkpoint import choose_device
    from kpdemo.simckp.generator_checkpoint import save_generator
    from kpdemo.training.generator import GeneratorTraining, train_generator
    from kpdemo.training.model_card import generator_card

    config = load_section(path, "generator", GeneratorTraining, overrides)
    device = choose_device(config.device)
    trained = train_generator(config, device=device)
    folder = config.output / "checkpoint"
    save_generator(
        folder,
        trained.module,
        trained.tokenizer,
        trained.selection,
        name=config.name,
        card=generator_card(config, trained, device=device),
        storage=config.storage,
    )
    logger.info("checkpoint in %s", folder)


def _run_bank(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.simckp.checkpoint import choose_device
    from kpdemo.simckp.pair_checkpoint import save_bank
    from kpdemo.training.bank import BankTraining, train_bank
    from kpdemo.training.pair_cards import bank_card

    config = load_section(path, "bank", BankTraining, overrides)
    device = choose_device(config.device)
    trained = train_bank(config, device=device)
    folder = config.output / "checkpoint"
    save_bank(
        folder,
        trained.module,
        trained.bank,
        trained.tokenizer,
        trained.selection,
        name=config.name,
        length=config.length,
        card=bank_card(config, trained, device=device),
        storage=config.storage,
    )
    logger.info("checkpoint in %s", folder)


def _run_reranker(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.simckp.checkpoint import choose_device
    from kpdemo.simckp.pair_checkpoint import save_reranker
    from kpdemo.training.pair_cards import reranker_card
    from kpdemo.training.reranker import RerankerTraining, train_reranker

    config = load_section(path, "reranker", RerankerTraining, overrides)
    device = choose_device(config.device)
    trained = train_reranker(config, device=device)
    folder = config.output / "checkpoint"
    save_reranker(
        folder,
        trained.module,
        trained.tokenizer,
        trained.selection,
        name=config.name,
        length=trained.length,
        card=reranker_card(config, trained, device=device),
        storage=config.storage,
        shared=trained.shared,
    )
    logger.info("checkpoint in %s", folder)
