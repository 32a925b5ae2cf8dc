"""Training of every part that ships: `run` is what `python -m kpdemo train` calls."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kpdemo.config import load_section
from kpdemo.errors import ConfigError, TrainingError
from kpdemo.training.parts import CHECKPOINT, RECIPES, check_needed, settings_of, shared_overrides

if TYPE_CHECKING:
    from kpdemo.training.assembly import ModelAssembly


def show_progress_logs() -> None:
    """Show our own log lines from INFO on, and only the warnings of libraries.

    As with `logging.basicConfig`, nothing changes in a process that has log handlers already.
    """
    if not logging.getLogger().handlers:
        logging.basicConfig(format="%(message)s")
        logging.getLogger("kpdemo").setLevel(logging.INFO)


SHARED = ("extractor", "generator", "one2seq", "labeller", "bank", "reranker")
"""Parts that several processes can train together."""
WHOLE, ALL = "model", "all"
"""To put the trained parts together, and to train them first."""

logger = logging.getLogger(__name__)


def run(part: str, config_path: Path, *, output: Path | None, overrides: Mapping[str, str]) -> None:
    """Train one part as its section of the configuration says; resumes an interrupted run.

    Args:
        part: one of `PARTS`; or `ALL` for those that [model] names and then the model of them, or `WHOLE` for
            the model alone.
        output: where the result goes, instead of the configuration's `output`.
        overrides: see `kpdemo.config.load_section`; with `ALL` each part takes those whose setting it has.

    Raises:
        ConfigError: the part or a setting is unknown.
        TrainingError: see `kpdemo.training.loop.train`.
    """
    show_progress_logs()
    if os.environ.get("WORLD_SIZE", "1") != "1" and part not in SHARED:
        raise TrainingError(
            f"One process trains {part!r}: start it without torchrun, which is for {', '.join(SHARED)}."
        )
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
    from kpdemo.training.assembly import ModelAssembly, check_assembly

    config = load_section(path, WHOLE, ModelAssembly, target)
    taken_by = shared_overrides(path, config.parts, overrides)
    check_assembly(config, _checkpoints(config, path), name=_model_name(path, taken_by))
    check_needed(path, taken_by)
    for name, taken in taken_by.items():
        logger.info("%s", name)
        _RUNS[name](path, taken)
    _run_model(path, target)


def _run_model(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.training.assembly import ModelAssembly, assemble

    config = load_section(path, WHOLE, ModelAssembly, overrides)
    assemble(config, _checkpoints(config, path))
    logger.info("model in %s", config.output)


def _model_name(path: Path, taken_by: Mapping[str, Mapping[str, str]]) -> str:
    """The name of the model of these parts, each with its overrides; empty where none can be its root."""
    from kpdemo.training.assembly import ROOTS

    root = next((part for part in ROOTS if part in taken_by), None)
    return load_section(path, root, settings_of(root), taken_by[root]).name if root else ""


def _checkpoints(config: ModelAssembly, path: Path) -> dict[str, Path]:
    """The folder of each part that has a place in the model."""
    from kpdemo.training.assembly import PLACED, given_checkpoints, replaced_parts

    trained = [part for part in config.parts if part in PLACED - replaced_parts(config)]
    checkpoints = {part: load_section(path, part, settings_of(part)).output / CHECKPOINT for part in trained}
    return given_checkpoints(config) | checkpoints


def _run_tagger(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.training.tagger import TaggerConfig, train_tagger

    for name, accuracy in train_tagger(load_section(path, "tagger", TaggerConfig, overrides)).items():
        logger.info("%s: accuracy %.4f", name, accuracy)


def _run_frequency(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.training.data import read_source
    from kpdemo.training.frequency import FrequencyConfig, train_frequency

    config = load_section(path, "frequency", FrequencyConfig, overrides)
    documents = (document for source in config.train for document in read_source(source, config.data))
    train_frequency(documents, config.output)


def _run_vocabulary(path: Path, overrides: Mapping[str, str]) -> None:
    from kpdemo.training.data import check_sources
    from kpdemo.training.loop import run_lock
    from kpdemo.training.vocabulary import VocabularyTraining, train_vocabulary

    config = load_section(path, "vocabulary", VocabularyTraining, overrides)
    check_sources(config, config.data)
    with run_lock(config.output):
        for name, pieces in train_vocabulary(config).items():
            logger.info("%s: %d subwords", name, pieces)
    logger.info("encoder in %s", config.output)


def _run_recipe(part: str, path: Path, overrides: Mapping[str, str]) -> None:
    """Train a part that leaves a checkpoint folder, and write that."""
    from kpdemo.simckp.checkpoint import choose_device
    from kpdemo.training.assembly import PLACED
    from kpdemo.training.data import check_sources
    from kpdemo.training.loop import memory_errors, note_training, run_lock
    from kpdemo.training.processes import ShareDone, join_processes

    recipe = RECIPES[part]()
    config = load_section(path, part, recipe.settings, overrides)
    check_sources(config, config.data)
    device = choose_device(config.device)
    folder = config.output / CHECKPOINT
    if not join_processes().is_first:
        logging.disable(logging.INFO)  # the first one tells it
        with memory_errors(), suppress(ShareDone):
            recipe.train(config, device=device)
        return
    with run_lock(config.output), memory_errors():
        trained = recipe.train(config, device=device)
        recipe.save(folder, config, trained, recipe.card(config, trained))
        if part in PLACED:
            note_training(folder, config)
    logger.info("checkpoint in %s", folder)


_RUNS: Mapping[str, Callable[[Path, Mapping[str, str]], None]] = {
    "tagger": _run_tagger,
    "frequency": _run_frequency,
    "vocabulary": _run_vocabulary,
    **{part: partial(_run_recipe, part) for part in RECIPES},
}
PARTS = tuple(_RUNS)
