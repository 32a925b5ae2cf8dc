"""How each part is trained and stored that leaves a checkpoint folder, and its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kpdemo.config import load_section
from kpdemo.errors import ConfigError


@dataclass(frozen=True)
class Recipe:
    """Attributes:
    settings: what its section of the configuration is read as; with `output` and `device`.
    train: from settings and `device` to the result of a run.
    card: from settings and the result of `train` to the Markdown of its model card.
    save: writes a folder from settings, the result of `train` and its card.
    """

    settings: type[Any]
    train: Callable[..., Any]
    card: Callable[[Any, Any], str]
    save: Callable[[Path, Any, Any, str], None]


def _extractor() -> Recipe:
    from kpdemo.simckp.checkpoint import save_checkpoint
    from kpdemo.training.cards import extractor_card
    from kpdemo.training.extractor import TrainedExtractor, train_extractor
    from kpdemo.training.fine_tuning import ExtractorTraining

    def save(folder: Path, config: ExtractorTraining, trained: TrainedExtractor, card: str) -> None:
        save_checkpoint(
            folder,
            trained.module,
            trained.tokenizer,
            trained.selection,
            name=config.name,
            card=card,
            storage=config.storage,
            languages=config.languages,
        )

    return Recipe(ExtractorTraining, train_extractor, extractor_card, save)


def _ensemble() -> Recipe:
    from kpdemo.simckp.checkpoint import save_ensemble
    from kpdemo.training.ensemble import EnsembleTraining, TrainedEnsemble, ensemble_card, train_ensemble

    def save(folder: Path, config: EnsembleTraining, trained: TrainedEnsemble, card: str) -> None:
        learnt = trained.differences, trained.config, trained.selection
        save_ensemble(folder, config.first, *learnt, share=config.share, name=config.name, card=card)

    return Recipe(EnsembleTraining, train_ensemble, ensemble_card, save)


def _labeller() -> Recipe:
    from kpdemo.simckp.labeller import save_labeller
    from kpdemo.training.cards import labeller_card
    from kpdemo.training.labeller import LabellerTraining, TrainedLabeller, train_labeller

    def save(folder: Path, config: LabellerTraining, trained: TrainedLabeller, card: str) -> None:
        parts = trained.module, trained.tokenizer
        save_labeller(folder, *parts, name=config.name, card=card, storage=config.storage)

    return Recipe(LabellerTraining, train_labeller, labeller_card, save)


def _generator() -> Recipe:
    from kpdemo.simckp.generator import save_generator
    from kpdemo.training.cards import generator_card
    from kpdemo.training.generator import GeneratorTraining, TrainedGenerator, train_generator

    def save(folder: Path, config: GeneratorTraining, trained: TrainedGenerator, card: str) -> None:
        parts = trained.module, trained.tokenizer, trained.selection
        storage, search = config.storage, config.search
        save_generator(folder, *parts, name=config.name, card=card, storage=storage, search=search)

    return Recipe(GeneratorTraining, train_generator, generator_card, save)


def _one2seq() -> Recipe:
    from kpdemo.simckp.generator import ONE2SEQ, save_generator
    from kpdemo.training.cards import one2seq_card
    from kpdemo.training.generator import One2SeqTraining, TrainedOne2Seq, train_one2seq

    def save(folder: Path, config: One2SeqTraining, trained: TrainedOne2Seq, card: str) -> None:
        parts = trained.module, trained.tokenizer, None
        save_generator(folder, *parts, name=config.name, card=card, storage=config.storage, kind=ONE2SEQ)

    return Recipe(One2SeqTraining, train_one2seq, one2seq_card, save)


def _bank() -> Recipe:
    from kpdemo.simckp.pair_checkpoint import save_bank
    from kpdemo.training.cards import bank_card
    from kpdemo.training.phrase_bank import BankTraining, TrainedBank, train_bank

    def save(folder: Path, config: BankTraining, trained: TrainedBank, card: str) -> None:
        save_bank(
            folder,
            trained.module,
            trained.bank,
            trained.tokenizer,
            trained.selection,
            name=config.name,
            length=config.length,
            card=card,
            storage=config.storage,
        )

    return Recipe(BankTraining, train_bank, bank_card, save)


def _profiles() -> Recipe:
    from kpdemo.simckp.pair_checkpoint import save_changed_bank
    from kpdemo.training.cards import profiles_card
    from kpdemo.training.phrase_bank import ProfiledBank, ProfilesTraining, train_profiles

    def save(folder: Path, config: ProfilesTraining, trained: ProfiledBank, card: str) -> None:
        learnt = trained.bank, trained.selection
        save_changed_bank(folder, config.bank, *learnt, name=config.name, card=card, floor=trained.floor)

    return Recipe(ProfilesTraining, train_profiles, profiles_card, save)


def _candidate_ranker() -> Recipe:
    from kpdemo.simckp.checkpoint import save_ranked
    from kpdemo.training.candidate_ranker import (
        CandidateRankerTraining,
        TrainedCandidateRanker,
        train_candidate_ranker,
    )
    from kpdemo.training.cards import candidate_ranker_card

    def save(
        folder: Path, config: CandidateRankerTraining, trained: TrainedCandidateRanker, card: str
    ) -> None:
        save_ranked(folder, config.extractor, trained.ranker, name=config.name, card=card)

    return Recipe(CandidateRankerTraining, train_candidate_ranker, candidate_ranker_card, save)


def _reranker() -> Recipe:
    from kpdemo.simckp.pair_checkpoint import save_reranker
    from kpdemo.training.cards import reranker_card
    from kpdemo.training.reranker import RerankerTraining, TrainedReranker, train_reranker

    def save(folder: Path, config: RerankerTraining, trained: TrainedReranker, card: str) -> None:
        save_reranker(
            folder,
            trained.module,
            trained.tokenizer,
            trained.selection,
            name=config.name,
            length=trained.length,
            card=card,
            storage=config.storage,
            shared=trained.shared,
            search=config.search,
            retrieved=config.retrieved,
        )

    return Recipe(RerankerTraining, train_reranker, reranker_card, save)


def _ramkg_generator() -> Recipe:
    from kpdemo.training.multilingual.cards import ramkg_card
    from kpdemo.training.multilingual.generator import RamkgTraining, TrainedWriter, train_ramkg

    def save(folder: Path, config: RamkgTraining, trained: TrainedWriter, card: str) -> None:
        trained.save(folder, card, config.storage)

    return Recipe(RamkgTraining, train_ramkg, ramkg_card, save)


def _ramkg_rounds() -> Recipe:
    from kpdemo.training.multilingual.cards import rounds_card
    from kpdemo.training.multilingual.generator_rounds import RamkgRounds, save_rounds, train_rounds

    return Recipe(RamkgRounds, train_rounds, rounds_card, save_rounds)


def _retriever() -> Recipe:
    from kpdemo.training.multilingual.cards import retriever_card
    from kpdemo.training.multilingual.retriever import RetrieverTraining, TrainedRetriever, train_retriever

    def save(folder: Path, config: RetrieverTraining, trained: TrainedRetriever, card: str) -> None:
        trained.tower.save(folder, card)

    return Recipe(RetrieverTraining, train_retriever, retriever_card, save)


def _multilingual() -> Recipe:
    from kpdemo.ramkg.ranker import save_ranker
    from kpdemo.training.multilingual.cards import multilingual_card
    from kpdemo.training.multilingual.rgit import (
        MultilingualTraining,
        TrainedMultilingual,
        train_multilingual,
    )

    def save(folder: Path, config: MultilingualTraining, trained: TrainedMultilingual, card: str) -> None:
        save_ranker(folder, trained.model, config.extractor, name=config.name, card=card)

    return Recipe(MultilingualTraining, train_multilingual, multilingual_card, save)


RECIPES: Mapping[str, Callable[[], Recipe]] = {
    "extractor": _extractor,
    "ensemble": _ensemble,
    "labeller": _labeller,
    "generator": _generator,
    "one2seq": _one2seq,
    "bank": _bank,
    "profiles": _profiles,
    "candidate-ranker": _candidate_ranker,
    "reranker": _reranker,
    "retriever": _retriever,
    "multilingual": _multilingual,
    "ramkg-generator": _ramkg_generator,
    "ramkg-rounds": _ramkg_rounds,
}
"""By the name of the part; a part's own modules are imported when it is asked for."""


CHECKPOINT = "checkpoint"
"""Folder of the result in the folder of a run."""

_CHECKPOINTS = ("first", "second", "start", "extractor", "bank", "generator")
"""Settings that name the folder of another model or part."""


def settings_of(part: str) -> type[Any]:
    """What the section of a part of a model is read as."""
    if part == "tagger":
        from kpdemo.training.tagger import TaggerConfig

        return TaggerConfig
    if part == "frequency":
        from kpdemo.training.frequency import FrequencyConfig

        return FrequencyConfig
    return RECIPES[part]().settings


def shared_overrides(
    path: Path, parts: Sequence[str], overrides: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """The overrides that each part takes: those whose setting it has. All sections are read and checked.

    Raises:
        ConfigError: no part has the setting, it would put all results into one folder, or a section is wrong.
    """
    if "output" in overrides:
        raise ConfigError(
            "Each part of a model has its own folder, so `output` cannot be set for all: give --output for "
            "the model, or change the configuration."
        )
    kinds = {part: settings_of(part) for part in parts}
    taken = {
        part: {
            key: value for key, value in overrides.items() if key.split(".")[0] in kind.__dataclass_fields__
        }
        for part, kind in kinds.items()
    }
    stray = next((key for key in overrides if not any(key in own for own in taken.values())), None)
    if stray is not None:
        raise ConfigError(
            f"None of the parts {', '.join(parts)} has a setting {stray!r}: check its spelling."
        )
    for part, kind in kinds.items():
        load_section(path, part, kind, taken[part])
    return taken


def check_needed(path: Path, overrides: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse parts that build on a checkpoint or an encoder which is not there.

    A checkpoint may come from a part before; an encoder that the Hub has is not fetched.

    Args:
        overrides: of each part, in the order in which they are trained.

    Raises:
        ConfigError: a checkpoint is missing.
        ModelLoadError: an encoder is.
    """
    from kpdemo.simckp.encoder import check_backbone

    made: set[Path] = set()
    encoders: list[str] = []
    for part, own in overrides.items():
        config = load_section(path, part, settings_of(part), own)
        for name in _CHECKPOINTS:
            needed = getattr(config, name, None)
            if isinstance(needed, Path) and needed not in made and not needed.is_dir():
                raise ConfigError(
                    f"The part {part} needs the checkpoint {needed}, which no part before it makes: "
                    f"train it first, or change `{name}` of [{part}]."
                )
        made.add(config.output / CHECKPOINT)
        if not getattr(config, "share_encoder", False):  # then it is the bank's
            encoders.append(getattr(config, "backbone", ""))
    for encoder in filter(None, dict.fromkeys(encoders)):
        check_backbone(encoder)
