"""Trained parts put together to one model: the folder that `--model` takes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import ClassVar, Literal

from kpdemo.errors import ConfigError
from kpdemo.identity import CARD, PAGE, TRAINING, kind_of, stored_config, write_sums
from kpdemo.simckp.checkpoint import KIND, base_of, store_as_change, write_config
from kpdemo.simckp.generator import KIND as GENERATOR_KIND
from kpdemo.simckp.pair_checkpoint import BANK_KIND, copy_bank, store_bank_words_as_differences
from kpdemo.simckp.predictor import BANK, RERANKER, load_system, part_folder
from kpdemo.training.cards import lower_headings

PartName = Literal[
    "tagger",
    "frequency",
    "extractor",
    "ensemble",
    "candidate-ranker",
    "generator",
    "bank",
    "profiles",
    "reranker",
]

ROOTS = ("candidate-ranker", "ensemble", "generator", "extractor")
"""The part whose folder holds the others: the first of these that there is; each is an extractor too."""
FOLDERS = {BANK: ("profiles", "bank"), RERANKER: ("reranker",)}
"""The part in each folder of the model: the first of these that there is; profiles come with their bank."""
PLACED = frozenset(ROOTS).union(*FOLDERS.values())
"""The parts that have a place in a model."""


@dataclass(frozen=True)
class ModelAssembly:
    """Attributes:
    parts: what belongs to the model, in the order in which it is trained.
    card: Markdown that opens the model card, before its parts and what their training says of itself.
    extractor: a finished model, whose extractor is taken in place of one of the parts; its own bank and
        reranker stay behind.
    bank: a finished model or bank, whose bank is taken in place of one of the parts.
    name: of the model; by default that of its extractor or generator, or with `extractor` that of the folder
        `output`.
    base: a model in the same folder as `output`, from whose weights training began: only what differs is
        stored, and its bank and reranker serve this model too.
    bank_words_as_differences: store the word embeddings of the bank's encoder only as differences from the
        model's own, in four bits a weight; both have to be of one backbone, and there is
        neither reranker nor base.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    parts: tuple[PartName, ...]
    output: Path = Path("runs/model")
    card: Path | None = None
    extractor: Path | None = None
    bank: Path | None = None
    name: str = ""
    base: Path | None = None
    bank_words_as_differences: bool = False


def given_checkpoints(config: ModelAssembly) -> dict[str, Path]:
    """Those that are not among the parts, each under the name of the part that it stands for."""
    given: dict[str, Path] = {}
    if config.extractor:
        given["extractor"] = config.extractor
    if config.bank:
        given["bank"] = part_folder(config.bank, BANK) or config.bank
    return given


def replaced_parts(config: ModelAssembly) -> frozenset[str]:
    """The parts for which another stands."""
    return frozenset((*(ROOTS if config.extractor else ()), *(FOLDERS[BANK] if config.bank else ())))


def check_assembly(config: ModelAssembly, checkpoints: Mapping[str, Path], *, name: str = "") -> None:
    """Refuse what cannot be put together, whether or not its parts are trained already.

    Args:
        checkpoints: the folder of each part; those that are in no model folder are left out.
        name: of the model, where its part is still to be trained; else that of the part's checkpoint.

    Raises:
        ConfigError: there is no extractor or generator, or an ensemble and a generator; `extractor` or `bank`
            is no model of one; there is no such card; the base is elsewhere; the bank is not a part or shared
            with a reranker, and was to be stored as differences; or the output holds what would be lost, such
            as a model of another name or training.
    """
    if checkpoints.keys().isdisjoint(ROOTS):
        raise ConfigError("A model needs an extractor or a generator: name one in `parts` of [model].")
    for part in ("ensemble", "candidate-ranker"):
        if {part, "generator"} <= checkpoints.keys():
            raise ConfigError(
                f"A model has a part {part} or a generator: leave one of them out of `parts` of [model]."
            )
    if "candidate-ranker" in checkpoints and checkpoints.keys().isdisjoint(FOLDERS[BANK]):
        raise ConfigError(
            "A candidate-ranker needs the bank that it was trained with: add that to `parts` of [model]."
        )
    if config.extractor and kind_of(config.extractor) not in (KIND, GENERATOR_KIND):
        raise ConfigError(
            f"The `extractor` of [model], {config.extractor}, is not a model with an extractor or generator "
            "that `train` wrote: give the folder that --model takes, such as kpdemo/assets/default."
        )
    if config.bank and kind_of(checkpoints["bank"]) != BANK_KIND:
        raise ConfigError(
            f"The `bank` of [model], {config.bank}, is not a model with a bank that `train` wrote: give the "
            "folder that --model takes, such as kpdemo/assets/default."
        )
    if config.base and config.base.parent.resolve() != config.output.resolve().parent:
        raise ConfigError(
            f"The base {config.base} must be next to the output {config.output}: change [model]."
        )
    placed = _placed(checkpoints)
    unfit = BANK not in placed or RERANKER in placed or config.base is not None
    if config.bank_words_as_differences and unfit:
        raise ConfigError(
            "`bank_words_as_differences` needs a bank, no reranker and no base: set it to false in [model]."
        )
    if config.card:
        _read_card(config.card)
    _check_output(config.output, [*checkpoints.values(), *filter(None, (config.base, config.card))])
    _check_replaced(config.output, _own_name(config) or name or stored_config(_root(checkpoints)).get("name"))
    _check_training(config.output, "", _root(checkpoints))
    for folder in FOLDERS:
        _check_training(config.output, folder, placed.get(folder))


def _own_name(config: ModelAssembly) -> str:
    """What the model is called; empty where it has the name of its extractor or generator."""
    return config.name or (config.output.resolve().name if config.extractor else "")


def _check_output(output: Path, needed: Iterable[Path]) -> None:
    """Refuse a folder that is neither a model's nor empty, or that has one of the needed folders or files."""
    place = output.resolve()
    lost = next((path for path in needed if path.resolve().is_relative_to(place)), None)
    if lost is not None:
        raise ConfigError(
            f"The model would replace everything in {output}, including {lost}, which it is made from: give "
            "another --output."
        )
    is_free = place.is_dir() and (bool(kind_of(place)) or not any(place.iterdir()))
    if place.exists() and not is_free:
        raise ConfigError(
            f"The model would replace {output}, which is neither a model nor an empty folder: give another "
            "--output."
        )


def _check_replaced(output: Path, name: str | None) -> None:
    """Refuse to replace a model by one of another name; by none, it stays as it is."""
    replaced = stored_config(output).get("name")
    if kind_of(output) and name and name != replaced:
        raise ConfigError(
            f"The model {name!r} would replace the model {replaced!r} in {output}: give another --output, "
            "or delete it."
        )


def _check_training(output: Path, folder: str, checkpoint: Path | None) -> None:
    """Refuse to replace a part of another training, or to drop one, where it is known which made it.

    Args:
        folder: of the part within the output.
        checkpoint: what replaces it, if anything; it may be still to be trained.
    """
    replaced = stored_config(output / folder).get(TRAINING)
    if checkpoint is not None and not checkpoint.is_dir():
        return
    made = stored_config(checkpoint).get(TRAINING) if checkpoint else None
    if replaced and replaced != made:
        raise ConfigError(
            f"The model would replace {output}, whose {folder or 'extractor'} is of another training: give "
            "another --output, or delete it."
        )


def _root(checkpoints: Mapping[str, Path]) -> Path:
    """The checkpoint that belongs into the folder of the model itself."""
    return next(checkpoints[name] for name in ROOTS if name in checkpoints)


def assemble(config: ModelAssembly, checkpoints: Mapping[str, Path]) -> None:
    """Copy the checkpoints into `config.output`, which is replaced as a whole but for its page for the Hub.

    A link stays, and what it leads to is replaced.

    Args:
        checkpoints: as of `check_assembly`.

    Raises:
        ConfigError: as `check_assembly`.
        ModelLoadError: a checkpoint is missing or damaged, or they do not fit together.
    """
    check_assembly(config, checkpoints)
    output = config.output.resolve()
    opening = _read_card(config.card) if config.card else ""
    partial = output.with_name(f"{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    _copy(_root(checkpoints), partial)
    for name, checkpoint in _placed(checkpoints).items():
        (copy_bank if base_of(checkpoint) else _copy)(checkpoint, partial / name)
    if config.bank_words_as_differences:
        store_bank_words_as_differences(partial / BANK)
    if config.base:
        store_as_change(partial, config.base)
    if name := _own_name(config):
        write_config(partial, stored_config(partial) | {"name": name})
    _write_card(partial, opening or _describe_borrowed(name, config.extractor), renamed=bool(name))
    load_system(partial, device="cpu")
    if (output / PAGE).is_file():  # it may have been edited
        shutil.copyfile(output / PAGE, partial / PAGE)
    if output.exists():
        shutil.rmtree(output)
    partial.rename(output)


def _placed(checkpoints: Mapping[str, Path]) -> dict[str, Path]:
    """The checkpoint that belongs into each folder of the model."""
    return {
        folder: next(checkpoints[name] for name in names if name in checkpoints)
        for folder, names in FOLDERS.items()
        if not checkpoints.keys().isdisjoint(names)
    }


def _write_card(model: Path, opening: str, *, renamed: bool) -> None:
    """Tell the whole model before what the card of its extractor or generator says, maybe by an old name."""
    parts = _describe_parts(model)
    if opening or parts or renamed:
        opening = opening or f"# {stored_config(model).get('name', '')}: keyphrases of English texts"
        card = lower_headings((model / CARD).read_text(encoding="utf-8"))
        (model / CARD).write_text(f"{opening.rstrip()}\n\n{parts}{card}", encoding="utf-8")
    write_sums(model)


def _describe_borrowed(name: str, extractor: Path | None) -> str:
    """What opens the card of a model of that name with the extractor of another; empty without."""
    if extractor is None:
        return ""
    theirs = stored_config(extractor).get("name", "")
    return (
        f"# {name}: the extractor of {theirs} with other parts\n\n"
        f"What the card of {theirs}, below, says of absent keyphrases is not true of this model."
    )


def _describe_parts(model: Path) -> str:
    """A section of the model card on the parts that have a card of their own; empty without any."""
    lines = []
    parts = (
        (BANK, "Absent keyphrases: bank"),
        (RERANKER, "Their order: reranker"),
    )
    for name, told in parts:
        folder = part_folder(model, name)
        if folder is not None:
            card = Path(relpath(folder / CARD, model)).as_posix()
            lines.append(f"- {told} {stored_config(folder).get('name', '')}, see `{card}`\n")
    return f"## Parts\n\n{''.join(lines)}\n" if lines else ""


def _copy(checkpoint: Path, folder: Path) -> None:
    if not checkpoint.is_dir():
        raise ConfigError(f"No checkpoint at {checkpoint}: train that part first.")
    folder.mkdir(parents=True)
    for path in checkpoint.iterdir():
        if path.is_file() and path.name != PAGE:  # which is of this part alone
            shutil.copyfile(path, folder / path.name)


def _read_card(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"The card {path} cannot be read ({error.strerror}): check [model].") from error
