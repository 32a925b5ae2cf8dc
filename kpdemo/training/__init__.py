"""Training of every part that ships: `run` is what `python -m kpdemo train` calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from kpdemo.config import load_section
from kpdemo.errors import ConfigError

PARTS = (
    "tagger",
    "frequency",
    "extractor",
    "labeller",
    "generator",
    "one2seq",
    "bank",
    "reranker",
    "ramkg-generator",
    "retriever",
    "multilingual",
    "kea",
)
WHOLE, ALL = "model", "all"
"""To put the trained parts together, and to train them first."""
CHECKPOINT = "checkpoint"
"""Folder of the result in the folder of a run."""

logger = logging.getLogger(__name__)


def run(part: str, config_path: Path, *, output: Path | None, overrides: Mapping[str, str]) -> None:
    """Train one part as its section of the configuration says; goes on where it was stopped.

    Args:
        part: one of `PARTS`; or `ALL` for those that [model] names and then the model of them, or `WHOLE` for
            the model alone.
        output: where the result goes, instead of the configuration's `output`.
        overrides: see `kpdemo.config.load_section`; with `ALL` each part takes those whose setting it has.

    Raises:
        ConfigError: the part or a setting is unknown.
        TrainingError: see `kpdemo.training.loop.train`.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    target = {"output": str(output)} if output else {}
    if part in _RUNS:
        _RUNS[part](config_path, dict(overrides) | target)
    elif part == ALL:
        _run_all(config_path, overrides, target)
    elif part == WHOLE:
        _run_model(config_path, dict(overrides) | target)
    else:
        known = ", ".join((*PARTS, WHOLE, ALL))
        raise ConfigError(f"There is no part {part!r} to train: choose one of {known}.")


def _run_all(path: Path, overrides: Mapping[str, str], target: Mapping[str, str]) -> None:
    """Train all parts of the model, whose sections are checked before the first begins, and assemble it."""
    from kpdemo.training.assembly import ModelAssembly
    from kpdemo.training.settings import shared_overrides

    parts = load_section(path, WHOLE, ModelAssembly, target).parts
    for name, taken in shared_overrides(path, parts, overrides).items():
        logger.info("%s", name)
        _RUNS[name](path, taken)
    _run_model(path, target)


def _run_model(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.training.assembly import FOLDERS, ROOTS, ModelAssembly, assemble

    config = load_section(path, WHOLE, ModelAssembly, overrides)
    stored = [name for name in config.parts if name in (*ROOTS, *FOLDERS)]
    assemble(config, {name: _checkpoint_of(name, path) for name in stored})
    logger.info("model in %s", config.output)


def _checkpoint_of(part: str, path: Path) -> Path:
    from kpdemo.training.settings import settings_of

    output: Path = load_section(path, part, settings_of(part)).output
    return output / CHECKPOINT


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
    folder = config.output / CHECKPOINT
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


def _run_labeller(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.simckp.checkpoint import choose_device
    from kpdemo.simckp.labeller import save_labeller
    from kpdemo.training.labeller import LabellerTraining, train_labeller
    from kpdemo.training.model_card import labeller_card

    config = load_section(path, "labeller", LabellerTraining, overrides)
    device = choose_device(config.device)
    trained = train_labeller(config, device=device)
    folder = config.output / CHECKPOINT
    save_labeller(
        folder,
        trained.module,
        trained.tokenizer,
        name=config.name,
        card=labeller_card(config, trained, device=device),
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
    folder = config.output / CHECKPOINT
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


def _run_one2seq(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.simckp.checkpoint import choose_device
    from kpdemo.simckp.generator_checkpoint import ONE2SEQ, save_generator
    from kpdemo.training.model_card import one2seq_card
    from kpdemo.training.one2seq import One2SeqTraining, train_one2seq

    config = load_section(path, "one2seq", One2SeqTraining, overrides)
    device = choose_device(config.device)
    trained = train_one2seq(config, device=device)
    folder = config.output / CHECKPOINT
    save_generator(
        folder,
        trained.module,
        trained.tokenizer,
        None,
        name=config.name,
        card=one2seq_card(config, trained, device=device),
        storage=config.storage,
        kind=ONE2SEQ,
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
    folder = config.output / CHECKPOINT
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
    folder = config.output / CHECKPOINT
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


def _run_ramkg_generator(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.simckp.checkpoint import choose_device
    from kpdemo.training.ramkg import RamkgTraining, train_ramkg
    from kpdemo.training.ramkg_card import ramkg_card

    config = load_section(path, "ramkg-generator", RamkgTraining, overrides)
    device = choose_device(config.device)
    trained = train_ramkg(config, device=device)
    folder = config.output / CHECKPOINT
    trained.save(folder, ramkg_card(config, trained, device=device), config.storage)
    logger.info("checkpoint in %s", folder)


def _run_retriever(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.simckp.checkpoint import choose_device
    from kpdemo.training.multilingual_cards import retriever_card
    from kpdemo.training.retriever import RetrieverTraining, train_retriever

    config = load_section(path, "retriever", RetrieverTraining, overrides)
    device = choose_device(config.device)
    trained = train_retriever(config, device=device)
    folder = config.output / CHECKPOINT
    trained.tower.save(folder, retriever_card(config, trained, device=device))
    logger.info("checkpoint in %s", folder)


def _run_multilingual(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.ramkg.ranker_checkpoint import save_ranker
    from kpdemo.simckp.checkpoint import choose_device
    from kpdemo.training.multilingual_cards import multilingual_card
    from kpdemo.training.rgit import MultilingualTraining, train_multilingual

    config = load_section(path, "multilingual", MultilingualTraining, overrides)
    device = choose_device(config.device)
    trained = train_multilingual(config, device=device)
    folder = config.output / CHECKPOINT
    save_ranker(
        folder, trained.model, name=config.name, card=multilingual_card(config, trained, device=device)
    )
    logger.info("checkpoint in %s", folder)


def _run_kea(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.evaluation.kea import save_kea
    from kpdemo.training.kea import KeaTraining, kea_card, train_kea

    config = load_section(path, "kea", KeaTraining, overrides)
    model = train_kea(config)
    folder = config.output / CHECKPOINT
    save_kea(folder, model, kea_card(config, model))
    logger.info("checkpoint in %s", folder)


_RUNS: Mapping[str, Callable[[Path, Mapping[str, str]], None]] = {
    "tagger": _run_tagger,
    "frequency": _run_frequency,
    "extractor": _run_extractor,
    "labeller": _run_labeller,
    "generator": _run_generator,
    "one2seq": _run_one2seq,
    "bank": _run_bank,
    "reranker": _run_reranker,
    "retriever": _run_retriever,
    "multilingual": _run_multilingual,
    "ramkg-generator": _run_ramkg_generator,
    "kea": _run_kea,
}
